//! Columns of a table as payloads.

use super::json_text::unquoted;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sordino_search::Column;
use std::collections::BTreeMap;

/// The columns from which payloads are made.
#[derive(Clone)]
pub(in super::super) enum Payloads {
    /// One column, or several.
    Columns(Vec<String>),
    /// A payload that `sordino index export` wrote, and the form in which it is written.
    Exported([String; 2]),
}

impl Payloads {
    /// The columns that are read.
    pub(in super::super) fn columns(&self) -> impl ExactSizeIterator<Item = String> {
        let columns = match self {
            Self::Columns(columns) => &columns[..],
            Self::Exported(both) => &both[..],
        };
        columns.iter().cloned()
    }

    /// A payload for each row. A single column gives texts and bytes unchanged, and other values as JSON; several
    /// columns give a JSON object. A record without a value has an empty payload. In `lines` of JSON, texts are in
    /// quotes.
    ///
    /// # Errors
    /// The row, counted from 0, of an exported payload that is not in the form that it names.
    pub(in super::super) fn of(
        &self,
        columns: Vec<Column>,
        rows: usize,
    ) -> Result<Vec<Vec<u8>>, usize> {
        let names = match (self, &columns[..]) {
            (Self::Columns(_), [column]) => {
                return Ok((0..rows).map(|row| single(column, row)).collect());
            }
            (Self::Exported(_), [Column::Json(payloads), Column::Json(forms)]) => {
                let all = payloads.iter().zip(forms);
                let read = all.map(|(payload, form)| exported(payload.as_deref(), form.as_deref()));
                return (0..)
                    .zip(read)
                    .map(|(row, bytes)| bytes.ok_or(row))
                    .collect();
            }
            (Self::Columns(names), _) => &names[..],
            (Self::Exported(names), _) => &names[..],
        };
        // Sorted here: the order of a `Map` is a feature of serde_json that another crate may turn on.
        let sorted: BTreeMap<&str, &Column> =
            names.iter().map(String::as_str).zip(&columns).collect();
        let object = |row: usize| {
            let members = sorted.iter().map(|(&name, column)| {
                let value = match column {
                    // The text is kept, since a parser would round numbers.
                    Column::Json(values) => values[row].as_deref().unwrap_or("null").to_owned(),
                    other => other.json(row).to_string(),
                };
                format!("{}:{value}", Value::from(name))
            });
            let members: Vec<String> = members.collect();
            format!("{{{}}}", members.join(",")).into_bytes()
        };
        Ok((0..rows).map(object).collect())
    }
}

/// The bytes of an exported payload, from the written forms of its member and of the form's member.
fn exported(payload: Option<&str>, form: Option<&str>) -> Option<Vec<u8>> {
    let text = |raw: &str| serde_json::from_str::<String>(raw).ok();
    match (payload, form.and_then(text).as_deref()) {
        (None, None) => Some(Vec::new()),
        (Some(payload), Some("json")) => Some(payload.as_bytes().to_vec()),
        (Some(payload), Some("text")) => text(payload).map(String::into_bytes),
        (Some(payload), Some("base64")) => BASE64_STANDARD.decode(text(payload)?).ok(),
        _ => None,
    }
}

/// A value that is the whole payload.
fn single(column: &Column, row: usize) -> Vec<u8> {
    match column {
        Column::Text(texts) => texts[row].as_deref().unwrap_or_default().into(),
        Column::Bytes(bytes) => bytes[row].as_deref().unwrap_or_default().into(),
        Column::Json(values) => {
            // Texts, such as dates, lose their quotation marks.
            let value = unquoted(values[row].clone());
            value.unwrap_or_default().as_bytes().into()
        }
        other => match other.json(row) {
            Value::Null => Vec::new(),
            value => value.to_string().into_bytes(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_payloads() {
        let text = Column::Text(vec![Some("a".into()), None]);
        let number = Column::Int(vec![Some(7), None]);
        let bytes = Column::Bytes(vec![Some(Box::from(&[255u8][..])), None]);
        let one = |column: &Column| {
            let payloads = Payloads::Columns(vec!["x".to_owned()]);
            payloads.of(vec![column.clone()], 2).unwrap()
        };
        assert_eq!(one(&text), [b"a".to_vec(), Vec::new()]);
        // JSON's null is no text and no other value.
        let lines = Column::Json(vec![Some("\"null\"".into()), None]);
        assert_eq!(one(&lines), [b"null".to_vec(), Vec::new()]);
        assert_eq!(one(&number), [b"7".to_vec(), Vec::new()]);
        assert_eq!(one(&bytes), [vec![255], Vec::new()]);
        let names = ["t", "n", "b"].map(str::to_owned);
        let all = Payloads::Columns(names.to_vec());
        let all = all.of(vec![text, number, bytes], 2).unwrap();
        assert_eq!(all[0], br#"{"b":"/w==","n":7,"t":"a"}"#);
    }

    #[test]
    fn exported_payloads_are_read_in_their_form_or_not_at_all() {
        let read = |payload, form: &str| exported(payload, Some(&format!("\"{form}\"")));
        assert_eq!(
            read(Some("{\"a\": 1}"), "json"),
            Some(b"{\"a\": 1}".to_vec())
        );
        assert_eq!(read(Some(r#""{\n""#), "text"), Some(b"{\n".to_vec()));
        assert_eq!(read(Some("\"/w==\""), "base64"), Some(vec![255]));
        assert_eq!(exported(None, None), Some(Vec::new()));
        for (payload, form) in [
            (Some("7"), "text"),
            (Some("\"!\""), "base64"),
            (None, "text"),
            (Some("7"), "x"),
        ] {
            assert_eq!(read(payload, form), None);
        }
        assert_eq!(exported(Some("7"), None), None);
    }
}
