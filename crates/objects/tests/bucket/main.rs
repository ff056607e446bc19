//! An index in an object store: its owners, stores that fail or lie, and a real server of S3's protocol.

mod fixture;
mod hostile;
mod owners;
mod s3;
