//! Encryption of a request.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::add_signed;
use sordino_lattice::rounding::shift;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, residue};
use zeroize::Zeroizing;

use super::Client;
use crate::hintless::deal::Place;
use crate::hintless::expand::coefficient;
use crate::hintless::place::mask;
use crate::hintless::ring::{DROPPED, N, OF_C1, modulus, plan};
use crate::hintless::session::Session;

/// Working memory of an encryption, and the streams that it draws from.
struct Encryption<'a> {
    session: &'a Session,
    seed: &'a [u8; 32],
    errors: Stream,
    e: Zeroizing<Aligned<i8>>,
    b: Zeroizing<Aligned<u64>>,
    /// `b` of all ciphertexts so far, without their lowest bits.
    out: Vec<u64>,
}

impl Client {
    /// `b` of all ciphertexts: selectors of the columns, then bits of the rows, without their lowest bits.
    pub(super) fn encrypt(
        &self,
        session: &Session,
        targets: &[Place],
        seeds: &[[u8; 32]; 2],
    ) -> Vec<u64> {
        let (q, params) = (modulus(), &self.params);
        let mut encryption = Encryption {
            session,
            seed: &seeds[0],
            errors: Stream::new(&seeds[1], 0),
            e: Zeroizing::new(Aligned::new(N)),
            b: Zeroizing::new(Aligned::new(N)),
            out: Vec::with_capacity(params.ciphertexts() * N),
        };
        // Expansion multiplies by 2^d.
        let per = |depth: u32| q.inverse_vartime(1 << depth);
        let one = q.mul(params.scale(), per(params.depth));
        let mut selectors = targets.iter().flat_map(|target| {
            // All 64 bits set, also where addresses have 32 bits.
            (0..params.columns())
                .map(move |j| one & ((mask(j, target.column) & 1) as u64).wrapping_neg())
        });
        encryption.add(params.of_selectors(), params.depth, &mut selectors);
        let factors: [u64; OF_C1.digits()] =
            std::array::from_fn(|t| q.mul(q.reduce(OF_C1.factor(t)), per(params.fold_depth)));
        let bits = targets.iter().flat_map(|target| {
            (0..params.fold).map(move |i| ((target.row >> i & 1) as u64).wrapping_neg())
        });
        let mut bits = bits.flat_map(|bit| factors.map(|factor| factor & bit));
        let left = params.ciphertexts() - params.of_selectors();
        encryption.add(left, params.fold_depth, &mut bits);
        encryption.out
    }
}

impl Encryption<'_> {
    /// Adds `count` ciphertexts of `2^depth` messages each, in the order of expansion.
    fn add(&mut self, count: usize, depth: u32, messages: &mut dyn Iterator<Item = u64>) {
        let q = modulus();
        let mut a = Aligned::new(N);
        for _ in 0..count {
            let number = self.out.len() / N;
            residue::fill_vartime(self.seed, number as u64, q, &mut a);
            plan().inverse_product(&a, self.session.secret(), &mut self.b, 0);
            for residue in self.b.iter_mut() {
                *residue = q.sub(0, *residue);
            }
            cbd::fill(&mut self.errors, &mut self.e);
            add_signed(q, &mut self.b, &self.e);
            for (n, message) in messages.take(1 << depth).enumerate() {
                let place = &mut self.b[coefficient(n, depth)];
                *place = q.add(*place, message);
            }
            let kept = self.b.iter().map(|residue| shift(*residue, DROPPED));
            self.out.extend(kept);
        }
    }
}
