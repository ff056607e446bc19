//! Times every kernel that has a secret, for a fixed secret and for random ones, and prints Welch's t.
//!
//! Run by `scripts/timing.sh`, on a core of its own: `timing [MEASUREMENTS [NAME]]`. From 100,000 measurements on it fails if time
//! depends on a secret, or if a function that leaks on purpose is not found.

mod kernels;
mod schemes;

use std::process::ExitCode;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sordino_memcheck::timing::{Class, THRESHOLD, Times};

/// The number of measurements from which on the outcome counts.
const ENOUGH: usize = 100_000;

/// The expected outcome of a kernel.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Expected {
    /// Time does not depend on the secret.
    Constant,
    /// The function leaks on purpose.
    Leak,
    /// Time depends on something that need not be secret, as documented.
    Documented(&'static str),
}

/// The runs so far.
pub(crate) struct Bench {
    count: usize,
    name: Option<String>,
    pub(crate) rng: StdRng,
    failed: bool,
}

impl Bench {
    /// Times a kernel, if it is asked for: `make` makes a secret of the class from a generator, `run` uses it up.
    pub(crate) fn time<S, T>(
        &mut self,
        name: &str,
        expected: Expected,
        mut make: impl FnMut(&mut StdRng, Class) -> S,
        run: impl FnMut(&mut S) -> T,
    ) {
        if self.name.as_ref().is_some_and(|only| !name.contains(only)) {
            return;
        }
        let mut coins = StdRng::seed_from_u64(self.rng.next_u64());
        let next = || [Class::Fixed, Class::Random][usize::from(coins.random::<bool>())];
        let times = Times::measured(self.count, next, |class| make(&mut self.rng, class), run);
        let t = times.t();
        let found = t.abs() >= THRESHOLD;
        let (right, note) = match expected {
            Expected::Constant => (!found, ""),
            Expected::Leak => (found, "leaks on purpose"),
            Expected::Documented(why) => (true, why),
        };
        println!("| {name} | {:.0} | {t:.1} | {note} |", times.median());
        if !right && self.count >= ENOUGH {
            eprintln!("timing: {name}: |t| = {:.1}", t.abs());
            self.failed = true;
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().map_or(Ok(1000), |count| count.parse());
    let Ok(count) = count else {
        eprintln!("timing: expected a number of measurements");
        return ExitCode::from(2);
    };
    // A pool of this thread alone: no other core takes part.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let Ok(_pool) = pool.use_current_thread().build() else {
        eprintln!("timing: no pool of threads");
        return ExitCode::from(2);
    };
    let mut bench = Bench {
        count,
        name: arguments.next(),
        rng: StdRng::seed_from_u64(0x7131),
        failed: false,
    };
    println!("{count} measurements each");
    println!("| kernel | median, ns | t | |");
    println!("|---|---|---|---|");
    kernels::all(&mut bench);
    schemes::all(&mut bench);
    ExitCode::from(u8::from(bench.failed))
}
