//! The binary as a command.

use std::process::Command;

/// The binary, run by the emulator that `SORDINO_TEST_RUNNER` names where it is one of another processor.
pub(crate) fn sordino() -> Command {
    let runner = std::env::var("SORDINO_TEST_RUNNER").unwrap_or_default();
    let mut words = runner
        .split_whitespace()
        .chain([env!("CARGO_BIN_EXE_sordino")]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    // The tests do not use the cache of the user who runs them.
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}
