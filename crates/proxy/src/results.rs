//! The body of a search answer.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sordino_index::Id;
use sordino_reader::{Client, Found};

/// The results for each vector of a request, and the oldest version to which any of them belongs.
pub(crate) struct Answer {
    pub(crate) version: u64,
    pub(crate) found: Vec<Vec<Hit>>,
}

#[derive(Serialize)]
pub(crate) struct Results<'a> {
    version: u64,
    results: Vec<Hits<'a>>,
}

#[derive(Serialize)]
struct Hits<'a> {
    hits: &'a [Hit],
}

/// A record that was found.
#[derive(Serialize)]
pub(crate) struct Hit {
    #[serde(serialize_with = "write_id")]
    id: Id,
    score: f32,
    /// The payload, if the index has payloads. It is a text if its bytes are a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_hex: Option<String>,
    /// True if the payload is longer than what a search returns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: Map<String, Value>,
}

impl<'a> Results<'a> {
    pub(crate) fn of(answer: &'a Answer) -> Self {
        let results = answer.found.iter().map(|hits| Hits { hits });
        Self {
            version: answer.version,
            results: results.collect(),
        }
    }
}

/// The hits, with everything that the client knows about them.
pub(crate) fn hits(client: &Client, found: Found) -> Vec<Hit> {
    // There is one payload for each hit, or none at all.
    let mut payloads = found.payloads.into_iter();
    let hits = found.hits.into_iter().map(|hit| {
        let (payload, payload_hex) = match payloads.next().map(String::from_utf8) {
            Some(Ok(text)) => (Some(text), None),
            Some(Err(error)) => (None, Some(hex::encode(error.as_bytes()))),
            None => (None, None),
        };
        Hit {
            attributes: attributes(client, &hit.id),
            id: hit.id,
            score: hit.score,
            payload,
            payload_hex,
            truncated: hit.truncated,
        }
    });
    hits.collect()
}

/// The largest whole number whose neighbours JavaScript, jq and other programs with 64-bit floating point represent exactly.
pub(crate) const EXACT: u64 = (1 << 53) - 1;

/// Writes an id. A number that many programs would round is written as a text of its digits.
pub(crate) fn write_id<S: Serializer>(id: &Id, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Id::Number(number) if *number > EXACT => serializer.collect_str(number),
        id => id.serialize(serializer),
    }
}

/// The attributes of a record that the client knows. Empty if there are none.
fn attributes(client: &Client, id: &Id) -> Map<String, Value> {
    let known = client.attributes(id);
    let columns = known.iter().flat_map(|known| known.columns());
    let columns = columns.map(|(name, column)| (name.to_owned(), column.json(0)));
    columns.collect()
}
