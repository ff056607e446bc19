//! A server and its clients on loopback: searches, floods, lies, and an orderly end.

#![expect(clippy::unwrap_used, reason = "the functions that tests share")]

mod changes;
mod flood;
mod hostile_client;
mod hostile_server;
mod logins;
mod parties;
mod rights;
mod searches;
mod shards;
mod spoken;
mod stopping;
mod strangers;
mod tenants;
mod web;
mod writers;
