//! The errors of this crate, about schemas, policies, entities, values and logs.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text or list that is larger than its bound.
    #[error("{what}: {found}, expected at most {most}")]
    TooLarge {
        /// The text or list, with its unit.
        what: String,
        /// The size that was found.
        found: usize,
        /// The largest size that is read.
        most: usize,
    },
    /// An expression with more levels than are evaluated. Each operator counts as one level, even in a row: `a || b ||
    /// c` is `(a || b) || c`. A bracket or an `if` counts as 4.
    #[error(
        "{what}: an expression of {found} levels, expected at most {most}. Each operator and dot is one level, also in \
         a row, and a bracket 4. Write alternatives as a set, `[\"a\", \"b\"].contains(..)`, or as several policies"
    )]
    Expression {
        /// The policy and its place, or a place in the schema.
        what: String,
        /// The number of levels at which reading stopped.
        found: usize,
        /// The largest number of levels that are read.
        most: usize,
    },
    /// A value whose parts are nested too deeply.
    #[error("{what} nested {found} deep, expected at most {most}")]
    TooDeep {
        /// The value.
        what: &'static str,
        /// The depth at which reading stopped.
        found: usize,
        /// The deepest nesting that is read.
        most: usize,
    },
    /// A schema that does not parse, or contradicts itself.
    #[error("schema: {reason}")]
    Schema {
        /// Cedar's reason.
        reason: String,
    },
    /// Policies that do not parse.
    #[error("policies do not parse: {reason}")]
    Parse {
        /// The place, the policy, and Cedar's reason.
        reason: String,
    },
    /// A policy that the schema does not admit.
    #[error("policy {policy} does not validate: {reason}")]
    Invalid {
        /// The policy's id.
        policy: String,
        /// The place, and Cedar's reason.
        reason: String,
    },
    /// Two policies with the same id.
    #[error("two policies have the id {id}, {first} and {second}; give each its own `@id`")]
    DuplicatePolicy {
        /// The id.
        id: String,
        /// The place of the first policy.
        first: String,
        /// The place of the second policy.
        second: String,
    },
    /// A template: it has slots, and this crate cannot fill them.
    #[error(
        "policy {id} at {place} is a template; write policies without `?principal` and `?resource`"
    )]
    Template {
        /// The template's id.
        id: String,
        /// The template's line and column.
        place: String,
    },
    /// An entity that is its own ancestor.
    #[error("entity {entity} is in a cycle of parents")]
    Cycle {
        /// An entity of the cycle.
        entity: String,
    },
    /// An entity of a type that the schema does not have.
    #[error("entity {entity} is of a type that the schema does not declare")]
    UnknownType {
        /// The entity.
        entity: String,
    },
    /// The entities belong to an engine with another schema.
    #[error(
        "the engine that is followed has another schema: expected one of the same text, or none for one without"
    )]
    OtherSchema,
    /// Entities that are not a list of entities, or that contradict each other or the schema.
    #[error("entities: {reason}")]
    Entities {
        /// The fault, and the entity.
        reason: String,
    },
    /// A record with two attributes of the same name.
    #[error("two attributes are called {name}")]
    DuplicateAttribute {
        /// The name.
        name: String,
    },
    /// A context has a value that Cedar's language does not have. It is an extension value with a wrong argument, or
    /// an entity whose type has a wrong name.
    #[error("{path} is {value}, which is not a value: {reason}")]
    Value {
        /// The path of the value, as in `context.sites[].address`; `[]` is a member of a set.
        path: String,
        /// The value.
        value: String,
        /// Cedar's reason.
        reason: String,
    },
    /// A vector that has another length, is all zeros, or has a float that is infinite or NaN.
    #[error("vector of {found} floats, expected {expected} that are numbers and not all zero")]
    Vector {
        /// The number of floats given.
        found: usize,
        /// The number of floats expected.
        expected: usize,
    },
    /// Bytes that are not an audit log, or contradict themselves.
    #[error("audit log: corrupt {what}")]
    AuditForm {
        /// The part that does not fit.
        what: &'static str,
    },
    /// An entry of an audit log that was changed.
    #[error("audit log: entry {entry} was altered")]
    AuditAltered {
        /// The entry's number.
        entry: u64,
    },
    /// An entry is missing between two others.
    #[error("audit log: entry {entry} was removed")]
    AuditRemoved {
        /// The entry's number.
        entry: u64,
    },
    /// An entry is not in its place.
    #[error("audit log: entry {entry} stands in place {place}")]
    AuditReordered {
        /// The entry's number.
        entry: u64,
        /// The number of the place where it was found.
        place: u64,
    },
    /// The stored bytes end within an entry.
    #[error("audit log: cut off within entry {entry}")]
    AuditCut {
        /// The entry's number.
        entry: u64,
    },
    /// There are fewer entries than the head was signed for.
    #[error("audit log: truncated to {found} entries, the head was signed for {signed}")]
    AuditTruncated {
        /// The number of entries found.
        found: u64,
        /// The number of entries that the head covers.
        signed: u64,
    },
    /// There are more entries than the head was signed for.
    #[error("audit log: {found} entries, the head was signed for {signed}; take a later head")]
    AuditUnsigned {
        /// The number of entries found.
        found: u64,
        /// The number of entries that the head covers.
        signed: u64,
    },
    /// The entries fit together, but do not fit the head.
    #[error("audit log: the head was not signed for these entries")]
    AuditHead,
    /// The head's signature is not valid under the public key.
    #[error("audit log: the head's signature is not of this key")]
    AuditSignature,
    /// The proof does not lead from the entry to the head.
    #[error("audit log: the proof does not show entry {entry} in this head")]
    AuditProof {
        /// The entry's number.
        entry: u64,
    },
}

/// Checks that a size is at most `most`.
pub(crate) fn at_most(what: &str, found: usize, most: usize) -> Result<(), Error> {
    if found <= most {
        Ok(())
    } else {
        let what = what.to_owned();
        Err(Error::TooLarge { what, found, most })
    }
}

/// The text of an error and of its causes.
pub(crate) fn chain(error: &dyn core::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A hint if a text begins with a byte-order mark, since editors do not show it.
pub(crate) fn hint(text: &str) -> &'static str {
    match text.starts_with('\u{feff}') {
        true => "; the text begins with a byte order mark: save it as UTF-8 without one",
        false => "",
    }
}
