//! Keys whose size is that of the bytes given, for vectors and random cases.

use sordino_fpe::{AesKey, AesSize};

/// The key of 16, 24 or 32 bytes.
#[track_caller]
pub(crate) fn aes(bytes: &[u8]) -> AesKey {
    let size = AesSize::from_bytes(bytes.len()).expect("16, 24 or 32 bytes");
    AesKey::from_slice(size, bytes).expect("bytes of that size")
}
