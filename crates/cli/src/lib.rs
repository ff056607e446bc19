#![doc = include_str!("../README.md")]

pub mod arguments; // the arguments of the whole command
pub mod bench; // measures every mode on the same vectors
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
pub mod proxy; // searches for programs on this machine
pub mod query; // searches
pub mod serve; // the server
pub mod token; // tokens that allow clients actions
pub mod transparency; // logs of versions

mod atomic_file;
mod cache;
mod certificate; // the certificate of a running server
mod checks;
mod delivery; // conditions that choose the way to payloads
mod door;
mod endpoint;
mod error;
mod file_args; // options that say how to read a file of vectors
mod files; // reading, replacing and locking files
mod host;
mod json_line; // JSON for readers that end lines at further characters
mod key_source; // keys from a file, a variable or a command
mod mode;
mod notify;
mod numbers;
mod origin_args;
mod output;
mod owned_index; // an index that its owner changes
mod pin;
mod place; // the place of an index
mod random;
mod second_look;
mod server_loop;
mod stdio; // standard input and output
mod table_source; // a table that is opened several times, also from a pipe
mod times; // times and durations
mod usual_columns; // columns that need no option

pub use arguments::{Arguments, Command};
pub use error::{Error, FAILURE, INTEGRITY, INTERRUPTED, SERVER, SUCCESS, USAGE};
pub use output::Output;

use random::random;
