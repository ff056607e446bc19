//! Configuration files: the options of a command, as TOML.
//!
//! A file's keys are the long names of the command's options, or names such as `index` for arguments without one.
//! So an option and its key have one definition. Each key becomes the option that it names. The command line takes
//! precedence.

use crate::Arguments;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, Parser};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};
use toml_edit::{Document, Item, Value};

/// Every configuration file is shorter than this number of bytes.
const MAX_FILE: u64 = 1 << 20;

/// The name of the option that names the file.
const CONFIG: &str = "config";

/// The reason why arguments could not be read.
#[derive(Debug)]
pub enum Refused {
    /// The command line asks for help or the version, or has a mistake.
    Line(clap::Error),
    /// The file cannot be read, or has a mistake.
    File(crate::Error),
}

impl Arguments {
    /// The arguments of a command line, and of the configuration file that it names.
    ///
    /// # Errors
    /// Fails if the command line or the file cannot be read, or the file has an option that the command lacks.
    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Self, Refused> {
        let line: Vec<OsString> = line.into_iter().collect();
        let mut known = Self::command().ignore_errors(true);
        known.build();
        // Options may be only in the file, so the command line is parsed as far as possible.
        let found = known.clone().try_get_matches_from(&line).ok();
        let named = found.as_ref().and_then(|found| {
            let (name, given) = found.subcommand()?;
            let path = given.try_get_one::<PathBuf>(CONFIG).ok()??;
            Some((known.find_subcommand(name)?, given, path.clone()))
        });
        let Some((command, given, path)) = named else {
            return Self::try_parse_from(line).map_err(Refused::Line);
        };
        let file = read(&path).map_err(Refused::File)?;
        let options = Options::read(&path, &file, command).map_err(Refused::File)?;
        let all = options.joined(&line, command, given);
        Self::try_parse_from(all).map_err(|error| match options.blamed(&error) {
            Some(error) => Refused::File(error),
            None => Refused::Line(error),
        })
    }
}

fn read(path: &Path) -> Result<String, crate::Error> {
    let bytes = crate::files::read(path, MAX_FILE).map_err(crate::Error::at(path))?;
    let text = std::str::from_utf8(&bytes).map_err(std::io::Error::other);
    Ok(text.map_err(crate::Error::at(path))?.to_owned())
}

fn wrong(path: &Path, line: usize, why: impl Into<String>) -> crate::Error {
    crate::Error::Config {
        path: path.to_owned(),
        line,
        why: why.into(),
    }
}

/// An option from a file.
struct Given {
    id: clap::Id,
    /// The option as the command line spells it; `None` for a positional argument.
    long: Option<String>,
    values: Vec<String>,
    line: usize,
}

/// The options from a file.
struct Options {
    path: PathBuf,
    given: Vec<Given>,
}

impl Options {
    fn read(path: &Path, text: &str, command: &Command) -> Result<Self, crate::Error> {
        let at = |span: Option<std::ops::Range<usize>>| {
            let start = span.map_or(0, |span| span.start).min(text.len());
            1 + text.as_bytes()[..start]
                .iter()
                .filter(|&&b| b == b'\n')
                .count()
        };
        let document = Document::parse(text)
            .map_err(|error| wrong(path, at(error.span()), error.message().trim().to_owned()))?;
        let table = document.as_table();
        let mut given = Vec::new();
        for (name, item) in table {
            let line = at(table.key(name).and_then(toml_edit::Key::span));
            let arg = options(command).find(|arg| key(arg) == name);
            let Some(arg) = arg else {
                let mut known: Vec<&str> = options(command).map(key).collect();
                known.sort_unstable();
                let why = format!(
                    "{:?} is not an option of `sordino {}`: expected one of {}",
                    name,
                    command.get_name(),
                    known.join(", ")
                );
                return Err(wrong(path, line, why));
            };
            let values =
                values(arg, item).map_err(|why| wrong(path, line, format!("{name}: {why}")))?;
            let Some(values) = values else { continue };
            given.push(Given {
                id: arg.get_id().clone(),
                long: arg.get_long().map(str::to_owned),
                values,
                line,
            });
        }
        let path = path.to_owned();
        Ok(Self { path, given })
    }

    /// The command line with the file's options. It leaves out options that the command line gives itself, or
    /// that conflict with those.
    fn joined(&self, line: &[OsString], command: &Command, given: &ArgMatches) -> Vec<OsString> {
        let on_line =
            |arg: &Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let wins = |option: &Given, arg: &Arg| {
            let conflicts = |a: &Arg, b: &clap::Id| {
                let others = command.get_arg_conflicts_with(a);
                others.iter().any(|other| other.get_id() == b)
            };
            let own = command
                .get_arguments()
                .find(|own| *own.get_id() == option.id);
            *arg.get_id() == option.id
                || conflicts(arg, &option.id)
                || own.is_some_and(|own| conflicts(own, arg.get_id()))
        };
        let mut words = Vec::new();
        for option in &self.given {
            let overruled = options(command).any(|arg| on_line(arg) && wins(option, arg));
            if overruled {
                continue;
            }
            match &option.long {
                Some(long) if option.values.is_empty() => words.push(format!("--{long}")),
                Some(long) => {
                    let values = option.values.iter();
                    words.extend(values.map(|value| format!("--{long}={value}")));
                }
                None => words.extend(option.values.iter().cloned()),
            }
        }
        let name = command.get_name();
        let after = line
            .iter()
            .skip(1)
            .position(|word| word == name)
            .map_or(line.len(), |at| at + 2);
        let (before, rest) = line.split_at(after);
        let words = words.into_iter().map(OsString::from);
        before
            .iter()
            .cloned()
            .chain(words)
            .chain(rest.iter().cloned())
            .collect()
    }

    /// The error with the file's name, if it is about an option of the file.
    fn blamed(&self, error: &clap::Error) -> Option<crate::Error> {
        let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let named = |option: &&Given| match &option.long {
            Some(long) => arg.split([' ', '=']).next() == Some(&format!("--{long}")),
            None => false,
        };
        let option = self.given.iter().find(named)?;
        let text = error.to_string();
        let text = text.trim_start_matches("error: ");
        let why = text.split("\n\n").next().unwrap_or(text);
        Some(wrong(&self.path, option.line, why))
    }
}

/// The arguments that a file may set.
fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let not = ["help", "version", CONFIG];
    let args = command.get_arguments();
    args.filter(move |arg| !not.contains(&arg.get_id().as_str()))
}

/// The file's key for an argument.
fn key(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

/// The values of an option, or no values for a flag. `None` if the option is switched off.
fn values(arg: &Arg, item: &Item) -> Result<Option<Vec<String>>, String> {
    let flag = matches!(arg.get_action(), ArgAction::SetTrue);
    let many = matches!(arg.get_action(), ArgAction::Append);
    let expected = match (flag, many) {
        (true, _) => "true or false",
        (_, true) => "text, or a list of texts",
        _ => "text or a number",
    };
    let unexpected = |found: &str| format!("{found}, expected {expected}");
    let Some(value) = item.as_value() else {
        return Err(unexpected("a table"));
    };
    match value {
        Value::Boolean(on) if flag => Ok(on.value().then(Vec::new)),
        _ if flag => Err(unexpected(value.type_name())),
        Value::Array(list) if many => {
            let texts = list
                .iter()
                .map(|value| text(value).ok_or_else(|| unexpected(value.type_name())));
            texts.collect::<Result<_, _>>().map(Some)
        }
        value => match text(value) {
            Some(text) => Ok(Some(vec![text])),
            None => Err(unexpected(value.type_name())),
        },
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        _ => None,
    }
}
