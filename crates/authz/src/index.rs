//! Finds the policies that can apply to a request by its principal, resource, action and types.
//!
//! Each policy is listed under one key of its scope: its principal, its resource, its actions or one of its types. The
//! key that the fewest policies name is chosen. A request looks up its own entities and all their ancestors. So it
//! finds each policy whose scope it matches exactly once, and some policies whose scope it does not match. A policy
//! whose scope does not match cannot decide or fail, so it need not be evaluated for its errors either.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::eval::Asked;
use crate::names::Node;
use crate::scope::{Party, Scope};
use crate::world::Nodes;

/// The number of a policy, in the order of the text.
pub(crate) type Number = u32;

type Lists<K> = HashMap<K, Vec<Number>, RandomState>;

#[derive(Debug, Default)]
pub(crate) struct Index {
    always: Vec<Number>,
    principal_types: Lists<Box<str>>,
    resource_types: Lists<Box<str>>,
    principals: Lists<Node>,
    resources: Lists<Node>,
    /// The lists by action. An action is also listed under its ancestors.
    actions: Lists<Node>,
}

impl Index {
    pub(crate) fn new<'a>(scopes: impl Iterator<Item = &'a Scope> + Clone, nodes: &Nodes) -> Self {
        let mut counts: [HashMap<Node, usize>; 3] = Default::default();
        for scope in scopes.clone() {
            for (counts, keys) in counts.iter_mut().zip(keys(scope)) {
                keys.iter()
                    .for_each(|key| *counts.entry(*key).or_default() += 1);
            }
        }
        let mut index = Self::default();
        let mut by_action = Vec::new();
        for (scope, number) in scopes.zip(0..) {
            let keys = keys(scope);
            let count = |of: usize| keys[of].iter().map(|key| counts[of][key]).max();
            match (0..3).filter_map(|of| Some((count(of)?, of))).min() {
                Some((_, 0)) => index.principals.entry(keys[0][0]).or_default().push(number),
                Some((_, 1)) => index.resources.entry(keys[1][0]).or_default().push(number),
                Some(_) => by_action.push((number, scope)),
                None => index.by_type(scope, number),
            }
        }
        index.by_action(&by_action, nodes);
        index
    }

    fn by_type(&mut self, scope: &Scope, number: Number) {
        let list = match (&scope.resource, &scope.principal) {
            (Party::Is(Some(kind), _), _) => self.resource_types.entry(kind.clone()).or_default(),
            (_, Party::Is(Some(kind), _)) => self.principal_types.entry(kind.clone()).or_default(),
            _ => &mut self.always,
        };
        list.push(number);
    }

    /// A list for each entity that is one of the policies' actions, or is below such an action.
    fn by_action(&mut self, policies: &[(Number, &Scope)], nodes: &Nodes) {
        let mut named: HashMap<Node, Vec<usize>> = HashMap::new();
        for (place, (_, scope)) in policies.iter().enumerate() {
            let (those, _) = scope.action.as_ref().expect("by its action");
            those
                .iter()
                .for_each(|one| named.entry(*one).or_default().push(place));
        }
        if named.is_empty() {
            return;
        }
        for node in nodes.all() {
            let above = nodes.ancestors(node).iter().chain([&node]);
            let mut places: Vec<usize> = above
                .filter_map(|one| named.get(one))
                .flatten()
                .copied()
                .collect();
            places.sort_unstable();
            places.dedup();
            let matching = places.into_iter().map(|place| policies[place]);
            let matching = matching.filter(|(_, scope)| scope.action(nodes, Some(node)));
            let list: Vec<Number> = matching.map(|(number, _)| number).collect();
            if !list.is_empty() {
                self.actions.insert(node, list);
            }
        }
    }

    /// Calls `visit` with each policy that can apply.
    #[inline]
    pub(crate) fn each(&self, asked: &Asked<'_>, mut visit: impl FnMut(Number)) {
        let mut all = |list: Option<&Vec<Number>>| {
            list.into_iter().flatten().for_each(|number| visit(*number));
        };
        all(Some(&self.always));
        if !self.principal_types.is_empty() {
            all(self.principal_types.get(asked.request.principal.type_name));
        }
        if !self.resource_types.is_empty() {
            all(self.resource_types.get(asked.request.resource.type_name));
        }
        if let Some(action) = asked.action {
            all(self.actions.get(&action));
        }
        for (lists, node) in [
            (&self.principals, asked.principal),
            (&self.resources, asked.resource),
        ] {
            let Some(node) = node.filter(|_| !lists.is_empty()) else {
                continue;
            };
            all(lists.get(&node));
            asked
                .nodes
                .ancestors(node)
                .iter()
                .for_each(|node| all(lists.get(node)));
        }
    }
}

/// The entities that a scope names: its principal, its resource, its actions.
fn keys(scope: &Scope) -> [&[Node]; 3] {
    let of = |party| match party {
        &Party::Is(_, Some((ref node, _))) => core::slice::from_ref(node),
        _ => &[],
    };
    let actions = scope.action.as_ref().map_or(&[][..], |(those, _)| those);
    [of(&scope.principal), of(&scope.resource), actions]
}
