//! The attributes of records that are written over HTTP, in columns of one type each. A list is a text that holds it as JSON, as in
//! other indexes: conditions with `has` look into it.

use serde_json::Value;
use sordino_proxy::Record;
use sordino_search::{Attributes, Column, ColumnKind};
use std::collections::BTreeSet;

/// The attributes of these records, with the types that the index has for them, or otherwise with the
/// values' types.
pub(super) fn of(records: &[Record], known: &Attributes) -> Result<Attributes, String> {
    let names: BTreeSet<&str> = records
        .iter()
        .flat_map(|record| record.attributes.keys().map(String::as_str))
        .collect();
    let mut columns = Vec::new();
    for name in names {
        let values: Vec<&Value> = records
            .iter()
            .map(|record| record.attributes.get(name).unwrap_or(&Value::Null))
            .collect();
        let kind = known.column(name).map(Column::kind);
        // An attribute that the index lacks, and for which no record has a value, has no type.
        let Some(kind) = kind.or_else(|| kind_of(&values)) else {
            continue;
        };
        let column = column(kind, &values).map_err(|at| {
            let (id, kind) = (&records[at].id, kind.name());
            let list = if kind == ColumnKind::Text.name() {
                ", or a list of single values"
            } else {
                ""
            };
            let found = &values[at];
            format!("record {id}: attribute {name:?} is {found}: expected {kind}{list}")
        })?;
        columns.push((name.to_owned(), column));
    }
    Attributes::new(records.len(), columns).map_err(|error| error.to_string())
}

/// The type of the first value, if there is one. If any number has a fraction, all numbers become floats.
fn kind_of(values: &[&Value]) -> Option<ColumnKind> {
    let first = values.iter().find(|value| !value.is_null())?;
    Some(match first {
        Value::Bool(_) => ColumnKind::Bool,
        Value::Number(_) if values.iter().any(|value| value.is_f64()) => ColumnKind::Float,
        Value::Number(_) => ColumnKind::Int,
        _ => ColumnKind::Text,
    })
}

/// A text, or a list of single values as JSON text.
fn text(value: &Value) -> Option<Box<str>> {
    match value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Array(list) if !list.iter().any(|it| it.is_array() || it.is_object()) => {
            Some(value.to_string().into())
        }
        _ => None,
    }
}

/// A column of values, or the position of a value that has another type.
fn column(kind: ColumnKind, values: &[&Value]) -> Result<Column, usize> {
    fn each<T>(
        values: &[&Value],
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Vec<Option<T>>, usize> {
        let values = values.iter().enumerate();
        let values = values.map(|(at, value)| match value {
            Value::Null => Ok(None),
            value => read(value).map(Some).ok_or(at),
        });
        values.collect()
    }
    Ok(match kind {
        ColumnKind::Int => Column::Int(each(values, Value::as_i64)?),
        ColumnKind::Float => Column::Float(each(values, Value::as_f64)?),
        ColumnKind::Bool => Column::Bool(each(values, Value::as_bool)?),
        _ => Column::Text(each(values, text)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(id: &str, attributes: Value) -> Record {
        Record {
            id: id.to_owned(),
            vector: None,
            payload: None,
            attributes: attributes.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn types_are_the_index_s_or_those_of_the_values() {
        let records = [
            record(
                "a",
                json!({"year": 2020, "price": 1, "new": true, "none": null}),
            ),
            record("b", json!({"price": 1.5, "lang": "de"})),
        ];
        let found = of(&records, &Attributes::none(0)).unwrap();
        let column = |name| found.column(name).cloned();
        assert_eq!(column("year"), Some(Column::Int(vec![Some(2020), None])));
        assert_eq!(
            column("price"),
            Some(Column::Float(vec![Some(1.0), Some(1.5)]))
        );
        assert_eq!(column("new"), Some(Column::Bool(vec![Some(true), None])));
        assert_eq!(
            column("lang"),
            Some(Column::Text(vec![None, Some("de".into())]))
        );
        assert_eq!(column("none"), None);
        let known = Attributes::new(0, [("year".to_owned(), Column::Text(Vec::new()))]).unwrap();
        let why = of(&records, &known).unwrap_err();
        let expected = "expected text, or a list of single values";
        assert_eq!(
            why,
            format!("record a: attribute \"year\" is 2020: {expected}")
        );
    }

    #[test]
    fn lists_are_texts_of_json() {
        let lists = [
            record("a", json!({"tags": ["x", 7, null]})),
            record("b", json!({"tags": []})),
        ];
        let found = of(&lists, &Attributes::none(0)).unwrap();
        let texts = [r#"["x",7,null]"#, "[]"].map(|text| Some(text.into()));
        assert_eq!(found.column("tags"), Some(&Column::Text(texts.to_vec())));
        for other in [json!([["x"]]), json!([{"a": 1}]), json!({"a": 1})] {
            let records = [record("a", json!({ "tags": other }))];
            let why = of(&records, &Attributes::none(0)).unwrap_err();
            assert!(why.contains("a list of single values"), "{why}");
        }
        let numbers = Column::Int(Vec::new());
        let known = Attributes::new(0, [("tags".to_owned(), numbers)]).unwrap();
        assert!(of(&lists, &known).unwrap_err().ends_with("expected int"));
    }
}
