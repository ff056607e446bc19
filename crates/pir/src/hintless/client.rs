//! The client: it makes requests that hide which records they ask for.

mod encrypt;
mod recover;

use rand_core::CryptoRng;
use sordino_lattice::sample::hedge::Hedge;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::deal::{Assigned, Deal};
use super::keys::Digest;
use super::message::{Query, epoch};
use super::params::Params;
use super::session::Session;
use crate::{Error, Seed};

/// A record of the database, `record_len` bytes. It is `None` if the client found no slot for it in its request, which
/// happens in one request of `2^40`.
pub type Record = Option<Vec<u8>>;

/// The records that a request asked for. Together with the [`Session`] it decrypts the answer. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Asked {
    wanted: Vec<Wanted>,
    #[zeroize(skip)]
    session: Digest,
    #[zeroize(skip)]
    epoch: u64,
}

/// One record that a request asks for.
#[derive(Clone, Copy, Zeroize)]
struct Wanted {
    unit: usize,
    /// The record's number within its unit.
    within: usize,
    /// 1 plus the number of the slot that asks for the unit, or 0 if no slot asks for it.
    slot: usize,
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Asks for records of one database. It needs only the layout and the seed.
pub struct Client {
    params: Params,
    seed: Seed,
    deal: Deal,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the database with this layout and seed.
    #[must_use]
    pub fn new(params: &Params, seed: &Seed) -> Self {
        Self {
            params: *params,
            seed: *seed,
            deal: params.deal(seed),
        }
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// A request for the records at `indices`, at most [`Params::batch`] of them. A request for fewer records has the
    /// same form: its remaining places ask for nothing.
    ///
    /// # Errors
    /// [`Error::Batch`] if there are more indices than [`Params::batch`]; [`Error::IndexOutOfRange`] if an index is
    /// past the last record.
    ///
    /// # Security
    /// Errors and seed are fresh for every request. They are drawn from 32 bytes of `rng` hashed together with the
    /// session and the indices. Different requests share neither even if `rng` repeats itself. The same request from the
    /// same state gives the same message, which shows only the repetition. Time and memory accesses depend on the number
    /// of indices, which the caller should keep constant. They do not depend on the indices, except that the client
    /// refuses one out of range.
    pub fn query<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        session: &Session,
        indices: &[usize],
    ) -> Result<(Asked, Query), Error> {
        let most = self.params.batch();
        if indices.len() > most {
            return Err(Error::Batch {
                found: indices.len(),
                most,
            });
        }
        indices.iter().try_for_each(|index| self.check(*index))?;
        let (wanted, assigned) = self.assign(indices);
        let epoch = epoch(&self.seed);
        let fields = self.params.fields().map(u64::to_le_bytes);
        let seeds = Hedge::new(rng, "sordino-pir hintless query")
            .field(session.tag())
            .field(fields.as_flattened())
            .field(&self.seed.0)
            .words(assigned.places(), |place| {
                (((place.row as u64) << 32) | place.column as u64).to_le_bytes()
            })
            .seeds::<2>();
        let query = Query {
            params: self.params,
            epoch,
            session: *session.digest(),
            seed: seeds[0],
            b: self.encrypt(session, assigned.places(), &seeds),
        };
        let asked = Asked {
            wanted,
            session: *session.digest(),
            epoch,
        };
        Ok((asked, query))
    }

    #[inline(never)] // The test of constant time knows the one allowed comparison by this name.
    fn check(&self, index: usize) -> Result<(), Error> {
        let records = self.params.records();
        if index < records {
            return Ok(());
        }
        Err(Error::IndexOutOfRange { records })
    }

    /// The records that the client wants, and the place that each slot asks for.
    fn assign(&self, indices: &[usize]) -> (Vec<Wanted>, Assigned) {
        let per_unit = self.params.per_unit();
        // Exact: the reciprocal is too large by less than 1, and indices are below 2^32.
        let reciprocal = (1u128 << 64).div_ceil(per_unit as u128);
        let mut wanted = Vec::with_capacity(indices.len());
        let mut units = Zeroizing::new(Vec::with_capacity(indices.len()));
        for &index in indices {
            #[expect(clippy::cast_possible_truncation, reason = "a quotient of the index")]
            let unit = ((index as u128 * reciprocal) >> 64) as usize;
            let within = index - unit * per_unit;
            let slot = 0;
            wanted.push(Wanted { unit, within, slot });
            units.push(unit);
        }
        let assigned = self.deal.assign(&units);
        for (wanted, slot) in wanted.iter_mut().zip(assigned.slots()) {
            wanted.slot = *slot;
        }
        (wanted, assigned)
    }
}
