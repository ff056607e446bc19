//! Readers with their own keys: which records each can read, now, after revocation, and after compaction; and what a
//! reader with a changed client gets from a server's data.

pub(crate) mod bed; // an owner, its readers, and the records that they find

mod hidden;
mod labels;
mod modes;
mod revoked;
mod rings;
mod transcripts;
