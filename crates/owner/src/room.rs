//! Memory that a build needs, asked for before it is: one that does not fit ends with an error, and is not killed.

use std::fs;
use std::path::{Path, PathBuf};

use sordino_index::Error;

/// Bytes for a coordinate of a segment while it is written: the residuals, their codes, and the rows or the residuals over their scales.
pub(crate) const SEGMENT: usize = 3 * size_of::<f32>();

/// Bytes beside, for threads and what they work on.
const BESIDE: usize = 32 << 20;

/// Refuses work that needs `each` bytes for each of some coordinates, if they are not to be had. On other systems than Linux it asks
/// for the memory alone.
///
/// # Errors
/// [`Error::Memory`].
pub(crate) fn check(coordinates: usize, each: usize) -> Result<(), Error> {
    let needed = coordinates.saturating_mul(each).saturating_add(BESIDE);
    let refused = |found: Option<u64>| Error::Memory {
        needed: needed as u64,
        found,
    };
    // Each thread takes a stack and an arena of the allocator when it first works: these are not to come out of what is asked for here.
    rayon::broadcast(|_| drop(std::hint::black_box(Box::new([0u8; 1024]))));
    // Under a limit of the process the system does not give it. It is given back untouched.
    let mut trial: Vec<u8> = Vec::new();
    trial.try_reserve_exact(needed).map_err(|_| refused(None))?;
    drop(std::hint::black_box(trial));
    // A container or a machine that has no more ends the process when memory is touched.
    match available() {
        Some(found) if found < needed as u64 => Err(refused(Some(found))),
        _ => Ok(()),
    }
}

/// Refuses a vector that cannot grow.
pub(crate) fn grow(data: &mut Vec<f32>, by: usize) -> Result<(), Error> {
    if data.capacity() - data.len() >= by {
        return Ok(());
    }
    // By a quarter: twice of it would be a segment more.
    let more = by.max(data.len() / 4);
    check(more, size_of::<f32>())?;
    data.try_reserve_exact(more).map_err(|_| Error::Memory {
        needed: (more * size_of::<f32>()) as u64,
        found: None,
    })
}

/// Bytes that this process can still have, as far as the system says so: of the machine, or of its container.
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

/// Bytes that a control group may still have, if it has a limit. Files that are kept in memory make room.
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
        check(1 << 10, 8).unwrap();
        for coordinates in [usize::MAX / 64, usize::MAX] {
            let error = check(coordinates, 8).unwrap_err();
            assert!(matches!(error, Error::Memory { .. }), "{error}");
        }
        let mut data = vec![1.0; 100];
        grow(&mut data, 10).unwrap();
        assert!(data.capacity() >= 110);
        assert!(grow(&mut data, usize::MAX / 8).is_err());
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
