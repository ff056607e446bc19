//! Expansion: from ciphertexts of many coefficients to a ciphertext for each.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::pages::Pages;
use sordino_lattice::products::Operands;

use super::keys::Evaluation;
use super::ring::{GADGETS, N, modulus, plan, steps};

/// The most digits of a gadget.
const MOST_DIGITS: usize = 7;

/// Selectors in tiles of values, `2 width` words for each: those of `c_0`, then those of `c_1`.
///
/// Tile after tile, and selector after selector within one: a tile of all selectors stays in the cache while the
/// records stream by.
pub(crate) struct Selectors {
    pages: Pages,
    count: usize,
    width: usize,
}

impl Selectors {
    /// Room for `count` selectors in tiles of `width` values.
    pub(crate) fn new(count: usize, width: usize) -> Self {
        Self {
            pages: Pages::zeroed_words(2 * N * count),
            count,
            width,
        }
    }

    /// All selectors of tile `i`.
    pub(crate) fn tile(&self, i: usize) -> &[u64] {
        let len = 2 * self.width * self.count;
        &self.pages.words()[i * len..][..len]
    }

    fn put(&mut self, number: usize, ciphertext: &[u64]) {
        let (width, step) = (self.width, 2 * self.width * self.count);
        let words = self.pages.words_mut();
        let (first, second) = ciphertext.split_at(N);
        let halves = first.chunks_exact(width).zip(second.chunks_exact(width));
        for (tile, (first, second)) in halves.enumerate() {
            let to = &mut words[tile * step + 2 * width * number..][..2 * width];
            to[..width].copy_from_slice(first);
            to[width..].copy_from_slice(second);
        }
    }
}

/// The memory of an expansion.
pub(crate) struct Expansion<'a> {
    keys: &'a Evaluation,
    depth: u32,
    /// The digits of one polynomial.
    digits: Aligned<u64>,
    /// `u`, and a copy of `c_1` as coefficients.
    switched: Aligned<u64>,
    coefficients: Aligned<u64>,
    /// The two ciphertexts that each step on the way splits one into.
    halves: Vec<Aligned<u64>>,
}

impl<'a> Expansion<'a> {
    pub(crate) fn new(keys: &'a Evaluation, depth: u32) -> Self {
        Self {
            keys,
            depth,
            digits: Aligned::new(MOST_DIGITS * N),
            switched: Aligned::new(2 * N),
            coefficients: Aligned::new(N),
            halves: (0..depth).map(|_| Aligned::new(4 * N)).collect(),
        }
    }

    /// Writes the selectors of a ciphertext, `c_0` and `c_1` in NTT form, from number `first` on: `2^d` of them, or
    /// as many as there is room for.
    pub(crate) fn expand(&mut self, ciphertext: &[u64], first: usize, out: &mut Selectors) {
        let count = (out.count - first).min(1 << self.depth);
        let mut leaf = |j: usize, ciphertext: &[u64]| out.put(first + j, ciphertext);
        self.descend(0, (0, count), ciphertext, &mut leaf);
    }

    /// Splits the ciphertext of those selectors `j` of `count` whose lowest `i` bits are those of `at`.
    pub(crate) fn descend(
        &mut self,
        i: u32,
        (at, count): (usize, usize),
        ciphertext: &[u64],
        leaf: &mut impl FnMut(usize, &[u64]),
    ) {
        if i == self.depth {
            return leaf(at, ciphertext);
        }
        // Taken out while later steps run, which use those behind it.
        let mut halves = std::mem::replace(&mut self.halves[i as usize], Aligned::new(0));
        let (even, odd) = halves.split_at_mut(2 * N);
        self.split(i as usize, ciphertext, even, odd);
        self.descend(i + 1, (at, count), even, leaf);
        if at + (1 << i) < count {
            self.descend(i + 1, (at + (1 << i), count), odd, leaf);
        }
        self.halves[i as usize] = halves;
    }

    /// Step `i`: the selectors of even and of odd numbers.
    pub(crate) fn split(&mut self, i: usize, c: &[u64], even: &mut [u64], odd: &mut [u64]) {
        self.switch(i, c);
        let parts = c.chunks_exact(N).zip(self.switched.chunks_exact(N));
        let halves = even.chunks_exact_mut(N).zip(odd.chunks_exact_mut(N));
        for ((c, u), (even, odd)) in parts.zip(halves) {
            steps()[i].split(plan(), c, u, even, odd);
        }
    }

    /// `u = (c_0, 0) + sum_t digit_t(c_1) K_it`.
    fn switch(&mut self, i: usize, c: &[u64]) {
        const ROWS: [u32; MOST_DIGITS] = [0, 1, 2, 3, 4, 5, 6];
        let gadget = GADGETS[i];
        self.coefficients.copy_from_slice(&c[N..]);
        plan().inverse(&mut self.coefficients);
        let digits = &mut self.digits[..gadget.digits() * N];
        gadget.decompose(modulus(), &self.coefficients, digits);
        digits
            .chunks_exact_mut(N)
            .for_each(|digit| plan().forward(digit));
        let (first, second) = self.switched.split_at_mut(N);
        first.copy_from_slice(&c[..N]);
        second.fill(0);
        let operands = Operands {
            x: digits,
            x_step: N,
            rows: &ROWS[..gadget.digits()],
            y: self.keys.step(i),
            y_step: 2 * N,
            second: N,
            shared: false,
        };
        operands.add_to(modulus(), first, second);
    }
}
