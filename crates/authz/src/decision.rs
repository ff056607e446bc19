//! Decisions, and the reasons for them.

use std::sync::Arc;

/// A decision: allowed or denied, the policies that decided, and the errors of policies that failed. Copies share
/// their content.
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

/// Numbers of replacements, which identify the policies and the entities behind a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epochs {
    /// The number of times that policies were replaced before.
    pub policies: u64,
    /// The number of times that entities were replaced before.
    pub entities: u64,
}

/// A policy that was ignored because its evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("policy {policy}: {reason}")]
pub struct PolicyError {
    /// The policy's id.
    pub policy: Arc<str>,
    /// The kind of failure.
    pub reason: Failure,
}

/// The kinds of failure in the evaluation of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// A value whose type its operator does not accept.
    #[error("an operator got a value of a kind that it does not take")]
    Type,
    /// An entity that does not exist.
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
    /// A failure of a kind that this crate does not know.
    #[error("the evaluation failed")]
    Other,
}

/// The reasons why a request was denied before any policy was evaluated. Cedar's language cannot express the request,
/// or the schema does not admit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A type name that is not a valid Cedar name.
    #[error("a type name is not a name")]
    Name,
    /// An action that the schema does not have.
    #[error("the schema has no such action")]
    Action,
    /// A principal whose type does not exist, or does not fit the action.
    #[error("the action is not for principals of this type")]
    Principal,
    /// A resource whose type does not exist, or does not fit the action.
    #[error("the action is not for resources of this type")]
    Resource,
    /// An id that is not one of its enumerated type.
    #[error("an enumerated type has no such id")]
    Enumerated,
    /// A context whose fields do not fit the action.
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

    /// The bytes of memory that its lists take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0.policies) + size_of_val(&*self.0.errors)
    }

    /// True if the request is allowed.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.0.allowed
    }

    /// The ids of the policies that decided, in the order of the policies. If a policy forbids, these are all
    /// policies that forbid. If the request is allowed, these are the policies that permit. The list is empty if no
    /// policy applies.
    #[must_use]
    pub fn policies(&self) -> &[Arc<str>] {
        &self.0.policies
    }

    /// The policies that failed and were ignored, in the order of the policies.
    #[must_use]
    pub fn errors(&self) -> &[PolicyError] {
        &self.0.errors
    }

    /// The reason why no policy was evaluated, if there was one.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.0.refusal
    }

    /// The versions of the policies and entities that decided.
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
