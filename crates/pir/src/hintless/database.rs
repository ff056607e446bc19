//! Records, encoded for products with selectors.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::pages::Pages;
use sordino_lattice::products::LANES;
use sordino_lattice::sample::stream::{CHUNK, Stream};
use sordino_lattice::threads;

use super::deal::Place;
use super::params::Params;
use super::ring::{N, modulus, plan};
use crate::bits::pack;
use crate::{Error, Seed};

/// The records in NTT form, 8 bytes a coefficient, and the units that each slot holds.
///
/// Values lie in tiles of eight. Within a tile, groups of up to four polynomials of all units follow one another, and
/// within a group unit follows unit. So products read memory from one end to the other: consecutive units stand at
/// neighbouring places of their slots in every group. Row 0 is zero and stands where a slot has no unit; unit `u` is
/// row `u + 1`.
pub struct Database {
    params: Params,
    seed: Seed,
    values: Pages,
    /// The number of rows that the allocated memory can hold.
    room: usize,
    /// The rows of every slot, one for each place, followed by zeros up to a whole number of columns.
    slots: Vec<Vec<u32>>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// The number of polynomials of a unit for which a product loads each selector once.
pub(crate) const SHARED: usize = 4;

/// The number of polynomials that are encoded together. Each write is then long, and the half megabyte of them is still
/// in the cache when it is written.
const TOGETHER: usize = 32;

/// Adds a public stream to a unit's bytes, which makes them uniform. A second call removes the stream.
pub(crate) fn whiten(seed: &Seed, unit: usize, bytes: &mut [u8]) {
    let mut stream = Stream::new(&seed.0, unit as u64);
    for part in bytes.chunks_mut(CHUNK) {
        let uniform = stream.chunk(part.len());
        for (byte, uniform) in part.iter_mut().zip(uniform) {
            *byte ^= uniform;
        }
    }
}

impl Database {
    /// A database of the records that the iterator yields, in order. A record shorter than declared is followed by
    /// zeros. The seed is public. Draw it after the records are fixed, because records that were chosen to fit a seed
    /// can break the failure bound.
    ///
    /// # Errors
    /// [`Error::RecordTooLong`] for a record that is too long. [`Error::RecordCount`] for too few or too many.
    pub fn from_records<I>(params: &Params, seed: &Seed, records: I) -> Result<Self, Error>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let mut database = Self::zeroed(params, seed, params.units() + 1);
        let mut records = records.into_iter();
        let unit_len = params.unit_polys() * params.poly_bytes();
        let mut taken = 0;
        let together = (TOGETHER / params.unit_polys()).max(1);
        for first in (0..params.units()).step_by(together) {
            let count = together.min(params.units() - first);
            let mut units = vec![vec![0; unit_len]; count];
            for unit in &mut units {
                let wanted = (params.records() - taken).min(params.per_unit());
                let places = unit.chunks_exact_mut(params.record_len());
                for (place, record) in places.take(wanted).zip(records.by_ref()) {
                    put(taken, place, record.as_ref())?;
                    taken += 1;
                }
            }
            database.encode(first, units);
        }
        let found = taken + records.take(1).count();
        if found != params.records() {
            return Err(Error::RecordCount {
                found,
                expected: params.records(),
            });
        }
        Ok(database)
    }

    fn zeroed(params: &Params, seed: &Seed, room: usize) -> Self {
        Self {
            params: *params,
            seed: *seed,
            values: Pages::zeroed_words(room * params.unit_polys() * N),
            room,
            slots: slots(params, seed),
        }
    }

    /// The layout.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The public seed.
    #[must_use]
    pub const fn seed(&self) -> &Seed {
        &self.seed
    }

    /// For each slot the row of each of its places.
    pub(crate) fn slots(&self) -> &[Vec<u32>] {
        &self.slots
    }

    /// Tile `tile` of all rows, for the polynomials that share loads, from polynomial `first` on; and the number of
    /// these polynomials.
    pub(crate) fn shared(&self, tile: usize, first: usize) -> (&[u64], usize) {
        let (polys, held) = (self.params.unit_polys(), held(&self.params, first));
        let start = (tile * polys + first) * self.room * LANES;
        (
            &self.values.words()[start..][..held * self.room * LANES],
            held,
        )
    }

    /// Replaces record `index` by `record`, followed by zeros. Only the record's unit is encoded again.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] if there is no record of this number; [`Error::RecordTooLong`] if a record is too
    /// long.
    pub fn replace(&mut self, index: usize, record: &[u8]) -> Result<(), Error> {
        let records = self.params.records();
        if index >= records {
            return Err(Error::IndexOutOfRange { records });
        }
        let (unit, within) = (
            index / self.params.per_unit(),
            index % self.params.per_unit(),
        );
        let mut bytes = self.decode(unit);
        let len = self.params.record_len();
        put(index, &mut bytes[within * len..][..len], record)?;
        self.encode(unit, vec![bytes]);
        Ok(())
    }

