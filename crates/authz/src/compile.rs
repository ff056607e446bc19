//! Compiles Cedar's syntax trees to scopes and conditions.

use cedar_policy::pst;

use crate::expr::{Expr, Operator, Pattern};
use crate::names::Node;
use crate::scope::{Party, Scope};
use crate::value::{EntityUid, Value};
use crate::world::Nodes;

/// The scope of a policy, with its entities as numbers.
pub(crate) fn scope(policy: &pst::Template, nodes: &mut Nodes) -> Option<Scope> {
    use pst::{ActionConstraint as A, PrincipalConstraint as P, ResourceConstraint as R};
    let principal = match &policy.principal {
        P::Any => Party::Any,
        P::Eq(one) => Party::Is(None, Some((slot(one, nodes)?, true))),
        P::In(one) => Party::Is(None, Some((slot(one, nodes)?, false))),
        P::Is(kind) => Party::Is(Some(kind.to_string().into()), None),
        P::IsIn(kind, one) => Party::Is(
            Some(kind.to_string().into()),
            Some((slot(one, nodes)?, false)),
        ),
    };
    let resource = match &policy.resource {
        R::Any => Party::Any,
        R::Eq(one) => Party::Is(None, Some((slot(one, nodes)?, true))),
        R::In(one) => Party::Is(None, Some((slot(one, nodes)?, false))),
        R::Is(kind) => Party::Is(Some(kind.to_string().into()), None),
        R::IsIn(kind, one) => Party::Is(
            Some(kind.to_string().into()),
            Some((slot(one, nodes)?, false)),
        ),
    };
    let action = match &policy.action {
        A::Any => None,
        A::Eq(one) => Some((Box::from([number(one, nodes)]), true)),
        A::In(list) => Some((list.iter().map(|one| number(one, nodes)).collect(), false)),
    };
    Some(Scope {
        principal,
        action,
        resource,
    })
}

/// The conditions of a policy as one expression. `Some(None)` if the policy has no condition. `None` if a part of a
/// condition cannot be compiled.
pub(crate) fn condition(policy: &pst::Template, nodes: &mut Nodes) -> Option<Option<Expr>> {
    let mut whole = None;
    for clause in policy.clauses() {
        let clause = match clause {
            pst::Clause::When(condition) => expr(condition, nodes)?,
            pst::Clause::Unless(condition) => Expr::Not(Box::new(expr(condition, nodes)?)),
        };
        whole = Some(match whole {
            None => clause,
            Some(before) => Expr::And(Box::new([before, clause])),
        });
    }
    Some(whole)
}

fn slot(one: &pst::EntityOrSlot, nodes: &mut Nodes) -> Option<Node> {
    match one {
        pst::EntityOrSlot::Entity(one) => Some(number(one, nodes)),
        pst::EntityOrSlot::Slot(_) => None,
    }
}

fn number(uid: &pst::EntityUID, nodes: &mut Nodes) -> Node {
    nodes.number(entity(uid).borrowed())
}

fn entity(uid: &pst::EntityUID) -> EntityUid {
    EntityUid::new(uid.ty.to_string(), uid.eid.as_str())
}

fn boxed(of: &pst::Expr, nodes: &mut Nodes) -> Option<Box<Expr>> {
    expr(of, nodes).map(Box::new)
}

