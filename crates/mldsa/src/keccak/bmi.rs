//! One state in general registers, with `andn` and `rorx` if the processor has them.

#![expect(unsafe_code, reason = "a call guarded by a token")]

use sordino_cpu::Bmi;

use super::{Lanes, portable};

/// The kernel of [`portable::permute_lane`]: 271 ns instead of 326 ns on Zen 4, where eight states in vectors
/// take 387 ns.
pub(crate) fn permute_lane(lanes: &mut Lanes, lane: usize) {
    #[target_feature(enable = "bmi1,bmi2")]
    fn with_bmi(lanes: &mut Lanes, lane: usize) {
        portable::permute_lane(lanes, lane);
    }
    match Bmi::detect() {
        // SAFETY: the token proves BMI1 and BMI2.
        Some(_) => unsafe { with_bmi(lanes, lane) },
        None => portable::permute_lane(lanes, lane),
    }
}
