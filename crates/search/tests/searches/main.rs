//! Searches from end to end: what they find, what changes, what is refused, and what attackers and liars get.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod attacks;
mod end_to_end;
mod following;
mod hostile_servers;
mod liars;
mod metrics;
mod packings;
mod payloads;
mod plain_scoring;
mod precision;
mod questions;
mod readers;
mod records;
mod refusals;
mod sessions;
mod store;
mod store_faults;
mod together;
mod writers;
