//! Changes of rights that cannot be made.

/// A change of readers, groups or labels that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name}: {why}")]
#[non_exhaustive]
pub struct AccessFault {
    /// A reader, a group, a label or a record.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// The fault.
    pub why: &'static str,
}

impl AccessFault {
    /// A fault of something of this name.
    #[must_use]
    pub fn new(what: &'static str, name: &str, why: &'static str) -> Self {
        Self {
            what,
            name: name.to_owned(),
            why,
        }
    }
}
