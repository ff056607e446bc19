//! Sums of scores at the real noise, with which readers check replies.

mod checks;
mod held;
