//! The scope of a policy: which principals, actions and resources it is about.

use crate::eval::Asked;
use crate::names::Node;
use crate::value::Uid;
use crate::world::Nodes;

/// A policy's scope.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) principal: Party,
    /// `None` for any action. Otherwise the actions, and true if actions below them match too.
    pub(crate) action: Option<(Box<[Node]>, bool)>,
    pub(crate) resource: Party,
}

/// The principals or resources that match.
#[derive(Debug)]
pub(crate) enum Party {
    Any,
    /// An entity of this type and, if given, this entity. True if entities below it match too.
    Is(Option<Box<str>>, Option<(Node, bool)>),
}

impl Scope {
    #[inline]
    pub(crate) fn matches(&self, asked: &Asked<'_>) -> bool {
        let (nodes, request) = (asked.nodes, asked.request);
        self.action(nodes, asked.action)
            && self
                .principal
                .matches(nodes, request.principal, asked.principal)
            && self
                .resource
                .matches(nodes, request.resource, asked.resource)
    }

    pub(crate) fn action(&self, nodes: &Nodes, action: Option<Node>) -> bool {
        let Some((those, exact)) = &self.action else {
            return true;
        };
        action.is_some_and(|action| those.iter().any(|&one| is(nodes, action, one, *exact)))
    }
}

impl Party {
    fn matches(&self, nodes: &Nodes, uid: Uid<'_>, node: Option<Node>) -> bool {
        let Self::Is(kind, one) = self else {
            return true;
        };
        kind.as_ref().is_none_or(|kind| **kind == *uid.type_name)
            && one.is_none_or(|(one, exact)| node.is_some_and(|node| is(nodes, node, one, exact)))
    }
}

fn is(nodes: &Nodes, node: Node, one: Node, exact: bool) -> bool {
    node == one || !exact && nodes.is_in(node, one)
}
