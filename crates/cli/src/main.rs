//! The command line of Sordino.

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Privacy primitives, and the system built from them.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Format-preserving encryption of lines and CSV columns.
    Fpe(sordino_cli::fpe::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Fpe(args) => sordino_cli::fpe::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sordino: {error}");
            ExitCode::FAILURE
        }
    }
}
