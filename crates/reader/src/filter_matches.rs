//! The records that recent filters chose, in the order in which the mode reads rows.

use std::sync::{Arc, Mutex, PoisonError};

use sordino_index::Error;

use crate::filter::Filter;
use crate::question::Passing;

/// The number of filters that are kept. Each takes a byte for each record. If a program alternates between these, the
/// times of its requests do not reveal which of them is next.
const KEPT: usize = 8;

/// The last filters, the most recent one at the end.
#[derive(Default)]
pub(crate) struct FilterMatches(Mutex<Vec<(Filter, Arc<Passing>)>>);

impl FilterMatches {
    /// The records that this filter chooses, from memory or by `find`. Other filters can be looked up meanwhile.
    ///
    /// # Errors
    /// The errors of `find`. Nothing is kept then.
    pub(crate) fn by(
        &self,
        filter: &Filter,
        find: impl FnOnce() -> Result<Passing, Error>,
    ) -> Result<Arc<Passing>, Error> {
        if let Some(known) = self.take_up(filter) {
            return Ok(known);
        }
        let found = Arc::new(find()?);
        // Another thread may have found the same records meanwhile.
        if let Some(known) = self.take_up(filter) {
            return Ok(known);
        }
        let mut last = self.lock();
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push((filter.clone(), Arc::clone(&found)));
        Ok(found)
    }

    /// The records of a kept filter, which then counts as the most recent one.
    fn take_up(&self, filter: &Filter) -> Option<Arc<Passing>> {
        let mut last = self.lock();
        let at = last.iter().position(|(known, _)| known == filter)?;
        last[at..].rotate_left(1);
        last.last().map(|(_, chosen)| Arc::clone(chosen))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Filter, Arc<Passing>)>> {
        // The list is valid after a panic at any point, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(year: i64) -> Filter {
        Filter::parse(&format!("year = {year}")).expect("a filter")
    }

    #[test]
    fn the_last_filters_are_found_once_and_older_ones_again() {
        let chosen = FilterMatches::default();
        let found = |year: usize| {
            let mut searched = false;
            let passing = chosen.by(&filter(year as i64), || {
                searched = true;
                Ok(vec![vec![true; year]])
            });
            assert_eq!(passing.expect("a filter")[0].len(), year);
            searched
        };
        assert!((0..KEPT).all(found));
        // Looked up again in another order: the first is now the most recent.
        assert!(!(1..KEPT).any(found) && !found(0));
        assert!(found(KEPT) && !found(0));
        assert!(found(1) && !found(0) && !found(KEPT));
    }

    #[test]
    fn what_fails_is_not_kept() {
        let chosen = FilterMatches::default();
        let failed = chosen.by(&filter(1), || Err(Error::BadReply));
        assert!(failed.is_err());
        assert!(chosen.by(&filter(1), || Ok(vec![])).is_ok());
    }
}
