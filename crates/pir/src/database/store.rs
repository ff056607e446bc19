//! The bytes of a matrix, in memory or in a mapped file.

use sordino_lattice::pages::Pages;

#[cfg(feature = "mmap")]
use super::mapped::Mapped;
use crate::Error;

pub(super) enum Store {
    Own(Pages),
    #[cfg(feature = "mmap")]
    File(Mapped),
}

impl Store {
    /// `len` zero bytes in memory.
    pub(super) fn zeroed(len: usize) -> Self {
        Self::Own(Pages::zeroed(len))
    }

    pub(super) const fn is_mapped(&self) -> bool {
        !matches!(self, Self::Own(_))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(pages) => pages,
            #[cfg(feature = "mmap")]
            Self::File(mapped) => mapped.bytes(),
        }
    }

    /// The bytes, to be changed: what lies in a file is copied into memory first.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        #[cfg(feature = "mmap")]
        if let Self::File(mapped) = self {
            let mut pages = Pages::zeroed(mapped.bytes().len());
            pages.copy_from_slice(mapped.bytes());
            *self = Self::Own(pages);
        }
        match self {
            Self::Own(pages) => pages,
            #[cfg(feature = "mmap")]
            Self::File(_) => unreachable!("replaced above"),
        }
    }

    /// A file is as long as it was when it was mapped.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Own(_) => Ok(()),
            #[cfg(feature = "mmap")]
            Self::File(mapped) => mapped.check(),
        }
    }
}
