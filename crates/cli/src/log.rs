//! Events on standard error: those of a service, and of any command where `RUST_LOG` asks for them.

use clap::ValueEnum;
use std::io;
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Time, level and message.
    Text,
    /// One JSON object a line.
    Json,
}

/// The least important events that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Something does not work.
    Error,
    /// Something that the operator should look at.
    Warn,
    /// Changes of the index and of the configuration, and refusals that somebody may have to act on.
    Info,
    /// Also refusals for want of places or budget.
    Debug,
}

impl Level {
    fn filter(self) -> EnvFilter {
        let level = match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        };
        EnvFilter::new(format!("sordino_cli={level},sordino_net={level}"))
    }
}

/// Changes the filter of the lines that are being written.
static CHANGE: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Starts to write events: of a service in this form, from its level on, or else as `RUST_LOG` says; of
/// other commands only if `RUST_LOG` is set.
pub fn start(service: Option<(Form, Option<Level>)>) {
    let Some(filter) = filter(service.map(|(_, level)| level)) else {
        return;
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false);
    // It is set once, here; where a test has set another, that stays.
    match service {
        Some((Form::Json, _)) => {
            let lines = lines.json().flatten_event(true).with_filter_reloading();
            let handle = lines.reload_handle();
            drop(CHANGE.set(Box::new(move |filter| drop(handle.reload(filter)))));
            drop(lines.try_init());
        }
        _ => {
            let lines = lines.with_filter_reloading();
            let handle = lines.reload_handle();
            drop(CHANGE.set(Box::new(move |filter| drop(handle.reload(filter)))));
            drop(lines.try_init());
        }
    }
}

/// Writes the events of a service from this level on.
pub(crate) fn change(level: Option<Level>) {
    if let (Some(change), Some(filter)) = (CHANGE.get(), filter(Some(level))) {
        change(filter);
    }
}

/// The filter of a service with this level, if it has one; of another command with `None`.
fn filter(service: Option<Option<Level>>) -> Option<EnvFilter> {
    match (service, EnvFilter::try_from_default_env()) {
        (Some(Some(level)), _) => Some(level.filter()),
        (_, Ok(filter)) => Some(filter),
        (Some(None), Err(_)) => Some(Level::Info.filter()),
        (None, Err(_)) => None,
    }
}
