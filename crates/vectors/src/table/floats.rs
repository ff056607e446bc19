//! Floats of 16 and 32 bits.

use half::f16;

/// The shortest number that a float of 32 bits stands for, such as 0.1 for 0.10000000149011612. A filter finds the
/// number in the form in which people write it.
pub(super) fn of_single(x: f32) -> f64 {
    x.to_string().parse().unwrap_or_else(|_| f64::from(x))
}

/// The shortest number that a float of 16 bits stands for.
pub(super) fn of_half(x: f16) -> f64 {
    // No such number needs more than five digits.
    let written = (0..5).map(|digits| format!("{:.digits$e}", x.to_f64()).parse());
    let mut written = written.filter_map(Result::ok);
    written
        .find(|y| f16::from_f64(*y) == x)
        .unwrap_or_else(|| x.to_f64())
}
