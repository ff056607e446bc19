//! The end of a search: ranks the found records, and fetches what they carry.

use std::collections::HashMap;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::payload::Carried;
use sordino_vault::frame::{Frame, FrameQuery};
use sordino_vectors::Metric;
use sordino_vectors::recall::Scored;

use crate::payload;
use crate::question::Question;
use crate::records::Records;
use crate::round::Round;
use crate::stages::{Stages, waited};
use crate::transport::AsyncTransport;
use crate::verdict::Verdict;

/// Determines the order of a search's results, and which of them count.
pub(crate) struct Ranking<'a> {
    pub(crate) records: &'a Records,
    pub(crate) question: &'a Question<'a>,
    pub(crate) metric: Metric,
    pub(crate) frame: &'a Frame,
    pub(crate) asked: &'a FrameQuery,
    pub(crate) k: usize,
}

/// Hits, best first, with what they carry if records have payloads.
type Results = (Vec<Scored>, Vec<Carried>);

impl Ranking<'_> {
    /// The best hits and what they carry, after a second look at the candidates if the index has
    /// one.
    ///
    /// # Errors
    /// The errors of the transport.
    pub(crate) async fn results<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl AsyncTransport>,
        payloads: Option<&payload::Client>,
        hits: Vec<Scored>,
        stages: &mut Stages,
    ) -> Result<Verdict<Results>, Error> {
        let Some(payloads) = payloads else {
            return Ok(Ok((self.best(hits), Vec::new())));
        };
        if let Some(most) = payloads.candidates() {
            let hits = self.ordered(hits, most);
            let looked = payloads.look(round, self.frame, self.asked, &hits);
            let looked = waited(&mut stages.payloads, looked).await?;
            return Ok(looked.map(|looked| {
                let hits = looked.iter().map(|(hit, _)| *hit);
                let hits = self.best(hits.collect());
                if !payloads.has_payloads() {
                    return (hits, Vec::new());
                }
                let carried = looked.into_iter().map(|(hit, carried)| (hit.id, carried));
                let mut carried: HashMap<u32, Carried> = carried.collect();
                let of_hit = |hit: &Scored| carried.remove(&hit.id).unwrap_or_default();
                let carried = hits.iter().map(of_hit).collect();
                (hits, carried)
            }));
        }
        let hits = self.best(hits);
        let fetched = waited(&mut stages.payloads, payloads.fetch(round, &hits)).await?;
        Ok(fetched.map(|carried| (hits, carried)))
    }

    /// The best hits, at most `most`. Equal hits are in the order of their ids.
    fn ordered(&self, mut hits: Vec<Scored>, most: usize) -> Vec<Scored> {
        hits.sort_by(Scored::rank);
        self.records.order(&mut hits);
        hits.truncate(most);
        hits
    }

    /// The best, with their scores in the index's metric.
    fn best(&self, hits: Vec<Scored>) -> Vec<Scored> {
        let mut hits = self.ordered(hits, self.k);
        self.asked.scored(&mut hits);
        // Different keys may give equal scores in the index's metric.
        self.records.order(&mut hits);
        hits.retain(|hit| self.question.reaches(self.metric, hit.score));
        hits
    }
}
