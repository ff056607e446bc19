//! `sordino man`: manual pages.

use crate::{Error, Output, whole::Whole};
use clap::{Args as ClapArgs, Command};
use serde::Serialize;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// Arguments of `sordino man`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder to write them to, which is made if need be: `sordino.1` and one page a command.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  sordino man /usr/local/share/man/man1 && man sordino-serve";

#[derive(Serialize)]
struct Report<'a> {
    folder: &'a Path,
    pages: Vec<String>,
}

/// Writes the pages of `command` and of all commands below it.
///
/// # Errors
/// If a file cannot be written.
pub fn run(args: &Args, mut command: Command, output: Output) -> Result<(), Error> {
    fs::create_dir_all(&args.folder).map_err(Error::at(&args.folder))?;
    command.build();
    let mut pages = Vec::new();
    write(&command, &args.folder, &mut pages)?;
    let report = Report {
        folder: &args.folder,
        pages,
    };
    output.report(&report, || {
        format!("{}: {} pages", args.folder.display(), report.pages.len())
    })
}

fn write(command: &Command, folder: &Path, pages: &mut Vec<String>) -> Result<(), Error> {
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        write(below, folder, pages)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let page = man.get_filename();
    let path = folder.join(&page);
    let mut text = Vec::new();
    let written = man.render(&mut text).and_then(|()| {
        let mut file = Whole::new(&path)?;
        file.write_all(&text)?;
        file.finish()
    });
    written.map_err(Error::at(&path))?;
    pages.push(page);
    Ok(())
}
