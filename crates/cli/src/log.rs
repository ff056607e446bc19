//! Writes events to standard error. A service always does so, and other commands only if `RUST_LOG` is set.

use clap::ValueEnum;
use std::{env, io, sync::OnceLock};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry, reload};

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
    /// All of this, and refusals because no place or budget is left.
    Debug,
}

impl Level {
    fn filter(self) -> Targets {
        let level = match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        };
        let ours = ["sordino_cli", "sordino_net", "sordino_proxy"];
        Targets::new().with_targets(ours.map(|target| (target, level)))
    }
}

/// Changes the filter of the log.
static CHANGE: OnceLock<Box<dyn Fn(Targets) + Send + Sync>> = OnceLock::new();

/// Starts to write events. A service writes in this format, from its level on or as `RUST_LOG` says. Other commands
/// write only if `RUST_LOG` is set.
pub fn start(service: Option<(Form, Option<Level>)>) {
    let Some(filter) = filter(service.map(|(_, level)| level)) else {
        return;
    };
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false);
    // The filter is set once, here. If a test has set another filter, that one stays.
    drop(CHANGE.set(Box::new(move |filter| drop(handle.reload(filter)))));
    let events = registry().with(filter);
    drop(match service {
        Some((Form::Json, _)) => events.with(lines.json().flatten_event(true)).try_init(),
        _ => events.with(lines).try_init(),
    });
}

/// Writes the events of a service from this level upwards.
pub(crate) fn change(level: Option<Level>) {
    if let (Some(change), Some(filter)) = (CHANGE.get(), filter(Some(level))) {
        change(filter);
    }
}

/// The filter for a service, with its level if it has one. `None` stands for other commands.
fn filter(service: Option<Option<Level>>) -> Option<Targets> {
    let wished = env::var("RUST_LOG").ok().filter(|wish| !wish.is_empty());
    let wished = wished.and_then(|wish| wish.parse().ok());
    match (service, wished) {
        (Some(Some(level)), _) => Some(level.filter()),
        (_, Some(filter)) => Some(filter),
        (Some(None), None) => Some(Level::Info.filter()),
        (None, None) => None,
    }
}
