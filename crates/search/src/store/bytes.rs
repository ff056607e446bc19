//! The bytes of a part: in memory, or a file that is mapped.

#![expect(
    unsafe_code,
    reason = "mapping a file that other processes might change"
)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

/// Files below this are read: a map costs a page and a descriptor.
const SMALL: u64 = 1 << 16;

/// Immutable bytes, shared by copies.
#[derive(Clone)]
pub struct Bytes(Arc<Inner>);

enum Inner {
    Read(Vec<u8>),
    Mapped(Mmap),
}

impl Bytes {
    /// A whole file, mapped if it is large.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() < SMALL {
            return Ok(Self::from(std::fs::read(path)?));
        }
        // SAFETY: parts are never changed in place: they are written under another name, renamed once
        // and removed whole, and a removed file lives on while it is mapped. A process that breaks
        // this can make reads fault or change, as it could change the program; the digests that were
        // checked when the part was opened are checked again by every client.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self(Arc::new(Inner::Mapped(map))))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Inner::Read(bytes)))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Inner::Read(bytes) => bytes,
            Inner::Mapped(map) => map,
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
