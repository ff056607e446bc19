//! News of an index that is here as a whole, for whose searches no server is asked.

use super::problem::Problem;
use super::searcher::{Shared, connected};
use crate::Error;
use sordino_net::Connection;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The pause between looks for a new version of an index that is here as a whole: its searches ask the server nothing. It does
/// not depend on them, so that the server learns nothing of when they are.
const LOOK: Duration = Duration::from_secs(2);

/// The looks for new versions of an index that is here as a whole.
pub(super) struct Looking<O> {
    shared: Weak<Shared>,
    connection: Option<Connection>,
    open: O,
}

impl<O: Fn() -> Result<Connection, Error>> Looking<O> {
    pub(super) fn new(shared: &Arc<Shared>, open: O) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            connection: None,
            open,
        }
    }

    /// Looks until the searches have ended.
    pub(super) fn all(mut self) {
        loop {
            std::thread::sleep(LOOK);
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let begun = Instant::now();
            let looked = self.look(&shared);
            let lapsed = match &looked {
                Err(error) if Problem::lasting(error).is_none() => continue,
                Err(error) => Some((error.to_string(), error.exit_code())),
                Ok(()) => None,
            };
            *shared.lapsed.lock().unwrap_or_else(PoisonError::into_inner) = lapsed;
            shared.ended(begun, &looked);
        }
    }

    fn look(&mut self, shared: &Shared) -> Result<(), Error> {
        let connection = connected(&mut self.connection, &self.open)?;
        shared.client.look(connection)?;
        shared.followed(|other| {
            let connection = connected(&mut self.connection, &self.open)?;
            shared.client.check_pin(connection, other)
        })
    }
}
