//! The errors of this crate: refusals of schemas, policies, entities, values and logs, by name.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text or list that is larger than this crate reads.
    #[error("{what}: {found}, expected at most {most}")]
    TooLarge {
        /// The text or list, with its unit.
        what: String,
        /// Found.
        found: usize,
        /// Most that is read.
        most: usize,
    },
    /// An expression of more levels than are evaluated. Each operator is one level, also in a row: `a || b || c` is
    /// `(a || b) || c`. A bracket or an `if` is 4.
    #[error(
        "{what}: an expression of {found} levels, expected at most {most}. Each operator and dot is one level, also in \
         a row, and a bracket 4. Write alternatives as a set, `[\"a\", \"b\"].contains(..)`, or as several policies"
    )]
    Expression {
        /// The policy and its place, or the place in a schema.
        what: String,
        /// Levels where reading stopped.
        found: usize,
        /// Most that are read.
        most: usize,
    },
    /// A value whose parts are nested too deeply.
    #[error("{what} nested {found} deep, expected at most {most}")]
    TooDeep {
        /// The value.
        what: &'static str,
        /// Depth where reading stopped.
        found: usize,
        /// Deepest that is read.
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
    /// Two policies of one id.
    #[error("two policies have the id {id}, {first} and {second}; give each its own `@id`")]
    DuplicatePolicy {
        /// The id.
        id: String,
        /// Where the first stands.
        first: String,
        /// Where the second stands.
        second: String,
    },
    /// A template: its places would have to be filled, and nothing here fills them.
    #[error(
        "policy {id} at {place} is a template; write policies without `?principal` and `?resource`"
    )]
    Template {
        /// The template's id.
        id: String,
        /// Its line and column.
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
    /// Entities of an engine of another schema.
    #[error(
        "the engine that is followed has another schema: expected one of the same text, or none for one without"
    )]
    OtherSchema,
    /// Entities that are not a list of entities, contradict each other or the schema.
    #[error("entities: {reason}")]
    Entities {
        /// The fault, and the entity.
        reason: String,
    },
    /// A record with two attributes of one name.
    #[error("two attributes are called {name}")]
    DuplicateAttribute {
        /// The name.
        name: String,
    },
    /// A value of a context that Cedar's language lacks. It is an extension's value with a wrong argument, or an entity
    /// of a type with a wrong name.
    #[error("{path} is {value}, which is not a value: {reason}")]
    Value {
        /// Where it stands, as in `context.sites[].address`; `[]` is a member of a set.
        path: String,
        /// The value.
        value: String,
        /// Cedar's reason.
        reason: String,
    },
    /// A vector of another length, of zeros, or with a float that is no number.
    #[error("vector of {found} floats, expected {expected} that are numbers and not all zero")]
    Vector {
        /// Floats given.
        found: usize,
        /// Floats expected.
        expected: usize,
    },
    /// Bytes that are no audit log's, or contradict themselves.
    #[error("audit log: corrupt {what}")]
    AuditForm {
        /// The part that does not fit.
        what: &'static str,
    },
    /// An entry of an audit log that is not as it was written.
    #[error("audit log: entry {entry} was altered")]
    AuditAltered {
        /// The entry's number.
        entry: u64,
    },
    /// An entry that is missing between others.
    #[error("audit log: entry {entry} was removed")]
    AuditRemoved {
        /// The entry's number.
        entry: u64,
    },
    /// An entry that is not in its place.
    #[error("audit log: entry {entry} stands in place {place}")]
    AuditReordered {
        /// The entry's number.
        entry: u64,
        /// The place where it stands.
        place: u64,
    },
    /// Entries that end within one.
    #[error("audit log: cut off within entry {entry}")]
    AuditCut {
        /// The entry's number.
        entry: u64,
    },
    /// Fewer entries than the head was signed for.
    #[error("audit log: truncated to {found} entries, the head was signed for {signed}")]
    AuditTruncated {
        /// Entries found.
        found: u64,
        /// Entries of the head.
        signed: u64,
    },
    /// Entries behind the ones that the head was signed for.
    #[error("audit log: {found} entries, the head was signed for {signed}; take a later head")]
    AuditUnsigned {
        /// Entries found.
        found: u64,
        /// Entries of the head.
        signed: u64,
    },
    /// Entries that agree among themselves, but not with the head.
    #[error("audit log: the head was not signed for these entries")]
    AuditHead,
    /// A head with a signature that is not of the key.
    #[error("audit log: the head's signature is not of this key")]
    AuditSignature,
    /// A proof that does not lead from the entry to the head.
    #[error("audit log: the proof does not show entry {entry} in this head")]
    AuditProof {
        /// The entry's number.
        entry: u64,
    },
}

/// Refuses what is larger than `most`.
pub(crate) fn at_most(what: &str, found: usize, most: usize) -> Result<(), Error> {
    if found <= most {
        Ok(())
    } else {
        let what = what.to_owned();
        Err(Error::TooLarge { what, found, most })
    }
}

/// An error and its causes.
pub(crate) fn chain(error: &dyn core::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A hint at the mark of the byte order that a text begins with, since editors hide it.
pub(crate) fn hint(text: &str) -> &'static str {
    match text.starts_with('\u{feff}') {
        true => "; the text begins with a byte order mark: save it as UTF-8 without one",
        false => "",
    }
}
