#![doc = include_str!("../README.md")]

mod error;
mod health; // the health of the searches
mod job; // a request in progress
mod object; // JSON objects
mod options; // options of the port
mod places; // places of connections
mod problem; // the reason in a failed answer
mod proxy; // the port
mod records; // records that programs write and list
mod request; // the body of a search
mod results; // the body of an answer
mod searcher; // the threads that search
mod service; // answers to requests
mod token; // tokens that programs show

pub use error::Error;
pub use options::{ProxyOptions, Writing};
pub use problem::Problem;
pub use proxy::Proxy;
pub use records::{Counted, Deleted, Listed, Page, Record, Records, RecordsError, Written};
pub use request::{SearchRequest, Shape};
pub use searcher::Searcher;
pub use sordino_net::Origin;
pub use token::Token;
