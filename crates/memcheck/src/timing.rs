//! A statistical test of whether time depends on a secret: Reparaz, Balasch and Verbauwhede, *Dude, is my code constant
//! time?*, DATE 2017.
//!
//! The test times a function for a fixed secret and for random ones, in a random order. If the mean times of both classes differ
//! by more than chance allows, time depends on the secret. By chance, the absolute value of Welch's `t` exceeds 4.5 once in
//! 150,000 tests. Interrupts make a few times very long and hide small differences, so the test is repeated without the longest
//! times.

use std::hint::black_box;
use std::time::Instant;

/// The fractions of the times that are kept, the shortest first.
const KEPT: [f64; 6] = [1.0, 0.99, 0.9, 0.75, 0.5, 0.2];

/// The number of secrets that are made together, so that making one does not affect the time of the next call.
const BATCH: usize = 128;

/// Above this `t`, in absolute value, time depends on the secret.
pub const THRESHOLD: f64 = 4.5;

/// The classes: a secret that is the same each time, or a random one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The fixed secret.
    Fixed,
    /// A random one.
    Random,
}

/// The times of both classes, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Times {
    fixed: Vec<f64>,
    random: Vec<f64>,
}

impl Times {
    /// Times `run` on `count` secrets from `make`, in the classes that `next` draws. `make` must do the same work for both
    /// classes.
    pub fn measured<S, T>(
        count: usize,
        mut next: impl FnMut() -> Class,
        mut make: impl FnMut(Class) -> S,
        mut run: impl FnMut(&mut S) -> T,
    ) -> Self {
        let mut times = Self::default();
        for done in (0..count).step_by(BATCH) {
            let classes: Vec<Class> = (done..count).take(BATCH).map(|_| next()).collect();
            let mut secrets: Vec<S> = classes.iter().map(|class| make(*class)).collect();
            for (class, secret) in classes.into_iter().zip(&mut secrets) {
                let start = Instant::now();
                black_box(run(black_box(secret)));
                times.push(class, start.elapsed().as_nanos() as f64);
            }
        }
        times
    }

    /// Adds a time.
    pub fn push(&mut self, class: Class, nanoseconds: f64) {
        match class {
            Class::Fixed => self.fixed.push(nanoseconds),
            Class::Random => self.random.push(nanoseconds),
        }
    }

    /// The median of all times.
    #[must_use]
    pub fn median(&self) -> f64 {
        let all = self.sorted();
        all.get(all.len() >> 1).copied().unwrap_or_default()
    }

    /// The `t` with the largest absolute value, over all times and over the shortest fractions of them.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a length"
    )]
    pub fn t(&self) -> f64 {
        let all = self.sorted();
        let tests = KEPT.map(|part| {
            let at = (part * all.len() as f64) as usize;
            let longest = all.get(at).copied().unwrap_or(f64::INFINITY);
            let kept = |times: &[f64]| Moments::of(times.iter().copied().filter(|x| *x <= longest));
            Moments::t(&kept(&self.fixed), &kept(&self.random))
        });
        let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
        tests.into_iter().fold(0.0, larger)
    }

    fn sorted(&self) -> Vec<f64> {
        let mut all = [&self.fixed[..], &self.random].concat();
        all.sort_by(f64::total_cmp);
        all
    }
}

/// Number, mean and sum of squared distances from it, one value at a time (Welford 1962).
#[derive(Debug, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut moments = Self::default();
        for x in values {
            moments.count += 1.0;
            let before = x - moments.mean;
            moments.mean += before / moments.count;
            moments.squares += before * (x - moments.mean);
        }
        moments
    }

    /// Welch's `t`, or 0 if a class is too small to have a variance, or both variances are 0.
    fn t(a: &Self, b: &Self) -> f64 {
        if a.count < 2.0 || b.count < 2.0 {
            return 0.0;
        }
        let of_mean = |it: &Self| it.squares / (it.count - 1.0) / it.count;
        let deviation = (of_mean(a) + of_mean(b)).sqrt();
        match deviation > 0.0 {
            true => (a.mean - b.mean) / deviation,
            false => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulated times: `spread` different values, the fixed class longer by `more`, and every hundredth a thousand times as
    /// long.
    fn times(more: f64) -> Times {
        let mut times = Times::default();
        let mut state = 1u64;
        for at in 0..100_000u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let jitter = f64::from((state >> 33) as u32 & 0xff);
            let class = [Class::Fixed, Class::Random][(state >> 60 & 1) as usize];
            let more = if class == Class::Fixed { more } else { 0.0 };
            let long = if at % 100 == 0 { 1000.0 } else { 1.0 };
            times.push(class, (1000.0 + jitter + more) * long);
        }
        times
    }

    #[test]
    fn a_difference_is_found_behind_interrupts_and_none_where_there_is_none() {
        assert!(times(0.0).t().abs() < THRESHOLD);
        // A difference of five in a thousand, where times vary by a quarter.
        assert!(times(5.0).t() > 2.0 * THRESHOLD);
        assert!(times(-5.0).t() < -2.0 * THRESHOLD);
        let all = times(5.0);
        let whole = |times: &[f64]| Moments::of(times.iter().copied());
        assert!(Moments::t(&whole(&all.fixed), &whole(&all.random)).abs() < THRESHOLD);
    }

    #[test]
    fn t_is_welchs() {
        // By hand: means 2 and 6, variances 1 and 4, three values each: -4 / sqrt(1/3 + 4/3).
        let (a, b) = ([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]);
        let of = |values: [f64; 3]| Moments::of(values.into_iter());
        assert!((Moments::t(&of(a), &of(b)) + 4.0 / (5.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Moments::t(&of(a), &of(a)), 0.0);
        assert_eq!(Times::default().t(), 0.0);
    }

    #[test]
    fn every_secret_is_timed_once_in_its_class() {
        let (mut drawn, mut seen) = (0, Vec::new());
        let next = || {
            drawn += 1;
            [Class::Fixed, Class::Random][(drawn % 3) & 1]
        };
        let times = Times::measured(300, next, |class| class, |class| seen.push(*class));
        let fixed = seen.iter().filter(|class| **class == Class::Fixed).count();
        assert_eq!(
            (times.fixed.len(), times.random.len()),
            (fixed, 300 - fixed)
        );
        assert!(times.median() >= 0.0);
    }
}
