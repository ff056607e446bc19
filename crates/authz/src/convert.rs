//! Converts requests and values to Cedar's own types, and back.

use core::str::FromStr;

use cedar_policy::{
    EntityId, EntityTypeName, EvalResult, RequestValidationError, RestrictedExpression,
};

use crate::Error;
use crate::request::Request;
use crate::value::{EntityUid, Extension, Record, Uid, Value};

/// The reasons why Cedar's types cannot express a request.
pub(crate) enum Refused {
    Name,
    Context,
    Schema(Box<RequestValidationError>),
}

/// Converts the request, and validates it against a schema if there is one.
pub(crate) fn request(
    request: &Request<'_>,
    schema: Option<&cedar_policy::Schema>,
) -> Result<cedar_policy::Request, Refused> {
    let [principal, action, resource] =
        [request.principal, request.action, request.resource].map(|uid| entity(uid));
    let pairs = request.context.record().fields().iter();
    let pairs = pairs
        .map(|(name, value)| Ok((name.to_string(), expression(value)?)))
        .collect::<Result<Vec<_>, Refused>>()?;
    // [`crate::Context`] has already refused the values that Cedar refuses.
    let context = cedar_policy::Context::from_pairs(pairs).map_err(|_| Refused::Context)?;
    cedar_policy::Request::new(principal?, action?, resource?, context, schema)
        .map_err(|error| Refused::Schema(Box::new(error)))
}

/// Converts an entity's name. Cedar's parser admits spaces within a type's name; they are refused here,
/// since names are compared by their bytes.
pub(crate) fn entity(uid: Uid<'_>) -> Result<cedar_policy::EntityUid, Refused> {
    let name = EntityTypeName::from_str(uid.type_name).map_err(|_| Refused::Name)?;
    if name.to_string() != uid.type_name {
        return Err(Refused::Name);
    }
    Ok(cedar_policy::EntityUid::from_type_name_and_id(
        name,
        EntityId::new(uid.id),
    ))
}

/// The name of a Cedar entity.
pub(crate) fn uid(uid: &cedar_policy::EntityUid) -> EntityUid {
    EntityUid::new(uid.type_name().to_string(), uid.id().unescaped())
}

fn expression(value: &Value) -> Result<RestrictedExpression, Refused> {
    Ok(match value {
        Value::Bool(value) => RestrictedExpression::new_bool(*value),
        Value::Long(value) => RestrictedExpression::new_long(*value),
        Value::String(value) => RestrictedExpression::new_string(value.to_string()),
        Value::Entity(uid) => RestrictedExpression::new_entity_uid(entity(uid.borrowed())?),
        Value::Set(set) => RestrictedExpression::new_set(
            set.members()
                .iter()
                .map(expression)
                .collect::<Result<Vec<_>, _>>()?,
        ),
        Value::Record(record) => {
            let fields = record.fields().iter();
            let fields = fields.map(|(name, value)| Ok((name.to_string(), expression(value)?)));
            RestrictedExpression::new_record(fields.collect::<Result<Vec<_>, Refused>>()?)
                .map_err(|_| Refused::Context)?
        }
        Value::Extension { kind, argument } => kind.call(argument),
    })
}

/// Converts a value of an entity. For an extension value, this crate records only that it is present.
pub(crate) fn value(result: EvalResult) -> Result<Value, Error> {
    Ok(match result {
        EvalResult::Bool(value) => Value::Bool(value),
        EvalResult::Long(value) => Value::Long(value),
        EvalResult::String(value) => Value::string(value),
        EvalResult::EntityUid(value) => Value::Entity(uid(&value)),
        EvalResult::Set(set) => Value::set(
            set.iter()
                .cloned()
                .map(value)
                .collect::<Result<Vec<_>, _>>()?,
        )?,
        EvalResult::Record(record) => {
            let fields = record.iter();
            let fields = fields.map(|(name, field)| Ok((name.as_str(), value(field.clone())?)));
            Value::Record(Record::new(fields.collect::<Result<Vec<_>, Error>>()?)?)
        }
        EvalResult::ExtensionValue(text) => Value::Extension {
            kind: Extension::Ip,
            argument: text.into(),
        },
    })
}
