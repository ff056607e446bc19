//! Waiting for a server that is not there yet, or busy, or whose index changes.

use crate::Error;
use sordino_net::Attempted;
use sordino_search::Error as Search;
use std::time::Duration;

/// Changes of the index during which connecting begins anew.
const CHANGES: usize = 5;

/// [`sordino_net::Patience`] with this command's errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(sordino_net::Patience);

impl Patience {
    pub(crate) fn new(wait: Duration) -> Self {
        Self(sordino_net::Patience::new(wait))
    }

    pub(crate) fn with<T>(self, work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        self.0.with(work)
    }
}

/// An index that changes faster than it is read is tried again, too.
impl Attempted for Error {
    fn is_passing(&self) -> bool {
        self.is_passing()
    }

    fn is_wrong(&self) -> bool {
        self.is_wrong()
    }

    fn after_wrong(self) -> Self {
        self.after_wrong()
    }

    fn wrong() -> Self {
        Self::Search(Search::Search)
    }
}

/// Connects, and begins anew if the index changes meanwhile.
pub(crate) fn while_it_changes<T>(
    mut connect: impl FnMut() -> Result<T, Search>,
) -> Result<T, Search> {
    for _ in 1..CHANGES {
        match connect() {
            Err(Search::Stale { .. }) => (),
            result => return result,
        }
    }
    connect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changing_index_is_connected_to_anew_a_few_times() {
        let connect = |changes: usize| {
            let mut count = 0;
            let done = while_it_changes(|| {
                count += 1;
                let (found, serving) = (1, 2);
                if count > changes {
                    Ok(())
                } else {
                    Err(Search::Stale { found, serving })
                }
            });
            (done.is_ok(), count)
        };
        assert_eq!(connect(0), (true, 1));
        assert_eq!(connect(4), (true, 5));
        assert_eq!(connect(1000), (false, 5));
    }
}
