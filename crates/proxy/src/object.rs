//! JSON objects. serde also reads a structure from an array, whose values it takes in the order of the structure's fields.

use crate::problem::Problem;
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// A structure that is read from an object only.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

/// Reads a body. `expected` says what it should be.
pub(crate) fn read<'a, T: Deserialize<'a>>(body: &'a [u8], expected: &str) -> Result<T, Problem> {
    match serde_json::from_slice(body) {
        Ok(Object(read)) => Ok(read),
        Err(error) => {
            // Python's json writes these words, which are not JSON.
            let is_word = |word: &[u8]| body.windows(word.len()).any(|part| part == word);
            let hint = match error.is_syntax() && (is_word(b"NaN") || is_word(b"Infinity")) {
                true => " (NaN and Infinity are not JSON: leave out this vector, or correct it)",
                false => "",
            };
            let words = Problem::words(&error);
            Err(Problem::request(format!(
                "{words}{hint}; expected {expected}"
            )))
        }
    }
}
