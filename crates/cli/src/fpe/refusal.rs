//! Values that the format refuses: what to do with them, and how to report them.

use crate::Output;
use clap::ValueEnum;
use serde::Serialize;
use sordino_fpe_files::{Error, OnError};
use std::io::{self, Write};

/// The choice when the format refuses a value: continue or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnRefusal {
    /// End the run at the first refused value.
    Stop,
    /// Report every refused value, leave its record out, and fail at the end.
    Report,
    /// Report every refused value and leave its record out.
    Skip,
    /// Report every refused value and write its record unchanged: the value stays in clear.
    Keep,
}

impl From<OnRefusal> for OnError {
    fn from(on_refusal: OnRefusal) -> Self {
        match on_refusal {
            OnRefusal::Stop => Self::Stop,
            OnRefusal::Report => Self::Report,
            OnRefusal::Skip => Self::Skip,
            OnRefusal::Keep => Self::Keep,
        }
    }
}

/// A refused value that does not end the run, for scripts.
#[derive(Serialize)]
struct Refused {
    refused: String,
}

/// Reports a refused value on standard error.
pub(super) fn tell(report: Output, error: &Error) {
    let line = if report.is_json() {
        let refused = error.to_string();
        serde_json::to_string(&Refused { refused }).unwrap_or_default()
    } else {
        format!("sordino: {error}")
    };
    // If standard error is closed, the report has no reader.
    let _ = writeln!(io::stderr(), "{line}");
}
