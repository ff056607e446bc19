//! Recovers records from answers.

use sordino_lattice::aligned::Aligned;
use zeroize::Zeroizing;

use super::{Asked, Client, Record, Wanted};
use crate::Error;
use crate::bits::pack;
use crate::hintless::database::whiten;
use crate::hintless::message::{Answer, check};
use crate::hintless::place::mask;
use crate::hintless::ring::{N, modulus, plan};
use crate::hintless::session::Session;

impl Client {
    /// The records that a request asked for, in the request's order.
    ///
    /// # Errors
    /// [`Error::SessionMismatch`] if the request was made under another session. [`Error::LayoutMismatch`] or
    /// [`Error::VersionMismatch`] if the request or the answer belongs to another database.
    ///
    /// # Security
    /// Time and memory accesses do not depend on the requested records. Records are not authenticated.
    pub fn recover(
        &self,
        session: &Session,
        asked: Asked,
        answer: &Answer,
    ) -> Result<Vec<Record>, Error> {
        if asked.session != *session.digest() {
            return Err(Error::SessionMismatch);
        }
        check((&answer.params, answer.epoch), (&self.params, asked.epoch))?;
        let unit_len = self.params.unit_polys() * self.params.poly_bytes();
        let mut units = vec![Zeroizing::new(vec![0; unit_len]); asked.wanted.len()];
        let mut bytes = Zeroizing::new(Vec::with_capacity(unit_len));
        for slot in 0..self.params.slots() {
            bytes.clear();
            for t in 0..self.params.unit_polys() {
                self.decrypt(
                    session,
                    answer,
                    slot * self.params.unit_polys() + t,
                    &mut bytes,
                );
            }
            for (unit, wanted) in units.iter_mut().zip(&asked.wanted) {
                let here = mask(slot + 1, wanted.slot).to_le_bytes()[0];
                for (unit, byte) in unit.iter_mut().zip(bytes.iter()) {
                    *unit |= byte & here;
                }
            }
        }
        let found = units.iter_mut().zip(&asked.wanted);
        Ok(found
            .map(|(unit, wanted)| {
                whiten(&self.seed, wanted.unit, unit);
                reveal(wanted, self.record(unit, wanted.within))
            })
            .collect())
    }

    /// Decrypts ciphertext `i` and appends its bytes.
    fn decrypt(&self, session: &Session, answer: &Answer, i: usize, bytes: &mut Vec<u8>) {
        let params = &self.params;
        let [k0, k1] = params.answer_bits;
        let q = modulus();
        let [first, second] = answer.ciphertext(i);
        // A_1, centred: its product with s is below 2^20 N as an integer, so it is exact mod q.
        let mut product = Zeroizing::new(Aligned::new(N));
        let half = 1i64 << (k1 - 1);
        for (residue, word) in product.iter_mut().zip(second) {
            *residue = q.from_signed(((i64::from(word) + half) & (2 * half - 1)) - half);
        }
        plan().forward(&mut product);
        plan().multiply(&mut product, session.secret());
        plan().inverse(&mut product);
        let rounding = 1i64 << (k1 - params.log_p - 1);
        let words = first.zip(product.iter()).map(|(word, product)| {
            let sum = (i64::from(word) << (k1 - k0)) + q.centred(*product);
            // The coefficient before it was centred, which adds half of P. Only its lowest bits are kept.
            coefficient(((sum + rounding) >> (k1 - params.log_p)) + (1 << (params.log_p - 1)))
        });
        pack(words, params.log_p, bytes);
    }

    /// Record number `within` of a unit.
    fn record(&self, unit: &[u8], within: usize) -> Vec<u8> {
        let len = self.params.record_len();
        let mut record = vec![0; len];
        for (number, place) in unit
            .chunks_exact(len)
            .take(self.params.per_unit())
            .enumerate()
        {
            let here = mask(number, within).to_le_bytes()[0];
            for (byte, place) in record.iter_mut().zip(place) {
                *byte |= place & here;
            }
        }
        record
    }
}

/// The lowest 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "packing takes the lowest bits"
)]
const fn coefficient(sum: i64) -> u32 {
    sum as u32
}

/// Tells the caller that the request left this record out. The constant-time test allows this branch, and
/// finds it by the function's name.
#[inline(never)]
fn reveal(wanted: &Wanted, record: Vec<u8>) -> Record {
    (wanted.slot > 0).then_some(record)
}
