//! The arguments of the whole command.

use crate::{
    bench, completions, demo, fpe, gather, index, keys, man, plan, proxy, query, serve, token,
    transparency,
};
use clap::{Parser, Subcommand};

/// Private vector search, and format-preserving encryption.
///
/// Exit codes: 0 success; 1 failure; 2 wrong usage; 3 a wrong signature, digest or version; 4 the server refused or
/// cannot be reached; 130 interrupted. After 3, stop using the index, file or server.
#[derive(Debug, Parser)]
#[command(name = "sordino", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Print results as one JSON object a line, and errors as JSON on standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sordino demo \"something warm to eat\"
  sordino keys new owner owner.key
  sordino keys new reader reader.key --from owner.key
  sordino keys new public owner.pub --from owner.key
  sordino plan --data base.npy
  sordino index build base.npy base.index --key owner.key
  sordino serve base.index --key owner.pub --listen 127.0.0.1:7700 --plaintext --anyone
  sordino query --connect http://127.0.0.1:7700 --key reader.key --file queries.npy";

/// A command and its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a private search in one command, from keys to an answer.
    Demo(demo::Args),
    /// Make and inspect keys.
    Keys(keys::Args),
    /// Issue, narrow and verify tokens that allow clients something.
    Token(token::Args),
    /// Predict the costs of each mode for your numbers.
    Plan(plan::Args),
    /// Build, inspect and change an index.
    Index(index::Args),
    /// Serve an index.
    Serve(Box<serve::Args>),
    /// Serve an index whose shards other servers hold.
    Gather(Box<gather::Args>),
    /// Search an index, on a server or in this process.
    Query(query::Args),
    /// Run a local HTTP gateway, through which programs search with plain JSON.
    Proxy(proxy::Args),
    /// Publish the versions of indexes in a log that only grows, and check what is in it.
    Log(transparency::Args),
    /// Measure recall, time and bytes of each mode.
    Bench(bench::Args),
    /// Encrypt lines, or columns of CSV, JSON lines and Parquet, and keep their format.
    Fpe(fpe::Args),
    /// Print a script that lets your shell complete commands.
    Completions(completions::Args),
    /// Write the manual pages.
    Man(man::Args),
}
