//! Reads the metadata that pandas stores in a table.

use serde_json::Value;

/// The column that was the table's index; `None` if the index was several columns or a range of
/// numbers.
pub(super) fn index_column(said: &str) -> Option<String> {
    let said: Value = serde_json::from_str(said).ok()?;
    match &said.get("index_columns")?.as_array()?[..] {
        [Value::String(name)] => Some(name.clone()),
        _ => None,
    }
}
