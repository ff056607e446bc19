//! Files that appear only when they are complete.

use crate::Error;
#[cfg(unix)]
use crate::stdio::stdout;
use sordino_search::{Disk, Files};
use std::{
    fs::{File, Metadata},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// The largest number of links that are followed, as in Linux.
const LINKS: usize = 40;

/// The file to which a name leads over symbolic links; it need not exist yet. So a file has one lock under all its names, and new
/// content replaces the file and not a link.
pub(crate) fn target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(to) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

/// Writes a result to a file that the user named.
///
/// The file is written next to its place, and moved there when it is complete. If that does not happen, the new file is removed
/// and the old file stays. The new file keeps the mode of the old one, and the links to it. A pipe, a device or a descriptor
/// (/dev/stdout) is never replaced: it gets the bytes as they are written. A key file is never replaced, under any name: it may
/// be the only copy, or the key of this command.
pub(crate) struct AtomicFile {
    out: Out,
    path: PathBuf,
}

enum Out {
    RecordBytes {
        file: NamedTempFile,
        place: PathBuf,
        old: Option<Box<Metadata>>,
    },
    Through(File),
}

impl AtomicFile {
    /// Opens a new file for all users that the process's umask allows.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o666)
    }

    /// Opens a new file for its user only, since others could change what it remembers. Secrets are not written with this type,
    /// because they replace no file.
    pub(crate) fn private(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o600)
    }

    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        let whole = |out| Self {
            out,
            path: path.to_owned(),
        };
        #[cfg(unix)]
        if let Some(descriptor) = Descriptor::of(path) {
            return descriptor.open(path).map(Out::Through).map(whole);
        }
        // Links are followed once. A link that appears afterwards is not followed, since another user may have made it.
        let place = target(path);
        let old = match place.symlink_metadata() {
            Ok(old) if old.is_file() => {
                refuse_key(&place)?;
                Some(Box::new(old))
            }
            Ok(old) if old.is_symlink() => return Err(turned()),
            Ok(_) => {
                let file = File::options().write(true).open(&place)?;
                return match file.metadata()?.is_file() {
                    true => Err(turned()),
                    false => Ok(whole(Out::Through(file))),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        if old.is_none() {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            builder.permissions(mode);
        }
        // The temporary file is in the same folder, so it can be moved within its file system.
        let file = builder.tempfile_in(folder(&place)).map_err(bare)?;
        Ok(whole(Out::RecordBytes { file, place, old }))
    }

    /// The file's place, under the name that the user gave.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the file to its place.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.place(true)
    }

    /// Moves the file to its place, which must still be free.
    pub(crate) fn finish_new(self) -> io::Result<()> {
        self.place(false)
    }

    fn place(self, replace: bool) -> io::Result<()> {
        let (file, place, old) = match self.out {
            Out::Through(mut file) => {
                file.flush()?;
                return if_kept(file.sync_all());
            }
            Out::RecordBytes { file, place, old } => (file, place, old),
        };
        if let (Some(old), true) = (&old, replace) {
            keep_access(file.as_file(), old)?;
        }
        file.as_file().sync_all()?;
        // This command must not replace a file that has appeared since.
        let moved = match replace && old.is_some() {
            true => file.persist(&place),
            false => file.persist_noclobber(&place),
        };
        moved.map_err(|error| error.error)?;
        named(&place)
    }
}

/// The error for a link whose target has changed, or whose links lead in a circle.
fn turned() -> io::Error {
    io::Error::other(
        "it is a link, and its target changed or cannot be determined: name the target itself",
    )
}

/// Refuses a file that is a key of any kind. A file that cannot be read may be a key, so it is also refused.
fn refuse_key(path: &Path) -> io::Result<()> {
    let mut head = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut head)?;
    if !is_key(&head) {
        return Ok(());
    }
    let why = "it is a key file, and keys are never overwritten: choose another name";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
}

/// True if a file begins like a key file of this or another version: `sordino-KIND-VERSION:`.
fn is_key(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(b"sordino-") else {
        return false;
    };
    let name = rest.split(|&byte| byte == b':').next().unwrap_or_default();
    let of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    name.len() < rest.len()
        && name.iter().all(of_name)
        && name.last().is_some_and(u8::is_ascii_digit)
}

