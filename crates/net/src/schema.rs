#![expect(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::allow_attributes,
    unused_qualifications,
    reason = "generated; the schema has the comments"
)]

tonic::include_proto!("sordino.v1");
