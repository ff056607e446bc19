//! Tests of texts: patterns, members of lists, instants.

use super::Value;

/// True if a text fits a pattern, in which `%` stands for any signs, and `_` for one.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    // The pattern after the last %, and the text that is still to be tried.
    let mut again = None;
    loop {
        let before = (text.clone(), pattern.clone());
        match (pattern.next(), text.next()) {
            (Some('%'), _) => {
                text = before.0;
                again = Some((text.clone(), pattern.clone()));
            }
            (Some('_'), Some(_)) => (),
            (Some(wanted), Some(found)) if wanted == found => (),
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

/// True if a list, as JSON, has this member. A text that is no list is the only member of its own.
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

/// True of an instant by ISO 8601 that is not in UTC: as texts, instants of several offsets have no order.
pub(super) fn has_offset(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', ' ']) else {
        return false;
    };
    let digits = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_digit() || b".:-".contains(&byte))
    };
    let Some((clock, offset)) = time.rsplit_once(['+', '-']) else {
        return false;
    };
    date.len() >= 10 && clock.contains(':') && digits(date) && digits(clock) && digits(offset)
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
        ] {
            for text in texts {
                assert!(is_like(text, pattern), "{text} like {pattern}");
            }
            for text in others {
                assert!(!is_like(text, pattern), "{text} not like {pattern}");
            }
        }
        // Many places to try are no reason for many times the work.
        let long = "a".repeat(20_000);
        assert!(!is_like(&long, &("%a".repeat(2000) + "b")));
    }

    #[test]
    fn instants_of_other_zones_are_known() {
        for text in ["2026-01-01T00:00:00+02:00", "2026-01-01 10:00-0530"] {
            assert!(has_offset(text), "{text}");
        }
        for text in [
            "2026-01-01",
            "2026-01-01T00:00:00Z",
            "2026-01-01 10:00:00.5",
            "a T-1",
            "2026-01-01T00",
            "well-known T-shirt: a-b",
        ] {
            assert!(!has_offset(text), "{text}");
        }
    }
}
