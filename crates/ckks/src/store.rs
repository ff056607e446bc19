//! Where encoded vectors lie: in memory, or in a file that is scored in place.
//!
//! A file is a page with its head, then the values as they are scored, so that mapping it is all that
//! opening takes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use sordino_lattice::pages::Pages;

use crate::Error;
use crate::wire::{Head, Kind};

#[cfg(feature = "mmap")]
mod mapped;

#[cfg(feature = "mmap")]
pub(crate) use mapped::Mapped;

/// Where the values start: on a page, whatever the page's size is on common systems.
pub(crate) const OFFSET: usize = 4096;

/// Encoded values.
pub(crate) enum Store {
    Memory(Pages),
    #[cfg(feature = "mmap")]
    File(Mapped),
}

impl Store {
    /// `len` zero bytes in memory.
    pub(crate) fn zeroed(len: usize) -> Self {
        Self::Memory(Pages::zeroed(len))
    }

    /// A copy of `bytes` with room for `len`.
    pub(crate) fn copied(bytes: &[u8], len: usize) -> Self {
        let mut pages = Pages::zeroed(len);
        pages[..bytes.len()].copy_from_slice(bytes);
        Self::Memory(pages)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Memory(pages) => pages,
            #[cfg(feature = "mmap")]
            Self::File(mapped) => &mapped.bytes()[OFFSET..],
        }
    }

    /// The bytes, to be changed: what lies in a file is copied into memory first.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        #[cfg(feature = "mmap")]
        if let Self::File(_) = self {
            *self = Self::copied(self.bytes(), self.bytes().len());
        }
        match self {
            Self::Memory(pages) => pages,
            #[cfg(feature = "mmap")]
            Self::File(_) => unreachable!("copied just now"),
        }
    }

    /// Refuses a file that is not as long as it was when it was mapped.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Memory(_) => Ok(()),
            #[cfg(feature = "mmap")]
            Self::File(mapped) => mapped.check(),
        }
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

/// Writes a new file by `contents`, and waits until it is stored.
pub(crate) fn write_new(
    path: &Path,
    contents: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Error> {
    let mut file = BufWriter::new(File::create_new(path)?);
    contents(&mut file)?;
    file.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?
        .sync_all()?;
    Ok(())
}

/// The head of a file's contents, its `LEN` bytes of fields, and its values.
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

/// Refuses values whose length is not the one that the file's head fixes.
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
