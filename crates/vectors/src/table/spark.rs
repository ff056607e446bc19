//! Vectors in the structures that Spark writes.

use arrow_array::{Array, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, Fields};

use super::values::whole;
use crate::input::SPARSE;

/// The fields of the structure in which Spark stores a vector. A dense vector has the type 1, no size, no indices, and values of all
/// coordinates.
const FIELDS: [&str; 4] = ["type", "size", "indices", VALUES];
const VALUES: &str = "values";

/// True if these fields are the fields of Spark's structure.
pub(super) fn is_vector(fields: &Fields) -> bool {
    let has = |name: &&str| fields.iter().any(|field| field.name() == *name);
    FIELDS.iter().all(has)
}

/// Refuses sparse vectors, if field `at` of these structures is the values of vectors.
pub(super) fn check(outer: &StructArray, at: usize) -> Result<(), ArrowError> {
    match outer.column_names()[at] == VALUES && has_sparse(outer) {
        true => Err(ArrowError::InvalidArgumentError(SPARSE.to_owned())),
        false => Ok(()),
    }
}

/// True if one of these structures is a sparse vector, which lacks the coordinates that are 0.
fn has_sparse(outer: &StructArray) -> bool {
    let nulls = |name: &str| Some(outer.column_by_name(name)?.logical_nulls());
    let (size, indices) = (nulls("size"), nulls("indices"));
    let given = |nulls: &Option<Option<NullBuffer>>, row: usize| match nulls {
        Some(Some(nulls)) => nulls.is_valid(row),
        Some(None) => true,
        None => false,
    };
    let kinds = outer.column_by_name("type");
    let kinds = kinds
        .filter(|kinds| kinds.data_type().is_integer())
        .map(whole);
    let kind = |row: usize| {
        kinds
            .as_ref()
            .and_then(|kinds| kinds.get(row).copied().flatten())
    };
    // Other structures with values have no indices.
    let mut rows = (0..outer.len()).filter(|row| indices.is_some() && outer.is_valid(*row));
    rows.any(|row| given(&indices, row) || given(&size, row) || kind(row) == Some(0))
}
