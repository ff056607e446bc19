//! Names of labels, readers and groups.

use super::{MAX_NAME, UNLABELLED, access};
use sordino_index::Error;

/// Checks that a text can be the name of a label.
///
/// # Errors
/// [`Error::Access`] if the text cannot be a name.
pub fn check_label(label: &str) -> Result<(), Error> {
    check_name("label", label)
}

/// Refuses a text that cannot be a name, or that a person could confuse with another name on a screen.
pub(super) fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let fits = name != UNLABELLED && name.len() <= MAX_NAME;
    match fits && name.trim() == name && is_shown(name) {
        true => Ok(()),
        false => Err(access(
            what,
            name,
            "a name has 1 to 64 bytes, no control characters, invisible ones or accents apart from their letter, and no space at its ends",
        )),
    }
}

/// True if every character of a name is visible and has one form. Combining marks without a base are refused, since they
/// could make a different name look the same. Letters of two scripts that look alike are not distinguished.
fn is_shown(name: &str) -> bool {
    let blank = |c: char| {
        matches!(
            c,
            '\u{300}'..='\u{36f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{16fe4}' | '\u{1d159}' | '\u{e0100}'..='\u{e01ef}'
        )
    };
    // The standard library escapes characters without a visible form: control and format characters, other spaces, unassigned
    // ones.
    let plain = name.replace(['\\', '"', '\''], "");
    plain.escape_debug().eq(plain.chars()) && !plain.contains(blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_drawn_whole() {
        for name in [
            "research",
            "a b",
            "it's \"x\"",
            "a\\b",
            "Zoë",
            "हिन्दी",
            "研究",
            "a+b=c, d/e",
            "résumé",
        ] {
            assert!(check_label(name).is_ok(), "{name}");
        }
        for name in [
            "",
            " a",
            "a ",
            "a\n",
            "a\u{0}",
            "a\u{200b}b",
            "a\u{ad}",
            "\u{feff}a",
            "a\u{202e}b",
            "a\u{2060}",
            "a\u{a0}b",
            "a\u{3164}",
            "a\u{fe0f}",
            "a\u{e0020}",
            "\u{2800}",
            "a\u{34f}b",
            "a\u{2028}b",
            "\u{301}a",
            "re\u{301}sume\u{301}",
            "a\u{16fe4}",
            "a\u{1d159}b",
        ] {
            assert!(check_label(name).is_err(), "{name:?}");
        }
    }
}
