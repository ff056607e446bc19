//! The bytes of a part, in memory.
//!
//! Parts are read, not mapped. If another program truncates or overwrites a mapped file, the process that reads it is
//! killed, or checked content changes. Content that was read and checked stays the same.

use std::ops::Deref;
use std::sync::Arc;

/// Immutable bytes, shared by copies.
#[derive(Clone, PartialEq)]
pub struct Bytes(Arc<Vec<u8>>);

impl Bytes {
    /// The memory of these bytes for the next read, if no copy shares it; otherwise empty memory. The system takes as
    /// long to clear fresh memory as to read into it.
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
