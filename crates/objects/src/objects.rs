//! The files of an index in an object store.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use object_store::aws::AmazonS3Builder;
use object_store::path::{Path as Key, PathPart};
use object_store::{
    ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, RetryConfig, UpdateVersion,
};
use sordino_index::disk::Lock;
use sordino_index::folder::Folder;
use sordino_index::{Bytes, Disk};
use tokio_stream::StreamExt;

use crate::age::{Clock, GRACE};
use crate::change::Change;
use crate::reading::{Reading, fault};
use crate::waiting::{Patience, Requests};
use crate::writing::Writing;
use crate::{Address, Error};

/// The names in an index's folder that are treated each in their way.
const CURRENT: &str = "CURRENT";
const MANIFESTS: &str = "manifests";
const PARTS: &str = "parts";

/// Entries of a listing that are taken. An index has at most 1,024 segments; manifests stay.
const MAX_ENTRIES: usize = 1 << 20;

/// An index's files in an object store, for a [`Folder`]. Copies share connections, and each is an owner of its own.
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    requests: Arc<Requests>,
    /// The folder's path, and the beginning of the names of its objects.
    root: PathBuf,
    prefix: Key,
    patience: Patience,
    grace: Duration,
    change: Mutex<Change>,
}

impl Clone for Objects {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            requests: Arc::clone(&self.requests),
            root: self.root.clone(),
            prefix: self.prefix.clone(),
            change: Mutex::default(),
            ..*self
        }
    }
}

impl std::fmt::Debug for Objects {
    /// Without the store, which knows credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens a store of S3's protocol as the usual variables of the environment say: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, or a machine's own role. Nothing
    /// is asked of it yet.
    ///
    /// # Errors
    /// [`Error::Configuration`].
    pub fn open(address: &Address) -> Result<Self, Error> {
        let wrong = |why: String| Error::Configuration {
            address: address.to_string(),
            why,
        };
        // One that a program has chosen before stays.
        drop(rustls::crypto::ring::default_provider().install_default());
        let patience = Patience::default();
        let retry = RetryConfig {
            max_retries: 3,
            retry_timeout: patience.request / 2,
            ..RetryConfig::default()
        };
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(address.bucket())
            .with_client_options(client_options(patience))
            .with_retry(retry);
        // The client's options replace what the environment says of them.
        let http = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value == "true");
        let store = store.with_allow_http(http).build();
        let store = store.map_err(|error| wrong(error.to_string()))?;
        Self::over(Arc::new(store), address).map_err(|error| wrong(error.to_string()))
    }

    /// An index in any store.
    ///
    /// # Errors
    /// If the system has no thread for it.
    pub fn over(store: Arc<dyn ObjectStore>, address: &Address) -> io::Result<Self> {
        Ok(Self {
            store,
            requests: Arc::new(Requests::new()?),
            root: address.path(),
            prefix: Key::from(address.prefix()),
            patience: Patience::default(),
            grace: GRACE,
            change: Mutex::default(),
        })
    }

    /// The same with another patience.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// The same where what no version names stays for another time than seven days. All owners of an index must have the same.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// The folder, whose path is the address.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder, to read it, or to be its owner.
    #[must_use]
    pub fn folder(&self) -> Folder<Self> {
        Folder::new(&self.root, self.clone())
    }

    fn change(&self) -> MutexGuard<'_, Change> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of a path in the folder.
    fn key(&self, path: &Path) -> io::Result<Key> {
        let inside = path.strip_prefix(&self.root);
        let inside = inside.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut key = self.prefix.clone();
        for name in inside {
            let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
            key = key.join(PathPart::from(name));
        }
        Ok(key)
    }

    /// The directory of a file in the folder, and its name.
    fn place<'a>(&self, path: &'a Path) -> (&'a str, &'a str) {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let text = |part: Option<&'a std::ffi::OsStr>| part.and_then(|part| part.to_str());
        let dir = text(inside.parent().map(Path::as_os_str)).unwrap_or_default();
        (dir, text(inside.file_name()).unwrap_or_default())
    }

    fn reading(&self, path: &Path) -> io::Result<Reading<'_>> {
        Ok(Reading {
            store: &self.store,
            requests: &self.requests,
            patience: self.patience,
            key: self.key(path)?,
        })
    }

    fn writing(&self, path: &Path) -> io::Result<Writing<'_>> {
        Ok(Writing {
            store: &self.store,
            requests: &self.requests,
            patience: self.patience,
            key: self.key(path)?,
        })
    }

    fn meta(&self, path: &Path) -> io::Result<ObjectMeta> {
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        self.requests.run(self.patience.request, async move {
            store.head(&key).await.map_err(fault)
        })
    }

    /// The age of a file, by the store's clock alone.
    fn age(&self, path: &Path) -> io::Result<Duration> {
        let clock = self.change().clock()?;
        Ok(clock.age(SystemTime::from(self.meta(path)?.last_modified)))
    }
}

fn client_options(patience: Patience) -> ClientOptions {
    ClientOptions::new()
        .with_timeout(patience.request)
        .with_connect_timeout(patience.request / 6)
}

