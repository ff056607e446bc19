#![doc = include_str!("../README.md")]
/// The schema's messages.
#[expect(missing_docs)]
pub mod schema { tonic::include_proto!("sordino.v1"); }
