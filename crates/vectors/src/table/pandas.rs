//! What pandas says of a table that it wrote.

use serde_json::Value;

/// The column that was the table's index, if one was; several, or a range of numbers, are none.
pub(super) fn index_column(said: &str) -> Option<String> {
    let said: Value = serde_json::from_str(said).ok()?;
    match &said.get("index_columns")?.as_array()?[..] {
        [Value::String(name)] => Some(name.clone()),
        _ => None,
    }
}