impl Objects {
    /// Makes a version the newest, if the newest is still the one that this change began from.
    fn switch(&self, path: &Path, line: Vec<u8>) -> io::Result<()> {
        self.change().check_time(self.grace)?;
        let mode = self.change().mode();
        let version = match self.writing(path)?.put(line.clone(), mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A request that was sent again because its reply was lost finds its own work there.
                let first = self.reading(path)?.first(line.len() as u64 + 1)?;
                if first.bytes != line {
                    return Err(error);
                }
                UpdateVersion {
                    e_tag: first.tag,
                    version: None,
                }
            }
            version => version?,
        };
        self.change().switched(version);
        Ok(())
    }

    /// Writes a manifest that is not there: two owners give one number to two versions, and one of them would be gone.
    fn put_manifest(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let put = self.writing(path)?.put(bytes.clone(), PutMode::Create);
        let Err(error) = put else { return Ok(()) };
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        let mut held = Vec::new();
        let reading = self.reading(path)?;
        reading.stream(bytes.len() as u64, &mut |some| held.extend_from_slice(some))?;
        if held == bytes {
            return Ok(());
        }
        // One of a change that did not come to its end and no longer can.
        let meta = self.meta(path)?;
        let age = self.change().clock()?.age(meta.last_modified.into());
        if age <= self.grace {
            return Err(error);
        }
        let there = UpdateVersion {
            e_tag: meta.e_tag,
            version: meta.version,
        };
        self.writing(path)?
            .put(bytes, PutMode::Update(there))
            .map(drop)
    }
}

impl Disk for Objects {
    /// There are none.
    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The bytes wait in memory for their name: an object is there whole or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.change().stage(path, bytes);
        Ok(())
    }

    /// An object is durable when it is there.
    fn sync(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let bytes = self.change().take(from).ok_or(io::ErrorKind::NotFound)?;
        match self.place(to) {
            ("", CURRENT) => self.switch(to, bytes),
            (MANIFESTS, _) => self.put_manifest(to, bytes),
            (PARTS, _) => {
                self.change().counts();
                self.writing(to)?.upload(bytes)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// What is younger than the grace stays: another owner may be about to name it.
    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.change().take(path).is_some() {
            return Ok(());
        }
        match self.age(path) {
            Ok(age) if age <= self.grace => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            age => age?,
        };
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        self.requests.run(self.patience.request, async move {
            store.delete(&key).await.map_err(fault)
        })
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        match self.list(path)?.is_empty() {
            true => Ok(()),
            false => Err(io::ErrorKind::DirectoryNotEmpty.into()),
        }
    }

    fn read_into(&self, path: &Path, most: u64, room: Vec<u8>) -> io::Result<Bytes> {
        let reading = self.reading(path)?;
        if self.place(path) == ("", CURRENT) {
            // A change follows from the first that its owner reads.
            let first = reading.first(most.saturating_add(1));
            let missing = first
                .as_ref()
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if missing {
                self.change().saw(None);
            }
            let first = first?;
            self.change().saw(Some(UpdateVersion {
                e_tag: first.tag,
                version: None,
            }));
            return Ok(Bytes::from(first.bytes.to_vec()));
        }
        let mut bytes = room;
        bytes.clear();
        // Grows with what comes, not with what a store says that there is.
        reading.stream(most, &mut |some| bytes.extend_from_slice(some))?;
        Ok(Bytes::from(bytes))
    }

    fn stream(&self, path: &Path, most: u64, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.reading(path)?.stream(most, each)
    }

    /// Nothing is added to an object: pieces of a version that is sent are put together elsewhere.
    fn append(&self, _path: &Path, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn len(&self, path: &Path) -> u64 {
        self.meta(path).map_or(0, |meta| meta.size)
    }

    /// True of the folder itself, which need not be made.
    fn exists(&self, path: &Path) -> bool {
        path == self.root || self.meta(path).is_ok()
    }

    fn stays(&self, path: &Path) -> bool {
        let stays = self.age(path).is_ok_and(|age| age <= self.grace / 2);
        if stays {
            self.change().counts();
        }
        stays
    }

    /// Nobody is kept away: an owner who is overtaken is refused at the end. Here it takes the store's time, and sees
    /// that the store keeps conditions.
    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let writing = self.writing(path)?;
        writing.put(b"an owner began here\n".to_vec(), PutMode::Overwrite)?;
        let time = self.meta(path)?.last_modified;
        match writing.put(b"a condition was not kept\n".to_vec(), PutMode::Create) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let why = "this store writes over an object that was to be new (If-None-Match): owners cannot be kept apart in it";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        }
        self.change().begin(Clock::new(time.into()));
        Ok(Lock::none())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let (store, dir) = (Arc::clone(&self.store), self.key(path)?);
        let limit = self.patience.request * 4;
        let names: BTreeSet<String> = self.requests.run(limit, async move {
            let mut entries = store.list(Some(&dir));
            let (mut names, mut count) = (BTreeSet::new(), 0);
            while let Some(entry) = entries.next().await {
                count += 1;
                if count > MAX_ENTRIES {
                    let why = format!("more than {MAX_ENTRIES} objects in {dir}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                let entry = entry.map_err(fault)?;
                let inside = entry.location.prefix_match(&dir);
                if let Some(name) = inside.and_then(|mut inside| inside.next()) {
                    names.insert(name.as_ref().to_owned());
                }
            }
            Ok(names)
        })?;
        Ok(names.into_iter().collect())
    }
}
