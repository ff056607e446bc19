//! Reads and writes whole files, which one command at a time uses.

pub(crate) use crate::atomic_file::target;
use crate::{Error, atomic_file::AtomicFile};
use sordino_search::{Bytes, Disk, Files};
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Waits until no other command uses a file, and keeps others out until the result is dropped. It locks a second
/// file next to it.
pub(crate) fn hold(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true);
    let file = file.open(PathBuf::from(name)).map_err(Error::at(path))?;
    file.lock().map_err(Error::at(path))?;
    Ok(file)
}

/// Reads a whole file. A longer file, a pipe or a device is refused.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Bytes> {
    let bytes = Files.read(path, most)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {most} bytes")));
    }
    Ok(bytes)
}

/// Replaces a file atomically. The umask decides who can read a new file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = AtomicFile::new(path).and_then(|file| put(file, bytes));
    written.map_err(Error::at(path))
}

/// Replaces a file atomically. Only its user can read a new file.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let written = AtomicFile::private(path).and_then(|file| put(file, bytes));
    written.map_err(Error::at(path))
}

fn put(mut file: AtomicFile, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_file_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, &[7; 100]).unwrap();
        assert_eq!(&read(&path, 100).unwrap()[..], &[7; 100]);
        let refused = read(&path, 99).unwrap_err().to_string();
        assert_eq!(refused, "longer than 99 bytes");
        assert!(read(folder.path(), 99).is_err());
        assert_eq!(
            read(&folder.path().join("none"), 9).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_to_one_file_also_before_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("deep")).unwrap();
        for (to, name) in [
            ("../file", "deep/far"),
            ("deep/far", "near"),
            ("loop", "loop"),
        ] {
            std::os::unix::fs::symlink(to, at(name)).unwrap();
        }
        for there in [false, true] {
            for name in ["file", "deep/far", "near"] {
                let target = target(&at(name));
                assert_eq!(target.file_name(), Some("file".as_ref()), "{name}");
                write(&target, name.as_bytes()).unwrap();
                assert_eq!(&read(&at("file"), 99).unwrap()[..], name.as_bytes());
                if !there {
                    std::fs::remove_file(at("file")).unwrap();
                }
            }
        }
        assert!(at("near").is_symlink() && at("deep/far").is_symlink());
        assert!(read(&target(&at("loop")), 99).is_err());
    }

    /// Reading a pipe would wait for its writer.
    #[cfg(unix)]
    #[test]
    fn a_pipe_or_a_device_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        for path in [path.as_path(), Path::new("/dev/zero")] {
            let refused = read(path, 99).unwrap_err().to_string();
            assert!(refused.contains("a pipe or a device"), "{refused}");
        }
    }
}
