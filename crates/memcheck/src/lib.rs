#![doc = include_str!("../README.md")]

mod request;
pub mod timing;

use core::convert::Infallible;

use rand_core::{CryptoRng, TryCryptoRng, TryRng};
use request::request;

const RUNNING_ON_VALGRIND: usize = 0x1001;
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Marks the bytes of `value` as secret. From now on memcheck follows them and everything that is
/// computed from them.
pub fn secret<T>(value: &[T]) {
    request(
        MAKE_MEM_UNDEFINED,
        value.as_ptr().addr(),
        size_of_val(value),
    );
}

/// Removes the mark, because `value` is sent, or a test looks at it.
pub fn public<T>(value: &[T]) {
    request(MAKE_MEM_DEFINED, value.as_ptr().addr(), size_of_val(value));
}

/// True if valgrind sees the marks.
///
/// # Panics
/// Panics if the variable `SORDINO_VALGRIND` says that valgrind runs, but it does not. A test would
/// otherwise check nothing.
#[must_use]
pub fn is_watching() -> bool {
    let running = request(RUNNING_ON_VALGRIND, 0, 0) != 0;
    let asked = std::env::var_os("SORDINO_VALGRIND").is_some();
    assert!(
        running || !asked,
        "SORDINO_VALGRIND is set, but valgrind does not run"
    );
    running
}

/// A generator whose output is secret.
#[derive(Debug)]
pub struct SecretRng<R>(pub R);

impl<R: CryptoRng> TryRng for SecretRng<R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        secret(bytes);
        Ok(())
    }
}

impl<R: CryptoRng> TryCryptoRng for SecretRng<R> {}
