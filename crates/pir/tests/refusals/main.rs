//! Messages and files that no honest party makes. This test is separate, because packages leave it out: one of its tests
//! needs the seeds of the workspace's fuzzing.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod hinted;
mod hintless;
