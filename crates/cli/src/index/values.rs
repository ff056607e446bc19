//! Columns of a table as payloads and attributes.

mod json_text;
mod payloads;

use super::list::Part;
use json_text::{is_instant, is_list, is_several, unquoted, whole_numbers};
pub(super) use payloads::Payloads;
use serde_json::{Map, Value};
use sordino_search::vectors::id::shown;
use sordino_search::{Attributes, Client, Column, ColumnKind, Error as Search, Id, vectors};
use std::str::FromStr;

/// A column for conditions, as an argument: its name, and the type as which it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: String,
    kind: Option<ColumnKind>,
}

impl TryFrom<Part> for Attribute {
    type Error = String;

    fn try_from(part: Part) -> Result<Self, String> {
        part.text.parse()
    }
}

impl FromStr for Attribute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let typed = text.rsplit_once(':').and_then(|(name, kind)| {
            let kinds = ColumnKind::ALL.into_iter();
            let mut kinds =
                kinds.filter(|kind| !matches!(kind, ColumnKind::Bytes | ColumnKind::Json));
            Some((name, kinds.find(|known| known.name() == kind)?))
        });
        match typed {
            Some((name, kind)) => Ok(Self {
                name: name.to_owned(),
                kind: Some(kind),
            }),
            None if text.is_empty() => Err("expected a column's name".to_owned()),
            None => Ok(Self {
                name: text.to_owned(),
                kind: None,
            }),
        }
    }
}

impl Attribute {
    /// The column with this name, read as this type, or as its own type.
    pub(super) fn new(name: &str, kind: Option<ColumnKind>) -> Self {
        let name = name.to_owned();
        Self { name, kind }
    }

    /// The column with values of the requested type. Its first row is row `first` of the table.
    /// `lines` is true for text files.
    pub(super) fn read(
        &self,
        column: Column,
        first: usize,
        lines: bool,
    ) -> Result<(String, Column), Search> {
        let name = self.name.clone();
        if let (None, Column::Json(values)) = (self.kind, &column) {
            if !lines && let Some(numbers) = whole_numbers(values) {
                return Ok((name, Column::Int(numbers)));
            }
            self.told(values, first)?;
        }
        // For a JSON member, takes the content of a text, and the written form of other values.
        let column = match column {
            Column::Json(values) => Column::Text(values.into_iter().map(unquoted).collect()),
            other => other,
        };
        let column = match (self.kind, column) {
            (None | Some(ColumnKind::Text), column @ Column::Text(_)) => column,
            (Some(ColumnKind::Int), Column::Text(texts)) => {
                Column::Int(self.parsed(&texts, first, "a whole number", whole)?)
            }
            (Some(ColumnKind::Float), Column::Text(texts)) => {
                Column::Float(self.parsed(&texts, first, "a number", |text| text.parse().ok())?)
            }
            (Some(ColumnKind::Bool), Column::Text(texts)) => {
                let read = |text: &str| match text {
                    "true" | "True" | "TRUE" | "t" | "1" => Some(true),
                    "false" | "False" | "FALSE" | "f" | "0" => Some(false),
                    _ => None,
                };
                Column::Bool(self.parsed(&texts, first, "true or false, or 1 or 0", read)?)
            }
            (Some(ColumnKind::Text), Column::Int(values)) => {
                let texts = values.into_iter();
                Column::Text(texts.map(|x| x.map(|x| x.to_string().into())).collect())
            }
            (Some(ColumnKind::Float), Column::Int(values)) => {
                let floats = values.into_iter().map(|x| x.map(|x| x as f64));
                Column::Float(floats.collect())
            }
            (kind, column) => {
                if let Some(kind) = kind.filter(|&kind| kind != column.kind()) {
                    return Err(Search::Attribute {
                        name,
                        why: format!(
                            "a column of {found}, not of {}: say {}:{found}, or convert it in the file",
                            kind.name(),
                            self.name,
                            found = column.kind().name(),
                        ),
                    });
                }
                column
            }
        };
        self.check_finite(&column, first)?;
        Ok((name, column))
    }

    /// Refuses `NaN` and infinite numbers: no condition finds `NaN`, and JSON has neither.
    fn check_finite(&self, column: &Column, first: usize) -> Result<(), Search> {
        let Column::Float(values) = column else {
            return Ok(());
        };
        let odd = |value: &Option<f64>| value.is_some_and(|x| !x.is_finite());
        match values.iter().position(odd) {
            None => Ok(()),
            Some(at) => Err(self.unexpected(first + at, "a finite number, or none")),
        }
    }

