//! Searches of an index that is loaded into this process.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use sordino_search::{
    Client, Error, Found, Id, InProcess, Index, Question, ReaderKeys, Server, Together,
};

use super::failed::{Failed, Payloads, Searched, rng};
use super::jobs::shared;
use super::{Known, connect};
use crate::transport::{Counted, Moved};

/// Searches that share a pass over the index. There are two such groups or more, so that processors have work
/// while one of them waits for its last search: with one, a batch of 100 kept 1.75 of 2 processors busy.
const AT_ONCE: usize = 8;

/// An index of a directory, as a server has it.
pub(super) struct Here {
    path: PathBuf,
    loaded: RwLock<Loaded>,
}

struct Loaded {
    server: Arc<Server>,
    /// The directory's word for its newest version.
    current: Option<Vec<u8>>,
}

impl Loaded {
    fn read(path: &PathBuf, keys: &ReaderKeys) -> Result<Self, Error> {
        let current = fs::read(path.join("CURRENT")).ok();
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
    ) -> Result<(Self, Client), Error> {
        let loaded = Loaded::read(&path, keys)?;
        let client = connect(&mut InProcess::new(&loaded.server), keys, known, None)?;
        let loaded = RwLock::new(loaded);
        Ok((Self { path, loaded }, client))
    }

    fn server(&self) -> Arc<Server> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&loaded.server)
    }

    /// Answers one question. The client's lock is held for as long, so that it and the server stay at one
    /// version.
    pub(super) fn search(&self, client: &RwLock<Client>, question: &Question<'_>) -> Searched {
        let client = client.read().unwrap_or_else(PoisonError::into_inner);
        let server = self.server();
        let mut rng = rng()?;
        let mut transport = InProcess::new(&server);
        let mut counted = Counted::new(&mut transport);
        let found = client.ask(&mut rng, &mut counted, question)?;
        Ok((found, counted.moved))
    }

    /// Answers several questions on all processors; those that wait together share a pass.
    pub(super) fn search_all(
        &self,
        client: &RwLock<Client>,
        questions: &[Question<'_>],
        stop: &AtomicBool,
    ) -> Result<Vec<(Found, Moved)>, Failed> {
        let client = client.read().unwrap_or_else(PoisonError::into_inner);
        let client = &*client;
        let server = self.server();
        let jobs = rayon::current_num_threads()
            .max(2 * AT_ONCE)
            .min(questions.len());
        let groups = jobs.div_ceil(AT_ONCE);
        let groups: Vec<_> = (0..groups).map(|_| Together::new(&server)).collect();
        let members = (0..jobs)
            .map(|job| groups[job / AT_ONCE].member())
            .collect();
        shared(members, questions.len(), stop, |member, at| {
            let mut rng = rng()?;
            let mut counted = Counted::new(&mut *member);
            let found = client.ask(&mut rng, &mut counted, &questions[at])?;
            let mut moved = counted.moved;
            // It also waited for the others.
            moved.waited = member.take_server_time();
            Ok((found, moved))
        })
    }

    /// The payloads of records, and what moved.
    pub(super) fn payloads(
        &self,
        client: &RwLock<Client>,
        ids: &[Id],
    ) -> Result<(Payloads, Moved), Failed> {
        let client = client.read().unwrap_or_else(PoisonError::into_inner);
        let server = self.server();
        let mut rng = rng()?;
        let mut transport = InProcess::new(&server);
        let mut counted = Counted::new(&mut transport);
        let payloads = client.payloads(&mut rng, &mut counted, ids)?;
        Ok((payloads, counted.moved))
    }

    /// Loads the directory's newest version, if it is another.
    pub(super) fn refresh(
        &self,
        client: &RwLock<Client>,
        keys: &ReaderKeys,
    ) -> Result<bool, Failed> {
        let now = fs::read(self.path.join("CURRENT")).ok();
        {
            let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
            if now.is_some() && now == loaded.current {
                return Ok(false);
            }
        }
        let fresh = Loaded::read(&self.path, keys)?;
        let mut client = client.write().unwrap_or_else(PoisonError::into_inner);
        let newer = client.refresh(&mut InProcess::new(&fresh.server))?;
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(newer)
    }
}
