//! The packing of an index whose rows are all scored, and its cost.

use sordino_ckks::column;
use sordino_index::Error;
use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::{Checking, Packing};
use sordino_index::wire::{message_len, request_len};

use super::Cost;

/// The packing of an index whose rows are all scored, and the bytes that its clients transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scoring {
    /// The number of coordinates in a polynomial.
    pub packing: Packing,
    /// The bytes that a client transfers.
    pub cost: Cost,
}

/// The packings that suit vectors of `dim` coordinates: up to eight coordinates in a polynomial, and more as long as a query has
/// sixteen polynomials. With fewer polynomials, reading blocks of scores, `t / 2048` for each vector, would take a client longer
/// than removing the pads.
pub fn packings(dim: usize) -> impl Iterator<Item = Packing> {
    let suits = move |packing: &Packing| packing.t() <= 8 || dim >= 16 * packing.t();
    Packing::ALL.into_iter().filter(suits)
}

/// The packing that moves the fewest bytes in this many queries.
pub(crate) fn cheapest(
    n: usize,
    dim: usize,
    queries: u64,
    rows: Rows,
    checking: Checking,
) -> Option<Scoring> {
    // Masked mode always has a check.
    let checking = match (rows, checking) {
        (Rows::Masked, Checking::None) => Checking::Sums,
        (_, checking) => checking,
    };
    let costed = packings(dim).filter_map(|packing| {
        let scheme = Scheme {
            rows,
            packing,
            checking,
        };
        let cost = cost(n, dim, scheme).ok()?;
        Some(Scoring { packing, cost })
    });
    costed.min_by_key(|scoring| scoring.cost.total(queries))
}

/// The number of bytes of a row's base and scale, or of its length. The Euclidean distance also has a constant, which
/// plans ignore.
const SCALE_LEN: usize = 2;

/// The bytes that a client of an index of `n` records transfers.
fn cost(n: usize, dim: usize, scheme: Scheme) -> Result<Cost, Error> {
    let (stored, params) = (scheme.stored(n, dim), &scheme.params());
    let len = |body: usize| message_len(body) as u64;
    let hint = column::Hint::encoded_len(params, dim, stored)?;
    Ok(Cost {
        once: len(hint + scheme.held_len(n, dim)? + SCALE_LEN * n),
        up: request_len(column::Query::encoded_len(params, dim)?) as u64,
        down: len(column::Reply::encoded_len(params, dim, stored)?),
    })
}
