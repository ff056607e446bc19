//! Recovers records from answers.

#![expect(clippy::cast_possible_truncation, reason = "words are cut to flags")]

use sordino_lattice::aligned::Aligned;
use sordino_lattice::choice::equal;
use zeroize::Zeroizing;

use super::{Client, Key, Record, Secret};
use crate::Error;
use crate::lwe::decode_answer;
use crate::secret::Secrets;
use crate::simple::Answer;
use crate::wire::{check_params, check_version};

impl Client {
    /// The record that the query of `secret` asked for.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] or [`Error::VersionMismatch`] if the answer belongs to another database
    /// or version. A wrong answer of the right shape gives a wrong record without an error.
    ///
    /// # Security
    /// The client decrypts the whole column. It picks the record from it without an address that depends
    /// on the index.
    pub fn recover(&self, secret: Secret, answer: &Answer) -> Result<Record, Error> {
        self.check_pair(&secret, answer)?;
        Ok(match &secret.key {
            Key::Raw(s) => {
                let product = Zeroizing::new(s.product(&self.h));
                self.open(answer, product.iter(), secret.index)
            }
            Key::Product(product) => self.open(answer, product.iter(), secret.index),
        })
    }

    /// The records that the queries of `secrets` asked for, in one pass over the hint.
    ///
    /// # Errors
    /// The errors of [`Self::recover`], and [`Error::Count`] if the numbers of answers and secrets differ.
    ///
    /// # Security
    /// The same as for [`Self::recover`].
    pub fn recover_batch(
        &self,
        secrets: Vec<Secret>,
        answers: &[Answer],
    ) -> Result<Vec<Record>, Error> {
        if secrets.len() != answers.len() {
            return Err(Error::Count {
                found: answers.len(),
                expected: secrets.len(),
            });
        }
        for (secret, answer) in secrets.iter().zip(answers) {
            self.check_pair(secret, answer)?;
        }
        let raw: Vec<_> = secrets.iter().filter_map(Secret::raw).collect();
        let products = Zeroizing::new(Secrets::together(&raw).product(&self.h));
        // The matrix is read in place: zeroising copies of its columns would take longer than reading with
        // a stride.
        let mut columns = 0..raw.len();
        let pairs = secrets.iter().zip(answers);
        let records = pairs.map(|(secret, answer)| match &secret.key {
            Key::Raw(_) => {
                let first = columns.next().unwrap_or(0);
                let product = products.iter().skip(first).step_by(raw.len());
                self.open(answer, product, secret.index)
            }
            Key::Product(product) => self.open(answer, product.iter(), secret.index),
        });
        Ok(records.collect())
    }

    fn check_pair(&self, secret: &Secret, answer: &Answer) -> Result<(), Error> {
        check_params(&answer.params, &self.params)?;
        check_version(secret.version, self.version)?;
        check_version(answer.version, self.version)
    }

    /// Recovers the record from an answer and its product.
    fn open<'a>(
        &self,
        answer: &Answer,
        product: impl Iterator<Item = &'a u32>,
        index: usize,
    ) -> Record {
        let mut column = Zeroizing::new(Aligned::new(self.params.rows()));
        decode(&answer.words, product, &mut column);
        let (_, slot) = self.params.locate(index);
        pick(&column, self.params.record_len(), slot)
    }
}

/// The bytes that the words of an answer encode, given their products `H s`.
fn decode<'a>(words: &[u16], products: impl Iterator<Item = &'a u32>, bytes: &mut [u8]) {
    for ((byte, word), product) in bytes.iter_mut().zip(words).zip(products) {
        *byte = decode_answer(*word, *product);
    }
}

/// Record `slot` of a column. It reads all records alike.
fn pick(column: &[u8], record_len: usize, slot: usize) -> Record {
    let mut record = vec![0; record_len];
    for (i, candidate) in column.chunks_exact(record_len).enumerate() {
        // All ones for the wanted slot, zeros for the others. The mask is opaque to the compiler, so that
        // no jump skips the zeros.
        let mask = std::hint::black_box((equal(i, slot) as u8).wrapping_neg());
        for (byte, candidate) in record.iter_mut().zip(candidate) {
            *byte |= candidate & mask;
        }
    }
    record
}
