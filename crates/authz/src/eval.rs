//! Evaluates compiled conditions with the same results and failures as Cedar.

mod val;

use crate::decision::Failure;
use crate::expr::{Expr, Operator};
use crate::names::Node;
use crate::request::Request;
use crate::value::{Record, Set, Uid, Value};
use crate::world::Nodes;
use val::{Known, Val};

/// A request after its entities were looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) nodes: &'a Nodes,
    pub(crate) request: &'a Request<'a>,
    pub(crate) principal: Option<Node>,
    pub(crate) action: Option<Node>,
    pub(crate) resource: Option<Node>,
}

/// The reasons why an evaluation stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Failed(Failure),
    /// The value has an extension type, so Cedar must evaluate the policy.
    Cedar,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl<'a> Asked<'a> {
    pub(crate) fn new(nodes: &'a Nodes, request: &'a Request<'a>) -> Self {
        let [principal, action, resource] =
            [request.principal, request.action, request.resource].map(|uid| nodes.find(uid));
        Self {
            nodes,
            request,
            principal,
            action,
            resource,
        }
    }

    /// True if the condition holds.
    pub(crate) fn holds(&self, condition: &Expr) -> Result<bool, Stop> {
        self.truth(condition)
    }

    fn truth(&self, expr: &Expr) -> Result<bool, Stop> {
        match expr {
            Expr::And(sides) => Ok(self.truth(&sides[0])? && self.truth(&sides[1])?),
            Expr::Or(sides) => Ok(self.truth(&sides[0])? || self.truth(&sides[1])?),
            Expr::Not(expr) => Ok(!self.truth(expr)?),
            Expr::Binary(operator, sides) => {
                let (left, right) = (self.value(&sides[0])?, self.value(&sides[1])?);
                self.binary(*operator, &left, &right)?.truth()
            }
            Expr::InAny(expr, those) => {
                let (uid, known) = self.value(expr)?.entity()?;
                Ok(self.in_any(self.node(uid, known), those))
            }
            Expr::Has(expr, names) => self.has(self.value(expr)?, names),
            Expr::Like(expr, pattern) => match self.value(expr)? {
                Val::Text(text) => Ok(pattern.matches(text)),
                _ => Err(Failure::Type.into()),
            },
            Expr::Is(expr, kind) => Ok(self.value(expr)?.entity()?.0.type_name == &**kind),
            Expr::IsEmpty(expr) => Ok(self.value(expr)?.set()?.members().is_empty()),
            other => self.value(other)?.truth(),
        }
    }

    fn value<'e>(&self, expr: &'e Expr) -> Result<Val<'e>, Stop>
    where
        'a: 'e,
    {
        let request = self.request;
        Ok(match expr {
            Expr::Const(value) => Val::of(value)?,
            Expr::Entity(uid, node) => Val::Entity(uid.borrowed(), Known::Is(Some(*node))),
            Expr::Principal => Val::Entity(request.principal, Known::Is(self.principal)),
            Expr::Action => Val::Entity(request.action, Known::Is(self.action)),
            Expr::Resource => Val::Entity(request.resource, Known::Is(self.resource)),
            Expr::Context => match request.context.record() {
                record if record.has_extension() => return Err(Stop::Cedar),
                record => Val::Record(record),
            },
            Expr::Attribute(expr, name) => match &**expr {
                // Other fields of the context may have an extension type.
                Expr::Context => of_record(request.context.record(), name)?,
                expr => self.attribute(&self.value(expr)?, name)?,
            },
            Expr::Negate(expr) => {
                let long = self.value(expr)?.long()?;
                Val::Long(long.checked_neg().ok_or(Failure::Overflow)?)
            }
            Expr::Binary(operator, sides) => {
                let (left, right) = (self.value(&sides[0])?, self.value(&sides[1])?);
                self.binary(*operator, &left, &right)?
            }
            Expr::If(parts) => {
                let branch = if self.truth(&parts[0])? { 1 } else { 2 };
                self.value(&parts[branch])?
            }
            Expr::Set(members) => {
                let members = members.iter().map(|member| self.value(member)?.owned());
                // A set of values at the deepest nesting would exceed the bound.
                let set = Set::new(members.collect::<Result<_, Stop>>()?);
                Val::Made(set.map_err(|_| Stop::Cedar)?)
            }
            _ => Val::Bool(self.truth(expr)?),
        })
    }

    fn binary<'e>(
        &self,
        operator: Operator,
        left: &Val<'e>,
        right: &Val<'e>,
    ) -> Result<Val<'e>, Stop> {
        let long = |sum: fn(i64, i64) -> Option<i64>| {
            let sum = sum(left.long()?, right.long()?);
            Ok::<_, Stop>(Val::Long(sum.ok_or(Failure::Overflow)?))
        };
        Ok(Val::Bool(match operator {
            Operator::Equal => left.equals(right),
            Operator::Less => left.long()? < right.long()?,
            Operator::LessEqual => left.long()? <= right.long()?,
            Operator::Add => return long(i64::checked_add),
            Operator::Subtract => return long(i64::checked_sub),
            Operator::Multiply => return long(i64::checked_mul),
            Operator::In => self.is_in(left, right)?,
            Operator::Contains => left
                .set()?
                .members()
                .binary_search_by(|member| right.order(member))
                .is_ok(),
            Operator::ContainsAll => {
                let (left, right) = (left.set()?, right.set()?);
                right.members().iter().all(|member| left.contains(member))
            }
            Operator::ContainsAny => {
                let (left, right) = (left.set()?, right.set()?);
                right.members().iter().any(|member| left.contains(member))
            }
        }))
    }

    fn is_in(&self, left: &Val<'_>, right: &Val<'_>) -> Result<bool, Stop> {
        let (uid, known) = left.entity()?;
        let node = self.node(uid, known);
        let below = |other: Uid<'_>, other_node: Option<Node>| {
            uid == other
                || node
                    .zip(other_node)
                    .is_some_and(|(a, b)| self.nodes.is_in(a, b))
        };
        if let Val::Entity(other, known) = right {
            return Ok(below(*other, self.node(*other, *known)));
        }
        let members = right.set()?.members();
        if members
            .iter()
            .any(|member| !matches!(member, Value::Entity(_)))
        {
            return Err(Failure::Type.into());
        }
        Ok(members.iter().any(|member| match member {
            Value::Entity(other) => below(other.borrowed(), self.nodes.find(other.borrowed())),
            _ => false,
        }))
    }

    fn in_any(&self, node: Option<Node>, those: &[Node]) -> bool {
        node.is_some_and(|node| those.iter().any(|&other| self.nodes.is_in(node, other)))
    }

    fn node(&self, uid: Uid<'_>, known: Known) -> Option<Node> {
        match known {
            Known::Is(node) => node,
            Known::Unasked => self.nodes.find(uid),
        }
    }

    fn record<'e>(&self, uid: Uid<'_>, known: Known) -> Option<&'e Record>
    where
        'a: 'e,
    {
        self.nodes.attributes(self.node(uid, known)?)
    }

    fn attribute<'e>(&self, of: &Val<'e>, name: &str) -> Result<Val<'e>, Stop>
    where
        'a: 'e,
    {
        match of {
            Val::Record(record) => of_record(record, name),
            Val::Entity(uid, known) => {
                let record = self.record(*uid, *known).ok_or(Failure::NoEntity)?;
                Val::of(record.get(name).ok_or(Failure::NoEntityAttribute)?)
            }
            _ => Err(Failure::Type.into()),
        }
    }

    fn has(&self, of: Val<'_>, names: &[Box<str>]) -> Result<bool, Stop> {
        let mut of = of;
        for (name, i) in names.iter().zip(1..) {
            let found = match &of {
                Val::Record(record) => record.get(name),
                Val::Entity(uid, known) => self.record(*uid, *known).and_then(|of| of.get(name)),
                _ => return Err(Failure::Type.into()),
            };
            match found {
                None => return Ok(false),
                Some(value) if i < names.len() => of = Val::of(value)?,
                Some(_) => {}
            }
        }
        Ok(true)
    }
}

fn of_record<'e>(record: &'e Record, name: &str) -> Result<Val<'e>, Stop> {
    Val::of(record.get(name).ok_or(Failure::NoRecordAttribute)?)
}
