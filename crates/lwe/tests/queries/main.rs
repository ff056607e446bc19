//! Tests of queries: their messages, their noise, and both engines together.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod end_to_end;
mod messages;
mod noise;
