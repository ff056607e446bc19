//! Filters that cannot be read, or that ask for attributes that do not exist.

/// A filter that cannot be read, or does not fit an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// It cannot be read.
    #[error("filter, character {at}: {why}")]
    Text {
        /// The place, from 1.
        at: usize,
        /// The fault.
        why: String,
    },
    /// It names an attribute that no record has.
    #[error("filter: no attribute {name}: there are {known}")]
    Column {
        /// The name.
        name: String,
        /// The existing attributes, with their types.
        known: String,
    },
    /// It compares an attribute with a value of another type.
    #[error(
        "filter: attribute {name} is {expected}, and is compared with {found}{}",
        hint(name, found, expected)
    )]
    Value {
        /// The attribute.
        name: String,
        /// The value's type.
        found: &'static str,
        /// The attribute's.
        expected: &'static str,
    },
}

/// The way to compare values of one type.
fn hint(name: &str, found: &str, expected: &str) -> String {
    match (expected, found) {
        ("text", _) => {
            format!(": put the value in quotes, or build the index with --attribute {name}:{found}")
        }
        (_, "text") => ": write the value without quotes".to_owned(),
        _ => String::new(),
    }
}
