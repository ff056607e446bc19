//! The indexes in a folder, as they come, change and go.

use crate::place::Place;
use crate::serve::current::Current;
use crate::serve::policy::{Stamp, Written};
use crate::{Error, serve::owner};
use sordino_net::{IndexName, Indexes, Policy};
use sordino_search::{OwnerPublicKey, Server};
use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs, io,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The pause before it tries again to open an index that is damaged.
const RETRY: Duration = Duration::from_secs(1);

/// A folder of indexes, and those of them that are open.
pub(super) struct Tenants {
    root: PathBuf,
    /// The owner of indexes that have none of their own.
    owner: Option<OwnerPublicKey>,
    /// Bytes that an index may have.
    most: u64,
    /// Owners change their indexes over the network.
    changing: bool,
    indexes: Indexes,
    open: HashMap<IndexName, Tenant>,
    /// The last fault of each folder, which is said once, and when it was.
    faults: HashMap<OsString, (String, Instant)>,
}

/// An index that is open. Its owner stays the same until it is closed.
struct Tenant {
    owner: OwnerPublicKey,
    current: Current,
    policy: Stamp,
}

impl Tenants {
    pub(super) fn new(
        root: PathBuf,
        owner: Option<OwnerPublicKey>,
        (most, changing): (u64, bool),
        indexes: Indexes,
    ) -> Self {
        Self {
            root,
            owner,
            most,
            changing,
            indexes,
            open: HashMap::new(),
            faults: HashMap::new(),
        }
    }

    /// Opens, follows and closes, until what is served is what the folder has: true if something changed. An index that cannot be
    /// opened is left out, one that cannot be followed stays as it is; the log says so.
    ///
    /// # Errors
    /// If the folder itself cannot be read. Nothing is changed then.
    pub(super) fn look(&mut self) -> io::Result<bool> {
        let names = self.names()?;
        let gone = self.open.keys().filter(|name| !names.contains(*name));
        let gone: Vec<IndexName> = gone.cloned().collect();
        let mut changed = !gone.is_empty();
        for name in gone {
            self.open.remove(&name);
            self.indexes.close(&name);
        }
        for name in names {
            let folder = OsString::from(name.as_str());
            let waits = |(_, at): &(String, Instant)| at.elapsed() < RETRY;
            if self.faults.get(&folder).is_some_and(waits) {
                continue;
            }
            match self.look_at(&name) {
                Ok(different) => {
                    changed |= different;
                    self.faults.remove(&folder);
                }
                Err(error) => self.fault(folder, error.to_string()),
            }
        }
        Ok(changed)
    }

    /// The folders whose names an index may have.
    fn names(&mut self) -> io::Result<BTreeSet<IndexName>> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            // A link stands for what it leads to.
            if !fs::metadata(entry.path()).is_ok_and(|found| found.is_dir()) {
                continue;
            }
            let name = entry.file_name();
            match name.to_str().map(IndexName::new) {
                Some(Ok(name)) => drop(names.insert(name)),
                _ => self.fault(name, sordino_net::Error::IndexName.to_string()),
            }
        }
        self.faults.retain(|name, _| self.root.join(name).exists());
        Ok(names)
    }

    /// Says a fault of a folder, unless it was the last that was said of it.
    fn fault(&mut self, folder: OsString, error: String) {
        let before = self.faults.get(&folder);
        if before.is_none_or(|(before, _)| *before != error) {
            let name = folder.display();
            match self.open.keys().any(|open| *open.as_str() == *folder) {
                true => tracing::error!(%name, error, "not followed: what was served is served on"),
                false => tracing::error!(%name, error, "not served"),
            }
        }
        self.faults.insert(folder, (error, Instant::now()));
    }

    fn look_at(&mut self, name: &IndexName) -> Result<bool, Error> {
        match self.open.contains_key(name) {
            true => self.follow(name),
            false => self.open(name),
        }
    }

    /// Opens an index, if the folder has one by now.
    fn open(&mut self, name: &IndexName) -> Result<bool, Error> {
        let dir = self.root.join(name.as_str());
        let mut current = Current::unseen(Place::here(&dir));
        let Some(now) = current.news() else {
            return Ok(false);
        };
        let owner = self.owner_of(name)?;
        let written = Written::of(&self.root, name);
        // Before it is read, so that a change meanwhile is seen.
        let stamp = written.stamp();
        let policy = written.read(name)?;
        let server = Server::open_within(&dir, &owner, None, self.most);
        let server = server.map_err(Error::index(&dir))?;
        self.indexes.open(name, server, policy)?;
        if self.changing {
            let accepting = self.indexes.accept_changes(name, &dir, &owner, self.most);
            accepting.map_err(Error::index(&dir)).inspect_err(|_| {
                self.indexes.close(name);
            })?;
        }
        current.saw(now);
        let tenant = Tenant {
            owner,
            current,
            policy: stamp,
        };
        self.open.insert(name.clone(), tenant);
        Ok(true)
    }

    /// The public key beside an index, or that of all others.
    fn owner_of(&self, name: &IndexName) -> Result<OwnerPublicKey, Error> {
        let path = self.root.join(format!("{name}.pub"));
        match (path.exists(), &self.owner) {
            (true, _) => owner(&path),
            (false, Some(owner)) => Ok(owner.clone()),
            (false, None) => Err(Error::NoOwner { path }),
        }
    }

    /// Serves the version and the policy that an index has now. A fault of one does not hold the other back.
    fn follow(&mut self, name: &IndexName) -> Result<bool, Error> {
        let policy = self.follow_policy(name);
        let version = self.follow_version(name);
        policy.and(version)
    }

    fn follow_policy(&mut self, name: &IndexName) -> Result<(), Error> {
        let Some(tenant) = self.open.get_mut(name) else {
            return Ok(());
        };
        let written = Written::of(&self.root, name);
        let stamp = written.stamp();
        if stamp != tenant.policy {
            let read = written.read(name);
            // A policy that cannot be read here may be for nobody who asks.
            if let Err(Error::NoPolicies { .. }) = read {
                self.indexes
                    .set_policy(name, Some(Policy::new(|_, _| false)));
                tenant.policy = stamp;
            }
            match read? {
                Some(policy) => {
                    self.indexes.set_policy(name, Some(policy));
                    tracing::info!(%name, "policy replaced");
                }
                // A file is away for a moment while it is exchanged: that must let nobody in.
                None if tenant.policy[0].is_some() => {
                    let path = written.path().display();
                    tracing::warn!(%name, "{path} is gone: the policy stays in force until the next start");
                }
                None => (),
            }
            tenant.policy = stamp;
        }
        Ok(())
    }

    fn follow_version(&mut self, name: &IndexName) -> Result<bool, Error> {
        let Some(tenant) = self.open.get_mut(name) else {
            return Ok(false);
        };
        let Some(now) = tenant.current.news() else {
            return Ok(false);
        };
        let dir = self.root.join(name.as_str());
        let before = self.indexes.server(name);
        let server = Server::open_within(&dir, &tenant.owner, before.as_deref(), self.most);
        let server = server.map_err(Error::index(&dir))?;
        // One that was pushed here is served already.
        let before = self.indexes.server(name);
        let digest = server.manifest().digest();
        if before.is_none_or(|before| before.manifest().digest() != digest) {
            self.indexes.replace(name, server);
        }
        tenant.current.saw(now);
        Ok(true)
    }
}
