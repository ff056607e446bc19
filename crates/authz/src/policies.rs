//! Parses and validates policies, then compiles them against the entities.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use cedar_policy::{ParseErrors, PolicyId, PolicySet, ValidationMode, Validator, pst};

use crate::error::{chain, hint};
use crate::expr::Expr;
use crate::index::Index;
use crate::places::{Places, offset, placed};
use crate::schema::Schema;
use crate::scope::{Party, Scope};
use crate::value::EntityUid;
use crate::world::Nodes;
use crate::{Error, bounds, compile, constructors, convert};

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
    /// A set with only this policy, for Cedar's evaluator.
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
    /// Parses and validates a text of policies.
    pub(crate) fn parse(text: &str, schema: Option<&Schema>) -> Result<Self, Error> {
        bounds::policies(text)?;
        let set: PolicySet = text
            .parse()
            .map_err(|error: ParseErrors| unparsed(text, &error))?;
        let templates = set.templates();
        if let Some(template) = templates.min_by_key(|template| number(template.id())) {
            let annotated = template.annotation("id").filter(|id| !id.is_empty());
            let id = annotated.map_or_else(|| template.id().to_string(), str::to_owned);
            let place = Places::of(text).of_policy(number(template.id()));
            return Err(Error::Template { id, place });
        }
        if let Some(schema) = schema {
            validate(text, &set, schema)?;
        }
        constructors::check(text)?;
        let mut list: Vec<&cedar_policy::Policy> = set.policies().collect();
        list.sort_by_key(|policy| number(policy.id()));
        let mut ids = HashMap::new();
        let list = list.into_iter().map(|policy| {
            let id = id(policy);
            if let Some(first) = ids.insert(id.clone(), policy) {
                let places = Places::of(text);
                let [first, second] = [first, policy].map(|policy| stands(policy, &places));
                return Err(Error::DuplicatePolicy { id, first, second });
            }
            let syntax = policy.to_pst().map_err(|error| Error::Parse {
                reason: format!(
                    "{}: {}",
                    Places::of(text).named(number(policy.id())),
                    chain(&error)
                ),
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

    /// The entities that the policies name.
    pub(crate) fn literals(&self) -> Vec<EntityUid> {
        let all = self.0.iter();
        let all = all.flat_map(|policy| policy.cedar.entity_literals());
        all.map(|uid| convert::uid(&uid)).collect()
    }
}

/// A policy's annotation `@id`, or the name that Cedar derives from its number.
fn id(policy: &cedar_policy::Policy) -> String {
    annotation(policy).map_or_else(|| policy.id().to_string(), str::to_owned)
}

fn annotation(policy: &cedar_policy::Policy) -> Option<&str> {
    policy.annotation("id").filter(|id| !id.is_empty())
}

/// The number in Cedar's name of a policy (policy0, policy1, ..), which is its place among all
/// policies.
fn number(id: &PolicyId) -> usize {
    let id: &str = id.as_ref();
    let number = id.strip_prefix("policy").and_then(|id| id.parse().ok());
    number.unwrap_or(usize::MAX)
}

/// The place of a policy. If it has no `@id`, the text says where its id comes from.
fn stands(policy: &cedar_policy::Policy, places: &Places<'_>) -> String {
    let place = places.of_policy(number(policy.id()));
    match annotation(policy) {
        Some(_) => format!("at {place}"),
        None => {
            format!("at {place} (without `@id`, so it has the id of its place among the policies)")
        }
    }
}

/// The first Cedar error of a text, with its place.
fn unparsed(text: &str, errors: &ParseErrors) -> Error {
    let places = Places::of(text);
    let mut all = errors.iter();
    let reason = all.next().map_or_else(String::new, |error| {
        let reason = placed(text, error);
        match offset(error) {
            Some(at) => format!("{reason}, in {}", places.named(places.around(at))),
            None => reason,
        }
    });
    let reason = format!("{reason}{}{}", more(all.count()), hint(text));
    Error::Parse { reason }
}

/// Checks that the schema admits all policies.
fn validate(text: &str, set: &PolicySet, schema: &Schema) -> Result<(), Error> {
    let result = Validator::new(schema.cedar.clone()).validate(set, ValidationMode::Strict);
    let mut errors: Vec<_> = result.validation_errors().collect();
    errors.sort_by_key(|error| (number(error.policy_id()), offset(*error)));
    let Some(error) = errors.first() else {
        return Ok(());
    };
    let policy = set.policy(error.policy_id());
    let policy = policy.map_or_else(|| error.policy_id().to_string(), id);
    // Cedar's message begins with Cedar's name of the policy, which is removed.
    let reason = placed(text, *error);
    let reason = reason.replacen(&format!("for policy `{}`, ", error.policy_id()), "", 1);
    let reason = format!("{reason}{}", more(errors.len() - 1));
    Err(Error::Invalid { policy, reason })
}

fn more(others: usize) -> String {
    match others {
        0 => String::new(),
        others => format!("; and {others} more"),
    }
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
    /// Cedar evaluates the condition.
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
        // Such a scope occurs only in templates, which are refused. If it did occur, Cedar would
        // evaluate the policy for every request.
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
