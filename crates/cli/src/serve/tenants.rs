//! The indexes in a folder, which appear, change and disappear.

use crate::place::Place;
use crate::serve::current::Current;
use crate::serve::policy::{Governed, Groups, Stamp, Written, are_old};
use crate::{Error, serve::owner};
use sordino_net::{IndexName, Indexes, Policy};
use sordino_search::{Encodings, OpenOptions, OwnerPublicKey};
use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsString,
    fs, io,
    panic::resume_unwind,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The time before the next attempt to open a damaged index.
const RETRY: Duration = Duration::from_secs(1);

/// The pause between two checks whether an index is open, and between two looks at the policies meanwhile.
const OPENING: Duration = Duration::from_millis(2);
const MEANWHILE: Duration = Duration::from_millis(50);

/// A folder of indexes, and those that are open.
pub(super) struct Tenants {
    root: PathBuf,
    /// The owner of indexes without their own key.
    owner: Option<OwnerPublicKey>,
    /// The largest number of bytes of an index.
    most: u64,
    /// True if owners may change their indexes over the network.
    changing: bool,
    /// The folder for the encoded vectors.
    encodings: Option<Encodings>,
    indexes: Indexes,
    open: HashMap<IndexName, Tenant>,
    /// The marks of the policies that were read last. Marks of removed indexes stay, because an index that had a policy
    /// is not opened without one.
    policies: HashMap<IndexName, Stamp>,
    groups: Groups,
    /// The policies in force.
    governed: HashMap<IndexName, Governed>,
    /// The policy files that were tried last, the time, and the fault, if any.
    tried: HashMap<IndexName, (Stamp, Instant, Option<String>)>,
    /// The marks of the policy files at the last look.
    seen: HashMap<IndexName, Stamp>,
    /// The last fault of each folder, which is logged once, and its time.
    faults: HashMap<OsString, (String, Instant)>,
    /// True if some index's policy may be half written and needs another look.
    waits: bool,
}

/// An open index. Its owner stays the same until it is closed.
struct Tenant {
    owner: OwnerPublicKey,
    current: Current,
}

impl Tenants {
    pub(super) fn new(
        root: PathBuf,
        owner: Option<OwnerPublicKey>,
        (most, changing): (u64, bool),
        encodings: Option<Encodings>,
        indexes: Indexes,
    ) -> Self {
        Self {
            root,
            owner,
            most,
            changing,
            encodings,
            indexes,
            open: HashMap::new(),
            policies: HashMap::new(),
            groups: Groups::default(),
            governed: HashMap::new(),
            tried: HashMap::new(),
            seen: HashMap::new(),
            faults: HashMap::new(),
            waits: false,
        }
    }

