#![doc = include_str!("../README.md")]

pub mod arguments; // of the whole command
pub mod bench; // every mode measured on the same vectors
pub mod completions; // scripts for shells
pub mod config; // configuration files
pub mod demo; // a private search in one command
pub mod fpe; // format-preserving encryption of lines and columns
pub mod gather; // the server over several that hold shards
pub mod index; // indexes on disk
pub mod keys; // key files
pub mod log; // events on standard error
pub mod man; // manual pages
pub mod plan; // the costs of each mode
pub mod proxy; // searches for programs of this machine
pub mod query; // searches
pub mod serve; // the server
pub mod token; // tokens that allow clients something
pub mod transparency; // logs of versions

mod atomic_file;
mod cache;
mod certificate; // of a server that runs
mod checks;
mod delivery; // terms by which the way to payloads is chosen
mod door;
mod endpoint;
mod error;
mod file_args; // how a file of vectors is read
mod files; // read, written, held
mod host;
mod json_line; // for readers that end lines at other signs, too
mod key_source; // a file, a variable or a command
mod mode;
mod notify;
mod numbers;
mod origin_args;
mod output;
mod owned_index; // an index that is changed
mod pin;
mod place; // of an index
mod random;
mod second_look;
mod server_loop;
mod stdio; // standard input and output
mod times; // of day, and how long
mod usual_columns; // that need no option

pub use arguments::{Arguments, Command};
pub use error::{Error, FAILURE, INTEGRITY, INTERRUPTED, SERVER, SUCCESS, USAGE};
pub use output::Output;

use random::random;
