//! Splits policies and schemas into tokens: brackets, operators and names.

/// The operators of two characters.
const PAIRS: [&[u8; 2]; 6] = [b"&&", b"||", b"==", b"!=", b"<=", b">="];

/// The tokens from a byte on, without blanks and comments.
pub(crate) fn tokens(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = start;
    let all = core::iter::from_fn(move || {
        let next = (at < text.len()).then(|| step(text, at))?;
        let token = (at, &text[at..next]);
        at = next;
        Some(token)
    });
    all.filter(|(_, token)| !token.starts_with(char::is_whitespace) && !token.starts_with("//"))
}

/// The end of the token at `at`: a string, a comment, a word, or one character.
pub(crate) fn step(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
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
        // A word may follow a number without a blank, as in `1then`.
        b'0'..=b'9' => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        byte if rest.len() > 1 && PAIRS.contains(&&[byte, rest[1]]) => 2,
        _ => {
            let word = text[at..].find(|c| !is_word(c));
            let one = text[at..].chars().next().map_or(1, char::len_utf8);
            word.unwrap_or(rest.len()).max(one)
        }
    };
    (at + len).min(text.len())
}

/// True for letters, digits, underscores, and every character beyond ASCII that is not blank. Cedar also has blanks
/// beyond ASCII.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_cedars() {
        let text = "if\u{a0}1then \"a // \\\" b\"// c\n\u{3000}else::é==b_1[0]\u{2028}";
        let found: Vec<&str> = tokens(text, 0).map(|(_, token)| token).collect();
        let expected = [
            "if",
            "1",
            "then",
            "\"a // \\\" b\"",
            "else",
            ":",
            ":",
            "é",
            "==",
            "b_1",
            "[",
            "0",
            "]",
        ];
        assert_eq!(found, expected);
    }
}
