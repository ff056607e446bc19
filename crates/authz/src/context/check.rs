//! Checks for values that Cedar's language does not have, with their place in a context.

use crate::Error;
use crate::error::chain;
use crate::names::{is_identifier, is_type};
use crate::value::{Record, Value};

/// Refuses a record with a value that Cedar's language does not have, at any depth: Cedar would refuse the whole
/// context.
pub(super) fn check(record: &Record) -> Result<(), Error> {
    let mut fields = record.fields().iter();
    fields.try_for_each(|(name, value)| {
        check_value(value).map_err(|error| match is_identifier(name) {
            true => within(&format!(".{name}"), error),
            false => within(&format!("[{name:?}]"), error),
        })
    })
}

fn check_value(value: &Value) -> Result<(), Error> {
    let (value, reason) = match value {
        Value::Bool(_) | Value::Long(_) | Value::String(_) => return Ok(()),
        Value::Set(set) => {
            let mut members = set.members().iter();
            return members
                .try_for_each(|member| check_value(member).map_err(|error| within("[]", error)));
        }
        Value::Record(record) => return check(record),
        Value::Entity(uid) if is_type(uid.type_name()) => return Ok(()),
        Value::Entity(uid) => (
            format!("{uid:?}"),
            format!("{:?} is not the name of a type", uid.type_name()),
        ),
        Value::Extension { kind, argument } => {
            let alone = [(String::new(), kind.call(argument))];
            match cedar_policy::Context::from_pairs(alone) {
                Ok(_) => return Ok(()),
                Err(error) => (format!("{kind}({argument:?})"), chain(&error)),
            }
        }
    };
    let path = String::new();
    Err(Error::Value {
        path,
        value,
        reason,
    })
}

/// The error, with `place` put before the value's path.
pub(super) fn within(place: &str, mut error: Error) -> Error {
    if let Error::Value { path, .. } = &mut error {
        path.insert_str(0, place);
    }
    error
}
