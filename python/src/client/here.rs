//! Searches of an index that is loaded into this process.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rayon::prelude::*;
use sordino_search::{Client, Error, InProcess, Index, Pin, ReaderKeys, Server};

use super::{Failed, Payloads, Searched, rng};
use crate::transport::{Counted, Moved};

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
        pin: Option<&Pin>,
    ) -> Result<(Self, Client), Error> {
        let loaded = Loaded::read(&path, keys)?;
        let client = Client::connect(&mut InProcess::new(&loaded.server), keys, pin)?;
        let loaded = RwLock::new(loaded);
        Ok((Self { path, loaded }, client))
    }

    fn server(&self) -> Arc<Server> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&loaded.server)
    }

    /// Searches on all processors. The client's lock is held for as long, so that it and the server stay
    /// at one version.
    pub(super) fn search(&self, client: &RwLock<Client>, queries: &[&[f32]]) -> Vec<Searched> {
        let client = client.read().unwrap_or_else(PoisonError::into_inner);
        let (client, server) = (&*client, &*self.server());
        let one = |query: &&[f32]| {
            let mut rng = rng()?;
            let mut transport = InProcess::new(server);
            let mut counted = Counted::new(&mut transport);
            let found = client.search(&mut rng, &mut counted, query)?;
            Ok((found, counted.moved))
        };
        match queries {
            [query] => vec![one(query)],
            queries => queries.par_iter().map(one).collect(),
        }
    }

    /// The payloads of records, and what moved.
    pub(super) fn payloads(
        &self,
        client: &RwLock<Client>,
        ids: &[u32],
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
