//! The binary: what it prints, how it ends, and what is left when it is killed.

use serde_json::Value;
use std::{
    process::{Command, Output, Stdio},
    time::Duration,
};

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    command.args(args);
    command
}

pub(crate) fn run(args: &[&str]) -> Output {
    command(args).stdin(Stdio::null()).output().unwrap()
}

/// What a command printed; it must succeed.
pub(crate) fn done(args: &[&str]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn json(args: &[&str]) -> Value {
    let text = done(&[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
}

/// Why a command failed; it must fail with this code.
pub(crate) fn failed(args: &[&str], code: i32) -> String {
    let output = run(args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    errors
}

/// Starts a command and kills it, as by `kill -9`, after some time. Whether it had ended by itself.
pub(crate) fn killed(args: &[&str], after: Duration) -> Option<Output> {
    let mut child = command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    output.status.success().then_some(output)
}
