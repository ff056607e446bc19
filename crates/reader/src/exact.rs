//! Exact checks of all answers of a reply, before any is decrypted.

use sordino_ckks::column::{Params, Query, Reply};
use sordino_index::Error;
use sordino_index::manifest::{Checking, Columns, Combined, SHARED};
use sordino_vault::checks::exact::{Exact, Weights};
use sordino_vault::contents::ContentKeys;

use crate::download::Download;
use crate::verdict::{Verdict, Wrong};

/// The exact check of an index, if its scores are checked exactly.
pub(crate) struct ExactCheck {
    exact: Exact,
    /// The sealed part from which it comes.
    combined: Option<Combined>,
    /// The weights of each segment.
    weights: Vec<Weights>,
}

/// The prepared check of the next version.
pub(crate) struct FreshCheck {
    /// `None` if it stays unchanged.
    exact: Option<Exact>,
    combined: Option<Combined>,
    weights: Vec<Weights>,
}

impl ExactCheck {
    pub(crate) fn new(
        mode: &Columns,
        params: &Params,
        width: usize,
    ) -> Result<Option<Self>, Error> {
        if mode.checking != Checking::Exact {
            return Ok(None);
        }
        Ok(Some(Self {
            exact: Exact::empty(params, width)?,
            combined: None,
            weights: Vec::new(),
        }))
    }

    /// The check of this version. The weights of its first `kept` segments are already here.
    pub(crate) fn fresh(
        &self,
        mode: &Columns,
        params: &Params,
        width: usize,
        keys: &ContentKeys,
        kept: usize,
        download: &mut Download,
    ) -> Result<FreshCheck, Error> {
        let combined = mode.combined.as_ref().ok_or(Error::BadReply)?;
        let key = keys.get(SHARED).ok_or(Error::NoReader)?;
        let fresh = mode.segments.iter().skip(kept);
        let exact = match self.combined.as_ref() == Some(combined) {
            true => None,
            false => {
                let part = download.take(&combined.part)?;
                let combinations = key.open_combined(combined, params, width, &part)?;
                Some(Exact::new(combinations))
            }
        };
        Ok(FreshCheck {
            exact,
            combined: Some(*combined),
            weights: fresh.map(|it| key.weights(&it.segment.id)).collect(),
        })
    }

    /// Replaces the check by what [`fresh`](Self::fresh) has prepared.
    pub(crate) fn follow(&mut self, kept: usize, fresh: FreshCheck) {
        if let Some(exact) = fresh.exact {
            self.exact = exact;
        }
        self.combined = fresh.combined;
        self.weights.truncate(kept);
        self.weights.extend(fresh.weights);
    }

    /// The reply, if it has the answers of an honest server to this query. Segments are given by their first positions and
    /// numbers of rows.
    pub(crate) fn held(
        &self,
        query: &Query,
        reply: Reply,
        segments: impl Iterator<Item = (usize, usize)>,
    ) -> Verdict<Reply> {
        let segments = segments.zip(&self.weights);
        let segments = segments.map(|((first, stored), weights)| (weights, first, stored));
        match self.exact.holds(query, &reply, segments) {
            Ok(true) => Ok(reply),
            Ok(false) | Err(_) => Err(Wrong),
        }
    }
}
