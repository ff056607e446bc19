//! A client that several threads search with, and that follows its index meanwhile.

use crate::Error;
use crate::patience::while_it_changes;
use sordino_search::{Client, Error as Search, Pin, Transport};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// The most attempts at a search while the index changes under it.
const ATTEMPTS: usize = 5;

/// A client, and the version that it is at.
pub(crate) struct Following {
    client: RwLock<Client>,
}

impl Following {
    pub(crate) fn new(client: Client) -> Self {
        let client = RwLock::new(client);
        Self { client }
    }

    /// The client as it is now.
    pub(crate) fn client(&self) -> RwLockReadGuard<'_, Client> {
        self.client.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client, when no thread needs it any more.
    pub(crate) fn into_client(self) -> Client {
        let client = self.client.into_inner();
        client.unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what asks the server, and does it anew, with fresh secrets, if the index has changed meanwhile.
    ///
    /// # Security
    /// It is done anew for the index's version alone, never for the query.
    pub(crate) fn ask<T: Transport, D>(
        &self,
        transport: &mut T,
        mut work: impl FnMut(&Client, &mut T) -> Result<D, Search>,
    ) -> Result<D, Error> {
        let mut attempt = 1;
        loop {
            let client = self.client();
            let version = client.manifest().version;
            let error = match work(&client, transport) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            drop(client);
            // A server on a network says that the version is another as it says that a message is
            // wrong, so it is asked for its manifest.
            let stale = matches!(error, Search::Stale { .. });
            let moved = stale || matches!(error, Search::Transport(_));
            let error = Error::from(error);
            let away = error.is_passing() && !stale;
            if !moved || away || attempt == ATTEMPTS || !self.follow(transport, version)? {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Refuses a version that another process has seen, unless it is of one history with the client's.
    pub(crate) fn check_pin<T: Transport>(
        &self,
        transport: &mut T,
        other: &Pin,
    ) -> Result<(), Error> {
        let client = self.client();
        Ok(while_it_changes(|| client.check_pin(transport, other))?)
    }

    /// Asks the server for its version, and follows to it. Clients that hold all of an index ask it nothing else, so
    /// nobody else tells them.
    pub(crate) fn look<T: Transport>(&self, transport: &mut T) -> Result<(), Error> {
        let client = self.client();
        let version = client.manifest().version;
        // Searches go on while the server is asked.
        let outdated = client.is_outdated(transport)?;
        drop(client);
        if outdated {
            self.follow(transport, version)?;
        }
        Ok(())
    }

    /// Follows the index to its version now. True if that is another than `version`.
    fn follow<T: Transport>(&self, transport: &mut T, version: u64) -> Result<bool, Error> {
        let client = self.client.write();
        let mut client = client.unwrap_or_else(PoisonError::into_inner);
        // Another thread may have followed the index already.
        if client.manifest().version != version {
            return Ok(true);
        }
        Ok(while_it_changes(|| client.refresh(transport))?)
    }
}
