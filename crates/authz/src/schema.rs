//! A schema, and the check of requests against it.

use std::collections::HashMap;

use cedar_policy::{EvalResult, RequestValidationError, SchemaFragment};
use miette::Diagnostic;

use crate::cache::Cache;
use crate::convert;
use crate::decision::Refusal;
use crate::error::hint;
use crate::key::Key;
use crate::places::{place, placed};
use crate::request::Request;
use crate::tokens::tokens;
use crate::{Error, bounds};

/// The size in bytes of remembered verdicts on kinds of requests.
const REMEMBERED: usize = 1 << 20;

/// A schema in Cedar's own notation: the types of entities, the actions, and the context of each.
///
/// # Examples
/// ```
/// let schema = sordino_authz::Schema::parse(
///     "entity Team; entity Reader in [Team]; entity Index;
///      action search appliesTo { principal: Reader, resource: Index, context: { results: Long } };",
/// )?;
/// # Ok::<(), sordino_authz::Error>(())
/// ```
#[derive(Debug)]
pub struct Schema {
    /// The schema's text. Schemas with equal texts are taken to be the same.
    pub(crate) text: Box<str>,
    pub(crate) cedar: cedar_policy::Schema,
    /// The verdicts by types, action and shape of the context. Validation reads nothing else of a request, unless types are
    /// enumerated.
    known: Option<Cache<Option<Refusal>, 5>>,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// [`Error::Schema`] if the text does not parse, names something that it does not declare, or has an attribute
    /// twice in one record. [`Error::TooLarge`] if the text is longer than 4 MiB. [`Error::Expression`] if more than 40
    /// brackets lie within each other.
    pub fn parse(text: &str) -> Result<Self, Error> {
        bounds::schema(text)?;
        check_keys(text)?;
        let schema = |error: &dyn Diagnostic| Error::Schema {
            reason: format!("{}{}", placed(text, error), hint(text)),
        };
        let (fragment, _) =
            SchemaFragment::from_cedarschema_str(text).map_err(|error| schema(&error))?;
        let json = fragment
            .clone()
            .to_json_value()
            .map_err(|error| schema(&error))?;
        let cedar = cedar_policy::Schema::from_schema_fragments([fragment])
            .map_err(|error| schema(&error))?;
        let known = (!has_enumeration(&json)).then(|| Cache::new(REMEMBERED));
        let text = text.into();
        Ok(Self { text, cedar, known })
    }

    /// The reason why the schema does not admit this request; `None` if it does.
    pub(crate) fn refusal(&self, request: &Request<'_>) -> Option<Refusal> {
        let fields = [
            request.principal.type_name.as_bytes(),
            request.action.type_name.as_bytes(),
            request.action.id.as_bytes(),
            request.resource.type_name.as_bytes(),
            request.context.shape(),
        ];
        let Some(known) = &self.known else {
            return self.validate(request);
        };
        let key = Key::new(fields, request.context.shape_hash());
        known.get(&key).unwrap_or_else(|| {
            let refusal = self.validate(request);
            known.insert(&key, refusal, 0);
            refusal
        })
    }

    /// Validates a request with Cedar.
    fn validate(&self, request: &Request<'_>) -> Option<Refusal> {
        match convert::request(request, Some(&self.cedar)) {
            Ok(_) => None,
            Err(convert::Refused::Name) => Some(Refusal::Name),
            Err(convert::Refused::Context) => Some(Refusal::Context),
            Err(convert::Refused::Schema(error)) => Some(match *error {
                RequestValidationError::UndeclaredPrincipalType(_)
                | RequestValidationError::InvalidPrincipalType(_) => Refusal::Principal,
                RequestValidationError::UndeclaredResourceType(_)
                | RequestValidationError::InvalidResourceType(_) => Refusal::Resource,
                RequestValidationError::InvalidEnumEntity(_) => Refusal::Enumerated,
                RequestValidationError::InvalidContext(_)
                | RequestValidationError::TypeOfContext(_) => Refusal::Context,
                _ => Refusal::Action,
            }),
        }
    }
}

/// Refuses a record with the same attribute twice. Cedar takes the last of them, which a reader may not notice.
fn check_keys(text: &str) -> Result<(), Error> {
    let (mut open, mut name) = (vec![HashMap::new()], None);
    // A name is a key if it is followed by `:` or `?:`, and not by `::`.
    for (at, token) in tokens(text, 0) {
        match token {
            "{" => open.push(HashMap::new()),
            "}" if open.len() > 1 => drop(open.pop()),
            "?" => continue,
            ":" if text[at + 1..].starts_with(':') => {}
            ":" => {
                let keys = open.last_mut().zip(name);
                let twice = keys.and_then(|(keys, (at, key))| {
                    let first = keys.insert(unescaped(key), at)?;
                    Some((key, first, at))
                });
                if let Some((key, first, second)) = twice {
                    let [first, second] = [first, second].map(|at| place(text, at));
                    let reason =
                        format!("{key} stands twice in one record, at {first} and at {second}");
                    return Err(Error::Schema { reason });
                }
            }
            token => {
                name = Some((at, token));
                continue;
            }
        }
        name = None;
    }
    Ok(())
}

/// A name as Cedar reads it: a quoted name may have escapes.
fn unescaped(name: &str) -> String {
    let read = || {
        let text = name.parse::<cedar_policy::RestrictedExpression>().ok()?;
        let alone = cedar_policy::Context::from_pairs([(String::new(), text)]).ok()?;
        match alone.get("")? {
            EvalResult::String(text) => Some(text),
            _ => None,
        }
    };
    let quoted = name.starts_with('"').then(read).flatten();
    quoted.unwrap_or_else(|| name.to_owned())
}

/// True if a type of the schema lists its ids.
fn has_enumeration(json: &serde_json::Value) -> bool {
    let namespaces = json.as_object().into_iter().flat_map(|json| json.values());
    namespaces
        .filter_map(|namespace| namespace.get("entityTypes")?.as_object())
        .flat_map(|types| types.values())
        .any(|kind| kind.get("enum").is_some())
}
