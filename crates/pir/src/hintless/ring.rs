//! The ring and its fixed parameters.

use std::sync::OnceLock;

use sordino_lattice::Modulus;
use sordino_lattice::automorphism::Step;
use sordino_lattice::gadget::Gadget;
use sordino_lattice::ntt::Plan;

/// The ring degree.
pub(crate) const N: usize = 2048;

/// The largest depth of an expansion.
pub(crate) const DEPTH: usize = N.ilog2() as usize;

/// The largest 50-bit prime that is 1 mod 4096.
const Q: u64 = 1_125_899_906_826_241;

/// The number of bits of `q`, and of a coefficient of a key.
pub(crate) const LOG_Q: u32 = 50;

/// `r`: the low bits that a query drops from its coefficients.
pub(crate) const DROPPED: u32 = 14;

/// The gadget of each step of expansion, followed by the gadget of the key for `s^2`.
pub(crate) const GADGETS: [Gadget; KEYS] = [
    FINE, FINE, FINE, MIDDLE, MIDDLE, MIDDLE, MIDDLE, COARSE, COARSE, COARSE, COARSE, OF_SQUARE,
];

/// The number of keys of a session: one for each step, and the one for `s^2`.
pub(crate) const KEYS: usize = DEPTH + 1;

/// The number of the key for `s^2`, counted from 0.
pub(crate) const SQUARE: usize = DEPTH;

const FINE: Gadget = Gadget::new(5, 8, 10);
const MIDDLE: Gadget = Gadget::new(4, 10, 10);
const COARSE: Gadget = Gadget::new(3, 12, 14);
/// This gadget rounds fewer bits away than the others, because they are multiplied by `s^2`, whose
/// coefficients are larger.
const OF_SQUARE: Gadget = Gadget::new(3, 14, 8);

/// The gadgets of an external product. The digits of `c_0` are multiplied by encryptions of a bit. The digits of `c_1`
/// are multiplied by encryptions of the bit times `s`, which have a thousand times the noise.
pub(crate) const OF_C0: Gadget = Gadget::new(4, 10, 10);
pub(crate) const OF_C1: Gadget = Gadget::new(9, 5, 5);

/// Every second factor of `OF_C1` is a factor of `OF_C0`, so the query has only the encryptions for `c_1`.
pub(crate) const EVERY: usize = 2;

const _: () = {
    let mut i = 0;
    while i < OF_C0.digits() {
        assert!(OF_C0.factor(i) == OF_C1.factor(EVERY * i + 1));
        i += 1;
    }
};

/// The number of polynomials of all keys.
pub(crate) const KEY_POLYS: usize = {
    let (mut sum, mut i) = (0, 0);
    while i < KEYS {
        sum += GADGETS[i].digits();
        i += 1;
    }
    sum
};

/// The transform mod `q`.
pub(crate) fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let modulus = Modulus::new(Q).expect("a 50-bit prime");
        Plan::new(N, modulus).expect("the prime is 1 mod 2N")
    })
}

/// The modulus `q`.
pub(crate) fn modulus() -> Modulus {
    plan().modulus()
}

/// The steps of expansion.
pub(crate) fn steps() -> &'static [Step] {
    static STEPS: OnceLock<Vec<Step>> = OnceLock::new();
    STEPS.get_or_init(|| (0..).take(DEPTH).map(|i| Step::new(plan(), i)).collect())
}