/// Gives a file the owner, group and mode of an older one. If the group cannot be set, removes the group's permissions,
/// which would go to another group.
#[cfg(unix)]
fn keep_access(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    // The owner stays the same if this process may give files away.
    if new.uid() != old.uid() {
        let _ = fchown(file, Some(old.uid()), None);
    }
    if new.gid() != old.gid() && fchown(file, None, Some(old.gid())).is_err() {
        mode &= !0o070;
    }
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// A descriptor that a name leads to, such as /dev/stdout or /dev/fd/3. Others may also write to it.
#[cfg(unix)]
enum Descriptor {
    /// The standard output of this process.
    Stdout,
    Other,
}

#[cfg(unix)]
impl Descriptor {
    fn of(path: &Path) -> Option<Self> {
        let mut name = path.to_owned();
        for _ in 0..LINKS {
            let folder = folder(&name).canonicalize().ok()?;
            let of_system = folder.starts_with("/proc") || folder.starts_with("/dev");
            if of_system && folder.ends_with("fd") {
                let mut own = ["/proc/self/fd", "/dev/fd"].map(Path::new).into_iter();
                let own = own.any(|own| own.canonicalize().is_ok_and(|own| own == folder));
                return Some(match own && name.ends_with("1") {
                    true => Self::Stdout,
                    false => Self::Other,
                });
            }
            let to = name.read_link().ok()?;
            name = name.parent().unwrap_or(Path::new("")).join(to);
        }
        None
    }

    /// Opens the descriptor. Standard output continues at its shared position, other descriptors at the end.
    fn open(self, path: &Path) -> io::Result<File> {
        use std::os::fd::AsFd;
        match self {
            Self::Stdout => Ok(stdout()?.as_fd().try_clone_to_owned()?.into()),
            Self::Other => File::options().append(true).open(path),
        }
    }
}

/// The folder that contains a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a file's name durable. Otherwise the disk may have the old file after a power cut, and a pin file would go back. The
/// file is already in its place, so it is no failure if the folder cannot be read, or its file system does not support this.
fn named(path: &Path) -> io::Result<()> {
    if_kept(Files.sync_dir(folder(path)))
}

/// The result of a sync. It is no error if the file or its file system does not support this call.
fn if_kept(synced: io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match synced {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

/// True if a file or folder with this name exists, which a command must not overwrite.
pub(crate) fn is_taken(path: &Path) -> bool {
    #[cfg(unix)]
    if Descriptor::of(path).is_some() {
        return false;
    }
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() || found.is_dir())
}

/// Gives a complete file its name, if no file has that name.
pub(crate) fn in_place(path: &Path, file: AtomicFile) -> Result<(), Error> {
    file.finish_new().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => there(path),
        _ => Error::at(path)(error),
    })
}

/// The error of a file that would be overwritten.
pub(crate) fn there(path: &Path) -> Error {
    let path = path.display();
    Error::Arguments(format!(
        "{path}: the file exists already, and is not overwritten: choose another name, or move the file away"
    ))
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::RecordBytes { file, .. } => file.write(bytes).map_err(bare),
            Out::Through(file) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::RecordBytes { file, .. } => file.flush().map_err(bare),
            Out::Through(file) => file.flush(),
        }
    }
}

/// An error without the file's temporary name, which would not help a user.
fn bare(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::new(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut file = AtomicFile::new(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let file = AtomicFile::new(&path).unwrap();
        let error = file.finish_new().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// The folder is one in which other users may create files, as for all temporary files.
    #[cfg(unix)]
    #[test]
    fn what_comes_into_the_place_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("own"), "own").unwrap();
        for planted in [false, true] {
            let mut file = AtomicFile::new(&at("new")).unwrap();
            file.write_all(b"new").unwrap();
            match planted {
                true => std::os::unix::fs::symlink(at("own"), at("new")).unwrap(),
                false => fs::write(at("new"), "other").unwrap(),
            }
            let error = file.finish().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(at("own")).unwrap(), b"own");
            fs::remove_file(at("new")).unwrap();
        }
        // A link that existed before is followed. If it leads to a missing file, that file is created.
        for (content, there) in [("first", "late"), ("second", "late")] {
            drop(std::os::unix::fs::symlink(at(there), at("link")));
            let mut file = AtomicFile::new(&at("link")).unwrap();
            file.write_all(content.as_bytes()).unwrap();
            file.finish().unwrap();
            assert_eq!(fs::read_to_string(at(there)).unwrap(), content);
        }
        let circle = at("circle");
        std::os::unix::fs::symlink(&circle, &circle).unwrap();
        assert!(AtomicFile::new(&circle).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_memory_is_its_users_alone_unless_it_was_shared() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        for expected in [0o600, 0o660] {
            let mut file = AtomicFile::private(&path).unwrap();
            file.write_all(b"seen").unwrap();
            file.finish().unwrap();
            assert_eq!(mode(), expected);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        }
    }

    #[test]
    fn every_key_file_is_told_from_other_files() {
        let kinds = sordino_net::KeyKind::ALL.iter();
        let kinds = kinds.map(|kind| format!("sordino-{}-1:", kind.name()));
        let others = [sordino_fpe_files::KEY_FILE_PREFIX, "sordino-owner-12:"].map(str::to_owned);
        for prefix in kinds.chain(others) {
            let text = prefix.clone() + "0a";
            assert!(is_key(text.as_bytes()), "{prefix}");
            assert!(!is_key(&prefix.as_bytes()[..prefix.len() - 1]), "{prefix}");
            assert!(!is_key(format!(" {prefix}").as_bytes()), "{prefix}");
        }
        for other in [
            "",
            "sordino-",
            "sordino-owner-pins-1\n",
            "sordino-: x",
            "{\"index\":\"0a\"}",
        ] {
            assert!(!is_key(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn errors_name_no_file_of_which_the_user_knows_nothing() {
        let error = AtomicFile::new(Path::new("/nowhere/whole")).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains("tmp"), "{error}");
    }
}
