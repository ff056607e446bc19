//! The errors of this crate: refusals of schemas, policies, entities, values and logs, by name.

/// Errors of this crate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text or list that is larger than this crate reads.
    #[error("{what}: {found}, expected at most {most}")]
    TooLarge {
        /// The text or list, with its unit.
        what: &'static str,
        /// Found.
        found: usize,
        /// Most that is read.
        most: usize,
    },
    /// A text or value whose parts are nested too deeply.
    #[error("{what} nested {found} deep, expected at most {most}")]
    TooDeep {
        /// The text or value.
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
        /// Cedar's reason.
        reason: String,
    },
    /// A policy that the schema does not admit.
    #[error("policy {policy} does not validate: {reason}")]
    Invalid {
        /// The policy's id.
        policy: String,
        /// Cedar's reason.
        reason: String,
    },
    /// Two policies of one id.
    #[error("two policies have the id {id}; give each its own `@id`")]
    DuplicatePolicy {
        /// The id.
        id: String,
    },
    /// A template: its places would have to be filled, and nothing here fills them.
    #[error("policy {id} is a template; write policies without `?principal` and `?resource`")]
    Template {
        /// The template's id.
        id: String,
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
    /// Entries behind those that the head was signed for.
    #[error("audit log: {found} entries, the head was signed for {signed}; take a later head")]
    AuditUnsigned {
        /// Entries found.
        found: u64,
        /// Entries of the head.
        signed: u64,
    },
    /// Entries that agree among themselves, but are not those of the head.
    #[error("audit log: its entries are not those that the head was signed for")]
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
pub(crate) fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), Error> {
    if found <= most {
        Ok(())
    } else {
        Err(Error::TooLarge { what, found, most })
    }
}
