//! The processor time of a process, as Linux counts it. It is more useful than wall time if server and clients share
//! cores.

use std::time::Duration;

/// The unit in which the kernel counts for programs (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// The user and system time of a process and all its threads so far; `None` if the system does not count it.
pub(crate) fn used(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may have spaces; fields 14 and 15 of proc(5) follow it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u32>);
    ticks.sum::<Result<u32, _>>().ok().map(|ticks| TICK * ticks)
}
