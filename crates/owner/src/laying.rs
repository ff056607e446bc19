//! The two ways in which payloads are laid out: those of all records, and those that a change brings.

use crate::plan::Conditions;

/// Pages and their delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Laying {
    /// All records, compressed, in pages of the length and by the way for which a client waits the least.
    All(Conditions),
    /// Records of a change: clients download them. They are not compressed, and pages have one length. The length of few records
    /// would tell how well they shrink, and so what a text that somebody chose has in common with the rest of its record.
    Recent,
}
