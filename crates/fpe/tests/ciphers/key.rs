//! Makes keys from bytes, for vectors and random cases. The number of bytes decides the kind of
//! key.

use sordino_fpe::{AesKey, AesSize};

/// A key of 16, 24 or 32 bytes.
#[track_caller]
pub(crate) fn aes(bytes: &[u8]) -> AesKey {
    let size = AesSize::from_bytes(bytes.len()).expect("16, 24 or 32 bytes");
    AesKey::from_slice(size, bytes).expect("bytes of that size")
}
