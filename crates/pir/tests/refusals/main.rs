//! Messages and files that no honest party makes. They stand apart, since packages leave them out: one of them needs the
//! seeds of the workspace's fuzzing.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod hinted;
mod hintless;
