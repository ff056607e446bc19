//! Line and column numbers in texts of policies and schemas, for messages.

use miette::Diagnostic;

use crate::tokens::tokens;

/// A text of policies, and the byte at which each policy begins.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Places<'a> {
    /// Finds the policies of a text. A semicolon outside of brackets ends a policy.
    pub(crate) fn of(text: &'a str) -> Self {
        let (mut starts, mut open, mut begun) = (Vec::new(), 0_usize, false);
        for (at, token) in tokens(text, 0) {
            if !begun {
                starts.push(at);
            }
            begun = true;
            match token {
                "(" | "[" | "{" => open += 1,
                ")" | "]" | "}" => open = open.saturating_sub(1),
                ";" if open == 0 => begun = false,
                _ => {}
            }
        }
        Self { text, starts }
    }

    /// The number of the policy that contains byte `at`, counted from 0 as Cedar does.
    pub(crate) fn around(&self, at: usize) -> usize {
        let before = self.starts.partition_point(|start| *start <= at);
        before.saturating_sub(1)
    }

    /// The line and column of the policy with this number.
    pub(crate) fn of_policy(&self, number: usize) -> String {
        let start = self.starts.get(number);
        place(self.text, start.copied().unwrap_or(self.text.len()))
    }

    /// The name of the policy with this number, and its place.
    pub(crate) fn named(&self, number: usize) -> String {
        format!("policy {} at {}", self.id(number), self.of_policy(number))
    }

    /// The policy's `@id`, or else the name that Cedar gives the policy.
    pub(crate) fn id(&self, number: usize) -> String {
        let start = self.starts.get(number);
        let id = start.and_then(|start| self.id_at(*start));
        id.map_or_else(|| format!("policy{number}"), str::to_owned)
    }

    /// The annotation `@id` of a policy, read from the text, since the policy may not parse.
    fn id_at(&self, start: usize) -> Option<&'a str> {
        let mut tokens = tokens(self.text, start).map(|(_, token)| token);
        while tokens.next()? == "@" {
            let name = tokens.next()?;
            let [open, value, close] = [tokens.next()?, tokens.next()?, tokens.next()?];
            if (open, close) != ("(", ")") {
                return None;
            }
            if name == "id" {
                let id = value.strip_prefix('"')?.strip_suffix('"')?;
                return Some(id).filter(|id| !id.is_empty());
            }
        }
        None
    }
}

/// The line and column of a byte, from 1, columns in characters.
pub(crate) fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = 1 + before[start..].chars().count();
    format!("line {line}, column {column}")
}

/// A Cedar error with its line and column before it, and Cedar's advice behind it.
pub(crate) fn placed(text: &str, error: &dyn Diagnostic) -> String {
    let place = offset(error).map(|at| format!("{}: ", place(text, at)));
    let advice = error.help().map(|advice| format!(" ({advice})"));
    format!(
        "{}{error}{}",
        place.unwrap_or_default(),
        advice.unwrap_or_default()
    )
}

/// The byte that a Cedar error points at.
pub(crate) fn offset(error: &dyn Diagnostic) -> Option<usize> {
    Some(error.labels()?.next()?.offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_have_places_and_names() {
        let text = "// é; one\npermit(principal, action, resource) when { \";\" == \";\" };\n\
                    é @note(\"a\") @id(\"b;\") forbid(principal, action, resource);  @id permit(principal, action, resource);\n";
        let places = Places::of(text);
        assert_eq!(places.starts.len(), 3);
        let text = text.replace("é @", "  @");
        let places = Places::of(&text);
        assert_eq!(places.named(0), "policy policy0 at line 2, column 1");
        assert_eq!(places.named(1), "policy b; at line 3, column 3");
        let third = format!("policy policy2 at {}", places.of_policy(2));
        assert_eq!(places.named(2), third);
        assert!(third.ends_with("line 3, column 62"), "{third}");
        assert_eq!(places.around(text.find("forbid").unwrap()), 1);
        assert_eq!(places.around(0), 0);
        assert_eq!(places.around(text.len()), 2);
        for text in ["", ";", ";;", "é", "@", "@id(", "//", "\"", "\"\\", ")];"] {
            Places::of(text).named(1);
        }
    }
}
