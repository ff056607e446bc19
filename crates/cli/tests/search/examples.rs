//! The examples of help texts and documents. All of them are parsed. Those that need only small data
//! in one folder are run.

use crate::binary::{done, run};
use crate::command::sordino;
use crate::place::Place;
use clap::Parser;
use clap::error::ErrorKind;
use sordino_cli::Arguments;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Documents, and the smallest number of commands in each.
const DOCUMENTS: [(&str, usize); 3] = [
    (include_str!("../../../../README.md"), 6),
    (include_str!("../../README.md"), 14),
    (include_str!("../../../../docs/guide/modes.md"), 1),
];

/// Documents whose commands are only parsed, because they need files and servers that a test lacks.
/// The numbers are the smallest numbers of commands.
const PARSED: [(&str, usize); 7] = [
    (include_str!("../../../../docs/operations.md"), 2),
    (include_str!("../../../../docs/operations/access.md"), 6),
    (include_str!("../../../../docs/operations/upkeep.md"), 9),
    (include_str!("../../../../docs/operations/stores.md"), 6),
    (include_str!("../../../../docs/operations/gateway.md"), 1),
    (include_str!("../../../../docs/operations/shards.md"), 2),
    (include_str!("../../../../docs/guide/readers.md"), 12),
];

/// The subcommands whose help texts are read.
const HELP: [&str; 21] = [
    "",
    "keys",
    "token",
    "plan",
    "index",
    "index build",
    "index add",
    "index delete",
    "index get",
    "index export",
    "index info",
    "index verify",
    "index compact",
    "index pull",
    "index take-back",
    "serve",
    "query",
    "bench",
    "fpe",
    "fpe encrypt",
    "completions",
];

/// A command line in a text, and the exit code that the text states.
#[derive(Clone, Debug)]
struct Example {
    line: String,
    code: i32,
}

/// Joins lines that end with a backslash to the lines that follow.
fn joined(text: &str) -> String {
    let lines = text.replace("\\\n", " ");
    lines
        .lines()
        .map(|line| line.trim().to_owned() + "\n")
        .collect()
}

fn of_help(help: &str) -> Vec<Example> {
    let Some((_, examples)) = help.split_once("Examples:") else {
        return Vec::new();
    };
    let examples = joined(examples);
    let lines = examples.lines();
    lines
        .filter(|line| line.starts_with("sordino ") || line.contains("| sordino "))
        .map(|line| Example {
            line: line.to_owned(),
            code: 0,
        })
        .collect()
}

/// The commands of a document: lines of blocks marked `sh`, and lines after a `$` in other blocks.
/// The line after `echo $?` is the exit code of the command before.
fn of_document(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for block in text.split("```").skip(1).step_by(2) {
        let (kind, body) = block.split_once('\n').unwrap_or_default();
        let body = joined(body);
        let mut lines = body.lines();
        while let Some(line) = lines.next() {
            if line == "$ echo $?" {
                let code = lines.next().and_then(|code| code.parse().ok());
                found.last_mut().unwrap().code = code.unwrap();
                continue;
            }
            let line = match (kind, line.strip_prefix("$ ")) {
                (_, Some(line)) => line,
                ("sh", None) => line,
                _ => continue,
            };
            if line.starts_with("sordino ") {
                found.push(Example {
                    line: line.to_owned(),
                    code: 0,
                });
            }
        }
    }
    found
}

/// The words of a command line, without its comment, its redirections and the command that is piped
/// into it.
fn words(line: &str) -> Vec<String> {
    let command = line.rsplit("| ").next().unwrap();
    let command = command.split(" #").next().unwrap();
    let command = command
        .split(" < ")
        .next()
        .unwrap()
        .split(" > ")
        .next()
        .unwrap();
    // Quotation marks keep words together, as in a shell.
    let mut words = vec![String::new()];
    let mut quote = None;
    for sign in command.chars() {
        match quote {
            _ if quote == Some(sign) => quote = None,
            None if matches!(sign, '\'' | '"') => quote = Some(sign),
            None if sign.is_whitespace() => words.push(String::new()),
            _ => words.last_mut().unwrap().push(sign),
        }
    }
    words.retain(|word| !word.is_empty() && !["&", "..."].contains(&&**word));
    words
}

