//! Searches an index that is loaded into this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use sordino_search::{
    Client, ConnectOptions, Disk, Error, Files, Found, Id, InProcess, Index, Kind, Question,
    ReaderKeys, SearchBatch, Server, Together,
};

use super::{Known, Payloads, Searched};
use crate::transport::{Counted, Moved};

/// The number of searches that share a pass over the index. At least two such groups exist, so that processors have
/// work while one group waits for its last search. With one group, a batch of 100 kept 1.75 of 2 processors
/// busy.
const AT_ONCE: usize = 8;

/// An index from a directory, loaded as a server would.
pub(super) struct Here {
    path: PathBuf,
    client: RwLock<Client>,
    loaded: RwLock<Loaded>,
    /// Held while a version is loaded, so that an older one does not replace a newer one.
    loading: Mutex<()>,
}

struct Loaded {
    server: Arc<Server>,
    /// The directory's line that names its newest version.
    current: Option<Vec<u8>>,
}

/// The line that names the newest version, if it can be read. A longer file is not such a line.
fn line(path: &Path) -> Option<Vec<u8>> {
    let read = Files.read(&path.join("CURRENT"), 1024).ok()?;
    Some(read.to_vec())
}

impl Loaded {
    fn read(path: &Path, keys: &ReaderKeys) -> Result<Self, Error> {
        let current = line(path);
        let server = Server::new(Index::open_dir(path, keys.owner())?)?;
        Ok(Self {
            server: Arc::new(server),
            current,
        })
    }
}

impl Here {
    pub(super) fn open(
        path: PathBuf,
        keys: &ReaderKeys,
        known: Option<&Known>,
    ) -> Result<Self, Error> {
        let loaded = Loaded::read(&path, keys)?;
        let options = ConnectOptions::default()
            .pin(known.map(|known| &known.pin))
            .over_gap(known.is_some_and(|known| known.over_gap));
        let transport = &mut InProcess::new(&loaded.server);
        let client = Client::connect_with(transport, keys, options)?;
        Ok(Self {
            path,
            client: RwLock::new(client),
            loaded: RwLock::new(loaded),
            loading: Mutex::default(),
        })
    }

    pub(super) fn client(&self) -> RwLockReadGuard<'_, Client> {
        self.client.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn server(&self) -> Arc<Server> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&loaded.server)
    }

    /// Answers one question. It holds the client's lock until the end, so that the client and the server stay
    /// at one version.
    pub(super) fn search(&self, question: &Question<'_>) -> Searched {
        let client = self.client();
        let server = self.server();
        let mut rng = rng()?;
        let mut transport = InProcess::new(&server);
        let mut counted = Counted::new(&mut transport);
        let found = client.ask(&mut rng, &mut counted, question)?;
        Ok((found, counted.moved))
    }

    /// Answers several questions on all processors. Questions that wait together share a pass.
    pub(super) fn search_all(
        &self,
        questions: &[Question<'_>],
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<(Found, Moved)>, Error> {
        let client = &*self.client();
        let server = self.server();
        let jobs = rayon::current_num_threads()
            .max(2 * AT_ONCE)
            .min(questions.len());
        let groups = jobs.div_ceil(AT_ONCE);
        let groups: Vec<_> = (0..groups).map(|_| Together::new(&server)).collect();
        let members = (0..jobs)
            .map(|job| groups[job / AT_ONCE].member())
            .collect();
        let batch = SearchBatch::default().stopped_by(stop);
        batch.all(members, questions.len(), |member, at| {
            let mut rng = rng()?;
            let mut counted = Counted::new(&mut *member);
            let found = client.ask(&mut rng, &mut counted, &questions[at])?;
            let mut moved = counted.moved;
            // This search also waited for the other searches of its pass.
            moved.waited = member.take_server_time();
            Ok((found, moved))
        })
    }

    /// The payloads of records, and the bytes moved.
    pub(super) fn payloads(&self, ids: &[Id]) -> Result<(Payloads, Moved), Error> {
        let client = self.client();
        let server = self.server();
        let mut rng = rng()?;
        let mut transport = InProcess::new(&server);
        let mut counted = Counted::new(&mut transport);
        let payloads = client.payloads(&mut rng, &mut counted, ids)?;
        Ok((payloads, counted.moved))
    }

    /// The directory's line that names its newest version, if it can be read.
    fn newest(&self) -> Option<Vec<u8>> {
        line(&self.path)
    }

    /// The line of `CURRENT` that named the loaded version.
    fn current(&self) -> Option<Vec<u8>> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.current.clone()
    }

    /// True if the directory has a version other than the loaded one. Searches go on in memory if the directory is gone.
    pub(super) fn is_outdated(&self) -> bool {
        let newest = self.newest();
        newest.is_some() && newest != self.current()
    }

    /// Loads the directory's newest version, if it has changed.
    pub(super) fn refresh(&self, keys: &ReaderKeys) -> Result<bool, Error> {
        let _one = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.newest();
        if now.is_some() && now == self.current() {
            return Ok(false);
        }
        let fresh = Loaded::read(&self.path, keys)?;
        let mut client = self.client.write().unwrap_or_else(PoisonError::into_inner);
        let newer = client.refresh(&mut InProcess::new(&fresh.server))?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(newer)
    }
}

/// A generator seeded by the operating system.
fn rng() -> Result<StdRng, Error> {
    let seeded = StdRng::try_from_rng(&mut SysRng);
    seeded.map_err(|error| Error::transport(Kind::Local, error))
}
