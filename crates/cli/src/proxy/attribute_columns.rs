//! The attributes of records that are written over HTTP, in columns of one type each.

use serde_json::Value;
use sordino_proxy::Record;
use sordino_search::{Attributes, Column, ColumnKind};
use std::collections::BTreeSet;

/// The attributes of these records: of the types that the index has, or else of those that the values have.
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
        // An attribute that the index does not have, and of which no record has a value, has no type.
        let Some(kind) = kind.or_else(|| kind_of(&values)) else {
            continue;
        };
        let column = column(kind, &values).map_err(|at| {
            let (id, kind) = (&records[at].id, kind.name());
            format!(
                "record {id}: attribute {name:?} is {}: expected {kind}",
                values[at]
            )
        })?;
        columns.push((name.to_owned(), column));
    }
    Attributes::new(records.len(), columns).map_err(|error| error.to_string())
}

/// The type of the first value, if there is one; numbers with fractions among them make all of them floats.
fn kind_of(values: &[&Value]) -> Option<ColumnKind> {
    let first = values.iter().find(|value| !value.is_null())?;
    Some(match first {
        Value::Bool(_) => ColumnKind::Bool,
        Value::Number(_) if values.iter().any(|value| value.is_f64()) => ColumnKind::Float,
        Value::Number(_) => ColumnKind::Int,
        _ => ColumnKind::Text,
    })
}

/// A column of values, or the place of one that has another type.
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
        _ => Column::Text(each(values, |value| value.as_str().map(Box::from))?),
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
        assert_eq!(why, "record a: attribute \"year\" is 2020: expected text");
        let list = [record("a", json!({"tags": ["x"]}))];
        assert!(of(&list, &Attributes::none(0)).is_err());
    }
}
