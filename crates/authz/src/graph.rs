//! Bounds the graph of entities and parents, and finds its cycles, before Cedar computes all ancestors.

use std::collections::{HashMap, HashSet};

use cedar_policy::conformance_errors::EntitySchemaConformanceError;
use cedar_policy::entities_errors::EntitiesError;
use cedar_policy::entities_json_errors::JsonDeserializationError;
use cedar_policy::ffi::JsonValueWithNoDuplicateKeys;
use serde_json::Value;

use crate::Error;
use crate::error::{at_most, chain, hint};

/// The largest number of bytes of a text of entities.
const BYTES: usize = 256 << 20;
/// The largest number of entities.
const ENTITIES: usize = 1 << 20;
/// The largest number of ancestors of one entity.
const ANCESTORS: usize = 1 << 12;
/// The largest number of ancestors of all entities together.
const PAIRS: usize = 1 << 23;
/// The largest number of parents visited to count ancestors.
const STEPS: usize = 1 << 27;
/// The keys of an entity in JSON.
const KEYS: [&str; 4] = ["uid", "attrs", "parents", "tags"];
/// The largest number of characters that a message quotes.
const SHOWN: usize = 80;

/// Reads a list of entities and checks its bounds: its length, its nesting (serde_json admits 128 levels) and its ancestors.
///
/// Cedar receives the parsed value and not the text. So this function checks what only the text shows: whether an object has a
/// key twice.
pub(crate) fn parse(text: &str) -> Result<Value, Error> {
    at_most("bytes of entities", text.len(), BYTES)?;
    let json: JsonValueWithNoDuplicateKeys =
        serde_json::from_str(text).map_err(|error| Error::Entities {
            reason: format!("{error}{}", hint(text)),
        })?;
    let list = json
        .as_array()
        .ok_or_else(|| wrong("not a list".to_owned()))?;
    at_most("entities", list.len(), ENTITIES)?;
    let mut parents = HashMap::new();
    for entity in list {
        let uid = name(&entity["uid"])?;
        check_keys(uid, entity)?;
        let values = [&entity["attrs"], &entity["tags"]].into_iter();
        for value in values
            .filter_map(Value::as_object)
            .flat_map(|map| map.values())
        {
            check_value(uid, value)?;
        }
        let list = entity["parents"].as_array();
        let list = list.ok_or_else(|| wrong(format!("{} has no list of parents", shown(uid))))?;
        let list = list.iter().map(name).collect::<Result<Vec<_>, Error>>()?;
        let all: &mut Vec<_> = parents.entry(uid).or_default();
        all.extend(list);
    }
    check(&parents)?;
    Ok(json.into())
}

/// Refuses unknown keys. Cedar would ignore them: no policy would find tags under a misspelled key.
fn check_keys(uid: Name<'_>, entity: &Value) -> Result<(), Error> {
    let keys = entity.as_object().into_iter().flat_map(|map| map.keys());
    let mut unknown = keys.filter(|key| !KEYS.contains(&key.as_str()));
    unknown.next().map_or(Ok(()), |key| {
        let (uid, keys) = (shown(uid), KEYS.join(", "));
        Err(wrong(format!(
            "{uid} has the key {key:?}: expected {keys}; put what is yours into attrs"
        )))
    })
}

/// Refuses a call or an entity in a wrong form. Without a schema Cedar would read it as a record, which no policy expects.
fn check_value(uid: Name<'_>, value: &Value) -> Result<(), Error> {
    match value {
        Value::Array(list) => list.iter().try_for_each(|value| check_value(uid, value)),
        Value::Object(map) => {
            let only = |inner: &Value, keys: &[&str]| {
                let inner = inner.as_object();
                inner.is_some_and(|inner| {
                    inner.len() == keys.len() && keys.iter().all(|key| inner.contains_key(*key))
                })
            };
            let known = map.iter().all(|(key, inner)| match key.as_str() {
                "__entity" => map.len() == 1 && only(inner, &["type", "id"]),
                "__extn" => {
                    map.len() == 1 && (only(inner, &["fn", "arg"]) || only(inner, &["fn", "args"]))
                }
                _ => true,
            });
            if !known {
                return Err(wrong(format!(
                    "{} has {}: expected {{\"__entity\": {{\"type\": .., \"id\": ..}}}} or \
                     {{\"__extn\": {{\"fn\": .., \"arg\": ..}}}} and no more",
                    shown(uid),
                    cut(value)
                )));
            }
            map.values().try_for_each(|value| check_value(uid, value))
        }
        _ => Ok(()),
    }
}

