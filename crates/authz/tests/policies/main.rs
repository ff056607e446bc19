//! Policies in each of their forms: what they allow and what they refuse.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod audit;
mod cedar;
mod json;
mod refusals;
mod schema;
mod shapes;
mod similar;
mod threads;
