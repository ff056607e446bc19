//! The command line of Sordino.

use clap::{CommandFactory, Parser, Subcommand};
use sordino_cli::{Output, bench, completions, fpe, index, keys, plan, query, serve};
use std::process::ExitCode;

/// Private vector search, and format-preserving encryption.
///
/// Exit codes: 0 done; 1 it could not be done; 2 wrong usage; 3 a signature, digest or version is
/// wrong, so the index, file or server is not to be trusted; 4 the server cannot be reached, or
/// refused.
#[derive(Parser)]
#[command(name = "sordino", version, after_help = EXAMPLES)]
struct Cli {
    /// Print results as one JSON object a line, and errors as JSON on standard error.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sordino keys new owner owner.key
  sordino keys new reader reader.key --from owner.key
  sordino keys new public owner.pub --from owner.key
  sordino plan --data base.npy
  sordino index build base.npy --output base.index --key owner.key
  sordino serve base.index --key owner.pub --listen 127.0.0.1:7700 --plaintext --anyone
  sordino query --connect http://127.0.0.1:7700 --key reader.key --file queries.npy";

#[derive(Subcommand)]
enum Command {
    /// Make and inspect keys.
    Keys(keys::Args),
    /// What each mode costs for your numbers.
    Plan(plan::Args),
    /// Build, inspect and change an index.
    Index(index::Args),
    /// Serve an index.
    Serve(serve::Args),
    /// Search an index, on a server or in this process.
    Query(query::Args),
    /// Measure the modes: recall, time, bytes.
    Bench(bench::Args),
    /// Format-preserving encryption of lines and CSV columns.
    Fpe(fpe::Args),
    /// A script that lets your shell complete commands.
    Completions(completions::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let result = match cli.command {
        Command::Keys(args) => keys::run(args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Index(args) => index::run(args, output),
        Command::Serve(args) => serve::run(&args, output),
        Command::Query(args) => query::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Fpe(args) => fpe::run(args, output),
        Command::Completions(args) => completions::run(&args, &mut Cli::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output.failed(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
