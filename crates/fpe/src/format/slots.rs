//! The places of a text that are encrypted, and the places of its check.

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
    /// Everything from the last of this character on is kept.
    pub(super) until: Option<char>,
    /// The alphabet of the first symbol, if that is another.
    pub(super) first: Option<Alphabet>,
}

impl Format {
    /// The places of the characters that are encrypted, and of the characters that are a check.
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
    /// Encrypted, each with its alphabet.
    pub(super) encrypted: Vec<(usize, &'a Alphabet)>,
    pub(super) check: Option<CheckSlots>,
    /// Characters that are no part of the value.
    pub(super) spelling: Vec<usize>,
    /// Where a part of the text begins whose capitals count as small letters, if it has one.
    pub(super) caseless: Option<usize>,
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
                // Without a domain behind it, it is no address.
                if text[last + 1..].iter().all(|c| c.is_whitespace()) {
                    return Err(Error::Symbol { index: last + 1 });
                }
                last
            }
        };
        // Every character that does not pass is a symbol. The last ones are the check, which alone may have symbols
        // that are not of the alphabet.
        let (mut body, mut strangers) = (Vec::with_capacity(end), Vec::new());
        let mut spelling = Vec::new();
        for (index, &c) in text[..end].iter().enumerate() {
            if self.alphabet.numeral(c.into()).is_none() {
                if self.pass.contains(c) {
                    // In what comes before `until` they are part of the value, as dots are in a mailbox's name.
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
