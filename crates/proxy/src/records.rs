//! Records that programs write and list: the bodies of requests and answers.

use crate::object::{Object, read};
use crate::problem::Problem;
use crate::results::{EXACT, write_id};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sordino_index::Id;
use sordino_vectors::json;
use std::fmt;

/// The largest number of records of a request.
const MOST: usize = 10_000;

/// The number of records of a page, if the request does not give a number.
const PAGE: usize = 100;

/// The records of an index, as its owner on this machine manages them. Calls block.
pub trait Records: fmt::Debug + Send + Sync {
    /// Adds records, replaces those whose ids exist, and changes those without vectors.
    ///
    /// # Errors
    /// The fault. Nothing is changed then.
    fn put(&self, records: Vec<Record>) -> Result<Written, RecordsError>;

    /// Deletes these records by the texts of their ids, and counts unknown ids.
    ///
    /// # Errors
    /// The fault. Nothing is changed then.
    fn delete(&self, ids: &[String]) -> Result<Deleted, RecordsError>;

    /// The first records after this id, in the order of ids: `limit` records, or fewer if they are long.
    ///
    /// # Errors
    /// The fault.
    fn scroll(&self, after: Option<&str>, limit: usize) -> Result<Page, RecordsError>;

    /// The number of records.
    ///
    /// # Errors
    /// The fault.
    fn count(&self) -> Result<Counted, RecordsError>;
}

/// The reason why records cannot be written or listed.
#[derive(Debug)]
pub enum RecordsError {
    /// The request is wrong: what was found, and what was expected.
    Request(String),
    /// Another program is changing the index.
    Busy(String),
    /// The index, the disk or the server failed.
    Failed(String),
}

/// A record of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The id as text.
    pub id: String,
    /// The vector. `None` for an existing record that keeps its vector.
    pub vector: Option<Vec<f32>>,
    /// The payload. With `None`, a record with a vector gets an empty payload, and a record without a vector keeps its
    /// own.
    pub payload: Option<String>,
    /// The attributes by name. A null removes an attribute.
    pub attributes: Map<String, Value>,
}

/// A record in the form of the request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a record")]
struct Given {
    #[serde(deserialize_with = "id")]
    id: String,
    vector: Option<Vec<f32>>,
    /// `Some(None)` if the request has null.
    #[serde(default, deserialize_with = "named")]
    payload: Option<Option<String>>,
    #[serde(default)]
    attributes: Map<String, Value>,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The index's new version.
    pub version: u64,
    /// The number of written records.
    pub records: usize,
    /// The number of written records whose ids existed before.
    pub replaced: usize,
}

/// The result of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Deleted {
    /// The index's new version.
    pub version: u64,
    /// The number of deleted records.
    pub deleted: usize,
    /// The number of different ids in the request that no record had.
    pub missing: usize,
}

/// The number of records, at a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The index's version.
    pub version: u64,
    /// The number of its records.
    pub count: usize,
}

/// Some records, in the order of ids.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// The index's version.
    pub version: u64,
    /// The records.
    pub records: Vec<Listed>,
    /// The `after` of the next page, if there are more records.
    #[serde(serialize_with = "write_next")]
    pub next: Option<Id>,
}

/// A record of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// The id of the record.
    #[serde(serialize_with = "write_id")]
    pub id: Id,
    /// The payload, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The payload in hex digits, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// The attributes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
}

impl Listed {
    /// A record with its payload, if the index has payloads.
    #[must_use]
    pub fn new(id: Id, payload: Option<Vec<u8>>, attributes: Map<String, Value>) -> Self {
        let (payload, payload_hex) = match payload.map(String::from_utf8) {
            Some(Ok(text)) => (Some(text), None),
            Some(Err(error)) => (None, Some(hex::encode(error.as_bytes()))),
            None => (None, None),
        };
        Self {
            id,
            payload,
            payload_hex,
            attributes,
        }
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected an id: a whole number from 0 to 9007199254740991, or a text; of a larger number, which many \
        programs round, the text of its digits"
)]
enum WrittenId {
    Number(u64),
    Text(String),
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match WrittenId::deserialize(deserializer)? {
        WrittenId::Number(number) if number > EXACT => Err(D::Error::custom(format!(
            "the id {number} is a number that many programs round: send the text of its digits, \"{number}\""
        ))),
        WrittenId::Number(number) => Ok(number.to_string()),
        WrittenId::Text(text) => Ok(text),
    }
}

