//! Policies, which say who may use an index. A command that is built with the feature `policies` reads them. A command
//! without it refuses an index that has a policy.

#[cfg(feature = "policies")]
mod cedar;

use crate::Error;
use sordino_net::IndexName;
#[cfg(feature = "policies")]
use sordino_search::{Disk, Files};
use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Policy files are at most this long, in bytes.
#[cfg(feature = "policies")]
const MAX_FILE: u64 = 4 << 20;

#[cfg(feature = "policies")]
pub(super) use cedar::Governed;

/// The groups that were read last, or the fault in them, with the marks of their file. All policies share them,
/// so they are read once.
#[cfg(feature = "policies")]
pub(super) type Groups = Option<(Option<Mark>, Result<cedar::Groups, String>)>;
#[cfg(not(feature = "policies"))]
pub(super) type Groups = ();

/// A policy in force. This command was built without policies, so there is none.
#[cfg(not(feature = "policies"))]
pub(super) enum Governed {}

#[cfg(not(feature = "policies"))]
impl Governed {
    pub(super) fn policy(&self, _: &IndexName) -> sordino_net::Policy {
        match *self {}
    }
}

/// The files of an index's policy, as they are written now.
pub(super) struct Written {
    policy: PathBuf,
    groups: PathBuf,
}

/// The marks that these files had when they were read.
pub(super) type Stamp = [Option<Mark>; 2];

/// Marks that distinguish a file from its replacement, even if both have the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    modified: SystemTime,
    len: u64,
    /// The file's number on the disk, and the time of the last change of its inode.
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        // A broken link counts as a file.
        let found = path.metadata().or_else(|_| path.symlink_metadata()).ok()?;
        Some(Self {
            modified: found.modified().ok()?,
            len: found.len(),
            #[cfg(unix)]
            changed: (found.ino(), found.ctime(), found.ctime_nsec()),
        })
    }

    /// True if the file was last written more than a second ago.
    fn is_old(&self) -> bool {
        let age = self.modified.elapsed();
        age.is_ok_and(|age| age > Duration::from_secs(1))
    }
}

/// True if the files with these marks are not being written, as far as their times show.
pub(super) fn are_old(stamp: &Stamp) -> bool {
    stamp.iter().flatten().all(Mark::is_old)
}

impl Written {
    /// The policy file next to an index's folder, and the file of groups that all policies of the
    /// root share.
    pub(super) fn of(root: &Path, name: &IndexName) -> Self {
        Self {
            policy: root.join(format!("{name}.cedar")),
            groups: root.join("groups.json"),
        }
    }

    pub(super) fn stamp(&self) -> Stamp {
        [&self.policy, &self.groups].map(|path| Mark::of(path))
    }

    /// Refuses if a file that existed before is missing: without its groups, a policy may admit clients that it shuts out by
    /// a group.
    pub(super) fn check_there(&self, before: &Stamp, now: &Stamp) -> Result<(), Error> {
        let paths = [&self.policy, &self.groups].into_iter();
        let mut gone = paths.zip(before.iter().zip(now));
        match gone.find(|(_, (before, now))| before.is_some() && now.is_none()) {
            Some((path, _)) => {
                let why = "the file is missing, and the policy read from it stays in force: to open an index to all, \
                    write a policy that says so";
                Err(Error::at(path)(io::Error::new(
                    io::ErrorKind::NotFound,
                    why,
                )))
            }
            None => Ok(()),
        }
    }

    /// Refuses files that were replaced while they were read, because the text may be neither the
    /// old nor the new one.
    pub(super) fn check_still(&self, before: &Stamp) -> Result<(), Error> {
        if self.stamp() == *before {
            return Ok(());
        }
        let why = io::Error::other("it, or the groups file, is being replaced: it is read again");
        Err(Error::at(&self.policy)(why))
    }

    /// The policy, if there is one. `stamp` has the files' marks, and `groups` the groups that were
    /// read last.
    #[cfg(feature = "policies")]
    pub(super) fn read(
        &self,
        stamp: &Stamp,
        groups: &mut Groups,
    ) -> Result<Option<Governed>, Error> {
        let Some(policies) = text(&self.policy)? else {
            return Ok(None);
        };
        let groups = self.groups(stamp, groups)?;
        groups.policy(&self.policy, &policies).map(Some)
    }

    #[cfg(feature = "policies")]
    fn groups<'a>(
        &self,
        stamp: &Stamp,
        groups: &'a mut Groups,
    ) -> Result<&'a cedar::Groups, Error> {
        let known = groups.take().filter(|(mark, _)| *mark == stamp[1]);
        let known = match known {
            Some(known) => known,
            None => {
                // A file that cannot be read now is read again. A faulty file is read again when it changes.
                let text = text(&self.groups)?.unwrap_or_else(|| "[]".to_owned());
                let read = cedar::Groups::read(&self.groups, &text);
                // Groups that are replaced meanwhile are refused too.
                self.check_still(stamp)?;
                (stamp[1], read.map_err(|error| error.to_string()))
            }
        };
        match &groups.insert(known).1 {
            Ok(read) => Ok(read),
            Err(why) => Err(Error::Groups(why.clone())),
        }
    }

    /// Puts the written groups into a policy that stays in force because the written policy is faulty.
    #[cfg(feature = "policies")]
    pub(super) fn regroup(
        &self,
        policy: &Governed,
        stamp: &Stamp,
        groups: &mut Groups,
    ) -> Result<(), Error> {
        // If there is no file, the previous groups stay in force.
        if stamp[1].is_some() {
            policy.follow(&self.policy, self.groups(stamp, groups)?)?;
        }
        Ok(())
    }

    #[cfg(not(feature = "policies"))]
    #[expect(clippy::unused_self, reason = "as the other has it")]
    pub(super) fn regroup(
        &self,
        policy: &Governed,
        _: &Stamp,
        (): &mut Groups,
    ) -> Result<(), Error> {
        match *policy {}
    }

    /// Refuses any policy. If the command ignored it, the index would be open to all clients.
    #[cfg(not(feature = "policies"))]
    pub(super) fn read(&self, _: &Stamp, (): &mut Groups) -> Result<Option<Governed>, Error> {
        match self.policy.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => Err(Error::NoPolicies {
                path: self.policy.clone(),
            }),
        }
    }
}

/// The text of a file, if the file exists. A broken link counts as an existing file.
#[cfg(feature = "policies")]
fn text(path: &Path) -> Result<Option<String>, Error> {
    let bytes = match Files.read(path, MAX_FILE) {
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() =>
        {
            return Ok(None);
        }
        bytes => bytes.map_err(Error::at(path))?,
    };
    if bytes.len() as u64 > MAX_FILE {
        let long = io::Error::other(format!("longer than {MAX_FILE} bytes"));
        return Err(Error::at(path)(long));
    }
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|error| Error::at(path)(io::Error::other(error.utf8_error())))?;
    Ok(Some(text))
}
