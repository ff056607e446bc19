//! Reports rows of a text file as lines.

use super::Error;

impl Error {
    /// The row that the error is about, from 0, if it is about a row of a table or an array.
    #[must_use]
    pub fn row(&self) -> Option<u64> {
        match *self {
            Self::RowDimension { row, .. }
            | Self::OddDimension { row, .. }
            | Self::Null { row, .. }
            | Self::IdRow { row, .. }
            | Self::Value { row, .. }
            | Self::Text { row, .. } => Some(row),
            Self::NotFinite { row, .. } | Self::ZeroVector { row } | Self::Norm { row, .. } => {
                Some(row as u64)
            }
            _ => None,
        }
    }

    /// True if the error is about one row only, so that the rows after it can be read.
    #[cfg(feature = "text")]
    pub(crate) fn is_of_row(&self) -> bool {
        matches!(self, Self::Line { .. }) || self.row().is_some()
    }

    /// The same error for a text file, whose positions are lines, from 1.
    #[must_use]
    pub fn in_line(self, line: u64) -> Self {
        let why = match &self {
            Self::RowDimension {
                found, expected, ..
            } => format!("a vector of dimension {found}: expected {expected}, like the first"),
            Self::OddDimension {
                found, expected, ..
            } => format!(
                "a vector of dimension {found}: expected {expected}, like most of the first vectors"
            ),
            Self::Value {
                column, expected, ..
            } => format!("column {column}: expected {expected}"),
            Self::Text {
                column,
                found,
                expected,
                ..
            } => format!("column {column}: {found}, expected {expected}"),
            Self::IdRow {
                found, expected, ..
            } => format!("{found} is not an id: expected {expected}"),
            Self::NotFinite { column, .. } => {
                format!(
                    "number {column} of the vector, counted from 0, is not a finite one of 32 bits: expected 0, or 1e-42 to 3.4e38 with either sign"
                )
            }
            Self::ZeroVector { .. } => {
                "the zero vector, which has no direction: this metric needs one".to_owned()
            }
            Self::Norm { norm, most, .. } => {
                format!(
                    "a vector of length {norm:e}: expected at most {most:e} in this index; build one from all vectors after they were divided by one number"
                )
            }
            _ => return self,
        };
        Self::Line { line, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_a_row_is_one_of_a_line() {
        let value = Error::Value {
            row: 4,
            column: "year".to_owned(),
            expected: "a whole number",
        };
        assert_eq!(value.row(), Some(4));
        let line = value.in_line(6).to_string();
        assert_eq!(line, "line 6: column year: expected a whole number");
        let zero = Error::ZeroVector { row: 7 }.in_line(8).to_string();
        assert!(zero.starts_with("line 8: the zero vector"), "{zero}");
        assert_eq!(Error::NegativeNeighbour.row(), None);
        assert_eq!(
            Error::NoVectors.in_line(1).to_string(),
            Error::NoVectors.to_string()
        );
    }
}
