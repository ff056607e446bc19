//! Policies: parsed and validated, then compiled against the entities.

use std::sync::{Arc, OnceLock};

use cedar_policy::{PolicySet, ValidationMode, Validator, pst};

use crate::expr::Expr;
use crate::index::Index;
use crate::schema::Schema;
use crate::scope::{Party, Scope};
use crate::value::EntityUid;
use crate::world::Nodes;
use crate::{Error, bounds, compile, convert};

/// Policies in Cedar's own form, in the order of their text.
#[derive(Debug)]
pub(crate) struct Policies(Vec<Policy>);

/// One policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) id: Arc<str>,
    pub(crate) permits: bool,
    syntax: pst::Policy,
    cedar: cedar_policy::Policy,
    /// The policy alone, for Cedar's evaluator.
    alone: OnceLock<PolicySet>,
}

impl Policy {
    pub(crate) fn alone(&self) -> &PolicySet {
        self.alone.get_or_init(|| {
            PolicySet::from_policies([self.cedar.clone()]).expect("one policy has one id")
        })
    }
}

impl Policies {
    /// Parses and validates.
    pub(crate) fn parse(text: &str, schema: Option<&Schema>) -> Result<Self, Error> {
        bounds::policies(text)?;
        let set: PolicySet =
            text.parse()
                .map_err(|error: cedar_policy::ParseErrors| Error::Parse {
                    reason: error.to_string(),
                })?;
        if let Some(template) = set.templates().next() {
            let id = template.id().to_string();
            return Err(Error::Template { id });
        }
        if let Some(schema) = schema {
            let result =
                Validator::new(schema.cedar.clone()).validate(&set, ValidationMode::Strict);
            if let Some(error) = result.validation_errors().next() {
                let policy = set.policy(error.policy_id());
                return Err(Error::Invalid {
                    policy: policy.map_or_else(|| error.policy_id().to_string(), id),
                    reason: error.to_string(),
                });
            }
        }
        // Cedar numbers policies by their places: policy0, policy1, ..
        let place = |policy: &cedar_policy::Policy| {
            let id: &str = policy.id().as_ref();
            id.strip_prefix("policy")
                .and_then(|id| id.parse::<u32>().ok())
        };
        let mut list: Vec<&cedar_policy::Policy> = set.policies().collect();
        list.sort_by_key(|policy| place(policy));
        let mut ids = std::collections::HashSet::new();
        let list = list.into_iter().map(|policy| {
            let id = id(policy);
            if !ids.insert(id.clone()) {
                return Err(Error::DuplicatePolicy { id });
            }
            let syntax = policy.to_pst().map_err(|error| Error::Parse {
                reason: error.to_string(),
            })?;
            Ok(Policy {
                id: id.into(),
                permits: policy.effect() == cedar_policy::Effect::Permit,
                syntax,
                cedar: policy.clone(),
                alone: OnceLock::new(),
            })
        });
        list.collect::<Result<_, Error>>().map(Self)
    }

    pub(crate) fn get(&self, number: u32) -> &Policy {
        &self.0[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The entities that they name.
    pub(crate) fn literals(&self) -> Vec<EntityUid> {
        let all = self.0.iter();
        let all = all.flat_map(|policy| policy.cedar.entity_literals());
        all.map(|uid| convert::uid(&uid)).collect()
    }
}

/// A policy's annotation `@id`, or Cedar's name for its place.
fn id(policy: &cedar_policy::Policy) -> String {
    let annotated = policy.annotation("id").filter(|id| !id.is_empty());
    annotated.map_or_else(|| policy.id().to_string(), str::to_owned)
}

/// Policies compiled against a world.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) nodes: Nodes,
    pub(crate) index: Index,
    compiled: Vec<(Scope, Code)>,
}

/// The condition of a policy.
#[derive(Debug)]
pub(crate) enum Code {
    Always,
    When(Expr),
    /// Left to Cedar.
    Cedar,
}

impl Program {
    pub(crate) fn new(policies: &Policies, mut nodes: Nodes) -> Self {
        let compiled: Vec<(Scope, Code)> = policies
            .0
            .iter()
            .map(|policy| one(policy, &mut nodes))
            .collect();
        let index = Index::new(compiled.iter().map(|(scope, _)| scope), &nodes);
        Self {
            nodes,
            index,
            compiled,
        }
    }

    pub(crate) fn get(&self, number: u32) -> &(Scope, Code) {
        &self.compiled[number as usize]
    }

    /// The number of policies that are compiled.
    pub(crate) fn compiled(&self) -> usize {
        let codes = self.compiled.iter().map(|(_, code)| code);
        codes.filter(|code| !matches!(code, Code::Cedar)).count()
    }
}

fn one(policy: &Policy, nodes: &mut Nodes) -> (Scope, Code) {
    let body = policy.syntax.body();
    let code = match compile::condition(body, nodes) {
        Some(None) => Code::Always,
        Some(Some(condition)) => Code::When(condition),
        None => Code::Cedar,
    };
    match compile::scope(body, nodes) {
        Some(scope) => (scope, code),
        // No policy without places has such a scope. Cedar looks at it for every request.
        None => {
            let any = Scope {
                principal: Party::Any,
                action: None,
                resource: Party::Any,
            };
            (any, Code::Cedar)
        }
    }
}
