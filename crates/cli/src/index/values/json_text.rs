//! Values of a table that are JSON, as texts.

use serde_json::Value;

/// True if a JSON text begins like a date with a year of four digits.
pub(super) fn is_instant(json: &str) -> bool {
    let digits = "\"dddd-dd-dd".bytes().zip(json.bytes());
    let fits = |(sign, found): (u8, u8)| match sign {
        b'd' => found.is_ascii_digit(),
        sign => sign == found,
    };
    json.len() > 11 && digits.into_iter().all(fits)
}

/// The numbers of a table's column of integers. Some of them came as JSON, because other numbers of the file are too
/// large. `None` if these values are not such numbers.
pub(super) fn whole_numbers(values: &[Option<Box<str>>]) -> Option<Vec<Option<i64>>> {
    let read = |value: &Option<Box<str>>| value.as_deref().map(str::parse::<i64>).transpose();
    let numbers = values.iter().map(read).collect::<Result<Vec<_>, _>>();
    numbers
        .ok()
        .filter(|numbers| numbers.iter().any(Option::is_some))
}

/// True for a list or an object: in JSON, or in a CSV text in the form of JSON or Python.
pub(super) fn is_several(text: &str, json: bool) -> bool {
    let text = text.trim();
    let ends = |open: char, close: char| text.starts_with(open) && text.ends_with(close);
    let brackets = ends('[', ']') || ends('{', '}');
    let python = || text.starts_with("['") || text.starts_with("{'");
    let is_json = || serde_json::from_str::<Value>(text).is_ok();
    brackets && (json || python() || is_json())
}

/// True for a JSON list of single values.
pub(super) fn is_list(json: &str) -> bool {
    let list: Result<Vec<Value>, _> = serde_json::from_str(json);
    list.is_ok_and(|list| {
        !list
            .iter()
            .any(|value| value.is_array() || value.is_object())
    })
}

/// A JSON value as text. If the value is a text, the result is its content.
pub(super) fn unquoted(value: Option<Box<str>>) -> Option<Box<str>> {
    let value = value?;
    match serde_json::from_str(&value) {
        Ok(Value::String(text)) => Some(text.into()),
        _ => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_instants_are_told_from_decimals() {
        for json in [
            "\"2026-01-01\"",
            "\"2024-07-03T09:46:40Z\"",
            "\"0001-01-01\"",
        ] {
            assert!(is_instant(json), "{json}");
        }
        for json in [
            "\"12.50\"",
            "\"PT90.5S\"",
            "[\"2026-01-01\"]",
            "\"+12026-01-01\"",
            "1",
        ] {
            assert!(!is_instant(json), "{json}");
        }
    }
}
