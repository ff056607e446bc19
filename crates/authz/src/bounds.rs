//! Bounds of texts, checked before Cedar's parsers see them.
//!
//! Cedar's parser, validator and evaluator call themselves once for each level of an expression, so the level is bounded
//! here first, by a scan that keeps no more than a number for each open bracket. An operator deepens the expression that
//! stands around it, since `a + b + c` is `(a + b) + c`, and so does an index, as in `a["b"]["c"]`; a comma begins anew.

use crate::Error;
use crate::error::at_most;

/// Most bytes of a text of policies.
pub(crate) const POLICIES: usize = 64 << 20;
/// Most bytes of one policy.
const POLICY: usize = 64 << 10;
/// Most bytes of a schema.
pub(crate) const SCHEMA: usize = 4 << 20;
/// Most levels of an expression: brackets around it, and operators beside it.
const LEVELS: usize = 160;
/// Levels that a bracket or an `if` counts for: the parser goes through all kinds of operators within it.
const BRACKET: usize = 4;

/// Keywords that are operators, or open a part of an expression.
const WORDS: [&str; 9] = [
    "in", "is", "has", "like", "if", "then", "else", "when", "unless",
];

/// Operators of two characters.
const PAIRS: [&[u8; 2]; 6] = [b"&&", b"||", b"==", b"!=", b"<=", b">="];

/// Refuses a text that is too long, one with a policy that is too long, and expressions that are too deep.
///
/// `one` is the most bytes between two semicolons outside of brackets.
pub(crate) fn check(what: &'static str, text: &str, most: usize, one: usize) -> Result<(), Error> {
    at_most(what, text.len(), most)?;
    let (mut open, mut deepest, mut start) = (vec![0_usize], 0_usize, 0);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = step(bytes, at);
        match bytes[at] {
            bracket @ (b'(' | b'[' | b'{') => {
                // The index stays behind its brackets.
                let index = usize::from(bracket == b'[');
                *last(&mut open) += index;
                open.push(0);
                deepest += BRACKET + index;
            }
            b')' | b']' | b'}' if open.len() > 1 => {
                deepest -= BRACKET + open.pop().unwrap_or(0);
            }
            b',' => deepest -= core::mem::take(last(&mut open)),
            b';' => {
                deepest -= core::mem::take(last(&mut open));
                if open.len() == 1 {
                    at_most("bytes of one policy", at - start, one)?;
                    start = at;
                }
            }
            _ if is_operator(&text[at..next]) => {
                let levels = if &text[at..next] == "if" { BRACKET } else { 1 };
                *last(&mut open) += levels;
                deepest += levels;
            }
            _ => {}
        }
        if deepest > LEVELS {
            let (found, most) = (deepest, LEVELS);
            return Err(Error::TooDeep { what, found, most });
        }
        at = next;
    }
    at_most("bytes of one policy", bytes.len() - start, one)
}

/// Bounds of a text of policies.
pub(crate) fn policies(text: &str) -> Result<(), Error> {
    check("bytes of policies", text, POLICIES, POLICY)
}

/// Bounds of a schema.
pub(crate) fn schema(text: &str) -> Result<(), Error> {
    check("bytes of a schema", text, SCHEMA, SCHEMA)
}

fn last(open: &mut [usize]) -> &mut usize {
    let last = open.len() - 1;
    &mut open[last]
}

/// The end of the token at `at`: a string, a comment, a word, or one character.
fn step(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let len = match rest[0] {
        b'"' => {
            let mut end = 1;
            while end < rest.len() && rest[end] != b'"' {
                end += if rest[end] == b'\\' { 2 } else { 1 };
            }
            end + 1
        }
        b'/' if rest.get(1) == Some(&b'/') => {
            let line = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            line.unwrap_or(rest.len())
        }
        byte if rest.len() > 1 && PAIRS.contains(&&[byte, rest[1]]) => 2,
        byte if is_word(byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
        _ => 1,
    };
    (at + len).min(bytes.len())
}

/// Letters, digits, underscores, and every byte of a character beyond ASCII, so that no character is cut.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn is_operator(token: &str) -> bool {
    match token.as_bytes()[0] {
        b'.' | b'+' | b'-' | b'*' | b'!' | b'<' | b'>' | b'=' | b'&' | b'|' | b'/' | b'%' => {
            !token.starts_with("//")
        }
        byte if is_word(byte) => WORDS.contains(&token),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_brackets_and_operators() {
        let nested = |n: usize| {
            format!(
                "permit(principal,action,resource) when {{ {}1{} == 1 }};",
                "(".repeat(n),
                ")".repeat(n)
            )
        };
        assert_eq!(policies(&nested(38)), Ok(()));
        assert!(matches!(policies(&nested(42)), Err(Error::TooDeep { .. })));
        let chain = |n: usize| {
            format!(
                "permit(principal,action,resource) when {{ 1{} == 1 }};",
                "+1".repeat(n)
            )
        };
        assert_eq!(policies(&chain(150)), Ok(()));
        assert!(matches!(policies(&chain(170)), Err(Error::TooDeep { .. })));
        let index = |n: usize| {
            format!(
                "permit(principal,action,resource) when {{ context{} }};",
                "[\"a\"]".repeat(n)
            )
        };
        assert_eq!(policies(&index(140)), Ok(()));
        assert!(matches!(policies(&index(170)), Err(Error::TooDeep { .. })));
        let wide = format!(
            "permit(principal,action,resource) when {{ [{}1].contains(1) }};",
            "1+1,".repeat(5000)
        );
        assert_eq!(policies(&wide), Ok(()));
        let many = "permit(principal,action,resource) when { 1 + 1 == 2 };\n".repeat(1000);
        assert_eq!(policies(&many), Ok(()));
        let quoted = format!(
            "permit(principal,action,resource) when {{ \"{}\\\"\" == \"\" }}; // {}",
            "((((".repeat(500),
            "+".repeat(900)
        );
        assert_eq!(policies(&quoted), Ok(()));
    }

    #[test]
    fn length_of_one_policy_is_bounded() {
        let long = format!(
            "permit(principal,action,resource) when {{ \"{}\" == \"\" }};",
            "a".repeat(POLICY)
        );
        assert!(matches!(
            policies(&long),
            Err(Error::TooLarge {
                what: "bytes of one policy",
                ..
            })
        ));
    }

    #[test]
    fn any_text_is_scanned() {
        for text in [
            "",
            ")",
            "]}",
            "\"",
            "\"\\",
            "é\"é",
            "//",
            "/",
            ";;,,",
            "(,",
            "\u{10FFFF}.",
        ] {
            assert_eq!(policies(text), Ok(()), "{text}");
        }
    }
}
