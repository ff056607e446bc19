//! The command `sordino fpe`, run as a process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

#[path = "../search/command.rs"]
mod command;
mod whole;