/// Reads a member that is present, even if it is null.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Given {
    /// Refuses a record that would change nothing, and a null that has no meaning.
    fn checked(self) -> Result<Record, Problem> {
        let wrong = |why| Problem::request(format!("record {}: {why}", self.id));
        let alone = self.vector.is_none();
        if alone && self.payload == Some(None) {
            return Err(wrong(
                "\"payload\" is null: leave it out to keep the payload, or send \"\" to empty it",
            ));
        }
        if alone && self.payload.is_none() && self.attributes.is_empty() {
            return Err(wrong(
                "nothing would change: expected \"vector\", to add or replace it, or \"payload\" or \"attributes\", to change these",
            ));
        }
        Ok(Record {
            id: self.id,
            vector: self.vector,
            payload: self.payload.flatten(),
            attributes: self.attributes,
        })
    }
}

fn write_next<S: serde::Serializer>(next: &Option<Id>, serializer: S) -> Result<S::Ok, S::Error> {
    match next {
        Some(id) => write_id(id, serializer),
        None => serializer.serialize_none(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Put {
    records: Vec<Object<Given>>,
}

#[derive(Deserialize)]
struct ById(#[serde(deserialize_with = "id")] String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    ids: Vec<ById>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scroll {
    after: Option<ById>,
    limit: Option<usize>,
}

/// A request about records. The function does its work and returns the answer's body.
pub(crate) type Work = fn(&dyn Records, &[u8]) -> Result<String, Problem>;

/// `PUT /records`.
pub(crate) fn put(records: &dyn Records, body: &[u8]) -> Result<String, Problem> {
    let expected = r#"{"records": [{"id": 7, "vector": [numbers], "payload": "text", "attributes": {"year": 2020}}, ...]}"#;
    // If an attribute is named twice, the later value counts.
    let text = std::str::from_utf8(body).map_err(|_| Problem::request("expected UTF-8"))?;
    json::check(text).map_err(|error| Problem::request(format!("{error}; expected {expected}")))?;
    let Put { records: given } = read(body, expected)?;
    check(given.len(), "records")?;
    let given: Result<Vec<Record>, Problem> = given
        .into_iter()
        .map(|Object(given)| given.checked())
        .collect();
    answer(&records.put(given?))
}

/// `DELETE /records`.
pub(crate) fn delete(records: &dyn Records, body: &[u8]) -> Result<String, Problem> {
    let Delete { ids } = read(body, r#"{"ids": [7, 9, ...]}"#)?;
    check(ids.len(), "ids")?;
    let ids: Vec<String> = ids.into_iter().map(|ById(id)| id).collect();
    answer(&records.delete(&ids))
}

/// `POST /records/scroll`.
pub(crate) fn scroll(records: &dyn Records, body: &[u8]) -> Result<String, Problem> {
    let Scroll { after, limit } = match body {
        [] => Scroll::default(),
        body => read(body, r#"{"after": 7, "limit": 100}, or no body"#)?,
    };
    let limit = limit.unwrap_or(PAGE);
    if !(1..=MOST).contains(&limit) {
        let why = format!("\"limit\" is {limit}: expected 1 to {MOST}");
        return Err(Problem::request(why));
    }
    let after = after.as_ref().map(|ById(id)| id.as_str());
    answer(&records.scroll(after, limit))
}

/// `GET /records/count`.
pub(crate) fn count(records: &dyn Records, _: &[u8]) -> Result<String, Problem> {
    answer(&records.count())
}

fn check(found: usize, name: &str) -> Result<(), Problem> {
    match (1..=MOST).contains(&found) {
        true => Ok(()),
        false => Err(Problem::request(format!(
            "\"{name}\" has {found}: expected 1 to {MOST}"
        ))),
    }
}

fn answer<T: Serialize>(done: &Result<T, RecordsError>) -> Result<String, Problem> {
    match done {
        Ok(done) => serde_json::to_string(done).map_err(|_| Problem::ended()),
        Err(RecordsError::Request(why)) => Err(Problem::request(why.as_str())),
        Err(RecordsError::Busy(why)) => Err(Problem::in_use(why.as_str())),
        Err(RecordsError::Failed(why)) => {
            tracing::warn!(error = %why, "a request about records failed");
            Err(Problem::owner(why.as_str()))
        }
    }
}
