//! Values that a condition's evaluation computes.

use core::cmp::Ordering;

use super::Stop;
use crate::decision::Failure;
use crate::names::Node;
use crate::value::{EntityUid, Record, Set, Uid, Value};

/// A value during evaluation, borrowed if it exists already.
#[derive(Debug, Clone)]
pub(super) enum Val<'a> {
    Bool(bool),
    Long(i64),
    Text(&'a str),
    Entity(Uid<'a>, Known),
    Set(&'a Set),
    Made(Set),
    Record(&'a Record),
}

/// An entity's number, if it was looked up.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known {
    Is(Option<Node>),
    Unasked,
}

impl<'e> Val<'e> {
    /// Borrows a value; an error if it contains a value of an extension type.
    pub(super) fn of(value: &'e Value) -> Result<Self, Stop> {
        if value.has_extension() {
            return Err(Stop::Cedar);
        }
        Ok(match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Long(value) => Self::Long(*value),
            Value::String(value) => Self::Text(value),
            Value::Entity(value) => Self::Entity(value.borrowed(), Known::Unasked),
            Value::Set(value) => Self::Set(value),
            Value::Record(value) => Self::Record(value),
            Value::Extension { .. } => return Err(Stop::Cedar),
        })
    }

    pub(super) fn owned(&self) -> Result<Value, Stop> {
        let value = match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::Long(value) => Value::Long(*value),
            Self::Text(value) => Value::string(*value),
            Self::Entity(value, _) => Value::Entity(value.owned()),
            Self::Set(value) => Value::Set((*value).clone()),
            Self::Made(value) => Value::Set(value.clone()),
            Self::Record(value) => Value::Record((*value).clone()),
        };
        Ok(value)
    }

    pub(super) fn truth(&self) -> Result<bool, Stop> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(Failure::Type.into()),
        }
    }

    pub(super) fn long(&self) -> Result<i64, Stop> {
        match self {
            Self::Long(value) => Ok(*value),
            _ => Err(Failure::Type.into()),
        }
    }

    pub(super) fn set(&self) -> Result<&Set, Stop> {
        match self {
            Self::Set(value) => Ok(value),
            Self::Made(value) => Ok(value),
            _ => Err(Failure::Type.into()),
        }
    }

    pub(super) fn entity(&self) -> Result<(Uid<'e>, Known), Stop> {
        match self {
            Self::Entity(uid, known) => Ok((*uid, *known)),
            _ => Err(Failure::Type.into()),
        }
    }

    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Long(a), Self::Long(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Entity(_, Known::Is(Some(a))), Self::Entity(_, Known::Is(Some(b)))) => a == b,
            (Self::Entity(a, _), Self::Entity(b, _)) => a == b,
            (Self::Record(a), Self::Record(b)) => a == b,
            (a, b) => matches!((a.set(), b.set()), (Ok(a), Ok(b)) if a == b),
        }
    }

    /// Compares `member` with this value, in the order of [`Value`].
    pub(super) fn order(&self, member: &Value) -> Ordering {
        let entity = |uid: &EntityUid, other: &Uid<'_>| {
            (uid.type_name(), uid.id()).cmp(&(other.type_name, other.id))
        };
        match (member, self) {
            (Value::Bool(member), Self::Bool(value)) => member.cmp(value),
            (Value::Long(member), Self::Long(value)) => member.cmp(value),
            (Value::String(member), Self::Text(value)) => (**member).cmp(value),
            (Value::Entity(member), Self::Entity(value, _)) => entity(member, value),
            (Value::Set(member), Self::Set(value)) => member.cmp(value),
            (Value::Set(member), Self::Made(value)) => member.cmp(value),
            (Value::Record(member), Self::Record(value)) => member.cmp(value),
            _ => rank(member).cmp(&self.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Bool(_) => 0,
            Self::Long(_) => 1,
            Self::Text(_) => 2,
            Self::Entity(..) => 3,
            Self::Set(_) | Self::Made(_) => 4,
            Self::Record(_) => 5,
        }
    }
}

/// The rank of a kind in the derived order of [`Value`].
fn rank(value: &Value) -> u8 {
    match value {
        Value::Bool(_) => 0,
        Value::Long(_) => 1,
        Value::String(_) => 2,
        Value::Entity(_) => 3,
        Value::Set(_) => 4,
        Value::Record(_) => 5,
        Value::Extension { .. } => 6,
    }
}
