//! The values of a filter, and how they compare with an attribute's values.

use std::cmp::Ordering;

use sordino_vectors::column::{Column, ColumnKind};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(Box<str>),
}

impl Value {
    pub(super) fn kind(&self) -> ColumnKind {
        match self {
            Self::Int(_) => ColumnKind::Int,
            Self::Float(_) => ColumnKind::Float,
            Self::Bool(_) => ColumnKind::Bool,
            Self::Text(_) => ColumnKind::Text,
        }
    }
}

/// True if a value can be compared with this column's values.
pub(super) fn fits(column: &Column, value: &Value) -> bool {
    matches!(
        (column, value),
        (
            Column::Int(_) | Column::Float(_),
            Value::Int(_) | Value::Float(_)
        ) | (Column::Bool(_), Value::Bool(_))
            | (Column::Text(_), Value::Text(_))
    )
}

/// The order of the exact values, even if a double lacks bits of the whole number. `None` if the double is NaN.
pub(super) fn whole_and_float(x: i64, y: f64) -> Option<Ordering> {
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    Some(match y {
        y if y.is_nan() => return None,
        y if y >= ABOVE => Ordering::Less,
        y if y < -ABOVE => Ordering::Greater,
        y => {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and in range")]
            let whole = y.trunc() as i64;
            // Compares 0 with the fraction of y.
            let rest = 0f64.partial_cmp(&y.fract());
            x.cmp(&whole).then(rest.unwrap_or(Ordering::Equal))
        }
    })
}
