//! Events on standard error: those of the server, and of any command where `RUST_LOG` asks for them.

use clap::ValueEnum;
use std::io;
use tracing_subscriber::EnvFilter;

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Time, level and message.
    Text,
    /// One JSON object a line.
    Json,
}

/// A server says this much if `RUST_LOG` does not say otherwise: what it serves, and refusals that
/// somebody may have to act on. Those for want of places or budget are at the level `debug`.
const SERVER: &str = "sordino_cli=info,sordino_net=info";

/// Starts to write events: of a server in this form, of other commands only if `RUST_LOG` is set.
pub fn start(server: Option<Form>) {
    let filter = match (EnvFilter::try_from_default_env(), server) {
        (Ok(filter), _) => filter,
        (Err(_), Some(_)) => EnvFilter::new(SERVER),
        (Err(_), None) => return,
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false);
    // It is set once, here; where a test has set another, that stays.
    let _ = match server {
        Some(Form::Json) => lines.json().flatten_event(true).try_init(),
        _ => lines.try_init(),
    };
}