    /// Refuses values that a filter would compare wrongly. `lines` is true for text files.
    pub(super) fn check(&self, column: &Column, first: usize, lines: bool) -> Result<(), Search> {
        self.check_length(column, first)?;
        if lines || matches!(column, Column::Json(_)) {
            self.check_single(column, first)?;
        }
        if lines {
            return Ok(());
        }
        self.check_typed(column, first)
    }

    /// Refuses a text that no attribute can hold.
    fn check_length(&self, column: &Column, first: usize) -> Result<(), Search> {
        let (Column::Text(texts) | Column::Json(texts)) = column else {
            return Ok(());
        };
        let long = |text: &Option<Box<str>>| {
            text.as_ref()
                .is_some_and(|it| it.len() > Attributes::MAX_TEXT)
        };
        match texts.iter().position(long) {
            None => Ok(()),
            Some(at) => Err(self.unexpected(
                first + at,
                "a text of at most 4,096 bytes, as attributes are: keep longer texts as payloads (--payload)",
            )),
        }
    }

    /// Refuses objects, and lists that `has` cannot test: a condition would compare their whole text.
    fn check_single(&self, column: &Column, first: usize) -> Result<(), Search> {
        let (texts, json) = match column {
            Column::Json(texts) => (texts, true),
            Column::Text(texts) => (texts, false),
            _ => return Ok(()),
        };
        let several = |text: &Option<Box<str>>| {
            let text = text.as_deref().unwrap_or_default();
            is_several(text, json) && !is_list(text)
        };
        match texts.iter().position(several) {
            None => Ok(()),
            Some(at) => Err(self.unexpected(
                first + at,
                "one value, or a list of values as JSON, such as [\"a\", \"b\"], for conditions with `has`: a filter cannot look \
                 into others",
            )),
        }
    }

    /// Refuses JSON values without a named type. Dates and instants are accepted, because in ISO 8601 they compare correctly
    /// as texts.
    fn check_typed(&self, column: &Column, first: usize) -> Result<(), Search> {
        let (None, Column::Json(values)) = (self.kind, column) else {
            return Ok(());
        };
        let other = |value: &Option<Box<str>>| {
            let value = value.as_deref();
            value.is_some_and(|it| !is_instant(it) && !is_list(it) && it.parse::<i64>().is_err())
        };
        match values.iter().position(other) {
            None => Ok(()),
            Some(at) => Err(self.unexpected(
                first + at,
                "a whole number below 2^63, a number, a truth value, a text, a date, an instant or a list of these; for \
                 decimals say NAME:float, for larger numbers NAME:text; write durations as numbers of seconds (in pandas: \
                 column.dt.total_seconds(); in DuckDB: epoch(column))",
            )),
        }
    }

    fn unexpected(&self, row: usize, expected: &'static str) -> Search {
        let column = self.name.clone();
        let row = row as u64;
        let value = vectors::Error::Value {
            row,
            column,
            expected,
        };
        value.into()
    }

    /// Refuses numbers and truth values of JSON, which would become texts that no condition on numbers finds.
    fn told(&self, values: &[Option<Box<str>>], first: usize) -> Result<(), Search> {
        for (row, value) in (first as u64..).zip(values) {
            let begins = value
                .as_deref()
                .and_then(|value| value.trim_start().bytes().next());
            let expected = match begins {
                Some(b'-' | b'0'..=b'9') => {
                    "a text: of numbers say int, float or text behind the name and a colon"
                }
                Some(b't' | b'f') => {
                    "a text: of true and false say bool or text behind the name and a colon"
                }
                _ => continue,
            };
            let column = self.name.clone();
            return Err(vectors::Error::Value {
                row,
                column,
                expected,
            }
            .into());
        }
        Ok(())
    }

