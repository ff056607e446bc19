//! Decisions, and why they fell.

use std::sync::Arc;

/// A decision: allowed or denied, by which policies, and what went wrong on the way. Copies share their content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision(Arc<Content>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    allowed: bool,
    policies: Box<[Arc<str>]>,
    errors: Box<[PolicyError]>,
    refusal: Option<Refusal>,
    epochs: Epochs,
}

/// Counts of replacements: which policies and which entities a decision was made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epochs {
    /// Replacements of policies before.
    pub policies: u64,
    /// Replacements of entities before.
    pub entities: u64,
}

/// A policy whose evaluation failed, so that it had no say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("policy {policy}: {reason}")]
pub struct PolicyError {
    /// The policy's id.
    pub policy: Arc<str>,
    /// The kind of failure.
    pub reason: Failure,
}

/// Failures of the evaluation of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A value whose kind its operator does not take.
    #[error("an operator got a value of a kind that it does not take")]
    Type,
    /// An entity that is not among the entities.
    #[error("an entity does not exist")]
    NoEntity,
    /// An attribute or tag that an entity does not have.
    #[error("an entity lacks an attribute or tag")]
    NoEntityAttribute,
    /// An attribute that a record does not have.
    #[error("a record lacks an attribute")]
    NoRecordAttribute,
    /// An integer beyond 64 bits.
    #[error("an integer overflowed")]
    Overflow,
    /// An extension function that refused its arguments, or does not exist.
    #[error("an extension function failed")]
    Extension,
    /// A failure that this crate has no name for.
    #[error("the evaluation failed")]
    Other,
}

/// Reasons for which a request was denied before any policy was asked. It has no form in Cedar's language, or the
/// schema does not admit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A type name that is not written as Cedar writes it.
    #[error("a type name is not a name")]
    Name,
    /// An action that the schema does not have.
    #[error("the schema has no such action")]
    Action,
    /// A principal of a type that does not exist, or is not one of the action's.
    #[error("the action is not for principals of this type")]
    Principal,
    /// A resource of a type that does not exist, or is not one of the action's.
    #[error("the action is not for resources of this type")]
    Resource,
    /// An id that its enumerated type does not have.
    #[error("an enumerated type has no such id")]
    Enumerated,
    /// A context whose fields are not the action's.
    #[error("the context is not the action's")]
    Context,
}

impl Decision {
    pub(crate) fn new(
        allowed: bool,
        policies: Vec<Arc<str>>,
        errors: Vec<PolicyError>,
        epochs: Epochs,
    ) -> Self {
        let (policies, errors, refusal) = (policies.into(), errors.into(), None);
        Self(Arc::new(Content {
            allowed,
            policies,
            errors,
            refusal,
            epochs,
        }))
    }

    pub(crate) fn refused(refusal: Refusal, epochs: Epochs) -> Self {
        Self(Arc::new(Content {
            allowed: false,
            policies: Box::default(),
            errors: Box::default(),
            refusal: Some(refusal),
            epochs,
        }))
    }

    /// Bytes of its lists.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0.policies) + size_of_val(&*self.0.errors)
    }

    /// True if the request is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.0.allowed
    }

    /// The ids of the policies that decided, in the order of the policies. If the request is allowed, they are the
    /// policies that permit. If a policy forbids, they are the ones that forbid. There are none if no policy permits.
    #[must_use]
    pub fn policies(&self) -> &[Arc<str>] {
        &self.0.policies
    }

    /// The policies that failed and were left out, in the order of the policies.
    #[must_use]
    pub fn errors(&self) -> &[PolicyError] {
        &self.0.errors
    }

    /// The reason why no policy was asked, if none was.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.0.refusal
    }

    /// The policies and entities that it was made by.
    #[must_use]
    pub fn epochs(&self) -> Epochs {
        self.0.epochs
    }
}

impl core::fmt::Display for Decision {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let verb = if self.is_allowed() {
            "allowed"
        } else {
            "denied"
        };
        match (self.refusal(), self.policies()) {
            (Some(refusal), _) => write!(f, "{verb}: {refusal}")?,
            (None, []) => write!(f, "{verb}: no policy permits it")?,
            (None, policies) => write!(f, "{verb} by {}", policies.join(", "))?,
        }
        self.errors()
            .iter()
            .try_for_each(|error| write!(f, "; {error}"))
    }
}
