//! The two ways in which payloads are laid out: all records, or the records of a change.

use crate::plan::Conditions;

/// Pages and their delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Laying {
    /// All records, compressed, in pages of the length and by the way for which a client waits the least.
    All(Conditions),
    /// Records of a change: clients download them. They are not compressed, and pages have one length. The length of
    /// few records would tell how well they shrink. So it would tell what a text that an attacker chose has in common
    /// with the rest of its record.
    Recent,
}
