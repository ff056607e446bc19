//! These tests check what policies allow and refuse, in each form of a policy.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod audit;
mod cedar;
mod json;
mod refusals;
mod schema;
mod shapes;
mod similar;
mod threads;
