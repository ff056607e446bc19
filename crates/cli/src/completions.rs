//! `sordino completions`: scripts that let a shell complete commands and options.

use crate::{Error, stdio::stdout};
use clap::{Args as ClapArgs, Command};
use clap_complete::Shell;
use std::io::Write;

/// Arguments of `sordino completions`.
#[derive(ClapArgs, Debug)]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script for `command`. It ignores `--json`, since the output is for the shell.
///
/// # Errors
/// Fails if standard output cannot be written.
pub fn run(args: &Args, command: &mut Command) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "sordino", &mut script);
    let mut out = stdout()?.lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
