//! Double precision with fused multiply-add, for processors without wide integer products.
//!
//! A value is an integer in a double, with `h = fl(y w)` and `k = round(fl(y (w / q)))`. The remainder `y w - k q = (h
//! - k q) - (h - y w)` takes two fused operations, each exact. `h` is a multiple of its own last place, and both
//! differences are integers below `2^53`.
//!
//! Ranges, as multiples of `q < 2^50`, for `|w| <= q / 2`: a product of `|y| <= Y q` is at most `1/2 + Y/8`, where
//! `Y/8` bounds the error of `k`. Up to `Y = 8` a value is exact. Products of two canonical residues are at most `7/8`.
//! A double is stored in the word of the residue that it replaces. All operations take the same time for all values, as
//! no value is subnormal.

mod field;
mod forward;
mod inverse;

use crate::modulus::Modulus;
pub(super) use field::Field;
pub(super) use forward::forward;
pub(super) use inverse::{inverse_product, inverse_strided, multiply};

/// The largest absolute value, as a multiple of `q`.
const MOST: f64 = 8.0;

/// Constant factors `w`, balanced, and `w / q`.
#[derive(Clone, Default)]
pub(super) struct Factors {
    pub(super) w: Vec<f64>,
    pub(super) ratio: Vec<f64>,
}

impl Factors {
    pub(super) fn new(w: &[u64], modulus: Modulus) -> Self {
        let w: Vec<f64> = w.iter().map(|&w| modulus.centred(w) as f64).collect();
        let q = modulus.q() as f64;
        let ratio = w.iter().map(|w| w / q).collect();
        Self { w, ratio }
    }
}

/// Registers of `L` doubles. A value of the type proves that its instructions are supported.
pub(super) trait Lanes<const L: usize>: Copy {
    type Vector: Copy;
    fn splat(self, x: f64) -> Self::Vector;
    fn doubles(self, from: &[f64; L]) -> Self::Vector;
    fn get(self, words: &[u64; L]) -> Self::Vector;
    fn put(self, words: &mut [u64; L], x: Self::Vector);
    /// Converts words below `2^52` to doubles.
    fn doubles_of(self, words: Self::Vector) -> Self::Vector;
    /// Converts doubles that are integers in `[0, 2^52)` to words.
    fn words_of(self, x: Self::Vector) -> Self::Vector;
    fn add(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn sub(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn mul(self, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    /// `z - x y`, rounded once.
    fn sub_product(self, z: Self::Vector, x: Self::Vector, y: Self::Vector) -> Self::Vector;
    fn round(self, x: Self::Vector) -> Self::Vector;
    /// `q` in lanes with `x < 0`, 0 in the others.
    fn where_negative(self, x: Self::Vector, q: Self::Vector) -> Self::Vector;
    /// The words at even and at odd positions of two registers.
    fn evens_and_odds(self, x: Self::Vector, y: Self::Vector) -> (Self::Vector, Self::Vector);
    /// The stages of a forward transform whose partners share a register, on registers `2 pair` and `2 pair + 1` of a
    /// transform of length `n`.
    fn last_stages(
        self,
        field: Field<Self, L>,
        factors: &Factors,
        xy: (Self::Vector, Self::Vector),
        pair: usize,
        n: usize,
    ) -> (Self::Vector, Self::Vector);
    /// The stages of an inverse transform whose partners share a register.
    fn first_stages(
        self,
        field: Field<Self, L>,
        factors: &Factors,
        xy: (Self::Vector, Self::Vector),
        pair: usize,
        n: usize,
    ) -> (Self::Vector, Self::Vector);
}

/// One factor for every lane, or a separate factor for each.
#[derive(Clone, Copy)]
pub(super) struct Factor<V> {
    pub(super) w: V,
    pub(super) ratio: V,
}
