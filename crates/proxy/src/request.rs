//! The body of a search request.

use crate::error::Error;
use crate::object::read;
use crate::problem::Problem;
use serde::Deserialize;
use sordino_reader::{Error as Search, Filter};
use sordino_vectors::Error as Vectors;

/// The largest number of vectors of one request.
const VECTORS: usize = 256;

/// The limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of coordinates of a vector.
    pub dim: usize,
    /// The largest number of results.
    pub k: usize,
}

/// A valid search request.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// The vectors, at least one, each finite and of the index's dimension.
    pub vectors: Vec<Vec<f32>>,
    /// True if the request had a single `vector`.
    one: bool,
    /// The number of results for each vector.
    pub k: usize,
    /// Results that are farther than this are left out.
    pub min_score: Option<f32>,
    /// The condition that the records' attributes must pass.
    pub filter: Option<Filter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    vector: Option<Vec<f32>>,
    vectors: Option<Vec<Vec<f32>>>,
    k: Option<u64>,
    min_score: Option<f32>,
    r#where: Option<String>,
}

impl SearchRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// A problem that says what is wrong, where, and what was expected.
    pub fn read(body: &[u8], shape: Shape) -> Result<Self, Problem> {
        let expected = r#"{"vector": [numbers]} or {"vectors": [[numbers], ...]}, and, where they are wanted, "k", "min_score" and "where""#;
        let body: Body = read(body, expected)?;
        let (vectors, one) = match (body.vector, body.vectors) {
            (Some(vector), None) => (vec![vector], true),
            (None, Some(vectors)) => (vectors, false),
            _ => {
                return Err(Problem::request(
                    "expected either \"vector\" or \"vectors\"",
                ));
            }
        };
        if !(1..=VECTORS).contains(&vectors.len()) {
            let found = vectors.len();
            let why = format!("\"vectors\" has {found} vectors: expected 1 to {VECTORS}");
            return Err(Problem::request(why));
        }
        for (at, vector) in vectors.iter().enumerate() {
            let wrong = |why: String| Problem::request(format!("{} {why}", place(one, at)));
            if vector.len() != shape.dim {
                let (found, expected) = (vector.len(), shape.dim);
                return Err(wrong(format!("has {found} numbers: expected {expected}")));
            }
            if let Some(column) = vector.iter().position(|x| !x.is_finite()) {
                return Err(wrong(format!("has a number at {column} that is too large")));
            }
        }
        let most = u64::try_from(shape.k).unwrap_or(u64::MAX);
        let k = body.k.unwrap_or(most);
        if !(1..=most).contains(&k) {
            let why = format!("\"k\" is {k}: expected 1 to {most}, the most that the index gives");
            return Err(Problem::request(why));
        }
        if body.min_score.is_some_and(|score| !score.is_finite()) {
            return Err(Problem::request("\"min_score\" is too large"));
        }
        let filter = body.r#where.as_deref().map(Filter::parse).transpose();
        Ok(Self {
            vectors,
            one,
            k: usize::try_from(k).unwrap_or(shape.k),
            min_score: body.min_score,
            filter: filter.map_err(|error| Problem::request(format!("\"where\": {error}")))?,
        })
    }

    /// The error of the search for a vector. It names the vector if the vector is wrong.
    pub(crate) fn error(&self, at: usize, error: Error) -> Error {
        match error {
            // This search had only one vector. So the row number in the error does not say which vector of the
            // request is wrong.
            Error::Search(Search::Vectors(Vectors::ZeroVector { .. })) => {
                let why = "the zero vector, which has no direction".to_owned();
                let place = place(self.one, at);
                Error::Query { place, why }
            }
            error => error,
        }
    }
}

/// The name of a vector of the body, for messages.
fn place(one: bool, at: usize) -> String {
    match one {
        true => "\"vector\"".to_owned(),
        false => format!("\"vectors\", number {at}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { dim: 2, k: 10 };

    #[test]
    fn vectors_come_alone_or_together() {
        let read = |text: &str| SearchRequest::read(text.as_bytes(), SHAPE).unwrap();
        let one = read(r#"{"vector": [1, -2.5e-3]}"#);
        assert_eq!((one.vectors, one.k), (vec![vec![1.0, -0.0025]], 10));
        let two = read(r#"{"k": 3, "vectors": [[0, 1], [2, 3]]}"#);
        assert_eq!((two.vectors.len(), two.k), (2, 3));
        assert_eq!((two.min_score, two.filter), (None, None));
        let some = read(r#"{"vector": [1, 2], "min_score": 0.5, "where": "year > 2020"}"#);
        let condition = some.filter.unwrap().to_string();
        assert_eq!(
            (some.min_score, condition.as_str()),
            (Some(0.5), "year > 2020")
        );
    }

    #[test]
    fn mistakes_are_named() {
        let many = format!(
            "{{\"vectors\": [{}]}}",
            vec!["[1, 2]"; VECTORS + 1].join(",")
        );
        for (text, words) in [
            ("", "EOF"),
            ("null", "invalid type"),
            ("[1, 2]", "expected"),
            ("{}", "either"),
            (r#"{"vector": [1, 2], "vectors": [[1, 2]]}"#, "either"),
            (r#"{"vectors": []}"#, "0 vectors: expected 1 to 256"),
            (&many, "257 vectors"),
            (r#"{"vector": [1]}"#, "\"vector\" has 1 numbers: expected 2"),
            (r#"{"vectors": [[1, 2], []]}"#, "number 1 has 0 numbers"),
            (r#"{"vector": [1, 1e39]}"#, "at 1 that is too large"),
            (r#"{"vector": [1, 1e400]}"#, "out of range"),
            (r#"{"vector": [1, null]}"#, "null"),
            (r#"{"vector": [1, "2"]}"#, "string"),
            (r#"{"vector": [1, 2], "k": 0}"#, "expected 1 to 10"),
            (r#"{"vector": [1, 2], "k": 11}"#, "expected 1 to 10"),
            (r#"{"vector": [1, 2], "k": -1}"#, "invalid value"),
            (r#"{"vector": [1, 2], "min_score": 1e39}"#, "too large"),
            (
                r#"{"vector": [1, 2], "where": "year >"}"#,
                "\"where\": filter, character 7: expected a number",
            ),
            (r#"{"vector": [1, 2], "where": 7}"#, "invalid type"),
            (r#"{"vector": [1, 2], "top": 3}"#, "unknown field `top`"),
            (r#"{"vector": [1, 2], "vector": [1, 2]}"#, "duplicate"),
            (r#"{"vector": [1, 2]} x"#, "trailing"),
        ] {
            let problem = SearchRequest::read(text.as_bytes(), SHAPE).unwrap_err();
            let body = problem.body().to_string().replace('\\', "");
            assert!(body.contains(words), "{text}: {body}");
        }
    }
}
