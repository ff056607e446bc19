//! The rounds of FF1 and FF3. Each round adds an integer to one half; AES computes it from the other half.

use sordino_aes::Aes;

/// The order of the rounds: true is forward.
pub(crate) type Direction = bool;
/// Rounds from the first to the last.
pub(crate) const ENCRYPT: Direction = true;
/// Rounds from the last to the first, with each round undone.
pub(crate) const DECRYPT: Direction = false;

/// The arithmetic of one half, modulo the number of its values.
pub(crate) trait Half: Copy {
    type Int: Copy;

    /// `(a + y) mod m` forward, or `(a - y) mod m` backward. `y` is the integer that the cipher reads from the
    /// encrypted block `s`.
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: Self::Int, s: A::Block) -> Self::Int;

    /// `block` with `x`, the other half, added by XOR to the bytes where the cipher expects it.
    fn absorb<A: Aes>(aes: A, block: A::Block, x: Self::Int) -> A::Block;
}

/// Runs a statement for each of `n` rounds. `i` is the number of the round, and `half` (0 or 1) is the half
/// that it changes.
///
/// Rounds are unrolled by two, so that both halves stay in registers. This is a macro, because a closure would
/// be a function of its own, compiled without the instruction set of its caller.
macro_rules! rounds {
    ($forward:ident, $n:literal, |$half:ident, $i:ident| $round:expr) => {
        for k in 0..$n / 2u8 {
            let even = if $forward { 2 * k } else { $n - 2 - 2 * k };
            if !$forward {
                let ($half, $i) = (1, even + 1);
                $round;
            }
            let ($half, $i) = (0, even);
            $round;
            if $forward {
                let ($half, $i) = (1, even + 1);
                $round;
            }
        }
    };
}
pub(crate) use rounds;
