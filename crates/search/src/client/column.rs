//! What open and masked mode share: one round in which the server scores all vectors.

use std::time::Instant;

use sordino_ckks::column::{Client, Hint, Params, Query, Reply};

use super::Stages;
use crate::manifest::{Columns, Manifest};
use crate::recall::{Scored, TopK, number};
use crate::transport::Transport;
use crate::wire::{Message, message_len};
use crate::{Error, columns, index, residue};

/// A client of the column packing, from what the server sent as setup.
pub(super) fn client(
    manifest: &Manifest,
    mode: &Columns,
    params: &Params,
    setup: &[u8],
) -> Result<Client, Error> {
    let (dim, n) = (manifest.dim as usize, manifest.n as usize);
    let len = columns::hint_len(params, manifest)?;
    let body = Message::Setup.expect(setup, Some(len))?;
    index::check_digest("hint", body, &mode.hint)?;
    let hint = Hint::from_bytes(body)?;
    Ok(Client::new(params, mode.seed, dim, n, &hint)?)
}

/// The round: the encrypted query goes, the encrypted scores come.
pub(super) fn score(
    transport: &mut impl Transport,
    client: &Client,
    query: &Query,
    stages: &mut Stages,
) -> Result<Reply, Error> {
    let start = Instant::now();
    let len = Reply::encoded_len(client.params(), client.dim(), client.len())?;
    let request = Message::Score.with(&query.to_bytes());
    let reply = transport.call(&request, message_len(len))?;
    stages.scores = start.elapsed();
    // No message follows, so what is wrong with this one may end the search.
    Message::Scored
        .expect(&reply, Some(len))
        .and_then(|body| Ok(Reply::from_bytes(body)?))
        .map_err(|_| Error::Search)
}

/// The best `k` of all positions.
///
/// A score that no two unit vectors have refutes the whole reply. Smaller changes are not seen: an
/// encrypted score carries no proof.
pub(super) fn best(scores: impl Iterator<Item = f32>, k: usize) -> Result<Vec<Scored>, Error> {
    let mut best = TopK::new(k);
    let mut possible = true;
    for (position, score) in scores.enumerate() {
        possible &= score.abs() <= residue::LARGEST;
        best.offer(Scored {
            id: number(position),
            score,
        });
    }
    possible.then(|| best.into_ranked()).ok_or(Error::Search)
}
