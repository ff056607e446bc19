//! Checks for memory before it is needed. A build or a server that needs too much memory ends with an error, instead of
//! being killed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Refuses work that needs `needed` more bytes, if they are not available. On systems other than Linux, the function
/// only tries to allocate these bytes.
///
/// # Errors
/// [`Error::Memory`] if these bytes are not available.
pub fn check(needed: u64) -> Result<(), Error> {
    let refused = |found: Option<u64>| Error::Memory { needed, found };
    // Under a limit of the process the system refuses the allocation. The memory is freed untouched.
    let mut trial: Vec<u8> = Vec::new();
    let len = usize::try_from(needed).map_err(|_| refused(None))?;
    trial.try_reserve_exact(len).map_err(|_| refused(None))?;
    drop(std::hint::black_box(trial));
    // In a container or on a machine without enough memory, the system kills the process when it touches memory.
    match available() {
        Some(found) if found < needed => Err(refused(Some(found))),
        _ => Ok(()),
    }
}

/// The number of bytes that this process can still get from the machine or from its container. `None` if the system
/// does not say.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine
        .and_then(|text| Some(kilobytes(&text, "MemAvailable:")? + kilobytes(&text, "SwapFree:")?));
    let own = fs::read_to_string("/proc/self/cgroup").ok();
    let own = own.as_deref().and_then(group);
    let groups = own
        .iter()
        .flat_map(|group| group.ancestors().filter_map(left));
    groups.chain(machine).min()
}

/// A line of `/proc/meminfo`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// The folder of this process's control group, of version 2.
fn group(text: &str) -> Option<PathBuf> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new("/sys/fs/cgroup").join(path))
}

/// The bytes that a control group may still get, if it has a limit. Cached files count as available.
fn left(group: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let (most, now) = (
        number(read("memory.max")?)?,
        number(read("memory.current")?)?,
    );
    let stat = read("memory.stat").unwrap_or_default();
    let files = |name: &str| -> u64 {
        let line = stat.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
    };
    let files = files("inactive_file ") + files("active_file ");
    Some(most.saturating_sub(now.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused() {
        check(1 << 10).unwrap();
        for needed in [u64::MAX / 64, u64::MAX] {
            let error = check(needed).unwrap_err();
            assert!(matches!(error, Error::Memory { .. }), "{error}");
        }
    }

    #[test]
    fn what_the_system_says_is_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:   25 kB\nSwapFree: 5 kB\n";
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(25 << 10));
        assert_eq!(kilobytes(text, "MemFree:"), None);
        let found = group("1:name=systemd:/a\n0::/user.slice/b\n").unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/user.slice/b"));
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(left(dir.path()), None);
        for (name, text) in [
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            (
                "memory.stat",
                "anon 400\ninactive_file 200\nactive_file 100\n",
            ),
        ] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert_eq!(left(dir.path()), Some(600));
        fs::write(dir.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(left(dir.path()), None);
    }
}