    /// Adds records behind the last one. Clients need only the new layout, [`Self::params`]. If the new layout cuts
    /// records into other numbers of bits, all units are encoded again.
    ///
    /// # Errors
    /// [`Error::RecordTooLong`] if a record is too long; [`Error::TooLarge`] if no layout serves all records.
    pub fn append<R: AsRef<[u8]>>(&mut self, records: &[R]) -> Result<(), Error> {
        let old = self.params;
        let count = old.records() + records.len();
        let params = Params::new(count, old.record_len(), old.batch())?;
        for (i, record) in records.iter().enumerate() {
            check_len(old.records() + i, old.record_len(), record.as_ref())?;
        }
        if params.log_p != old.log_p {
            let old_records = (0..old.records()).map(|index| self.record(index));
            let new = records.iter().map(|record| record.as_ref().to_vec());
            *self = Self::from_records(&params, &self.seed, old_records.chain(new))?;
            return Ok(());
        }
        self.params = params;
        self.slots = slots(&params, &self.seed);
        if params.units() >= self.room {
            self.grow(params.units() + 1 + params.units() / 8);
        }
        for (i, record) in records.iter().enumerate() {
            self.replace(old.records() + i, record.as_ref())?;
        }
        Ok(())
    }

    /// Record `index`, as it was given.
    fn record(&self, index: usize) -> Vec<u8> {
        let (unit, within) = (
            index / self.params.per_unit(),
            index % self.params.per_unit(),
        );
        let len = self.params.record_len();
        self.decode(unit)[within * len..][..len].to_vec()
    }

    /// Allocates memory for `room` rows.
    fn grow(&mut self, room: usize) {
        let polys = self.params.unit_polys();
        let mut values = Pages::zeroed_words(room * polys * N);
        let (mut from, mut to) = (self.values.words(), values.words_mut());
        for _ in 0..N / LANES {
            for first in (0..polys).step_by(SHARED) {
                let held = held(&self.params, first) * LANES;
                let (old, old_rest) = from.split_at(self.room * held);
                let (new, new_rest) = to.split_at_mut(room * held);
                new[..old.len()].copy_from_slice(old);
                (from, to) = (old_rest, new_rest);
            }
        }
        (self.values, self.room) = (values, room);
    }

    /// Writes the bytes of the units from number `first` on. All threads transform them, then write tile by tile, since
    /// a unit's tiles are far apart.
    fn encode(&mut self, first: usize, units: Vec<Vec<u8>>) {
        let (params, seed) = (self.params, self.seed);
        let transform = |(): &mut (), i, mut bytes: Vec<u8>| {
            whiten(&seed, first + i, &mut bytes);
            let mut polys = Aligned::new(params.unit_polys() * N);
            let parts = bytes.chunks_exact(params.poly_bytes());
            for (poly, bytes) in polys.chunks_exact_mut(N).zip(parts) {
                match params.log_p {
                    7 => cut::<7>(bytes, poly),
                    8 => cut::<8>(bytes, poly),
                    9 => cut::<9>(bytes, poly),
                    _ => cut::<10>(bytes, poly),
                }
                plan().forward(poly);
            }
            polys
        };
        let units: Vec<Aligned<u64>> = threads::map(units, || (), transform);
        for tile in 0..N / LANES {
            for (i, unit) in units.iter().enumerate() {
                for (t, poly) in unit.chunks_exact(N).enumerate() {
                    let at = self.at(tile, first + i, t);
                    let place = &mut self.values.words_mut()[at..at + LANES];
                    place.copy_from_slice(&poly[tile * LANES..][..LANES]);
                }
            }
        }
    }

    /// The bytes of a unit, with its public stream removed.
    fn decode(&self, unit: usize) -> Vec<u8> {
        let (q, log_p) = (modulus(), self.params.log_p);
        let half = 1 << (log_p - 1);
        let mut poly = Aligned::new(N);
        let mut bytes = Vec::new();
        let values = self.values.words();
        let polys = self.params.unit_polys();
        let mut written = false;
        for t in 0..polys {
            for (tile, to) in poly.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                to.copy_from_slice(&values[self.at(tile, unit, t)..][..LANES]);
            }
            written |= poly.iter().any(|value| *value != 0);
            plan().inverse(&mut poly);
            let words = poly.iter().map(|value| word(q.centred(*value) + half));
            pack(words, log_p, &mut bytes);
        }
        if !written {
            // This unit is all zeros, and no public stream was added to it.
            return vec![0; polys * self.params.poly_bytes()];
        }
        whiten(&self.seed, unit, &mut bytes);
        bytes
    }

    /// The position of tile `tile` of polynomial `t` of a unit.
    const fn at(&self, tile: usize, unit: usize, t: usize) -> usize {
        let (first, polys) = (t - t % SHARED, self.params.unit_polys());
        let row = (unit + 1) * held(&self.params, first) + t - first;
        ((tile * polys + first) * self.room + row) * LANES
    }
}

