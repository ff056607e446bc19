//! Filters that cannot be read, or that ask for attributes that do not exist.

/// A filter cannot be read, or does not fit an index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterFault {
    /// The text of the filter is wrong.
    #[error("filter, character {at}: {why}")]
    Text {
        /// The position of the error, from 1.
        at: usize,
        /// The reason.
        why: String,
    },
    /// The filter names an attribute that no record has.
    #[error("filter: no attribute {name}: there are {known}")]
    Column {
        /// The name.
        name: String,
        /// The existing attributes, with their types.
        known: String,
    },
    /// The filter compares an attribute with a value of another type.
    #[error(
        "filter: attribute {name} is {expected}, and is compared with {found}{}",
        hint(name, found, expected)
    )]
    Value {
        /// The attribute.
        name: String,
        /// The value's type.
        found: &'static str,
        /// The attribute's type.
        expected: &'static str,
    },
    /// The filter asks for a pattern or a member, and the attribute holds no texts.
    #[error(
        "filter: attribute {name} is {found}, and {operator} needs text: compare the attribute by =, !=, <, <=, >, \
         >=, in or between"
    )]
    Operator {
        /// The attribute.
        name: String,
        /// The operator, `like` or `has`.
        operator: &'static str,
        /// The attribute's type.
        found: &'static str,
    },
    /// The filter asks for a member of lists that are not written in JSON.
    #[error(
        "filter: attribute {name} holds texts in braces such as {known}, and `has` needs lists in JSON such as \
         [\"a\", \"b\"]: write the lists in JSON (in Postgres by to_json), and build again"
    )]
    List {
        /// The attribute.
        name: String,
        /// One of its values.
        known: String,
    },
    /// The filter compares dates or instants with a value that is neither.
    #[error(
        "filter: attribute {name} holds dates or instants such as {known}, and is compared with another value: \
         write a date as YYYY-MM-DD, in quotes"
    )]
    Date {
        /// The attribute.
        name: String,
        /// One of its values.
        known: String,
    },
}

/// Advice on how to write values of one type.
fn hint(name: &str, found: &str, expected: &str) -> String {
    match (expected, found) {
        ("text", _) => {
            format!(": put the value in quotes, or build the index with --attribute {name}:{found}")
        }
        ("bool", _) => ": write true or false, without quotes".to_owned(),
        (_, "bool") => ": write a number".to_owned(),
        (_, "text") => ": write the value without quotes".to_owned(),
        _ => String::new(),
    }
}
