//! The command line of Sordino.

use clap::CommandFactory;
use clap::error::ErrorKind;
use sordino_cli::config::Refused;
use sordino_cli::{
    Arguments, Command, Error, Output, bench, completions, demo, fpe, gather, index, keys, log,
    man, plan, proxy, query, serve, token, transparency,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(Refused::Line(error)) => return usage(&error),
        Err(Refused::File(error)) => {
            Output::new(asks_for_json()).failed(&error);
            return ExitCode::from(error.exit_code());
        }
    };
    let output = Output::new(arguments.json);
    match run(arguments, output) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has closed it, as `head` does.
        Err(error) if error.is_closed_output() => ExitCode::SUCCESS,
        Err(error) => {
            output.failed(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: Arguments, output: Output) -> Result<(), Error> {
    match &arguments.command {
        // These commands print nothing if a file is named for the results, and check that
        // themselves.
        Command::Fpe(_) | Command::Index(_) => {}
        _ => output.check()?,
    }
    match &arguments.command {
        Command::Serve(args) => log::start(Some(args.log())),
        Command::Gather(args) => log::start(Some(args.log())),
        Command::Proxy(args) => log::start(Some(args.log())),
        _ => log::start(None),
    }
    match arguments.command {
        Command::Demo(args) => demo::run(&args, output),
        Command::Keys(args) => keys::run(args, output),
        Command::Token(args) => token::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Index(args) => index::run(args, output),
        Command::Serve(args) => serve::run(*args, output),
        Command::Gather(args) => gather::run(*args, output),
        Command::Query(args) => query::run(&args, output),
        Command::Proxy(args) => proxy::run(&args, output),
        Command::Log(args) => transparency::run(args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Fpe(args) => fpe::run(args, output),
        Command::Completions(args) => completions::run(&args, &mut Arguments::command()),
        Command::Man(args) => man::run(&args, Arguments::command(), output),
    }
}

/// True if a command line that cannot be parsed asks for JSON.
fn asks_for_json() -> bool {
    std::env::args_os().any(|arg| arg == "--json")
}

/// Help and the version are requested output. Everything else is wrong usage, reported as JSON if
/// the command line asks for JSON.
fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if !asked && asks_for_json() {
        Output::new(true).failed(&Error::Usage(error.to_string().trim_end().to_owned()));
        return ExitCode::from(sordino_cli::USAGE);
    }
    let output = Output::new(asks_for_json());
    let printed = match asked {
        true => output.check().and_then(|()| Ok(error.print()?)),
        // If standard error is closed, the message has no reader.
        false => {
            let _ = error.print();
            Ok(())
        }
    };
    if let Err(error) = printed
        && !error.is_closed_output()
    {
        output.failed(&error);
        return ExitCode::from(error.exit_code());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(sordino_cli::USAGE))
}
