//! Sums of scores at the real noise, by which readers check replies.

mod checks;
mod held;
