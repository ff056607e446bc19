//! `sordino index`: indexes on disk.

mod add;
mod advice;
mod backup;
mod build;
mod change;
mod export;
mod get;
mod ids;
mod info;
mod input;
mod labels;
mod list;
mod policy;
mod pull;
mod push;
mod take_back;
mod update;
mod values;
mod verify;

pub(crate) use export::shown;
pub(crate) use values::known_attributes;

use crate::{Error, Output};
use clap::{Args as ClapArgs, Subcommand};

/// Arguments of `sordino index`.
#[derive(ClapArgs, Debug)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build an index from a file of vectors, which may be larger than memory.
    Build(build::Args),
    /// Describe an index.
    Info(info::Args),
    /// Check every byte of an index. Exit code 3 if something is wrong.
    Verify(verify::Args),
    /// Add records, or replace those whose ids are there.
    Add(add::Args),
    /// Change payloads or attributes of records, and keep their vectors.
    Update(update::Args),
    /// Delete records.
    Delete(change::Delete),
    /// Show records by id, from an index on this disk or from a server: payload, attributes and vector.
    Get(Box<get::Args>),
    /// Write all records as lines of JSON, or as Parquet.
    Export(export::Export),
    /// Rewrite the index without deleted and replaced records.
    Compact(change::Compact),
    /// Copy an index to a backup, or bring a backup up to date.
    Backup(backup::Backup),
    /// Make an index from its backup.
    Restore(backup::Restore),
    /// Send this version of the index to a server.
    Push(push::Args),
    /// Bring a folder to the version that a server has.
    Pull(Box<pull::Args>),
    /// Take back what writers added since your last change.
    TakeBack(take_back::Args),
}

/// Runs `sordino index`.
///
/// # Errors
/// Fails if the command cannot do its work. The index is then unchanged. If the command makes several versions, the
/// last one that it reported stays.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    let silent = matches!(&args.command, Command::Export(args) if args.is_silent());
    if !silent {
        output.check()?;
    }
    match args.command {
        Command::Build(args) => build::run(&args, output),
        Command::Info(args) => info::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Add(args) => add::run(&args, output),
        Command::Update(args) => update::run(&args, output),
        Command::Delete(args) => change::delete(&args, output),
        Command::Get(args) => get::run(&args, output),
        Command::Export(args) => export::export(&args, output),
        Command::Compact(args) => change::compact(&args, output),
        Command::Backup(args) => backup::backup(&args, output),
        Command::Restore(args) => backup::restore(&args, output),
        Command::Push(args) => push::run(&args, output),
        Command::Pull(args) => pull::run(&args, output),
        Command::TakeBack(args) => take_back::run(&args, output),
    }
}
