//! The commands `sordino keys`, `index`, `serve`, `query`, `plan` and `bench`, run as processes:
//! the binary, its files, its exit codes, and what it leaves when it is killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

mod backup;
mod bench;
mod binary;
#[cfg(feature = "objects")]
mod buckets;
mod command;
mod config;
mod damage;
mod demo;
mod documents;
mod examples;
mod exported;
mod foreign;
mod index;
mod inputs;
mod kept;
mod keys;
mod killed;
mod labelled;
mod left_out;
mod mistakes;
#[cfg(unix)]
mod outputs;
mod owned;
mod packaging;
mod pinned;
mod place;
mod plan;
mod proxied;
mod proxy;
mod push;
mod query;
mod reached;
mod readers;
mod serve;
mod served;
mod tenants;
mod token;
mod transparency;
mod typed;
mod update;
mod usage;
mod usual_columns;
mod writers;
mod written;
