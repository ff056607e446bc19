//! The processor time of a process, as Linux counts it: of use next to wall time where server and clients share cores.

use std::time::Duration;

/// Parts of a second that the kernel counts in for programs (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// User and system time of a process and all of its threads so far; `None` where there is no such count.
pub(crate) fn used(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may have spaces; behind it come fields 14 and 15 of proc(5).
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u32>);
    ticks.sum::<Result<u32, _>>().ok().map(|ticks| TICK * ticks)
}
