//! Buffers that start on a cache line.

use zeroize::{DefaultIsZeroes, Zeroize};

/// The number of bytes in a cache line, and in the widest vector register.
const LINE: usize = 64;

/// A fixed-length buffer of `T` whose first element starts on a 64-byte boundary, so that no vector
/// load of a kernel crosses a cache line.
pub struct Aligned<T> {
    buffer: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// A buffer of `len` elements, all `T::default()`.
    ///
    /// # Panics
    /// Panics if the length overflows the address space, or elements have no size.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let spare = LINE / size_of::<T>();
        let buffer = vec![T::default(); len + spare];
        let offset = buffer.as_ptr().align_offset(LINE);
        // Under Miri the offset may be unknown. The alignment matters only for speed.
        let start = if offset <= spare { offset } else { 0 };
        Self { buffer, start, len }
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.buffer[self.start..self.start + self.len]
    }
}

impl<T> std::ops::DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.buffer[self.start..self.start + self.len]
    }
}

impl<T: Copy + Default> From<&[T]> for Aligned<T> {
    fn from(values: &[T]) -> Self {
        let mut aligned = Self::new(values.len());
        aligned.copy_from_slice(values);
        aligned
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T: PartialEq> PartialEq for Aligned<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Aligned<T> {}

impl<T> std::fmt::Debug for Aligned<T> {
    /// Prints only the length, because the buffer may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aligned")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: DefaultIsZeroes> Zeroize for Aligned<T> {
    /// Writes whole registers at a time. A slice's own erasure writes each element separately.
    fn zeroize(&mut self) {
        self.buffer.fill(T::default());
        zeroize::optimization_barrier(self.buffer.as_slice());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_line_and_survives_a_clone() {
        for len in [0, 1, 7, 8, 9, 2048] {
            let mut buffer = Aligned::<u64>::new(len);
            assert_eq!(buffer.len(), len);
            if !cfg!(miri) {
                assert_eq!(buffer.as_ptr().align_offset(LINE), 0);
            }
            buffer.fill(7);
            let copy = buffer.clone();
            buffer.zeroize();
            assert!(copy.iter().all(|&word| word == 7));
            assert!(buffer.iter().all(|&word| word == 0));
        }
    }
}
