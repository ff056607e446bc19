//! The bytes of a part, in memory.
//!
//! Parts are read, not mapped. If a file is truncated or written over while it is mapped, the process that reads it
//! ends, or what was checked changes. What was read and checked stays as it is.

use std::ops::Deref;
use std::sync::Arc;

/// Immutable bytes, shared by copies.
#[derive(Clone, PartialEq)]
pub struct Bytes(Arc<Vec<u8>>);

impl Bytes {
    /// The memory of bytes that are not shared, for what is read next: fresh memory takes the system as long to clear
    /// as reading takes. Empty where they are shared.
    #[must_use]
    pub fn into_room(self) -> Vec<u8> {
        Arc::try_unwrap(self.0).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
