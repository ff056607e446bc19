//! Cuts sealed mode's buckets among shards. Each shard holds the same range of bytes of every bucket, and computes its words
//! of each answer.

use sordino_ckks::dot;
use sordino_index::Error;
use sordino_index::manifest::{Routing, Sealed};
use sordino_index::shard::Shard;
use sordino_pir::simple::{Params, Share};

use super::sealed::cut_params;

/// The buckets that shards hold.
#[derive(Debug)]
pub(super) struct Buckets {
    params: Params,
    /// The number of queries of a request.
    count: usize,
    /// The bytes of a query for centroids and of its reply, if the first shard scores them.
    pub(super) centroids: Option<[usize; 2]>,
}

impl Buckets {
    pub(super) fn new(mode: &Sealed, width: usize) -> Result<Self, Error> {
        let params = dot::Params::rlwe_2048_50();
        let centroids = match mode.routing {
            Routing::Encrypted => {
                let reply = dot::Reply::encoded_len(&params, width, mode.clusters as usize)?;
                Some([dot::Query::encoded_len(width), reply])
            }
            Routing::Downloaded => None,
        };
        Ok(Self {
            params: cut_params(mode)?,
            count: mode.probes as usize,
            centroids,
        })
    }

    pub(super) fn request_len(&self) -> usize {
        self.count * self.params.query_len()
    }

    /// The size in bytes of a shard's words of one answer.
    fn words_len(&self, shard: Shard) -> usize {
        Share::words_len(&Share::range(&self.params, shard.number() - 1, shard.of()))
    }

    /// The size in bytes of a shard's part of a reply.
    pub(super) fn part_len(&self, shard: Shard) -> usize {
        // A single shard has whole answers.
        match shard == Shard::WHOLE {
            true => self.count * self.params.answer_len(),
            false => self.count * self.words_len(shard),
        }
    }

    /// The answers, from the parts of all shards.
    pub(super) fn join(&self, shards: &[Shard], parts: &[&[u8]]) -> Result<Vec<u8>, Error> {
        if shards == [Shard::WHOLE] {
            return Ok(parts.concat());
        }
        let mut whole = Vec::with_capacity(self.count * self.params.answer_len());
        for at in 0..self.count {
            let words = shards.iter().zip(parts).filter_map(|(shard, part)| {
                let len = self.words_len(*shard);
                // The lengths of parts were compared before. If one were missing, there would be too few words.
                part.get(at * len..(at + 1) * len)
            });
            let words: Vec<&[u8]> = words.collect();
            whole.extend(Share::join(&self.params, &words)?);
        }
        Ok(whole)
    }
}
