//! Saved forms: magic (4 bytes), version (4), then little-endian numbers, and arrays after their
//! lengths. A reader checks that the bytes of an array are present before it allocates memory for
//! it.

use crate::{Error, Seed};

/// Version of all forms.
const VERSION: u32 = 1;

/// Writes a saved form.
#[derive(Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(magic: &[u8; 4]) -> Self {
        let mut bytes = magic.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u64).to_le_bytes());
    }

    pub(crate) fn float(&mut self, float: f32) {
        self.0.extend_from_slice(&float.to_bits().to_le_bytes());
    }

    pub(crate) fn seed(&mut self, seed: Seed) {
        self.0.extend_from_slice(&seed.0);
    }

    pub(crate) fn words(&mut self, words: &[u64]) {
        self.number(words.len());
        self.0
            .extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    pub(crate) fn ids(&mut self, ids: &[u32]) {
        self.number(ids.len());
        self.0.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a saved form.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    read: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], magic: &[u8; 4]) -> Result<Self, Error> {
        let mut reader = Self {
            rest: bytes,
            read: 0,
        };
        if reader.array()? != *magic {
            return Err(Error::Magic);
        }
        match u32::from_le_bytes(reader.array()?) {
            VERSION => Ok(reader),
            found => Err(Error::FormatVersion {
                found,
                expected: VERSION,
            }),
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Error::Length {
            found: self.read + self.rest.len(),
            expected: self.read.saturating_add(len),
        })?;
        self.rest = rest;
        self.read += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn number(&mut self) -> Result<usize, Error> {
        let number = u64::from_le_bytes(self.array()?);
        usize::try_from(number).map_err(|_| Error::Corrupt { what: "number" })
    }

    pub(crate) fn float(&mut self) -> Result<f32, Error> {
        Ok(f32::from_bits(u32::from_le_bytes(self.array()?)))
    }

    pub(crate) fn seed(&mut self) -> Result<Seed, Error> {
        Ok(Seed(self.array()?))
    }

    pub(crate) fn words(&mut self) -> Result<Vec<u64>, Error> {
        let len = self.number()?;
        let bytes = self.take(len.saturating_mul(8))?;
        Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect())
    }

    pub(crate) fn ids(&mut self) -> Result<Vec<u32>, Error> {
        let len = self.number()?;
        let bytes = self.take(len.saturating_mul(4))?;
        Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|id| u32::from_le_bytes(*id))
            .collect())
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Error::Length {
            found: self.read + self.rest.len(),
            expected: self.read,
        })
    }
}
