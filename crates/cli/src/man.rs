//! `sordino man`: manual pages.

use crate::{Error, Output, files};
use clap::{Args as ClapArgs, Command};
use serde::Serialize;
use std::{
    fs::{self, File},
    io::Read,
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
/// Fails if a file cannot be written, or if a file with a page's name is not a manual page of this command.
pub fn run(args: &Args, mut command: Command, output: Output) -> Result<(), Error> {
    fs::create_dir_all(&args.folder).map_err(Error::at(&args.folder))?;
    command.build();
    let mut pages = Vec::new();
    render(&command, &args.folder, &mut pages)?;
    // This is checked before the first page is written, so that a folder has all new pages or all
    // old ones.
    for (page, _) in &pages {
        refuse_other(&args.folder.join(page))?;
    }
    for (page, text) in &pages {
        files::write(&args.folder.join(page), text)?;
    }
    let pages = pages.into_iter().map(|(page, _)| page).collect();
    let report = Report {
        folder: &args.folder,
        pages,
    };
    output.report(&report, || {
        format!("{}: {} pages", args.folder.display(), report.pages.len())
    })
}

/// The pages of a command and of all commands below it, by their names.
fn render(
    command: &Command,
    folder: &Path,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Error> {
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        render(below, folder, pages)?;
    }
    let man = clap_mangen::Man::new(command.clone());
    let (page, mut text) = (man.get_filename(), Vec::new());
    let rendered = man.render(&mut text);
    rendered.map_err(Error::at(&folder.join(&page)))?;
    pages.push((page, text));
    Ok(())
}

/// Refuses to overwrite a file that is not a page of this command, of any version.
fn refuse_other(path: &Path) -> Result<(), Error> {
    const HEAD: &[u8] = b".TH sordino";
    if !path.is_file() {
        return Ok(());
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 10).read_to_end(&mut head));
    read.map_err(Error::at(path))?;
    if head.windows(HEAD.len()).any(|words| words == HEAD) {
        return Ok(());
    }
    let path = path.display();
    let why = "it is not a manual page of sordino, and is not overwritten: move it away, or choose another folder";
    Err(Error::Arguments(format!("{path}: {why}")))
}
