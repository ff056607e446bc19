//! What FF1 and FF3 share: rounds that mix into one half what AES makes of the other.

use crate::aes::Aes;

/// Whether rounds run forward.
pub(crate) type Direction = bool;
/// Rounds from the first to the last.
pub(crate) const ENCRYPT: Direction = true;
/// Rounds from the last to the first, each undone.
pub(crate) const DECRYPT: Direction = false;

/// One half: its modulus, and what a round does to it.
pub(crate) trait Half: Copy {
    type Int: Copy;

    /// `(a + y) mod m`, or `(a - y) mod m`, where `y` is what the cipher takes from the encrypted
    /// block `s`.
    fn mix<A: Aes, const D: Direction>(&self, aes: A, a: Self::Int, s: A::Block) -> Self::Int;

    /// `block ^ x`, where the cipher has the other half in the block.
    fn absorb<A: Aes>(aes: A, block: A::Block, x: Self::Int) -> A::Block;
}

/// `n` rounds, each `|half, i|` a statement: round `i` changes half 0 or 1.
///
/// Two at a time, so that both halves stay in registers. A macro, because a closure is a function
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