    /// Parses texts as values. An empty text is no value.
    fn parsed<T>(
        &self,
        texts: &[Option<Box<str>>],
        first: usize,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<Option<T>>, Search> {
        let values = (first as u64..).zip(texts).map(|(row, text)| {
            let text = text.as_deref().map(str::trim);
            let value = text.filter(|text| !text.is_empty()).map(|text| {
                read(text).ok_or_else(|| vectors::Error::Text {
                    row,
                    column: self.name.clone(),
                    found: shown(text),
                    expected,
                })
            });
            value.transpose()
        });
        let values: Result<Vec<_>, vectors::Error> = values.collect();
        Ok(values?)
    }
}

/// The whole number in a text. Programs write 2000.0 where a column also lacks values.
fn whole(text: &str) -> Option<i64> {
    let (number, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = number.parse().ok()?;
    fraction
        .bytes()
        .all(|digit| digit == b'0')
        .then_some(number)
}

pub(crate) fn attributes(all: &Attributes, row: usize) -> Map<String, Value> {
    let columns = all.columns();
    let columns = columns.map(|(name, column)| (name.to_owned(), column.json(row)));
    columns.collect()
}

/// The attributes of a record that a client knows, which may be none.
pub(crate) fn known_attributes(client: &Client, id: &Id) -> Map<String, Value> {
    let known = client.attributes(id);
    known.map_or_else(Map::new, |known| attributes(&known, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_the_type_asked_for() {
        let texts = Column::Text(vec![Some(" 7".into()), Some("".into()), None]);
        let read = |text: &str| {
            text.parse::<Attribute>()
                .unwrap()
                .read(texts.clone(), 10, true)
        };
        let seven = Column::Int(vec![Some(7), None, None]);
        assert_eq!(read("year:int").unwrap(), ("year".to_owned(), seven));
        assert_eq!(read("a:b").unwrap(), ("a:b".to_owned(), texts.clone()));
        let error = read("year:bool").unwrap_err().to_string();
        assert_eq!(
            error,
            "row 10, column year: \"7\", expected true or false, or 1 or 0"
        );
        assert!("".parse::<Attribute>().is_err());
        // PostgreSQL writes booleans as `t` and `f`.
        let flags = Column::Text(vec![Some("t".into()), Some("f".into()), None]);
        let (_, flags) = "flag:bool"
            .parse::<Attribute>()
            .unwrap()
            .read(flags, 1, true)
            .unwrap();
        assert_eq!(flags, Column::Bool(vec![Some(true), Some(false), None]));
    }

    #[test]
    fn an_object_is_no_attribute_and_a_list_of_values_is() {
        let tags: Attribute = "tags:text".parse().unwrap();
        let read = |column: Column| tags.check_single(&column, 10);
        for text in [r#"[["x"]]"#, r#" [{"a": 1}] "#, r#"{"a": 1}"#, "{}"] {
            for column in [
                Column::Json(vec![None, Some(text.into())]),
                Column::Text(vec![None, Some(text.into())]),
            ] {
                let error = read(column).unwrap_err().to_string();
                assert!(
                    error.starts_with("row 11, column tags: expected one value"),
                    "{error}"
                );
            }
        }
        assert!(read(Column::Text(vec![Some("['x', 'y']".into())])).is_err());
        for text in [r#"["x", "y"]"#, " [] ", "[deleted]", "[", "{x", "", "a [1]"] {
            assert!(
                read(Column::Text(vec![Some(text.into())])).is_ok(),
                "{text}"
            );
        }
        let quoted = Column::Json(vec![Some(r#""[1]""#.into())]);
        assert!(read(quoted).is_ok());
    }

    #[test]
    fn only_finite_numbers_are_attributes() {
        let read = |column: Column| {
            "price:float"
                .parse::<Attribute>()
                .unwrap()
                .read(column, 0, true)
        };
        for text in ["nan", "inf", "-inf", "1e999"] {
            let error = read(Column::Text(vec![Some(text.into())]))
                .unwrap_err()
                .to_string();
            assert!(error.contains("expected a finite number"), "{error}");
        }
        assert!(read(Column::Float(vec![Some(f64::NAN)])).is_err());
        for text in ["1,5", "1_000", "1,234.5", "\u{ff11}", "0x1"] {
            assert!(
                read(Column::Text(vec![Some(text.into())])).is_err(),
                "{text}"
            );
        }
        assert!(read(Column::Float(vec![Some(1.5), None])).is_ok());
    }

    #[test]
    fn a_large_number_is_the_fault_of_its_row_alone() {
        let a: Attribute = "a".parse().unwrap();
        let column = |numbers: [&str; 2]| Column::Json(numbers.map(|it| Some(it.into())).to_vec());
        let error = a.check(&column(["1", "9223372036854775808"]), 5, false);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("row 6, column a")
        );
        a.check(&column(["1", "-3"]), 5, false).unwrap();
        let (_, numbers) = a.read(column(["1", "-3"]), 5, false).unwrap();
        assert_eq!(numbers, Column::Int(vec![Some(1), Some(-3)]));
        assert!(a.read(column(["1", "-3"]), 5, true).is_err());
    }
}
