//! Riffpe in vector registers of AVX-512.

pub(super) mod one; // one string, all its cards in a register or six
pub(super) mod sixteen; // sixteen strings in step, with VAES
