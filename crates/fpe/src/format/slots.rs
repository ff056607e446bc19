//! The places of a text that are encrypted, and those of its check.

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
    /// The places of the characters that are encrypted, and of those that are a check.
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
    pub(super) check: Option<CheckSlots>,
}

/// The positions that a check concerns.
pub(super) struct CheckSlots {
    pub(super) system: Check,
    /// The symbols that the check is computed over, kept ones among them.
    pub(super) body: Vec<usize>,
    /// The check itself.
    pub(super) tail: Vec<usize>,
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
        // Every character that does not pass is a symbol; the last of them are the check, which
        // alone may have symbols that are not of the alphabet.
        let (mut body, mut strangers) = (Vec::with_capacity(end), Vec::new());
        for (index, &c) in text[..end].iter().enumerate() {
            if self.alphabet.numeral(c.into()).is_none() {
                if self.pass.contains(c) {
                    continue;
                }
                strangers.push(index);
            }
            body.push(index);
        }
        let found = body.len();
        let tail = body.split_off(found.saturating_sub(self.check.map_or(0, Check::width)));
        let in_check = |c| self.check.is_some_and(|check| check.ends_in(c));
        let belongs = |i: &&usize| tail.contains(i) && in_check(text[**i]);
        if let Some(&index) = strangers.iter().find(|i| !belongs(i)) {
            return Err(Error::Symbol { index });
        }
        let kept = self.keep_prefix.saturating_add(self.keep_suffix);
        if body.len() <= kept {
            let min = kept.saturating_add(self.check.map_or(0, Check::width));
            return Err(Error::Length {
                found,
                min: min.saturating_add(1),
                max: usize::MAX,
            });
        }
        let encrypted = &body[self.keep_prefix..body.len() - self.keep_suffix];
        Ok(Slots {
            encrypted: encrypted.iter().map(|&i| (i, &self.alphabet)).collect(),
            check: self.check.map(|system| CheckSlots { system, body, tail }),
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