    /// Looks at the folder for the first time.
    ///
    /// # Errors
    /// Fails as [`Self::look`] does.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.look()?;
        if self.waits {
            std::thread::sleep(MEANWHILE);
            self.look()?;
        }
        Ok(())
    }

    /// Opens, updates and closes indexes until they agree with the folder. Returns true if anything changed. An index that
    /// cannot be opened is left out, and one that cannot be updated stays unchanged; both are logged.
    ///
    /// # Errors
    /// Fails if the folder itself cannot be read. Nothing changes then.
    pub(super) fn look(&mut self) -> io::Result<bool> {
        let names = self.names()?;
        self.waits = false;
        let gone = self.open.keys().filter(|name| !names.contains(*name));
        let gone: Vec<IndexName> = gone.cloned().collect();
        let mut changed = !gone.is_empty();
        for name in gone {
            self.open.remove(&name);
            self.governed.remove(&name);
            self.indexes.close(&name);
        }
        for name in names {
            let folder = OsString::from(name.as_str());
            let waits = |(_, at): &(String, Instant)| at.elapsed() < RETRY;
            if self.faults.get(&folder).is_some_and(waits) {
                // The policy takes effect even if the index has other faults.
                if let Err(error) = self.follow_policy(&name) {
                    self.fault(folder, error);
                }
                continue;
            }
            match self.look_at(&name) {
                Ok(different) => {
                    changed |= different;
                    self.faults.remove(&folder);
                }
                Err(error) => self.fault(folder, error),
            }
        }
        Ok(changed)
    }

    /// The folders whose names can be names of indexes.
    fn names(&mut self) -> io::Result<BTreeSet<IndexName>> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            // A link counts as the folder to which it leads.
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

    /// Logs a fault of a folder, unless it was the last logged one.
    fn fault(&mut self, folder: OsString, error: String) {
        let before = self.faults.get(&folder);
        if before.is_none_or(|(before, _)| *before != error) {
            let name = folder.display();
            match self.open.keys().any(|open| *open.as_str() == *folder) {
                true => tracing::error!(%name, error, "not followed: the old version stays"),
                false => tracing::error!(%name, error, "not served"),
            }
        }
        self.faults.insert(folder, (error, Instant::now()));
    }

    fn look_at(&mut self, name: &IndexName) -> Result<bool, String> {
        match self.open.contains_key(name) {
            true => self.follow(name),
            false => self.open(name).map_err(|error| error.to_string()),
        }
    }

    /// Opens an index, if the folder contains one now.
    fn open(&mut self, name: &IndexName) -> Result<bool, Error> {
        let dir = self.root.join(name.as_str());
        let mut current = Current::unseen(Place::here(&dir));
        let Some(now) = current.news() else {
            return Ok(false);
        };
        let owner = self.owner_of(name)?;
        // The policy is read before the index. An index whose policy is faulty, or has been removed, is not opened.
        let stamp = Written::of(&self.root, name).stamp();
        if !self.settled(name, stamp) && !are_old(&stamp) {
            self.waits = true;
            return Ok(false);
        }
        self.policies.entry(name.clone()).or_insert(stamp);
        self.policy(name)?;
        let accepting = || self.indexes.accepting(&dir, &owner, self.most);
        let accepting = self.changing.then(accepting).transpose();
        let accepting = accepting.map_err(Error::index(&dir))?;
        let (most, encodings) = (self.most, self.encodings.clone());
        let opening = || {
            let options = OpenOptions::new(&owner).most_bytes(most);
            options.encodings(encodings.as_ref()).open_dir(&dir)
        };
        let server = self.meanwhile(opening);
        let server = server.map_err(Error::index(&dir))?;
        let (governed, stamp) = self.policy(name)?;
        let policy = governed.as_ref().map(|governed| governed.policy(name));
        match accepting {
            Some(accepting) => self
                .indexes
                .open_to_changes(name, server, policy, accepting)?,
            None => self.indexes.open(name, server, policy)?,
        }
        self.policies.insert(name.clone(), stamp);
        self.governed
            .extend(governed.map(|one| (name.clone(), one)));
        current.saw(now);
        self.open.insert(name.clone(), Tenant { owner, current });
        Ok(true)
    }

    /// The policy of an index as it is written now, and its marks.
    fn policy(&mut self, name: &IndexName) -> Result<(Option<Governed>, Stamp), Error> {
        let written = Written::of(&self.root, name);
        // The marks are taken before the policy is read, so that a change meanwhile is noticed.
        let stamp = written.stamp();
        let own = self.policies.get(name).and_then(|stamp| stamp[0]);
        // All indexes with a policy share the groups.
        let governed = own.or(stamp[0]).is_some();
        let groups = self.policies.values().find_map(|stamp| stamp[1]);
        written.check_there(&[own, groups.filter(|_| governed)], &stamp)?;
        let policy = written.read(&stamp, &mut self.groups)?;
        written.check_still(&stamp)?;
        Ok((policy, stamp))
    }

    /// True if the policy's files did not change since the last look. A changed file may be half written.
    fn settled(&mut self, name: &IndexName, now: Stamp) -> bool {
        self.seen.insert(name.clone(), now) == Some(now)
    }

    /// Runs `work`, which may take long, and follows policies meanwhile.
    fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let (work, mut last) = (scope.spawn(work), Instant::now());
            while !work.is_finished() {
                std::thread::sleep(OPENING);
                if last.elapsed() >= MEANWHILE {
                    last = Instant::now();
                    let open: Vec<IndexName> = self.open.keys().cloned().collect();
                    for name in open {
                        // The next check of the index itself logs the fault.
                        drop(self.follow_policy(&name));
                    }
                }
            }
            work.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// The public key next to an index, or the one for all indexes without a key.
    fn owner_of(&self, name: &IndexName) -> Result<OwnerPublicKey, Error> {
        let path = self.root.join(format!("{name}.pub"));
        // A broken link counts as a key file. Otherwise the key for indexes without a file would apply.
        match (path.symlink_metadata().is_ok(), &self.owner) {
            (true, _) => owner(&path),
            (false, Some(owner)) => Ok(owner.clone()),
            (false, None) => Err(Error::NoOwner { path }),
        }
    }

    /// Serves the index's present version and policy. A fault of one does not prevent the other.
    fn follow(&mut self, name: &IndexName) -> Result<bool, String> {
        let policy = self.follow_policy(name);
        let version = self.follow_version(name);
        policy.and(version.map_err(|error| error.to_string()))
    }

    /// Puts the written policy in force. While it is faulty, the fault is logged.
    fn follow_policy(&mut self, name: &IndexName) -> Result<(), String> {
        let now = Written::of(&self.root, name).stamp();
        if !self.open.contains_key(name) || self.policies.get(name) == Some(&now) {
            return Ok(());
        }
        if !self.settled(name, now) {
            return Ok(());
        }
        let tried = self.tried.get(name);
        let same = tried.filter(|(stamp, ..)| *stamp == now);
        if let Some((_, at, fault)) = same
            && at.elapsed() < RETRY
        {
            return fault.clone().map_or(Ok(()), Err);
        }
        let others = same.is_none();
        if others {
            // A fault of new files is logged, even if it is the same fault.
            self.faults.remove(&OsString::from(name.as_str()));
        }
        let put = self.put_policy(name, now, others);
        let put = put.map_err(|error| error.to_string());
        let fault = put.clone().err();
        self.tried
            .insert(name.clone(), (now, Instant::now(), fault));
        put
    }

    /// Puts the policy in force, or at least its groups if it is faulty. `others` is true if its files have changed.
    fn put_policy(&mut self, name: &IndexName, now: Stamp, others: bool) -> Result<(), Error> {
        let read = self.policy(name);
        if let (true, Err(_), Some(governed)) = (others, &read, self.governed.get(name)) {
            Written::of(&self.root, name).regroup(governed, &now, &mut self.groups)?;
        }
        // A policy that this program cannot read admits no client.
        if let Err(error @ Error::NoPolicies { .. }) = &read {
            tracing::error!(%name, %error, "for nobody");
            let nobody = Policy::new(|_, _| false);
            self.indexes.set_policy(name, Some(nobody));
            self.policies.insert(name.clone(), now);
        }
        let (governed, stamp) = read?;
        if let Some(governed) = governed {
            self.indexes.set_policy(name, Some(governed.policy(name)));
            self.governed.insert(name.clone(), governed);
            tracing::info!(%name, "policy replaced");
        }
        self.policies.insert(name.clone(), stamp);
        Ok(())
    }

    fn follow_version(&mut self, name: &IndexName) -> Result<bool, Error> {
        let Some(tenant) = self.open.get(name) else {
            return Ok(false);
        };
        let Some(now) = tenant.current.news() else {
            return Ok(false);
        };
        let dir = self.root.join(name.as_str());
        let Some(before) = self.indexes.server(name) else {
            return Ok(false);
        };
        let (owner, most) = (tenant.owner.clone(), self.most);
        let server = self.meanwhile(|| {
            let options = OpenOptions::new(&owner).most_bytes(most);
            options.after(&before).open_dir(&dir)
        });
        let server = server.map_err(Error::index(&dir))?;
        // A push may have replaced the version while this one was opened. If so, the server reads the folder again.
        let replaced = self.indexes.replace_after(name, &before, server);
        if let (true, Some(tenant)) = (replaced, self.open.get_mut(name)) {
            tenant.current.saw(now);
        }
        Ok(replaced)
    }
}