/// Polynomials of a unit that lie together, from number `first` on.
const fn held(params: &Params, first: usize) -> usize {
    let left = params.unit_polys() - first;
    if left < SHARED { left } else { SHARED }
}

/// Bytes as centred coefficients of `P` bits, eight from `P` bytes at a time.
fn cut<const P: usize>(bytes: &[u8], poly: &mut [u64]) {
    let (groups, _) = bytes.as_chunks::<P>();
    let (places, _) = poly.as_chunks_mut::<8>();
    let (q, half) = (modulus().q(), 1u64 << (P - 1));
    // Works on whole words. Byte by byte, this function would take half of an encoding's time.
    let put = |places: &mut [u64], words: u64| {
        for (k, place) in places.iter_mut().enumerate() {
            let centred = (words >> (P * k) & (2 * half - 1)).wrapping_sub(half);
            // All ones for a negative coefficient, else zero.
            let below = (centred.cast_signed() >> 63).cast_unsigned();
            *place = centred.wrapping_add(q & below);
        }
    };
    for (group, places) in groups.iter().zip(places) {
        let mut wide = [0; 16];
        wide[..P].copy_from_slice(group);
        let wide = u128::from_le_bytes(wide);
        let (first, second) = places.split_at_mut(4);
        // Each word has four coefficients of at most ten bits.
        #[expect(clippy::cast_possible_truncation, reason = "the lowest bits")]
        let words = [wide as u64, (wide >> (4 * P)) as u64];
        put(first, words[0]);
        put(second, words[1]);
    }
}

/// The coefficient as an unsigned number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a coefficient of p bits"
)]
const fn word(value: i64) -> u32 {
    value as u32
}

fn check_len(index: usize, expected: usize, record: &[u8]) -> Result<(), Error> {
    if record.len() <= expected {
        return Ok(());
    }
    Err(Error::RecordTooLong {
        index,
        found: record.len(),
        expected,
    })
}

/// Writes record `index` into its place, followed by zeros.
fn put(index: usize, place: &mut [u8], record: &[u8]) -> Result<(), Error> {
    check_len(index, place.len(), record)?;
    let (bytes, rest) = place.split_at_mut(record.len());
    bytes.copy_from_slice(record);
    rest.fill(0);
    Ok(())
}

/// The rows of the slots: the inverse of the places of units.
fn slots(params: &Params, seed: &Seed) -> Vec<Vec<u32>> {
    let deal = params.deal(seed);
    let mut slots = vec![vec![0; params.rows() * params.columns()]; params.slots()];
    for h in 0..deal.groups() {
        for (row_of_unit, unit) in (1..).zip(0..params.units()) {
            let Place { slot, row, column } = deal.place(h, unit);
            slots[slot][row * params.columns() + column] = row_of_unit;
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::unpack;

    #[test]
    fn coefficients_are_the_bits_of_the_bytes() {
        let bytes: Vec<u8> = (0..10 * 256)
            .map(|i: u32| i.wrapping_mul(2_654_435_761).to_le_bytes()[3])
            .collect();
        let check = |p: u32, cut: fn(&[u8], &mut [u64])| {
            let bytes = &bytes[..N / 8 * p as usize];
            let mut poly = vec![0; N];
            cut(bytes, &mut poly);
            for (value, word) in poly.iter().zip(unpack(bytes, N, p)) {
                assert_eq!(modulus().centred(*value), i64::from(word) - (1 << (p - 1)));
            }
        };
        check(7, cut::<7>);
        check(8, cut::<8>);
        check(9, cut::<9>);
        check(10, cut::<10>);
    }

    #[test]
    fn units_are_written_and_read_back() {
        for (records, len, batch) in [
            (7, 1, 1),
            (5, 700, 2),
            (9, 5000, 1),
            (3, 32_768, 1),
            (300, 9000, 2),
        ] {
            let params = Params::new(records, len, batch).unwrap();
            let of = |i: usize| vec![i.to_le_bytes()[0].wrapping_mul(91); len - i % len.min(2)];
            let seed = Seed([5; 32]);
            let all: Vec<_> = (0..records).map(of).collect();
            let mut database = Database::from_records(&params, &seed, &all).unwrap();
            let padded = |mut record: Vec<u8>| {
                record.resize(len, 0);
                record
            };
            for (i, record) in all.iter().enumerate() {
                assert_eq!(database.record(i), padded(record.clone()));
            }
            database.replace(records - 1, b"x").unwrap();
            assert_eq!(database.record(records - 1), padded(b"x".to_vec()));
            assert_eq!(database.record(0), padded(all[0].clone()));
            database.append(&vec![vec![7; len]; 40]).unwrap();
            assert_eq!(database.params().records(), records + 40);
            for i in records..records + 40 {
                assert_eq!(database.record(i), vec![7; len], "{i}");
            }
            assert_eq!(database.record(0), padded(all[0].clone()));
        }
    }
}
