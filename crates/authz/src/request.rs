//! Requests, and the trait that decides them.

use crate::context::{Context, EMPTY};
use crate::decision::Decision;
use crate::value::Uid;

/// One question: may this principal do this action on this resource, in this context?
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The principal that asks.
    pub principal: Uid<'a>,
    /// The requested action.
    pub action: Uid<'a>,
    /// The resource of the request.
    pub resource: Uid<'a>,
    /// Other values that policies may read.
    pub context: &'a Context,
}

impl<'a> Request<'a> {
    /// A request with an empty context.
    #[must_use]
    pub fn new(principal: Uid<'a>, action: Uid<'a>, resource: Uid<'a>) -> Self {
        let context = &EMPTY;
        Self {
            principal,
            action,
            resource,
            context,
        }
    }

    /// The same request with this context.
    #[must_use]
    pub fn with(self, context: &'a Context) -> Self {
        Self { context, ..self }
    }
}

/// Answers requests: an [`Engine`](crate::Engine) in this process, or a service elsewhere.
pub trait Authorizer {
    /// The decision, with its explanation. It denies unless there is a reason to allow.
    fn check(&self, request: &Request<'_>) -> Decision;
}
