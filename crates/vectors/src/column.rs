//! Columns of other values, with one value for each vector.

#[cfg(feature = "json")]
use base64::{Engine, prelude::BASE64_STANDARD};
#[cfg(feature = "json")]
use serde_json::Value;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Signed 64-bit integers.
    Int,
    /// Double-precision numbers.
    Float,
    /// Truth values.
    Bool,
    /// UTF-8 texts.
    Text,
    /// Byte strings.
    Bytes,
    /// Texts that are JSON.
    Json,
}

impl ColumnKind {
    /// All types.
    pub const ALL: [Self; 6] = [
        Self::Int,
        Self::Float,
        Self::Bool,
        Self::Text,
        Self::Bytes,
        Self::Json,
    ];

    /// The type's name in reports and arguments.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Json => "json",
        }
    }
}

/// A column: for each row a value or `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Signed 64-bit integers.
    Int(Vec<Option<i64>>),
    /// Double-precision numbers.
    Float(Vec<Option<f64>>),
    /// Truth values.
    Bool(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<Box<str>>>),
    /// Bytes.
    Bytes(Vec<Option<Box<[u8]>>>),
    /// Texts that are JSON.
    Json(Vec<Option<Box<str>>>),
}

/// Runs the same expression on the values of a column of any type.
macro_rules! each {
    ($column:expr, $values:ident => $work:expr) => {
        match $column {
            Column::Int($values) => $work,
            Column::Float($values) => $work,
            Column::Bool($values) => $work,
            Column::Text($values) => $work,
            Column::Bytes($values) => $work,
            Column::Json($values) => $work,
        }
    };
}

impl Column {
    /// A column of `rows` rows without values.
    #[must_use]
    pub fn empty(kind: ColumnKind, rows: usize) -> Self {
        match kind {
            ColumnKind::Int => Self::Int(vec![None; rows]),
            ColumnKind::Float => Self::Float(vec![None; rows]),
            ColumnKind::Bool => Self::Bool(vec![None; rows]),
            ColumnKind::Text => Self::Text(vec![None; rows]),
            ColumnKind::Bytes => Self::Bytes(vec![None; rows]),
            ColumnKind::Json => Self::Json(vec![None; rows]),
        }
    }

    /// The type of the column's values.
    #[must_use]
    pub fn kind(&self) -> ColumnKind {
        match self {
            Self::Int(_) => ColumnKind::Int,
            Self::Float(_) => ColumnKind::Float,
            Self::Bool(_) => ColumnKind::Bool,
            Self::Text(_) => ColumnKind::Text,
            Self::Bytes(_) => ColumnKind::Bytes,
            Self::Json(_) => ColumnKind::Json,
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// True if the column has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row as JSON: `null` for no value, bytes in base64.
    ///
    /// # Panics
    /// Panics if the column has no such row.
    #[cfg(feature = "json")]
    #[must_use]
    pub fn json(&self, row: usize) -> Value {
        match self {
            Self::Int(values) => values[row].into(),
            Self::Float(values) => values[row].into(),
            Self::Bool(values) => values[row].into(),
            Self::Text(values) => values[row].as_deref().into(),
            Self::Bytes(values) => {
                let bytes = values[row].as_deref();
                bytes.map(|bytes| BASE64_STANDARD.encode(bytes)).into()
            }
            Self::Json(values) => {
                let value = values[row].as_deref();
                value.map_or(Value::Null, |value| {
                    serde_json::from_str(value).unwrap_or_default()
                })
            }
        }
    }

    /// The column of these rows, in this order.
    ///
    /// # Panics
    /// Panics if the column has no such row.
    #[must_use]
    pub fn rows(&self, rows: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Int(values) => Self::Int(rows.map(|row| values[row]).collect()),
            Self::Float(values) => Self::Float(rows.map(|row| values[row]).collect()),
            Self::Bool(values) => Self::Bool(rows.map(|row| values[row]).collect()),
            Self::Text(values) => Self::Text(rows.map(|row| values[row].clone()).collect()),
            Self::Bytes(values) => Self::Bytes(rows.map(|row| values[row].clone()).collect()),
            Self::Json(values) => Self::Json(rows.map(|row| values[row].clone()).collect()),
        }
    }

    /// Appends the rows of `other`. Returns false, and changes nothing, if `other` has another
    /// type.
    pub fn append(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Int(values), Self::Int(more)) => values.extend(more),
            (Self::Float(values), Self::Float(more)) => values.extend(more),
            (Self::Bool(values), Self::Bool(more)) => values.extend(more),
            (Self::Text(values), Self::Text(more)) => values.extend(more),
            (Self::Bytes(values), Self::Bytes(more)) => values.extend(more),
            (Self::Json(values), Self::Json(more)) => values.extend(more),
            _ => return false,
        }
        true
    }

    /// Appends `rows` rows without a value.
    pub fn pad(&mut self, rows: usize) {
        each!(self, values => values.extend(std::iter::repeat_n(None, rows)));
    }
}
