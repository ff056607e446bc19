//! The positions of a text that are encrypted, and the positions of its check.

use super::{Check, Format, Shape};
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
    /// If set, the text from the last occurrence of this character on is kept.
    pub(super) until: Option<char>,
    /// The alphabet of the first symbol, if it has its own.
    pub(super) first: Option<Alphabet>,
}

impl Format {
    /// The positions of the encrypted characters, and of the characters of a check.
    pub(super) fn slots<'a>(&'a self, text: &[char]) -> Result<Slots<'a>, Error> {
        match &self.shape {
            Shape::Text(shape) => shape.slots(text),
            Shape::Pattern(segments) => segments.slots(text),
            Shape::Ssn | Shape::Date(..) => Ok(Slots::default()),
        }
    }
}

/// Positions in a text.
#[derive(Default)]
pub(super) struct Slots<'a> {
    /// The encrypted positions, each with its alphabet.
    pub(super) encrypted: Vec<(usize, &'a Alphabet)>,
    pub(super) check: Option<CheckSlots>,
    /// Positions of characters that are not part of the value.
    pub(super) spelling: Vec<usize>,
    /// The start of the part in which case does not count, if there is one.
    pub(super) caseless: Option<usize>,
}

/// The positions that a check concerns.
pub(super) struct CheckSlots {
    pub(super) system: Check,
    /// The symbols from which the check is computed, including kept ones.
    pub(super) body: Vec<usize>,
    /// The symbols of the check.
    pub(super) tail: Vec<usize>,
}

impl Text {
    /// The symbols that are not encrypted.
    pub(super) fn kept(&self) -> usize {
        let kept = self.keep_prefix.saturating_add(self.keep_suffix);
        kept.saturating_add(self.check.map_or(0, Check::width))
    }

    fn slots(&self, text: &[char]) -> Result<Slots<'_>, Error> {
        let end = match self.until {
            None => text.len(),
            Some(until) => {
                let last = text.iter().rposition(|&c| c == until);
                let last = last.ok_or(Error::Symbol { index: text.len() })?;
                // Without a domain the text is not an address.
                if text[last + 1..].iter().all(|c| c.is_whitespace()) {
                    return Err(Error::Symbol { index: last + 1 });
                }
                last
            }
        };
        // Every character that does not pass is a symbol. The last symbols are the check, and only they may lie
        // outside the alphabet.
        let (mut body, mut strangers) = (Vec::with_capacity(end), Vec::new());
        let mut spelling = Vec::new();
        for (index, &c) in text[..end].iter().enumerate() {
            if self.alphabet.numeral(c.into()).is_none() {
                if self.pass.contains(c) {
                    // If `until` is set, passing characters before it are part of the value, like dots in a
                    // mailbox's name.
                    if self.until.is_none() {
                        spelling.push(index);
                    }
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
            return Err(Error::Length {
                found,
                min: self.kept().saturating_add(1),
                max: usize::MAX,
            });
        }
        spelling.extend((end..text.len()).filter(|&index| text[index].is_whitespace()));
        let encrypted = &body[self.keep_prefix..body.len() - self.keep_suffix];
        let encrypted = encrypted.iter().map(|&i| (i, &self.alphabet));
        let mut encrypted: Vec<(usize, &Alphabet)> = encrypted.collect();
        if let (Some(first), Some((_, alphabet))) = (&self.first, encrypted.first_mut()) {
            *alphabet = first;
        }
        Ok(Slots {
            encrypted,
            check: self.check.map(|system| CheckSlots { system, body, tail }),
            spelling,
            caseless: self.until.map(|_| end),
        })
    }
}