/// The beginning of a value's text, for a message.
fn cut(value: &Value) -> String {
    value.to_string().chars().take(SHOWN).collect()
}

type Name<'a> = (&'a str, &'a str);

/// The type and id of an entity, in one of the two forms that Cedar reads. The object may have no other keys: with both forms
/// in one object, two programs could choose different names.
fn name(json: &Value) -> Result<Name<'_>, Error> {
    let only = |json: &Value, len| json.as_object().is_some_and(|map| map.len() == len);
    let inner = json.get("__entity").filter(|_| only(json, 1));
    let json = inner.unwrap_or(json);
    let part = |key| json.get(key).and_then(Value::as_str);
    let name = part("type").zip(part("id")).filter(|_| only(json, 2));
    name.ok_or_else(|| {
        wrong(format!(
            "{} is no entity's name: expected {{\"type\": .., \"id\": ..}} and no more",
            cut(json)
        ))
    })
}

fn wrong(reason: String) -> Error {
    Error::Entities { reason }
}

fn shown((kind, id): Name<'_>) -> String {
    format!("{kind}::{id:?}")
}

/// Checks that there are no cycles, and that the numbers of ancestors stay within the bounds.
fn check(parents: &HashMap<Name<'_>, Vec<Name<'_>>>) -> Result<(), Error> {
    acyclic(parents)?;
    let (mut pairs, mut steps) = (0, 0);
    let (mut seen, mut next) = (HashSet::new(), Vec::new());
    for uid in parents.keys() {
        seen.clear();
        next.push(uid);
        while let Some(uid) = next.pop() {
            let parents = parents.get(uid).map_or(&[][..], Vec::as_slice);
            steps += parents.len();
            for parent in parents {
                if seen.insert(parent) {
                    next.push(parent);
                }
            }
            at_most("ancestors of an entity", seen.len(), ANCESTORS)?;
            at_most("ways from entities to ancestors", steps, STEPS)?;
        }
        pairs += seen.len();
        at_most("ancestors of all entities", pairs, PAIRS)?;
    }
    Ok(())
}

/// Removes entities without parents until there are no more. The remaining entities have a cycle or are below one.
fn acyclic(parents: &HashMap<Name<'_>, Vec<Name<'_>>>) -> Result<(), Error> {
    let mut children: HashMap<Name<'_>, Vec<Name<'_>>> = HashMap::new();
    let mut waits: HashMap<Name<'_>, usize> = HashMap::new();
    let mut free = Vec::new();
    for (uid, list) in parents {
        // A parent that is not in the list has no parents of its own.
        let inner = list.iter().filter(|parent| parents.contains_key(*parent));
        inner
            .clone()
            .for_each(|parent| children.entry(*parent).or_default().push(*uid));
        waits.insert(*uid, inner.clone().count());
        if inner.count() == 0 {
            free.push(*uid);
        }
    }
    while let Some(uid) = free.pop() {
        waits.remove(&uid);
        for child in children.get(&uid).into_iter().flatten() {
            if let Some(wait) = waits.get_mut(child) {
                *wait -= 1;
                if *wait == 0 {
                    free.push(*child);
                }
            }
        }
    }
    // Entities below a cycle remain too. Going up from them reaches the entities of the cycle.
    let mut seen = HashSet::new();
    let mut at = waits.keys().min().copied();
    while let Some(uid) = at {
        if !seen.insert(uid) {
            let entity = shown(uid);
            return Err(Error::Cycle { entity });
        }
        at = parents[&uid]
            .iter()
            .find(|parent| waits.contains_key(*parent))
            .copied();
    }
    Ok(())
}

/// Cedar's refusal as an error of this crate.
pub(crate) fn refused(error: &EntitiesError) -> Error {
    match error {
        EntitiesError::TransitiveClosureError(_) => Error::Cycle {
            entity: chain(error),
        },
        EntitiesError::InvalidEntity(EntitySchemaConformanceError::UnexpectedEntityType(error))
        | EntitiesError::Deserialization(JsonDeserializationError::EntitySchemaConformance(
            EntitySchemaConformanceError::UnexpectedEntityType(error),
        )) => Error::UnknownType {
            entity: error.uid.to_string(),
        },
        _ => wrong(chain(error)),
    }
}
