//! Conditions on texts: patterns and members of lists.

use std::str::Chars;

use sordino_index::FilterFault;
use sordino_vectors::column::Column;

use super::parse::shown;
use super::{Relation, Value, instant};

/// A piece of a pattern.
enum Piece {
    /// Any characters, or none.
    Any,
    /// Any one character.
    One,
    /// This character.
    Itself(char),
}

/// The next piece of a pattern. A backslash before `%`, `_` or another backslash makes that character a plain one.
fn piece(pattern: &mut Chars<'_>) -> Option<Piece> {
    let first = pattern.next()?;
    let mut after = pattern.clone();
    Some(match (first, after.next()) {
        ('%', _) => Piece::Any,
        ('_', _) => Piece::One,
        ('\\', Some(plain @ ('%' | '_' | '\\'))) => {
            *pattern = after;
            Piece::Itself(plain)
        }
        (plain, _) => Piece::Itself(plain),
    })
}

/// True if a text fits a pattern, in which `%` stands for any characters, and `_` for one.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    // The pattern after the last %, and the text that must still be tried with it.
    let mut again = None;
    loop {
        let before = text.clone();
        match (piece(&mut pattern), text.next()) {
            (Some(Piece::Any), _) => {
                text = before;
                again = Some((text.clone(), pattern.clone()));
            }
            (Some(Piece::One), Some(_)) => (),
            (Some(Piece::Itself(wanted)), Some(found)) if wanted == found => (),
            (None, None) => return true,
            _ => {
                let Some((rest, after)) = &mut again else {
                    return false;
                };
                if rest.next().is_none() {
                    return false;
                }
                (text, pattern) = (rest.clone(), after.clone());
            }
        }
    }
}

/// True if a list in JSON has this member. A text that is not a list has itself as its only member.
pub(super) fn has(list: &str, value: &Value) -> bool {
    let members = serde_json::from_str(list);
    let members: Vec<serde_json::Value> = members.unwrap_or_else(|_| vec![list.into()]);
    let is = |member: &serde_json::Value| match value {
        Value::Text(text) => member.as_str() == Some(text),
        Value::Bool(truth) => member.as_bool() == Some(*truth),
        Value::Int(number) => match member.as_i64() {
            Some(member) => member == *number,
            None => member.as_f64().is_some_and(|x| {
                super::whole_and_float(*number, x).is_some_and(std::cmp::Ordering::is_eq)
            }),
        },
        Value::Float(number) => member.as_f64() == Some(*number),
    };
    members.iter().any(is)
}

/// Whether a text has this relation to `value`. A list is equal if one of its texts is.
pub(super) fn compared(value: &str, relation: Relation) -> impl Fn(&str) -> bool {
    // An instant has many spellings: with or without a fraction of a second, and in other zones.
    let time = instant::time(value);
    let order = move |x: &str| {
        let times = time.and_then(|time| Some((instant::time(x)?, time)));
        times.map_or_else(|| x.cmp(value), |(x, time)| x.cmp(&time))
    };
    move |x| match relation {
        Relation::Equal => any(x, |x| order(x).is_eq()),
        Relation::Unequal => !any(x, |x| order(x).is_eq()),
        _ => relation.holds(order(x)),
    }
}

/// The fault of a value that cannot be compared with the dates or instants of these columns, if they hold nothing else.
pub(super) fn odd_date<'a>(
    name: &str,
    columns: impl Iterator<Item = &'a Column>,
    relation: Option<Relation>,
    values: &[Value],
) -> Option<FilterFault> {
    // The dates of a month and of a year come after its own text.
    let begins = matches!(relation?, Relation::Less | Relation::GreaterEqual);
    let odd = |value: &&Value| match value {
        Value::Text(text) => {
            instant::time(text).is_none() && !(begins && instant::is_year_or_month(text))
        }
        _ => true,
    };
    values.iter().find(odd)?;
    let mut known = None;
    for column in columns {
        let Column::Text(texts) = column else {
            return None;
        };
        for text in texts.iter().flatten() {
            instant::time(text)?;
            known.get_or_insert(text);
        }
    }
    Some(FilterFault::Date {
        name: shown(name),
        known: known?.to_string(),
    })
}

/// The fault of `like` or `has` for an attribute that holds no texts. It is also the fault of `has` for an attribute whose
/// texts are all in braces, as Postgres writes lists. There is no fault if one of these texts is the value itself or an
/// object in JSON.
pub(super) fn misfit<'a>(
    name: &str,
    columns: impl Iterator<Item = &'a Column>,
    (operator, value): (&'static str, &Value),
) -> Option<FilterFault> {
    let name = shown(name);
    let mut known = None;
    for column in columns {
        let Column::Text(texts) = column else {
            let found = column.kind().name();
            return Some(FilterFault::Operator {
                name,
                operator,
                found,
            });
        };
        for text in texts.iter().flatten() {
            if operator == "like" || !is_braced(text) || has(text, value) {
                return None;
            }
            known.get_or_insert(text);
        }
    }
    let known = shown(known?);
    Some(FilterFault::List { name, known })
}

/// True for a text in braces that is no object in JSON.
fn is_braced(text: &str) -> bool {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    text.starts_with('{') && text.ends_with('}') && object.map_or(true, |it| it.is_empty())
}

/// True if `is` holds for a text or, for a list in JSON, for one of its texts.
pub(super) fn any(text: &str, is: impl Fn(&str) -> bool) -> bool {
    let members = || serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap_or_default();
    is(text) || (text.starts_with('[') && members().iter().any(|it| it.as_str().is_some_and(&is)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_texts() {
        for (pattern, texts, others) in [
            ("a%", &["a", "ab", "a%"][..], &["", "ba"][..]),
            ("%b%c", &["bc", "abbcc", "b%c"], &["b", "bcb"]),
            ("_é_", &["aéb"], &["éb", "aéb "]),
            ("%", &["", "x"], &[]),
            ("", &[""], &["x"]),
            ("%aab", &["aaab", "aabaab"], &["aaba"]),
            (r"%\_%", &["_", "a_b"], &["ab", r"\", r"a\b"]),
            (r"1\%", &["1%"], &["1", "12", r"1\%"]),
            (r"a\\%", &[r"a\", r"a\b"], &["a", "a%"]),
            // Before another character, and at the end, a backslash stands for itself.
            (r"c:\dir%", &[r"c:\dir", r"c:\dirs"], &["c:dir"]),
            (r"a\", &[r"a\"], &["a"]),
        ] {
            for text in texts {
                assert!(is_like(text, pattern), "{text} like {pattern}");
            }
            for text in others {
                assert!(!is_like(text, pattern), "{text} not like {pattern}");
            }
        }
        // A pattern with many positions to try must not multiply the work.
        let long = "a".repeat(20_000);
        assert!(!is_like(&long, &("%a".repeat(2000) + "b")));
    }
}
