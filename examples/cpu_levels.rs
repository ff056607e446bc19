//! Prints the SIMD levels that Sordino's kernels will use on this machine.
//!
//! The libraries ignore a value of `SORDINO_CPU` that names no level. This program refuses such a value, so that a
//! script can make sure of a level before it measures or tests at this level.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(unknown) = sordino_cpu::Level::requested() {
        eprintln!("SORDINO_CPU: {unknown}");
        return ExitCode::from(2);
    }
    println!("{}", sordino_cpu::levels().join(" "));
    ExitCode::SUCCESS
}
