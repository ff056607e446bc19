//! The binary: its output, its exit codes, and the files that it leaves when it is killed.

use crate::command::sordino;
use serde_json::Value;
use std::{
    ffi::OsStr,
    fmt::Debug,
    process::{Command, Output, Stdio},
};

pub(crate) fn command(args: &[impl AsRef<OsStr>]) -> Command {
    let mut command = sordino();
    command.args(args);
    command
}

pub(crate) fn run(args: &[impl AsRef<OsStr>]) -> Output {
    command(args).stdin(Stdio::null()).output().unwrap()
}

/// The output of a command, which must succeed.
pub(crate) fn done(args: &[impl AsRef<OsStr> + Debug]) -> String {
    let output = run(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn json(args: &[impl AsRef<OsStr> + Debug]) -> Value {
    let mut args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    args.push("--json".as_ref());
    serde_json::from_str(&done(&args)).unwrap()
}

/// The message of a command that must fail with this exit code.
pub(crate) fn failed(args: &[impl AsRef<OsStr> + Debug], code: i32) -> String {
    let output = run(args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    errors
}

/// Starts a command and kills it, as by `kill -9`, once `so` returns true. Returns the output if the command
/// ended by itself.
pub(crate) fn killed(args: &[impl AsRef<OsStr>], so: impl Fn() -> bool) -> Option<Output> {
    let mut child = command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !so() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    output.status.success().then_some(output)
}
