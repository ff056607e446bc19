//! The rounds of FF1 and FF3: each adds to one half an integer that AES makes of the other half.

use sordino_aes::Aes;

/// The order of the rounds: true is forward.
pub(crate) type Direction = bool;
/// Rounds from the first to the last.
pub(crate) const ENCRYPT: Direction = true;
/// Rounds from the last to the first, each undone.
pub(crate) const DECRYPT: Direction = false;

/// The arithmetic of one half, modulo the number of its values.
pub(crate) trait Half: Copy {
    type Int: Copy;

    /// `(a + y) mod m`, or `(a - y) mod m` backward, where `y` is the integer that the cipher reads
    /// from the encrypted block `s`.
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: Self::Int, s: A::Block) -> Self::Int;

    /// `block` with the other half, `x`, added by XOR to the bytes where the cipher has it.
    fn absorb<A: Aes>(aes: A, block: A::Block, x: Self::Int) -> A::Block;
}

/// Runs a statement for each of `n` rounds: `i` is the round, and `half` (0 or 1) the half that it
/// changes.
///
/// Rounds are unrolled by two, so that both halves stay in registers. A macro, because a closure is a function
/// of its own, without the instructions of the one that it would be inlined into.
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
