//! Writes and reads numbers and texts as little-endian bytes, with the length before each text.

use std::sync::Arc;

use crate::Error;
use crate::value::EntityUid;

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

fn corrupt(what: &'static str) -> Error {
    Error::AuditForm { what }
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(corrupt("end"))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Result<u64, Error> {
        self.take().map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.take().map(|[byte]| *byte)
    }

    /// Reads a count of items that have at least `least` bytes each.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, Error> {
        let count = self.take().map(|bytes| u32::from_le_bytes(*bytes))?;
        let count = usize::try_from(count).map_err(|_| corrupt("count"))?;
        if count > self.bytes.len() / least {
            return Err(corrupt("count"));
        }
        Ok(count)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Error> {
        let len = self.count(1)?;
        let (text, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        core::str::from_utf8(text).map_err(|_| corrupt("text"))
    }

    pub(super) fn id(&mut self) -> Result<Arc<str>, Error> {
        self.text().map(Arc::from)
    }

    pub(super) fn uid(&mut self) -> Result<EntityUid, Error> {
        let type_name = self.text()?;
        Ok(EntityUid::new(type_name, self.text()?))
    }

    pub(super) fn end(&self) -> Result<(), Error> {
        if self.bytes.is_empty() {
            Ok(())
        } else {
            Err(corrupt("end"))
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "entries above a MiB are refused"
)]
pub(super) fn write_count(count: usize, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
}

pub(super) fn write_text(text: &str, bytes: &mut Vec<u8>) {
    write_count(text.len(), bytes);
    bytes.extend_from_slice(text.as_bytes());
}
