//! The client: requests that hide what they are for.

mod encrypt;
mod recover;

use rand_core::CryptoRng;
use sordino_lattice::sample::hedge::Hedge;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use self::encrypt::Target;
use super::deal::{Deal, MOST_GROUPS, Place};
use super::keys::Digest;
use super::message::{Query, epoch};
use super::params::Params;
use super::place::{Assignment, mask, select, slot};
use super::session::Session;
use crate::{Error, Seed};

/// A record of the database, `record_len` bytes; `None` if there was no slot for it in its request, which happens in one
/// request of `2^40`.
pub type Record = Option<Vec<u8>>;

/// The records that a request was for: the key to its answer, together with the [`Session`]. Zeroised on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Asked {
    wanted: Vec<Wanted>,
    #[zeroize(skip)]
    session: Digest,
    #[zeroize(skip)]
    epoch: u64,
}

/// One wanted record.
#[derive(Clone, Copy, Zeroize)]
struct Wanted {
    unit: usize,
    /// The record's number within its unit.
    within: usize,
    /// 1 and the slot that asks for the unit, or 0.
    slot: usize,
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Asks for records of one database. All that it needs are the layout and the seed.
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
            deal: Deal::new(params, seed),
        }
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// A request for the records at `indices`, at most [`Params::batch`] of them: with fewer, the rest ask for
    /// nothing, and the request has the same form.
    ///
    /// # Errors
    /// [`Error::Batch`] if there are more; [`Error::IndexOutOfRange`].
    ///
    /// # Security
    /// Errors and seed are fresh for every request. They are drawn from 32 bytes of `rng` hashed together with the
    /// session and what is asked, so that different requests share neither even if `rng` repeats itself; the same
    /// request from the same state is the same message, and shows only that. Time and memory accesses depend on
    /// the number of indices, which the caller should keep the same, and not on the indices, except that one out of
    /// range is refused.
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
        let (wanted, targets) = self.assign(indices);
        let epoch = epoch(&self.seed);
        let fields = self.params.fields().map(u64::to_le_bytes);
        let seeds = Hedge::new(rng, "sordino-pir hintless query")
            .field(session.tag())
            .field(fields.as_flattened())
            .field(&self.seed.0)
            .words(&targets, |target| {
                (((target.row as u64) << 32) | target.column as u64).to_le_bytes()
            })
            .seeds::<2>();
        let query = Query {
            params: self.params,
            epoch,
            session: *session.digest(),
            seed: seeds[0],
            b: self.encrypt(session, &targets, &seeds),
        };
        let asked = Asked {
            wanted,
            session: *session.digest(),
            epoch,
        };
        Ok((asked, query))
    }

    #[inline(never)] // By its name the test of constant time knows the one allowed comparison.
    fn check(&self, index: usize) -> Result<(), Error> {
        let records = self.params.records();
        if index < records {
            return Ok(());
        }
        Err(Error::IndexOutOfRange { records })
    }

    /// The wanted records, and what each slot asks for.
    fn assign(&self, indices: &[usize]) -> (Vec<Wanted>, Zeroizing<Vec<Target>>) {
        let (slots, per_unit) = (self.params.slots(), self.params.per_unit());
        // Exact: the reciprocal is too large by less than 1, and indices are below 2^32.
        let reciprocal = (1u128 << 64).div_ceil(per_unit as u128);
        let mut wanted = Vec::with_capacity(indices.len());
        let mut places = Zeroizing::new(Vec::with_capacity(indices.len()));
        let mut sets = Zeroizing::new(Vec::with_capacity(indices.len()));
        for &index in indices {
            #[expect(clippy::cast_possible_truncation, reason = "a quotient of the index")]
            let unit = ((index as u128 * reciprocal) >> 64) as usize;
            let within = index - unit * per_unit;
            // The first of those that want a unit has the slot.
            let repeated = wanted.iter().fold(0, |repeated, other: &Wanted| {
                repeated | mask(other.unit, unit)
            });
            let mut of = [Place::default(); MOST_GROUPS];
            for (h, place) in of.iter_mut().take(self.deal.groups()).enumerate() {
                *place = self.deal.place(h, unit);
            }
            let of_unit = of.iter().take(self.deal.groups());
            let set = of_unit.fold(0, |set, place| set | slot(place.slot, slots));
            sets.push(set & !u128::from(repeated as u64 & 1).wrapping_neg());
            places.push(of);
            let slot = 0;
            wanted.push(Wanted { unit, within, slot });
        }
        let nothing = Target {
            column: self.params.columns(),
            row: 0,
        };
        let mut targets = Zeroizing::new(vec![nothing; slots]);
        let assignment = Assignment::new(&sets);
        for (i, places) in places.iter().enumerate() {
            let slot = assignment.slot_of(i);
            let unit = wanted[i].unit;
            for other in &mut wanted {
                other.slot |= slot & mask(other.unit, unit);
            }
            for place in places.iter().take(self.deal.groups()) {
                for (number, target) in targets.iter_mut().enumerate() {
                    let here = mask(number + 1, slot) & mask(number, place.slot);
                    target.column = select(here, place.column, target.column);
                    target.row = select(here, place.row, target.row);
                }
            }
        }
        (wanted, targets)
    }
}
