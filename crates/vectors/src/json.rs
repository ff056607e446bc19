//! Reads JSON and refuses objects with two members of the same name. Programs differ in which of the two they use, and
//! `serde_json` silently takes the last.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{Deserialize, Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::Error;

/// The beginning of the message about two members.
const TWO: &str = "two members are named ";

/// The members of the object that fills `text`, with their values as written.
///
/// ```
/// use sordino_vectors::json;
///
/// let members = json::members(br#"{"a": [1, 2], "b": {}}"#)?;
/// assert_eq!(members["a"].get(), "[1, 2]");
/// assert!(json::members(br#"{"a": 1, "a": 2}"#).is_err());
/// # Ok::<(), sordino_vectors::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] if the text is not an object, or is nested more than 127 deep. It is also returned, with the two
/// positions, if an object at any depth has two members of the same name.
pub fn members(text: &[u8]) -> Result<BTreeMap<String, &RawValue>, Error> {
    let mut parser = Deserializer::from_slice(text);
    let members = parser.deserialize_map(Top);
    let members = members.and_then(|members| parser.end().map(|()| members));
    let members = members.map_err(|error| wrong(&error, ""))?;
    for (name, value) in &members {
        // Long lists of numbers contain no objects, so they are not read a second time.
        if value.get().contains('{') {
            let within = format!(" in member {}", shown(name));
            nested(value.get()).map_err(|error| wrong(&error, &within))?;
        }
    }
    Ok(members)
}

/// Refuses a value if an object in it, at any depth, has two members of the same name.
///
/// # Errors
/// [`Error::Json`] for such a value, for a text that is not JSON, and for a value that is nested more than 127 deep.
pub fn check(text: &str) -> Result<(), Error> {
    nested(text).map_err(|error| wrong(&error, ""))
}

fn nested(text: &str) -> serde_json::Result<()> {
    serde_json::from_str(text).map(|Nested| ())
}

/// The error with its column. It leaves out the decoder's line number, which is always 1.
fn wrong(error: &serde_json::Error, within: &str) -> Error {
    let (text, at) = (error.to_string(), error.column());
    let text = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(text, _)| text);
    let why = match text {
        text if text.starts_with(TWO) => format!("{text}{within}"),
        _ if error.is_eof() => format!("it ends within a value, so it was cut short{within}"),
        text => format!("{text}, at byte {at}{within}"),
    };
    Error::Json { why }
}

fn shown(name: &str) -> String {
    const MOST: usize = 60;
    let start: String = name.chars().take(MOST).collect();
    match start.len() < name.len() {
        true => format!("{start:?}..."),
        false => format!("{start:?}"),
    }
}

/// The names of an object's members so far, each with its position, from 1.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn add<E: serde::de::Error>(&mut self, name: String) -> Result<(), E> {
        let second = self.0.len() + 1;
        match self.0.get(&name) {
            None => {
                self.0.insert(name, second);
                Ok(())
            }
            Some(first) => Err(E::custom(format!(
                "{TWO}{}, the members {first} and {second} of their object, counted from 1",
                shown(&name)
            ))),
        }
    }
}

struct Top;

impl<'de> Visitor<'de> for Top {
    type Value = BTreeMap<String, &'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut members) = (Names::default(), BTreeMap::new());
        while let Some(name) = map.next_key::<String>()? {
            names.add(name.clone())?;
            members.insert(name, map.next_value()?);
        }
        Ok(members)
    }
}

/// Any value in which no object has two members of the same name.
struct Nested;

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = Names::default();
        while let Some(name) = map.next_key::<String>()? {
            names.add(name)?;
            map.next_value::<Self>()?;
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_as_they_are_written() {
        let members =
            members(br#" {"v": [1, 2.0], "\u0061": {"b": [{"c": 1}, {"c": 2}]}, "n": null} "#)
                .unwrap();
        assert_eq!(members["v"].get(), "[1, 2.0]");
        assert_eq!(members["a"].get(), r#"{"b": [{"c": 1}, {"c": 2}]}"#);
        assert_eq!(members.len(), 3);
        check(r#"[{"a": true}, {"a": -1, "b": 1.5}, "x", 18446744073709551615]"#).unwrap();
    }

    #[test]
    fn two_members_of_one_name_are_refused_at_every_depth() {
        for (text, why) in [
            (
                r#"{"v": 1, "w": 2, "v": 3}"#,
                "\"v\", the members 1 and 3 of",
            ),
            (r#"{"v": 1, "\u0076": 3}"#, "\"v\", the members 1 and 2 of"),
            (
                r#"{"v": 1, "p": {"a": [{"b": 1, "b": 1}]}}"#,
                "\"b\", the members 1 and 2 of",
            ),
            (
                r#"{"v": 1, "p": {"b": 1, "b": 1}}"#,
                "counted from 1 in member \"p\"",
            ),
            ("[1, 2]", "expected an object, at byte 0"),
            (r#"{"v": 1} x"#, "trailing characters, at byte 10"),
            (r#"{"v": NaN}"#, "at byte"),
        ] {
            let error = members(text.as_bytes()).map(drop).unwrap_err().to_string();
            assert!(
                error.contains(why) && !error.contains(" at line "),
                "{text}: {error}"
            );
        }
        assert!(check(r#"{"a": 1, "a": 2}"#).is_err());
        let deep = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        assert!(check(&deep(127)).is_ok() && check(&deep(128)).is_err());
        assert!(members(deep(1 << 20).as_bytes()).is_err());
    }
}
