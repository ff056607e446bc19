//! Expansion: turns a ciphertext of many coefficients into one ciphertext for each coefficient.
//!
//! The first step separates even from odd coefficients, the next one splits each of these, and so on. In the order of
//! this splitting, ciphertext `n` of `2^d` belongs to coefficient `brv(n)`, the `d` bits of `n` in reverse. The
//! expansion computes only the ciphertexts with the first numbers, which the caller wants.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::threads;

use super::digits::Digits;
use super::keys::Evaluation;
use super::ring::{GADGETS, N, plan, steps};

/// The last steps, for 128 ciphertexts, which one thread does alone.
pub(crate) const TOGETHER: u32 = 7;

/// `brv(n)`: the number of the coefficient that ciphertext `n` of `2^depth` encrypts.
pub(crate) const fn coefficient(n: usize, depth: u32) -> usize {
    // Two shifts, since Rust does not define a shift by all bits.
    (n.reverse_bits() >> 1) >> (usize::BITS - 1 - depth)
}

/// Expands ciphertexts in NTT form into `count` ciphertexts, on all threads. Each run of `2^min(depth, 7)` ciphertexts
/// goes into one piece, under their numbers within it.
pub(crate) fn expand<T: Send>(
    (keys, depth): (&Evaluation, u32),
    ciphertexts: &[Aligned<u64>],
    count: usize,
    pieces: Vec<T>,
    put: impl Fn(&mut T, usize, &[u64]) + Send + Sync,
) {
    let together = depth.min(TOGETHER);
    let mut trunk = Expansion::new(keys, depth - together);
    let mut roots = Vec::new();
    for (v, ciphertext) in ciphertexts.iter().enumerate() {
        let held = (count - (v << depth)).min(1 << depth);
        let wanted = (0, held.div_ceil(1 << together));
        trunk.descend(0, wanted, ciphertext, &mut |_, root| {
            roots.push(Aligned::from(root));
        });
    }
    debug_assert_eq!(roots.len(), pieces.len(), "a piece for every root");
    threads::for_each(
        roots.into_iter().zip(pieces).collect(),
        || Expansion::new(keys, depth),
        |expansion, i, (root, mut piece): (Aligned<u64>, T)| {
            let held = (count - (i << together)).min(1 << together);
            let mut leaf = |n: usize, ciphertext: &[u64]| put(&mut piece, n, ciphertext);
            expansion.descend(depth - together, (0, held), &root, &mut leaf);
        },
    );
}

/// Working memory of an expansion, down to step `depth`.
pub(crate) struct Expansion<'a> {
    keys: &'a Evaluation,
    depth: u32,
    digits: Digits,
    /// `u`, the ciphertext after the key switch.
    switched: Aligned<u64>,
    /// The two ciphertexts into which each step splits one.
    halves: Vec<Aligned<u64>>,
}

impl<'a> Expansion<'a> {
    pub(crate) fn new(keys: &'a Evaluation, depth: u32) -> Self {
        Self {
            keys,
            depth,
            digits: Digits::new(),
            switched: Aligned::new(2 * N),
            halves: (0..depth).map(|_| Aligned::new(4 * N)).collect(),
        }
    }

    /// Splits a ciphertext from step `i` on into `count`, the first of which has number `first`.
    pub(crate) fn descend(
        &mut self,
        i: u32,
        (first, count): (usize, usize),
        ciphertext: &[u64],
        leaf: &mut impl FnMut(usize, &[u64]),
    ) {
        if i == self.depth {
            return leaf(first, ciphertext);
        }
        // Moved out while later steps run, because they use the halves behind it.
        let mut halves = std::mem::replace(&mut self.halves[i as usize], Aligned::new(0));
        let (even, odd) = halves.split_at_mut(2 * N);
        self.split(i as usize, ciphertext, even, odd);
        let half = 1 << (self.depth - i - 1);
        self.descend(i + 1, (first, count.min(half)), even, leaf);
        if count > half {
            self.descend(i + 1, (first + half, count - half), odd, leaf);
        }
        self.halves[i as usize] = halves;
    }

    /// Step `i`: the ciphertexts of even and of odd coefficients.
    pub(crate) fn split(&mut self, i: usize, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
        // u = (c_0, 0) + sum_t digit_t(c_1) K_it
        self.switched[..N].copy_from_slice(&c[..N]);
        self.switched[N..].fill(0);
        let gadget = GADGETS[i];
        self.digits.take(gadget, 0, &c[N..]);
        self.digits
            .add_products(gadget.digits(), self.keys.key(i), &mut self.switched);
        let parts = c.chunks_exact(N).zip(self.switched.chunks_exact(N));
        let halves = even.chunks_exact_mut(N).zip(odd.chunks_exact_mut(N));
        for ((c, u), (even, odd)) in parts.zip(halves) {
            steps()[i].split(plan(), c, u, even, odd);
        }
    }
}