fn examples() -> Vec<Example> {
    let mut all: Vec<Example> = DOCUMENTS
        .iter()
        .chain(&PARSED)
        .flat_map(|(text, _)| of_document(text))
        .collect();
    for command in HELP {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        all.extend(of_help(&done(&args)));
    }
    all
}

#[test]
fn every_example_can_be_parsed() {
    let all = examples();
    assert!(all.len() > 40, "{}", all.len());
    for (text, least) in PARSED {
        let count = of_document(text).len();
        assert!(count >= least, "{count}");
    }
    for example in all {
        let parsed = Arguments::try_parse_from(words(&example.line));
        // A file or the reader of the document supplies the missing arguments.
        let lacks = |error: &clap::Error| error.kind() == ErrorKind::MissingRequiredArgument;
        let goes_on = ["--config", "..."]
            .iter()
            .any(|word| example.line.contains(word));
        if goes_on && parsed.as_ref().err().is_some_and(lacks) {
            continue;
        }
        assert!(parsed.is_ok(), "{}: {}", example.line, parsed.unwrap_err());
    }
}

/// Servers that examples started. They are killed at the end of the test.
struct Servers(Vec<Child>);

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Servers {
    /// Runs an example in the place's folder, on another port than the default one.
    fn run(&mut self, place: &Place, example: &Example, port: u16) {
        let mut words = words(&example.line.replace("7700", &port.to_string()));
        let serves = words[1] == "serve";
        if serves && !words.iter().any(|word| word == "--listen") {
            words.extend(["--listen".to_owned(), format!("127.0.0.1:{port}")]);
        }
        let mut command: Command = sordino();
        command.args(&words[1..]).current_dir(place.folder());
        command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        if serves {
            self.0.push(child);
            return;
        }
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(example.code),
            "{}: {errors}",
            example.line
        );
    }
}

/// A port that was free just now.
fn free() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Runs the commands of a document one after another, as when a user pastes them. Only `query`
/// waits for the server.
#[test]
fn the_documents_commands_work_when_they_are_pasted() {
    for (text, least) in DOCUMENTS {
        let place = Place::without_keys();
        let mut servers = Servers(Vec::new());
        let port = free();
        let mut count = 0;
        for example in of_document(text) {
            // The full benchmark and format-preserving encryption have their own tests.
            if example.line.starts_with("sordino bench") || example.line.starts_with("sordino fpe")
            {
                continue;
            }
            servers.run(&place, &example, port);
            count += 1;
        }
        assert!(count >= least, "{count}");
    }
}

#[test]
fn the_examples_of_help_run_on_small_data() {
    let place = Place::new();
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    done(&place.line("index build @base.npy @base.index --key @owner.key"));
    let mut servers = Servers(Vec::new());
    let served = free();
    let serve = Example {
        line: format!(
            "sordino serve base.index --key owner.pub --plaintext --anyone --listen 127.0.0.1:{served}"
        ),
        code: 0,
    };
    servers.run(&place, &serve, served);
    let mut count = 0;
    for command in ["query", "plan", "index add"] {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        for example in of_help(&done(&args)) {
            // The tables and remote servers that these commands name do not exist here.
            if [".parquet", "search.example"]
                .iter()
                .any(|word| example.line.contains(word))
            {
                continue;
            }
            servers.run(&place, &example, served);
            count += 1;
        }
    }
    assert!(count >= 6, "{count}");
    // The help of the whole command is a script that begins with no files and ends with answers.
    let fresh = Place::without_keys();
    let port = free();
    for example in of_help(&done(&["--help"])) {
        servers.run(&fresh, &example, port);
    }
    assert!(
        run(&fresh.line("index info @base.index --key @owner.pub"))
            .status
            .success()
    );
}
