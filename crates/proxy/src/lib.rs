#![doc = include_str!("../README.md")]

mod error;
mod health; // of the searches
mod job; // a request while its vectors are searched for
mod options; // of the port
mod places; // of connections
mod problem; // a reason that an answer gives
mod proxy; // the port
mod records; // written and listed
mod request; // the body of a search
mod results; // the body of an answer
mod searcher; // the threads that search
mod service; // answers to requests
mod token; // shown by programs

pub use error::Error;
pub use options::{ProxyOptions, Writing};
pub use problem::Problem;
pub use proxy::Proxy;
pub use records::{Counted, Deleted, Listed, Page, Record, Records, RecordsError, Written};
pub use request::{SearchRequest, Shape};
pub use searcher::Searcher;
pub use sordino_net::Origin;
pub use token::Token;
