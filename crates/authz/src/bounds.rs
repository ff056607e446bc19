//! Bounds of texts, checked before Cedar's parsers see them.
//!
//! Cedar's parser, validator and evaluator call themselves once for each level of an expression. So this module bounds
//! the number of levels first, by a scan that keeps only one number for each open bracket. An operator adds a level to
//! the expression around it, since `a + b + c` is `(a + b) + c`. So does an index, as in `a["b"]["c"]`. After a comma
//! the count begins again.

use crate::Error;
use crate::error::at_most;
use crate::places::{Places, place};
use crate::tokens::step;

/// The largest number of bytes of a text of policies.
pub(crate) const POLICIES: usize = 64 << 20;
/// The largest number of bytes of one policy.
const POLICY: usize = 64 << 10;
/// The largest number of bytes of a schema.
pub(crate) const SCHEMA: usize = 4 << 20;
/// The largest number of levels of an expression: the brackets around it, and the operators next to it.
const LEVELS: usize = 160;
/// The levels that a bracket or an `if` adds: the parser goes through all kinds of operators inside it.
const BRACKET: usize = 4;

/// Keywords that are operators, or open a part of an expression.
const WORDS: [&str; 9] = [
    "in", "is", "has", "like", "if", "then", "else", "when", "unless",
];

/// Checks the length of a text, the length of each policy, and the depth of each expression.
///
/// `one` is the largest number of bytes between two semicolons outside of brackets. `name` names the policy that
/// contains a byte.
pub(crate) fn check(
    what: &'static str,
    text: &str,
    (most, one): (usize, usize),
    name: impl Fn(usize) -> String,
) -> Result<(), Error> {
    at_most(what, text.len(), most)?;
    let one_policy = |start: usize, end: usize| match end - start <= one {
        true => Ok(()),
        false => at_most(&format!("bytes of {}", name(end - 1)), end - start, one),
    };
    let (mut open, mut deepest, mut start) = (vec![0_usize], 0_usize, 0);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = step(text, at);
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
                    one_policy(start, at)?;
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
            let (what, found, most) = (name(at), deepest, LEVELS);
            return Err(Error::Expression { what, found, most });
        }
        at = next;
    }
    one_policy(start, bytes.len())
}

/// Checks the bounds of a text of policies.
pub(crate) fn policies(text: &str) -> Result<(), Error> {
    check("bytes of policies", text, (POLICIES, POLICY), |at| {
        let places = Places::of(text);
        places.named(places.around(at))
    })
}

/// Checks the bounds of a schema.
pub(crate) fn schema(text: &str) -> Result<(), Error> {
    check("bytes of a schema", text, (SCHEMA, SCHEMA), |at| {
        format!("schema, {}", place(text, at))
    })
}

fn last(open: &mut [usize]) -> &mut usize {
    let last = open.len() - 1;
    &mut open[last]
}

fn is_operator(token: &str) -> bool {
    match token.as_bytes()[0] {
        b'.' | b'+' | b'-' | b'*' | b'!' | b'<' | b'>' | b'=' | b'&' | b'|' | b'/' | b'%' => {
            !token.starts_with("//")
        }
        _ => WORDS.contains(&token),
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
        assert!(matches!(
            policies(&nested(42)),
            Err(Error::Expression { .. })
        ));
        let chain = |n: usize| {
            format!(
                "permit(principal,action,resource) when {{ 1{} == 1 }};",
                "+1".repeat(n)
            )
        };
        assert_eq!(policies(&chain(150)), Ok(()));
        assert!(matches!(
            policies(&chain(170)),
            Err(Error::Expression { .. })
        ));
        let index = |n: usize| {
            format!(
                "permit(principal,action,resource) when {{ context{} }};",
                "[\"a\"]".repeat(n)
            )
        };
        assert_eq!(policies(&index(140)), Ok(()));
        assert!(matches!(
            policies(&index(170)),
            Err(Error::Expression { .. })
        ));
        // Blanks outside ASCII separate tokens; a number may have no blank behind it.
        for blank in [" ", "\u{a0}", "\u{3000}"] {
            let ifs = |n: usize| {
                format!(
                    "permit(principal,action,resource) when {{ {}true{} }};",
                    format!("if{blank}1==1then{blank}").repeat(n),
                    format!("{blank}else{blank}true").repeat(n)
                )
            };
            assert_eq!(policies(&ifs(20)), Ok(()));
            assert!(
                matches!(policies(&ifs(30)), Err(Error::Expression { .. })),
                "{blank:?}"
            );
        }
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
        let error = policies(&long).unwrap_err().to_string();
        assert!(
            error.starts_with("bytes of policy policy0 at line 1, column 1: "),
            "{error}"
        );
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
