//! Changes of rights that are not possible.

/// A change of readers, groups or labels is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name}: {why}")]
#[non_exhaustive]
pub struct AccessFault {
    /// The thing that the fault concerns: a reader, a group, a label or a record.
    pub what: &'static str,
    /// The thing's name.
    pub name: String,
    /// The reason.
    pub why: &'static str,
}

impl AccessFault {
    /// A fault that concerns something of this name.
    #[must_use]
    pub fn new(what: &'static str, name: &str, why: &'static str) -> Self {
        Self {
            what,
            name: name.to_owned(),
            why,
        }
    }
}
