//! The output of a command: text for people on a terminal, or one JSON object for scripts.

use crate::{Error, json_line::json_line, stdio::stdout};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

/// The form in which a command reports.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
}

/// The templates of bars for work of unknown length: with a count, and without.
const COUNTING: &str = "{spinner} {human_pos} {msg} [{elapsed}]";
const WORKING: &str = "{spinner} {msg} [{elapsed}]";

#[derive(Serialize)]
struct Failure {
    error: String,
    exit_code: u8,
}

impl Output {
    /// Text, or JSON.
    #[must_use]
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// True for JSON.
    #[must_use]
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Checks, before any work, whether the result can be printed.
    ///
    /// # Errors
    /// Fails if standard output is closed.
    pub fn check(self) -> Result<(), Error> {
        stdout()?;
        Ok(())
    }

    /// Prints a result: `value` as one line of JSON, or else `text`.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub fn report<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        let line = if self.json { json_line(value)? } else { text() };
        let mut out = stdout()?.lock();
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    }

    /// Prints why the command stopped, on standard error.
    pub fn failed(self, error: &Error) {
        let line = if self.json {
            let failure = Failure {
                error: error.to_string(),
                exit_code: error.exit_code(),
            };
            json_line(&failure).unwrap_or_default()
        } else {
            visible(&format!("sordino: {error}"))
        };
        // If standard error is closed, the message has no reader.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// A note on standard error, for people only.
    pub fn note(self, text: &str) {
        if !self.json {
            let _ = writeln!(io::stderr(), "{}", visible(text));
        }
    }

    /// Changes a bar that has reached its length into one without a length.
    pub(crate) fn working(self, bar: &ProgressBar, what: &'static str) {
        if let Ok(style) = ProgressStyle::with_template(WORKING) {
            bar.set_style(style);
        }
        bar.set_message(what);
    }

    /// Shows the elapsed time of work of unknown length on standard error, if that is a terminal.
    pub(crate) fn waiting(self, what: &'static str) -> ProgressBar {
        let bar = self.progress(None, what);
        self.working(&bar, what);
        bar
    }

    /// A bar on standard error, if that is a terminal; without a length, a count.
    #[must_use]
    pub fn progress(self, len: Option<u64>, what: &'static str) -> ProgressBar {
        if self.json || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let (bar, template) = match len {
            Some(len) => (
                ProgressBar::new(len),
                "{bar:32} {human_pos}/{human_len} {msg} [{elapsed}, {eta} to go]",
            ),
            None => (ProgressBar::new_spinner(), COUNTING),
        };
        let bar = bar.with_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }
}

/// The text, with control characters as escapes: names and values from files could command a terminal.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign.is_control() && sign != '\n' {
            true => out.extend(sign.escape_default()),
            false => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn control_characters_are_escaped() {
        let text = "é: line 1\n\u{1b}]0;x\u{7}\r\u{9b}2J";
        assert_eq!(visible(text), "é: line 1\n\\u{1b}]0;x\\u{7}\\r\\u{9b}2J");
    }
}
