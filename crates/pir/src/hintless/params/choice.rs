//! Chooses a layout.

use super::{Params, Set};
use crate::hintless::deal::Deal;
use crate::hintless::ring::N;

/// `log2` of the failure bound.
pub(super) const BOUND: f64 = -40.0;

/// The largest number of selectors and encryptions of bits in a request. Each costs the server a key switch and 32 KB.
const MOST_SELECTORS: usize = 1 << 14;

/// The largest number of bits of a row's number.
const MOST_FOLD: u32 = 9;

/// The largest number of bytes of the units in a request.
const MOST_ANSWERED: usize = 1 << 27;

/// The server's work, in the bytes that a link of 16 Mbit/s transfers in the same time, on a core with AVX-512. It
/// counts a key switch with its split (26 us), an external product (83 us), and a ciphertext of the answer (74 us). It
/// also counts the products of a polynomial in two groups as 1.4 us. They take 2 us if the polynomial is alone in its
/// unit, and 1 us otherwise. The numbers are fitted to eleven layouts, of 3 to 100 MB.
const SWITCH: usize = 52;
const EXTERNAL: usize = 165;
const PRODUCTS: usize = 3;
const ANSWERED: usize = 150;

/// Costs in nanoseconds: of one byte of the server's work, and of a client's work on one ciphertext of a query and of
/// an answer.
const PER_BYTE: f64 = 500.0;
const ENCRYPTED: f64 = 60_000.0;
const DECRYPTED: f64 = 30_000.0;

impl Params {
    /// The first of the cheapest layouts within the bound.
    pub(super) fn choose(records: usize, record_len: usize, batch: usize) -> Option<Self> {
        let with_bits = |(log_p, (groups, group))| Self {
            set: Set::N2048Q50,
            records,
            record_len,
            batch,
            groups,
            group,
            log_p,
            fold: 0,
            depth: 0,
            fold_depth: 0,
            answer_bits: [0; 2],
        };
        [10, 9, 8, 7]
            .into_iter()
            .flat_map(|log_p| deals(batch).map(move |deal| (log_p, deal)))
            .map(with_bits)
            .filter(|params| {
                params.slots() * params.unit_polys() * params.poly_bytes() <= MOST_ANSWERED
            })
            .flat_map(|params| {
                let folds = 0..=MOST_FOLD.min(params.places().ilog2());
                folds.map(move |fold| Self { fold, ..params })
            })
            .filter(|params| params.selectors().max(params.bits()) <= MOST_SELECTORS)
            .flat_map(Self::with_depths)
            .filter_map(|params| params.with_answers().min_by_key(Self::cost))
            .min_by_key(Self::cost)
    }

    fn with_depths(self) -> impl Iterator<Item = Self> {
        depths(self.selectors()).flat_map(move |depth| {
            let folds = if self.fold == 0 {
                0..=0
            } else {
                depths(self.bits())
            };
            folds.map(move |fold_depth| Self {
                depth,
                fold_depth,
                ..self
            })
        })
    }

    /// The layouts that keep the failure bound. There is one for each number of answer bits that keeps it.
    fn with_answers(self) -> impl Iterator<Item = Self> {
        // Dropping bits costs less in the half that is not multiplied by the secret.
        let bits = (7..=11).flat_map(move |above| {
            let k1 = self.log_p + above;
            [[k1 - 5, k1], [k1 - 6, k1]]
        });
        bits.map(move |answer_bits| Self {
            answer_bits,
            ..self
        })
        .filter(|params| params.log2_failure() <= BOUND)
    }

    fn cost(&self) -> usize {
        self.query_len() + self.answer_len() + self.work()
    }

    /// The server's work, in bytes.
    fn work(&self) -> usize {
        let (slots, polys) = (self.slots(), self.unit_polys());
        // The server switches an encryption of a bit twice.
        SWITCH * (self.selectors() + 2 * self.bits())
            + EXTERNAL * slots * polys * (self.rows() - 1)
            + PRODUCTS * self.groups * self.units() * polys / 2
            + ANSWERED * slots * polys
    }

    /// Nanoseconds that one thread of a Zen 4 should spend on a request, for the server and for the client.
    #[must_use]
    pub fn nanoseconds(&self) -> (f64, f64) {
        let answered = self.slots() * self.unit_polys();
        let client = ENCRYPTED * self.ciphertexts() as f64 + DECRYPTED * answered as f64;
        (PER_BYTE * self.work() as f64, client)
    }
}

/// Possible numbers of groups, each with the slots per group that `batch` records need. Up to five records have one
/// slot each, and every slot holds all units.
fn deals(batch: usize) -> impl Iterator<Item = (usize, usize)> {
    let few = (batch <= 5).then_some((batch, 1));
    let many = (5..=batch).filter(move |_| batch > 5);
    let many = many.filter_map(move |groups| Some((groups, Deal::group(groups, batch)?)));
    few.into_iter().chain(many)
}

/// The depth at which one ciphertext holds `count` selectors, or the largest depth, and up to two smaller depths.
fn depths(count: usize) -> std::ops::RangeInclusive<u32> {
    let deepest = count.min(N).next_power_of_two().ilog2();
    deepest.saturating_sub(2)..=deepest
}
