//! Compiled conditions.

use crate::names::Node;
use crate::value::{EntityUid, Value};

/// An expression that can be compiled. Extension functions, tags, and records with parts that are not constant are left to
/// Cedar.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Const(Value),
    Entity(EntityUid, Node),
    Principal,
    Action,
    Resource,
    Context,
    Not(Box<Expr>),
    Negate(Box<Expr>),
    IsEmpty(Box<Expr>),
    And(Box<[Expr; 2]>),
    Or(Box<[Expr; 2]>),
    Binary(Operator, Box<[Expr; 2]>),
    /// The value is in at least one of these entities.
    InAny(Box<Expr>, Box<[Node]>),
    Attribute(Box<Expr>, Box<str>),
    /// The value has the first attribute, that attribute's value has the second, and so on.
    Has(Box<Expr>, Box<[Box<str>]>),
    Like(Box<Expr>, Pattern),
    Is(Box<Expr>, Box<str>),
    If(Box<[Expr; 3]>),
    Set(Box<[Expr]>),
}

/// The operators that evaluate both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Less,
    LessEqual,
    Add,
    Subtract,
    Multiply,
    In,
    Contains,
    ContainsAll,
    ContainsAny,
}

/// A pattern of `like`: pieces of text, with anything between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(Box<[Box<str>]>);

impl Pattern {
    /// The pattern of these pieces; there must be at least one.
    pub(crate) fn new(pieces: Vec<String>) -> Self {
        Self(pieces.into_iter().map(String::into_boxed_str).collect())
    }

    /// True if `text` consists of the pieces in order, with anything between them.
    ///
    /// Each inner piece is matched at its first occurrence, which leaves the most text for the remaining pieces. In UTF-8
    /// a piece occurs among the bytes only where it occurs among the characters.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match &*self.0 {
            [] => text.is_empty(),
            [only] => text == &**only,
            [first, inner @ .., last] => {
                let Some(mut rest) = text.strip_prefix(&**first) else {
                    return false;
                };
                for piece in inner {
                    let Some(at) = rest.find(&**piece) else {
                        return false;
                    };
                    rest = &rest[at + piece.len()..];
                }
                rest.ends_with(&**last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let pattern = |text: &str| Pattern::new(text.split('*').map(str::to_owned).collect());
        for (text, matches) in [
            ("a*b", vec!["ab", "aab", "axb"]),
            ("*", vec!["", "a", "\u{1F512}"]),
            ("", vec![""]),
            ("a", vec!["a"]),
            ("*a*a*", vec!["aa", "baba"]),
            ("aa*aa", vec!["aaaa", "aaaaa"]),
            ("é*é", vec!["éé", "éaé"]),
        ] {
            for text_of in [
                "",
                "a",
                "ab",
                "aab",
                "axb",
                "\u{1F512}",
                "aa",
                "baba",
                "aaa",
                "aaaa",
                "aaaaa",
                "é",
                "éé",
                "éaé",
            ] {
                assert_eq!(
                    pattern(text).matches(text_of),
                    matches.contains(&text_of)
                        || text == "*"
                        || (text == "*a*a*" && text_of.matches('a').count() > 1),
                    "{text} {text_of}"
                );
            }
        }
    }
}
