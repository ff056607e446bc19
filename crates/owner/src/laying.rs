//! The two ways in which payloads are laid out: all records, or the records of a change.

use crate::plan::Conditions;

/// The way in which payloads are laid into pages and delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Laying {
    /// All records, compressed. The length of pages and the way to fetch them are chosen so that a client waits the
    /// shortest time.
    All(Conditions),
    /// Records of a change, which clients download. They are not compressed, and pages have a fixed length. The
    /// length of a few records would reveal how well they shrink. An attacker who chose a part of a record could
    /// learn from that what it has in common with the rest.
    Recent,
}
