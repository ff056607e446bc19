//! The sources of a key's line: a file, an environment variable, or a command that asks a key service.

use crate::Error;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use zeroize::Zeroizing;

/// Every key's line is shorter than this number of bytes.
const MAX_LINE: usize = 1 << 14;

/// The place of a key, as an argument names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source<'a> {
    /// `FILE`
    File,
    /// `env:NAME`
    Variable(&'a str),
    /// The argument is a key's line itself, which is refused.
    Key,
    /// `command:COMMAND`, which a shell runs and which prints the line.
    Command(&'a str),
}

impl<'a> Source<'a> {
    fn of(argument: &'a Path) -> Self {
        let named = argument.to_str().and_then(|text| text.split_once(':'));
        match named {
            Some(("env", name)) => Self::Variable(name),
            Some(("command", command)) => Self::Command(command),
            Some((kind, _)) if kind.starts_with("sordino-") && !argument.exists() => Self::Key,
            _ => Self::File,
        }
    }
}

/// True if the argument names a file, next to which others can be kept.
pub(crate) fn is_file(argument: &Path) -> bool {
    Source::of(argument) == Source::File
}

/// The key's line from a variable or a command. `None` if the argument names a file.
pub(crate) fn line(argument: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    Ok(match Source::of(argument) {
        Source::File => None,
        Source::Variable(name) => {
            let found = std::env::var_os(name).map(OsString::into_encoded_bytes);
            let found = found.map(Zeroizing::new);
            let fault = match &found {
                None => Some("not set"),
                Some(text) if text.trim_ascii().is_empty() => Some("empty"),
                Some(_) => None,
            };
            if let Some(fault) = fault {
                let expected = "expected the line of a key, as `sordino keys new` writes it";
                return Err(wrong(
                    argument,
                    &format!("this variable is {fault}: {expected}"),
                ));
            }
            found
        }
        Source::Command(command) => Some(printed(argument, command)?),
        // Other programs on this machine can see arguments. The message does not repeat the key.
        Source::Key => {
            let why = "the line of a key was given where its file is expected: name the file, or put the line into a variable and \
                say env:NAME; others on this machine can read arguments, so make a new key if it was secret";
            return Err(Error::Arguments(why.to_owned()));
        }
    })
}

fn wrong(argument: &Path, why: &str) -> Error {
    Error::Arguments(format!("{}: {why}", argument.display()))
}

/// The line that a shell command prints. The user sees the command's standard error.
fn printed(argument: &Path, command: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |error: std::io::Error| wrong(argument, &error.to_string());
    let (shell, flag) = match cfg!(windows) {
        true => ("cmd", "/C"),
        false => ("sh", "-c"),
    };
    let mut child = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // The memory is allocated at the longest line's size, so that growing leaves no copy.
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE));
    let read = match child.stdout.take() {
        Some(out) => out.take(MAX_LINE as u64).read_to_end(&mut line),
        None => Ok(0),
    };
    let ended = child.wait().map_err(failed)?;
    read.map_err(failed)?;
    let fault = match ended.success() {
        true if !line.trim_ascii().is_empty() => return Ok(line),
        true => "printed nothing".to_owned(),
        false => format!("ended with {ended}"),
    };
    let why = format!("the command {fault}: expected the line of a key on its standard output");
    Err(wrong(argument, &why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_names_a_file_a_variable_or_a_command() {
        let of = |text: &'static str| Source::of(Path::new(text));
        assert_eq!(of("owner.key"), Source::File);
        assert_eq!(of("keys/a:b"), Source::File);
        assert_eq!(of("env:OWNER"), Source::Variable("OWNER"));
        assert_eq!(of("sordino-owner-key-1:0a0b"), Source::Key);
        let refused = line(Path::new("sordino-owner-key-1:0a0b")).unwrap_err();
        assert!(!refused.to_string().contains("0a0b"), "{refused}");
        assert_eq!(of("command:a b: c"), Source::Command("a b: c"));
    }

    #[cfg(unix)]
    #[test]
    fn a_command_prints_a_line_or_is_refused() {
        let of = |text: &str| line(Path::new(text)).map_err(|error| error.to_string());
        assert!(of("owner.key").unwrap().is_none());
        let found = of("command:echo a line").unwrap().unwrap();
        assert_eq!(*found, b"a line\n");
        let wrong = |text: &str| of(text).unwrap_err();
        assert!(wrong("command:exit 3").contains("exit status: 3"));
        assert!(wrong("command:echo").contains("printed nothing"));
        // The command's output is closed, which ends the command.
        assert!(wrong("command:cat /dev/zero").contains("ended with"));
        assert!(wrong("env:SORDINO_NO_SUCH_KEY").contains("not set"));
    }
}
