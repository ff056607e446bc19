//! Files of encoded vectors: a page with the head and the fields, then the values in the form that
//! scoring reads.

use std::io::Write;

use sordino_lattice::store::{Changed, OFFSET, Store};

use crate::Error;
use crate::wire::{Head, Kind};

/// Checks that a file still has the length that it had when it was mapped.
pub(crate) fn check_unchanged(store: &Store) -> Result<(), Error> {
    match store.changed()? {
        None => Ok(()),
        Some(Changed { found, expected }) => Err(Error::Changed { found, expected }),
    }
}

/// Writes a file's contents: head, fields, zeros up to [`OFFSET`], values.
pub(crate) fn write(
    head: &Head,
    fields: &[u8],
    values: &[u8],
    mut out: impl Write,
) -> std::io::Result<()> {
    let mut page = head.begin(OFFSET);
    page.extend_from_slice(fields);
    page.resize(OFFSET, 0);
    out.write_all(&page)?;
    out.write_all(values)
}

/// Splits a file's contents into its head, its `LEN` bytes of fields, and its values.
pub(crate) fn split<const LEN: usize>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(Head, &[u8; LEN], &[u8]), Error> {
    let (page, values) = bytes.split_at_checked(OFFSET).ok_or(Error::MessageLength {
        found: bytes.len(),
        expected: OFFSET,
    })?;
    let (head, body) = Head::split(kind, page)?;
    let (fields, padding) = body.split_first_chunk().ok_or(Error::Kind)?;
    if padding.iter().any(|&byte| byte != 0) {
        return Err(Error::Kind);
    }
    Ok((head, fields, values))
}

/// Checks that the length of the values fits the file's head.
pub(crate) fn check_values(values: &[u8], expected: Option<usize>) -> Result<(), Error> {
    let expected = expected.and_then(|len| len.checked_add(OFFSET));
    let found = OFFSET + values.len();
    if expected == Some(found) {
        return Ok(());
    }
    Err(Error::MessageLength {
        found,
        expected: expected.unwrap_or(usize::MAX),
    })
}
