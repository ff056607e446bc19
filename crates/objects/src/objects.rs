//! The files of an index in an object store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use object_store::aws::AmazonS3Builder;
use object_store::path::{Path as Key, PathPart};
use object_store::{ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use sordino_index::folder::Folder;

use crate::age::GRACE;
use crate::bounded_body::BoundedBody;
use crate::change::Change;
use crate::download::{Download, fault};
use crate::retry::{Requests, RetryPolicy};
use crate::upload::Upload;
use crate::{Address, Error};

/// The files of an index in an object store, for a [`Folder`]. Copies share connections, and each copy counts as an owner.
pub struct Objects {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) requests: Arc<Requests>,
    /// The folder's path, with which the names of its objects begin.
    root: PathBuf,
    prefix: Key,
    pub(crate) patience: RetryPolicy,
    pub(crate) grace: Duration,
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
    /// Leaves out the store, which knows credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens a store with S3's protocol. It reads the usual environment variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
    /// `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`, or it uses a machine's own role. It sends no
    /// request yet.
    ///
    /// # Errors
    /// [`Error::Configuration`] if the environment or the system does not say how to reach the store.
    pub fn open(address: &Address) -> Result<Self, Error> {
        let wrong = |why: String| Error::Configuration {
            address: address.to_string(),
            why,
        };
        // If the program has chosen a provider before, that one stays.
        drop(rustls::crypto::ring::default_provider().install_default());
        let patience = RetryPolicy::default();
        let retry = RetryConfig {
            max_retries: 3,
            retry_timeout: patience.request / 2,
            ..RetryConfig::default()
        };
        let store = AmazonS3Builder::from_env()
            .with_bucket_name(address.bucket())
            .with_http_connector(BoundedBody)
            .with_client_options(client_options(patience))
            .with_retry(retry);
        // The client's options replace those from the environment, so this variable is read again.
        let http = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value == "true");
        let store = store.with_allow_http(http).build();
        let store = store.map_err(|error| wrong(error.to_string()))?;
        Self::over(Arc::new(store), address).map_err(|error| wrong(error.to_string()))
    }

    /// An index in any store.
    ///
    /// # Errors
    /// [`Error`] if the system refuses a thread.
    pub fn over(store: Arc<dyn ObjectStore>, address: &Address) -> io::Result<Self> {
        // The prefix is kept as spelled: `Key::from` would change some characters.
        let prefix = Key::parse(address.prefix());
        let prefix = prefix.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self {
            store,
            requests: Arc::new(Requests::new()?),
            root: address.path(),
            prefix,
            patience: RetryPolicy::default(),
            grace: GRACE,
            change: Mutex::default(),
        })
    }

    /// The same store with another retry policy.
    #[must_use]
    pub fn with_patience(self, patience: RetryPolicy) -> Self {
        Self { patience, ..self }
    }

    /// The same store with a grace other than the default of seven days. Files that no version names stay for that
    /// time. All owners of an index must use the same time.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// The folder's path, which is the address.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder, for reading, or for changes by its owner.
    #[must_use]
    pub fn folder(&self) -> Folder<Self> {
        Folder::new(&self.root, self.clone())
    }

    pub(crate) fn change(&self) -> MutexGuard<'_, Change> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of a path in the folder.
    pub(crate) fn key(&self, path: &Path) -> io::Result<Key> {
        let inside = path.strip_prefix(&self.root);
        let inside = inside.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut key = self.prefix.clone();
        for name in inside {
            let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
            key = key.join(PathPart::from(name));
        }
        Ok(key)
    }

    /// The directory of a file in the folder, and the file's name.
    pub(crate) fn place<'a>(&self, path: &'a Path) -> (&'a str, &'a str) {
        let inside = path.strip_prefix(&self.root).unwrap_or(path);
        let text = |part: Option<&'a std::ffi::OsStr>| part.and_then(|part| part.to_str());
        let dir = text(inside.parent().map(Path::as_os_str)).unwrap_or_default();
        (dir, text(inside.file_name()).unwrap_or_default())
    }

    pub(crate) fn reading(&self, path: &Path) -> io::Result<Download<'_>> {
        Ok(Download {
            store: &self.store,
            requests: &self.requests,
            patience: self.patience,
            key: self.key(path)?,
        })
    }

    pub(crate) fn writing(&self, path: &Path) -> io::Result<Upload<'_>> {
        Ok(Upload {
            store: &self.store,
            requests: &self.requests,
            patience: self.patience,
            key: self.key(path)?,
        })
    }

    pub(crate) fn meta(&self, path: &Path) -> io::Result<ObjectMeta> {
        let (store, key) = (Arc::clone(&self.store), self.key(path)?);
        self.requests.run(self.patience.request, async move {
            store.head(&key).await.map_err(fault)
        })
    }

    /// The largest possible age of a file.
    pub(crate) fn age_at_most(&self, path: &Path) -> io::Result<Duration> {
        let clock = self.change().clock()?;
        Ok(clock.age_at_most(SystemTime::from(self.meta(path)?.last_modified)))
    }

    /// The smallest possible age of a file, by the store's clock alone.
    pub(crate) fn age(&self, path: &Path) -> io::Result<Duration> {
        let clock = self.change().clock()?;
        Ok(clock.age(SystemTime::from(self.meta(path)?.last_modified)))
    }
}

fn client_options(patience: RetryPolicy) -> ClientOptions {
    ClientOptions::new()
        .with_timeout(patience.request)
        .with_connect_timeout(patience.request / 6)
}
