//! `sordino demo`: a private search in one command, from keys to an answer, including the server's view.

mod embedding; // vectors of texts
mod sight; // the server's view
mod texts; // short sentences

use crate::{Arguments, Command, Error, Output, index, keys, query};
use clap::{Args as ClapArgs, Parser};
use serde::Serialize;
use sordino_net::{Access, Limits, Listen, Running, Service};
use sordino_search::{Index, Server};
use std::env::temp_dir;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Arguments of `sordino demo`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The question, in English words.
    #[arg(default_value = "something warm to eat")]
    question: String,
    /// Keep keys, texts and index in this folder, which must not exist yet. Without this they are removed at the end.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  sordino demo
  sordino demo \"a city in Norway by the sea\" --keep demo

The demo makes keys, an index of 400 short texts and a server on this machine, and asks the server. It prints each
command that it runs, and what the server saw of two different questions. To need no model, it makes vectors from
pieces of words: a question finds texts that share words with it.";

/// The question that is compared with the user's question.
const OTHER: &str = "a tool to cut wood";

/// One line of the files of texts and questions.
#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    text: &'a str,
    vector: Vec<f32>,
}

/// The folder of the files.
enum Folder {
    Kept(PathBuf),
    Temporary(TempDir),
}

/// Runs `sordino demo`.
///
/// # Errors
/// Fails if the folder to keep exists, files cannot be written, or this machine lets no server listen on loopback.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    let question = embedded(&args.question)?;
    let folder = Folder::new(args.keep.as_deref())?;
    let demo = Demo {
        folder: folder.path(),
        output,
    };
    demo.say(&format!("$ cd {}", demo.folder.display()))?;
    demo.write_texts()?;
    demo.write("question.jsonl", &[("question", &args.question)])?;
    demo.step("keys new owner owner.key")?;
    demo.step("keys new reader reader.key --from owner.key")?;
    demo.step("keys new public owner.pub --from owner.key")?;
    demo.step("index build texts.jsonl texts.index --key owner.key")?;
    let server = demo.serve()?;
    let address = format!("http://{}", server.address());
    demo.say(&format!("\nThe question is: {}", args.question))?;
    demo.step(&format!(
        "query --connect {address} --key reader.key --file question.jsonl --k 5"
    ))?;
    let key = keys::reader(&demo.folder.join("reader.key"))?;
    let questions = [
        (args.question.as_str(), question),
        (OTHER, embedded(OTHER)?),
    ];
    let sights = sight::of_each(&address, &key, &questions)?;
    output.report(&sights, || sights.to_string())?;
    server.stop()?;
    if let Folder::Kept(path) = &folder {
        let path = path.display();
        demo.say(&format!(
            "\nThe files are in {path}. Serve the index again with the command above."
        ))?;
    }
    Ok(())
}

/// The vector of a question; a question without letters is an error.
fn embedded(question: &str) -> Result<Vec<f32>, Error> {
    embedding::of(question).ok_or_else(|| {
        let why = "the question has no letters from a to z: expected English words, such as \"something warm to eat\"";
        Error::Arguments(why.to_owned())
    })
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Self, Error> {
        Ok(match keep {
            Some(path) => {
                fs::create_dir(path).map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => Error::Arguments(format!(
                        "--keep {path}: it exists already: name a folder that does not exist yet, or remove this one",
                        path = path.display()
                    )),
                    _ => Error::at(path)(error),
                })?;
                Self::Kept(path.to_owned())
            }
            None => Self::Temporary(tempfile::tempdir().map_err(Error::at(&temp_dir()))?),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }
}

/// A run in a folder.
struct Demo<'a> {
    folder: &'a Path,
    output: Output,
}

impl Demo<'_> {
    /// Prints a line for people.
    fn say(&self, line: &str) -> Result<(), Error> {
        match self.output.is_json() {
            true => Ok(()),
            false => self.output.report(&(), || line.to_owned()),
        }
    }

    fn write_texts(&self) -> Result<(), Error> {
        let texts = texts::all();
        let rows: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (&**id, &**text)).collect();
        self.say(&format!(
            "texts.jsonl: {} texts with vectors of {} coordinates, such as\n  {}",
            rows.len(),
            embedding::DIM,
            rows[0].1
        ))?;
        self.write("texts.jsonl", &rows)
    }

    /// Writes ids and texts with their vectors.
    fn write(&self, name: &str, rows: &[(&str, &str)]) -> Result<(), Error> {
        let mut lines = String::new();
        for &(id, text) in rows {
            let vector = embedded(text)?;
            let row = crate::json_line::json_line(&Row { id, text, vector })?;
            // Writing to a text does not fail.
            let _ = writeln!(lines, "{row}");
        }
        let path = self.folder.join(name);
        fs::write(&path, lines).map_err(Error::at(&path))
    }

    /// Prints a command and runs it, in the folder of the files.
    fn step(&self, line: &str) -> Result<(), Error> {
        self.say(&format!("\n$ sordino {line}"))?;
        let names = [
            "owner.key",
            "owner.pub",
            "reader.key",
            "texts.jsonl",
            "texts.index",
            "question.jsonl",
        ];
        let words = line.split(' ').map(|word| match names.contains(&word) {
            true => self.folder.join(word).into_os_string(),
            false => word.into(),
        });
        let words = std::iter::once("sordino".into()).chain(words);
        let arguments = Arguments::try_parse_from(words);
        let arguments = arguments.map_err(|error| Error::Usage(error.to_string()))?;
        match arguments.command {
            Command::Keys(args) => keys::run(args, self.output),
            Command::Index(args) => index::run(args, self.output),
            Command::Query(args) => query::run(&args, self.output),
            _ => Err(Error::Usage(format!("{line} is no step of this"))),
        }
    }

    /// A server of the index, in this process, that anyone on this machine may ask.
    fn serve(&self) -> Result<Running, Error> {
        let path = self.folder.join("texts.index");
        let owner = keys::public(&self.folder.join("owner.pub"))?;
        let index = Index::open_dir(&path, &owner).map_err(Error::index(&path))?;
        let server = Server::new(index).map_err(Error::index(&path))?;
        let service = Service::new(server, &Access::Anyone, Limits::default())?;
        let running = service.listen(&Listen::on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))?;
        self.say(&format!(
            "\n$ sordino serve texts.index --key owner.pub --listen {} --plaintext --anyone &",
            running.address()
        ))?;
        Ok(running)
    }
}
