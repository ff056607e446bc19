//! Lists in an argument: record ids, or names of columns.

use sordino_search::vectors::id::unescaped;
use std::fmt::Display;
use std::str::FromStr;

/// The rule for all lists, in the help of each command that has one.
pub(super) const QUOTING: &str = "\
Commas separate the ids or column names of a list. Put a name with a comma or a double quote in double quotes, and
write a quote inside it twice: --ids '\"doc,7\",8'. In lists, as in files with one id on each line, \\t, \\n, \\r,
\\\\ and \\u{7f} stand for a tab, line ends, a backslash and other signs, as `sordino query` prints them. In files,
commas and quotes have no special meaning.";

/// A part of a list, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    /// True if it was in quotes.
    pub(super) quoted: bool,
}

impl From<Part> for String {
    fn from(part: Part) -> Self {
        part.text
    }
}

/// The parts of an argument, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T: TryFrom<Part, Error: Display>> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = parts(text)?.into_iter();
        let parts = parts.map(|part| T::try_from(part).map_err(|error| error.to_string()));
        Ok(Self(parts.collect::<Result<_, _>>()?))
    }
}

impl<T> List<T> {
    /// The parts of all these lists.
    pub(super) fn all(lists: &[Self]) -> impl Iterator<Item = &T> {
        lists.iter().flat_map(|list| &list.0)
    }
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(within) => {
                let (text, after) = quoted(within)?;
                (Part { text, quoted: true }, after)
            }
            None => {
                let (text, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
                if text.contains('"') {
                    let why = "has a quote in it: put all of it in double quotes, and write its own twice";
                    return Err(format!("number {} {why}", parts.len() + 1));
                }
                let text = text.to_owned();
                (
                    Part {
                        text,
                        quoted: false,
                    },
                    after,
                )
            }
        };
        let number = parts.len() + 1;
        if part.text.is_empty() {
            return Err(format!(
                "number {number} is empty: a comma stands between two of a list"
            ));
        }
        let text = unescaped(&part.text)
            .map_err(|error| error.to_string())?
            .into_owned();
        parts.push(Part { text, ..part });
        if after.is_empty() {
            return Ok(parts);
        }
        rest = after.strip_prefix(',').ok_or_else(|| {
            format!("number {number} goes on after its closing quote: all of it stands in quotes, such as \"a,b:int\"")
        })?;
    }
}

/// The text up to the closing quote, and what follows.
fn quoted(mut rest: &str) -> Result<(String, &str), String> {
    let mut text = String::new();
    loop {
        let (before, after) = rest.split_once('"').ok_or("a double quote is not closed")?;
        text.push_str(before);
        let Some(more) = after.strip_prefix('"') else {
            return Ok((text, after));
        };
        text.push('"');
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_by_one_rule() {
        let read = |text: &str| text.parse::<List<String>>().map(|list| list.0);
        for (text, expected) in [
            ("7,9", &["7", "9"][..]),
            ("\"doc,7\",8", &["doc,7", "8"]),
            ("\"say \"\"a\"\"\"", &["say \"a\""]),
            (r"a\tb,\\,\u{2c}", &["a\tb", "\\", ","]),
            ("a b, c", &["a b", " c"]),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
        for (text, why) in [
            ("", "number 1 is empty"),
            ("a,,b", "number 2 is empty"),
            ("a,", "number 2 is empty"),
            ("\"\"", "number 1 is empty"),
            ("a\"b", "number 1 has a quote in it"),
            ("\"a", "not closed"),
            ("x,\"a,b\":int", "number 2 goes on after"),
            (r"C:\docs", "where a backslash stands"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