fn expr(of: &pst::Expr, nodes: &mut Nodes) -> Option<Expr> {
    Some(match of {
        pst::Expr::Literal(literal) => match literal {
            pst::Literal::Bool(value) => Expr::Const(Value::Bool(*value)),
            pst::Literal::Long(value) => Expr::Const(Value::Long(*value)),
            pst::Literal::String(value) => Expr::Const(Value::string(value.as_str())),
            pst::Literal::EntityUID(uid) => Expr::Entity(entity(uid), number(uid, nodes)),
            _ => return None,
        },
        pst::Expr::Var(var) => match var {
            pst::Var::Principal => Expr::Principal,
            pst::Var::Action => Expr::Action,
            pst::Var::Resource => Expr::Resource,
            pst::Var::Context => Expr::Context,
        },
        pst::Expr::UnaryOp { op, expr } => match op {
            pst::UnaryOp::Not => Expr::Not(boxed(expr, nodes)?),
            pst::UnaryOp::Neg => Expr::Negate(boxed(expr, nodes)?),
            pst::UnaryOp::IsEmpty => Expr::IsEmpty(boxed(expr, nodes)?),
            _ => return None,
        },
        pst::Expr::BinaryOp { op, left, right } => {
            let sides = Box::new([expr(left, nodes)?, expr(right, nodes)?]);
            binary(*op, sides, nodes)?
        }
        pst::Expr::GetAttr { expr, attr } => {
            Expr::Attribute(boxed(expr, nodes)?, attr.as_str().into())
        }
        pst::Expr::HasAttr { expr, attrs } => {
            let names = attrs.iter().map(|name| name.as_str().into()).collect();
            Expr::Has(boxed(expr, nodes)?, names)
        }
        pst::Expr::Like { expr, pattern } => Expr::Like(boxed(expr, nodes)?, like(pattern)),
        pst::Expr::Is {
            expr: of,
            entity_type,
            in_expr,
        } => {
            let inner = expr(of, nodes)?;
            let is = Expr::Is(Box::new(inner.clone()), entity_type.to_string().into());
            match in_expr {
                None => is,
                Some(those) => {
                    let those = Box::new([inner, expr(those, nodes)?]);
                    Expr::And(Box::new([is, within(those, nodes)]))
                }
            }
        }
        pst::Expr::IfThenElse {
            cond,
            then_expr,
            else_expr,
        } => Expr::If(Box::new([
            expr(cond, nodes)?,
            expr(then_expr, nodes)?,
            expr(else_expr, nodes)?,
        ])),
        pst::Expr::Set(members) => {
            let members = members.iter().map(|member| expr(member, nodes));
            set(members.collect::<Option<Vec<_>>>()?)?
        }
        pst::Expr::Record(fields) => {
            let fields = fields.iter().map(|(name, field)| {
                let field = constant(&expr(field, nodes)?)?;
                Some((name.as_str(), field))
            });
            Expr::Const(Value::record(fields.collect::<Option<Vec<_>>>()?).ok()?)
        }
        _ => return None,
    })
}

fn binary(op: pst::BinaryOp, sides: Box<[Expr; 2]>, nodes: &Nodes) -> Option<Expr> {
    let not = |operator, sides| Expr::Not(Box::new(Expr::Binary(operator, sides)));
    Some(match op {
        pst::BinaryOp::And => Expr::And(sides),
        pst::BinaryOp::Or => Expr::Or(sides),
        pst::BinaryOp::Eq => Expr::Binary(Operator::Equal, sides),
        pst::BinaryOp::NotEq => not(Operator::Equal, sides),
        pst::BinaryOp::Less => Expr::Binary(Operator::Less, sides),
        pst::BinaryOp::LessEq => Expr::Binary(Operator::LessEqual, sides),
        pst::BinaryOp::Greater => not(Operator::LessEqual, sides),
        pst::BinaryOp::GreaterEq => not(Operator::Less, sides),
        pst::BinaryOp::Add => Expr::Binary(Operator::Add, sides),
        pst::BinaryOp::Sub => Expr::Binary(Operator::Subtract, sides),
        pst::BinaryOp::Mul => Expr::Binary(Operator::Multiply, sides),
        pst::BinaryOp::In => within(sides, nodes),
        pst::BinaryOp::Contains => Expr::Binary(Operator::Contains, sides),
        pst::BinaryOp::ContainsAll => Expr::Binary(Operator::ContainsAll, sides),
        pst::BinaryOp::ContainsAny => Expr::Binary(Operator::ContainsAny, sides),
        _ => return None,
    })
}

/// The operator `in`. If the right side is named entities, their numbers are stored.
fn within(sides: Box<[Expr; 2]>, nodes: &Nodes) -> Expr {
    let named = match &sides[1] {
        Expr::Entity(_, node) => Some(Box::from([*node])),
        Expr::Const(Value::Set(set)) => {
            let members = set.members().iter().map(|member| match member {
                // Each entity was an expression of the set, and got its number then.
                Value::Entity(uid) => nodes.find(uid.borrowed()),
                _ => None,
            });
            members.collect()
        }
        _ => None,
    };
    match named {
        Some(named) => {
            let [left, _] = *sides;
            Expr::InAny(Box::new(left), named)
        }
        None => Expr::Binary(Operator::In, sides),
    }
}

/// A set. If all members are constant, the set is built at compile time.
fn set(members: Vec<Expr>) -> Option<Expr> {
    match members.iter().map(constant).collect::<Option<Vec<_>>>() {
        Some(members) => Value::set(members).ok().map(Expr::Const),
        None => Some(Expr::Set(members.into())),
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Const(value) => Some(value.clone()),
        Expr::Entity(uid, _) => Some(Value::Entity(uid.clone())),
        _ => None,
    }
}

fn like(pattern: &[pst::PatternElem]) -> Pattern {
    let mut pieces = vec![String::new()];
    for part in pattern {
        match (part, pieces.last_mut()) {
            (pst::PatternElem::Char(char), Some(piece)) => piece.push(*char),
            _ => pieces.push(String::new()),
        }
    }
    Pattern::new(pieces)
}
