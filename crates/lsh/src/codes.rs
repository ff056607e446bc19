//! Packed codes, and the scan for the nearest ones.

use crate::error::check_words;
use crate::kernels::Kernels;
use crate::scan::{Best, LANES, Neighbour, scan};
use crate::wire::{Reader, Writer};
use crate::{Backend, Error};

/// Codes of one length, laid out for scanning: the words `j` of eight consecutive codes lie next to each other. So
/// every lane of a vector adds up the distance of its own code.
///
/// # Examples
/// ```
/// use sordino_lsh::{Codes, Nearest};
///
/// let codes = Codes::from_words(64, &[0b0000, 0b0111, 0b0011])?;
/// let mut nearest = Nearest::default();
/// let found = codes.nearest(&[0b0001], 2, &mut nearest)?;
/// assert_eq!(found.iter().map(|n| (n.index, n.distance)).collect::<Vec<_>>(), [(0, 1), (2, 1)]);
/// # Ok::<(), sordino_lsh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes {
    words: usize,
    len: usize,
    /// `len / 8` groups, rounded up, of `words` rows.
    rows: Vec<[u64; LANES]>,
}

impl Codes {
    /// Codes of `bits` bits, given one after the other.
    ///
    /// # Errors
    /// [`Error::Bits`] if `bits` is not a multiple of 64 from 64 to 1024. [`Error::WholeCodes`] if `words` is not a
    /// whole number of codes. [`Error::Items`] if there are 2^32 codes or more.
    pub fn from_words(bits: usize, words: &[u64]) -> Result<Self, Error> {
        if !bits.is_multiple_of(64) || !(64..=1024).contains(&bits) {
            return Err(Error::Bits { found: bits });
        }
        let (per_code, found) = (bits / 64, words.len());
        if !found.is_multiple_of(per_code) {
            let words = per_code;
            return Err(Error::WholeCodes { found, words });
        }
        let (len, most) = (found / per_code, u32::MAX as usize);
        if len > most {
            return Err(Error::Items { found: len, most });
        }
        let mut rows = vec![[0; LANES]; len.div_ceil(LANES) * per_code];
        for (i, code) in words.chunks_exact(per_code).enumerate() {
            let group = &mut rows[i / LANES * per_code..][..per_code];
            for (row, word) in group.iter_mut().zip(code) {
                row[i % LANES] = *word;
            }
        }
        Ok(Self {
            words: per_code,
            len,
            rows,
        })
    }

    /// The number of codes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no codes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bits of a code.
    #[must_use]
    pub fn bits(&self) -> usize {
        64 * self.words
    }

    /// The words of code `index`, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Vec<u64>> {
        let group = (index < self.len).then(|| &self.rows[index / LANES * self.words..])?;
        Some(
            group[..self.words]
                .iter()
                .map(|row| row[index % LANES])
                .collect(),
        )
    }

    /// The `k` codes nearest to a query by Hamming distance, nearest first. If there are fewer codes, the result has
    /// all of them. If codes have the same distance, the one with the lower index comes first.
    ///
    /// The result lies in `room`. A caller that uses `room` again in the next call saves the allocation.
    ///
    /// # Errors
    /// [`Error::Words`] if the query does not have the number of words of a code.
    pub fn nearest<'a>(
        &self,
        query: &[u64],
        k: usize,
        room: &'a mut Nearest,
    ) -> Result<&'a [Neighbour], Error> {
        self.nearest_on(Backend::detect(), query, k, room)
    }

    /// Like [`Codes::nearest`], on a backend that the caller chooses, for tests and benchmarks.
    ///
    /// # Errors
    /// The errors of [`Codes::nearest`].
    pub fn nearest_on<'a>(
        &self,
        backend: Backend,
        query: &[u64],
        k: usize,
        room: &'a mut Nearest,
    ) -> Result<&'a [Neighbour], Error> {
        check_words(query, self.words)?;
        let best = &mut room.0;
        best.start(self.bits(), self.len, k);
        if k > 0 {
            scan(Kernels::of(backend), &self.rows, query, best);
        }
        Ok(best.finish())
    }

    /// The codes as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(b"CODE");
        writer.number(self.bits());
        let words: Vec<u64> = (0..self.len)
            .filter_map(|i| self.get(i))
            .flatten()
            .collect();
        writer.words(&words);
        writer.finish()
    }

    /// Reads codes from bytes.
    ///
    /// # Errors
    /// [`Error`] if [`Codes::to_bytes`] does not write exactly these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, b"CODE")?;
        let bits = reader.number()?;
        let words = reader.words()?;
        reader.finish()?;
        Self::from_words(bits, &words)
    }
}

/// Memory for the result of a scan, which later scans reuse.
#[derive(Clone, Debug, Default)]
pub struct Nearest(Best);
