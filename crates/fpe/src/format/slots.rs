//! What of a text is encrypted, and what is a check.

use super::{Check, Format, Segment, Shape};
use crate::{Alphabet, Error};
use alloc::{string::String, vec::Vec};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) alphabet: Alphabet,
    /// Characters that stay where they are.
    pub(super) pass: String,
    pub(super) keep_prefix: usize,
    pub(super) keep_suffix: usize,
    pub(super) check: Option<Check>,
    /// Everything from the last of this character on is kept.
    pub(super) until: Option<char>,
}

impl Format {
    /// Which characters of a text are encrypted, and which are a check.
    pub(super) fn slots<'a>(&'a self, text: &[char]) -> Result<Slots<'a>, Error> {
        match &self.shape {
            Shape::Text(shape) => shape.slots(text),
            Shape::Pattern(segments) => pattern_slots(segments, text),
            Shape::Ssn | Shape::Date(..) => Ok(Slots::default()),
        }
    }
}

/// Positions in a text.
#[derive(Default)]
pub(super) struct Slots<'a> {
    /// Encrypted, each with its alphabet.
    pub(super) encrypted: Vec<(usize, &'a Alphabet)>,
    /// Symbols that a check is computed over, then the check's own.
    pub(super) checked: Vec<usize>,
    pub(super) check: Option<Check>,
}

impl Text {
    fn slots(&self, text: &[char]) -> Result<Slots<'_>, Error> {
        let end = match self.until {
            None => text.len(),
            Some(until) => {
                let last = text.iter().rposition(|&c| c == until);
                last.ok_or(Error::Symbol { index: text.len() })?
            }
        };
        let is_symbol = |c: char| self.alphabet.numeral(c.into()).is_some();
        // A check may have a symbol of its own, where the last symbol stands: passed characters
        // may follow it, as they may follow a check that is a digit.
        let own = self.check.filter(|check| check.len() == 1).and_then(|_| {
            text[..end]
                .iter()
                .rposition(|&c| is_symbol(c) || !self.pass.contains(c))
        });
        let mut symbols = Vec::with_capacity(end);
        for (index, &c) in text[..end].iter().enumerate() {
            if is_symbol(c) || (own == Some(index) && !self.pass.contains(c)) {
                symbols.push(index);
            } else if !self.pass.contains(c) {
                return Err(Error::Symbol { index });
            }
        }
        let found = symbols.len();
        let drop = self
            .keep_suffix
            .saturating_add(self.check.map_or(0, Check::len));
        if found <= self.keep_prefix.saturating_add(drop) {
            return Err(Error::Length {
                found,
                min: self.keep_prefix.saturating_add(drop).saturating_add(1),
                max: usize::MAX,
            });
        }
        let encrypted = &symbols[self.keep_prefix..found - drop];
        Ok(Slots {
            encrypted: encrypted.iter().map(|&i| (i, &self.alphabet)).collect(),
            check: self.check,
            checked: if self.check.is_some() {
                symbols
            } else {
                Vec::new()
            },
        })
    }
}

fn pattern_slots<'a>(segments: &'a [Segment], text: &[char]) -> Result<Slots<'a>, Error> {
    let mut slots = Slots::default();
    let mut at = 0;
    for segment in segments {
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
