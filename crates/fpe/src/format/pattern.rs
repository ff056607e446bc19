//! Texts that are a fixed sequence of segments.

use super::{Segment, slots::Slots};
use crate::Error;
use alloc::vec::Vec;
use zeroize::Zeroizing;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(pub(super) Vec<Segment>);

/// A text with all separators, and the positions of those that were missing in the input.
pub(super) struct Separated {
    pub(super) text: Zeroizing<Vec<char>>,
    added: Vec<usize>,
}

impl Pattern {
    /// The positions in a text that has all separators.
    pub(super) fn slots(&self, text: &[char]) -> Result<Slots<'_>, Error> {
        let mut slots = Slots::default();
        let mut at = 0;
        for segment in &self.0 {
            match segment {
                Segment::Literal(literal) => {
                    for expected in literal.chars() {
                        if text.get(at) != Some(&expected) {
                            return Err(Error::Symbol { index: at });
                        }
                        at += 1;
                    }
                }
                Segment::Keep(alphabet, len) | Segment::Encrypt(alphabet, len) => {
                    let encrypt = matches!(segment, Segment::Encrypt(..));
                    for _ in 0..*len {
                        let symbol = text.get(at).copied().map(u32::from);
                        if symbol.and_then(|symbol| alphabet.numeral(symbol)).is_none() {
                            return Err(Error::Symbol { index: at });
                        }
                        if encrypt {
                            slots.encrypted.push((at, alphabet));
                        }
                        at += 1;
                    }
                }
            }
        }
        if at < text.len() {
            return Err(Error::Symbol { index: at });
        }
        Ok(slots)
    }

    /// Adds all separators of the pattern to a text that has none. It leaves every other text unchanged; if that is
    /// wrong, a later check names the position.
    pub(super) fn separated(&self, text: Zeroizing<Vec<char>>) -> Separated {
        self.put_in(&text).unwrap_or(Separated {
            text,
            added: Vec::new(),
        })
    }

    /// The text with separators added, if its length is that of a text without any.
    fn put_in(&self, text: &[char]) -> Option<Separated> {
        let mut rest = text;
        // The capacity is exact, so that growth leaves no memory behind that is not erased.
        let literals = self.0.iter().map(|segment| match segment {
            Segment::Literal(literal) => literal.len(),
            _ => 0,
        });
        let len = literals.fold(text.len(), usize::saturating_add);
        let mut whole = Zeroizing::new(Vec::with_capacity(len));
        let mut added = Vec::new();
        for segment in &self.0 {
            let len = match segment {
                Segment::Literal(literal) if !literal.contains(char::is_alphanumeric) => {
                    for separator in literal.chars() {
                        added.push(whole.len());
                        whole.push(separator);
                    }
                    continue;
                }
                Segment::Literal(literal) => literal.chars().count(),
                Segment::Keep(_, len) | Segment::Encrypt(_, len) => *len,
            };
            let (next, after) = rest.split_at_checked(len)?;
            whole.extend_from_slice(next);
            rest = after;
        }
        (rest.is_empty() && !added.is_empty()).then_some(Separated { text: whole, added })
    }
}

impl Separated {
    /// Removes the separators that were added.
    pub(super) fn restore(&mut self) {
        for &at in self.added.iter().rev() {
            self.text.remove(at);
        }
    }

    /// Converts an error's position to the position in the caller's text.
    pub(super) fn place(&self, error: Error) -> Error {
        match error {
            Error::Symbol { index } => {
                let before = self.added.iter().filter(|&&at| at < index).count();
                let index = index - before;
                Error::Symbol { index }
            }
            error => error,
        }
    }
}
