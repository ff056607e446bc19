//! Readers of their own: who can read what, now, after being revoked, and after compacting; and what a reader who changes
//! its client gets out of everything that a server gives.

pub(crate) mod bed; // an owner, its readers, and what they find

mod hidden;
mod labels;
mod modes;
mod revoked;
mod rings;
mod transcripts;
