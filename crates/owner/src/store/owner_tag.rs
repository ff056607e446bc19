//! Bytes that pass between two processes of one owner. Only the owner can make their tag. They are not encrypted.

use sordino_index::Error;
use sordino_index::digest::Coded;
use sordino_vault::keys::OwnerKeys;

/// The size in bytes of a tag.
pub(super) const TAG_LEN: usize = 16;

/// The name of a kind of bytes, and the number of its form.
pub(super) type Kind = (&'static [u8], u16);

/// Writes the number of the form, the output of `write`, and a tag on both.
pub(super) fn tagged(
    keys: &OwnerKeys,
    (name, form): Kind,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let mut bytes = form.to_le_bytes().to_vec();
    write(&mut bytes);
    let tag = tag(keys, name, &bytes);
    bytes.extend(tag);
    bytes
}

/// Reads bytes that [`tagged`] has written under the same keys, to their end.
///
/// # Errors
/// [`Error::Malformed`] if the form is wrong or these keys did not make the bytes.
pub(super) fn opened<T>(
    keys: &OwnerKeys,
    (name, form): Kind,
    bytes: &[u8],
    read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
) -> Result<T, Error> {
    let body = bytes.split_last_chunk::<TAG_LEN>();
    let body = body.filter(|(body, found)| {
        // The comparison is constant-time, so that no attacker finds a tag byte by byte.
        let pairs = found.iter().zip(tag(keys, name, body));
        pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    });
    let (body, _) = body.ok_or_else(|| malformed("not made under this owner's key"))?;
    let mut fields = Fields(body);
    let known = fields.u16() == Some(form);
    let value = read(&mut fields).filter(|_| known && fields.0.is_empty());
    value.ok_or_else(|| malformed("not of this form"))
}

fn tag(keys: &OwnerKeys, name: &[u8], bytes: &[u8]) -> [u8; TAG_LEN] {
    keys.ids().id(&[0; 32], name, bytes, std::iter::empty())
}

pub(super) fn malformed(why: &str) -> Error {
    Error::Malformed {
        what: "piece of a build",
        why: why.to_owned(),
    }
}

/// The position of a choice in the list of all choices.
pub(super) fn number<T: PartialEq>(choices: &[T], choice: &T) -> u8 {
    let at = choices.iter().position(|other| other == choice);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

/// Writes the length and the digest of a part.
pub(super) fn put_coded(bytes: &mut Vec<u8>, coded: &Coded) {
    bytes.extend(coded.len.to_le_bytes());
    bytes.extend(coded.digest);
}

/// Reads fields of fixed lengths.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next `len` bytes.
    pub(super) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    /// All remaining bytes.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// True and false each have only one encoding.
    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn coded(&mut self) -> Option<Coded> {
        let mut coded = Coded::default();
        (coded.len, coded.digest) = (self.u64()?, self.array()?);
        Some(coded)
    }
}
