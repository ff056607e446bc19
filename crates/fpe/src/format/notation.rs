//! Patterns in one line, for command lines and configuration files.

use super::{Format, Segment};
use crate::{Alphabet, Error};
use alloc::vec::Vec;

/// The largest number of symbols of one segment.
const MOST: usize = 1024;

pub(super) fn alphabet(name: &str) -> Option<Alphabet> {
    Some(match name {
        "digits" => Alphabet::DECIMAL,
        "hex" => Alphabet::HEX,
        "lower" => Alphabet::LOWER,
        "upper" => Alphabet::UPPER,
        "alphanumeric" => Alphabet::ALPHANUMERIC,
        "printable" => Alphabet::PRINTABLE,
        _ => return None,
    })
}

/// Reads a pattern such as `AB-{keep upper:2}-{digits:6}`. Text outside braces is literal.
pub(super) fn pattern(mut text: &str) -> Result<Format, Error> {
    let mut segments = Vec::new();
    while !text.is_empty() {
        let (literal, rest) = text.split_once('{').unwrap_or((text, ""));
        if literal.contains('}') {
            return Err(wrong());
        }
        if !literal.is_empty() {
            segments.push(Segment::Literal(literal.into()));
        }
        if literal.len() == text.len() {
            break;
        }
        let (part, after) = rest.split_once('}').ok_or_else(wrong)?;
        segments.push(segment(part).ok_or_else(wrong)?);
        text = after;
    }
    Ok(Format::pattern("pattern", segments))
}

fn segment(part: &str) -> Option<Segment> {
    let (keep, part) = match part.strip_prefix("keep ") {
        Some(part) => (true, part),
        None => (false, part),
    };
    let (name, len) = part.split_once(':')?;
    let len = len.parse().ok().filter(|len| (1..=MOST).contains(len))?;
    let alphabet = alphabet(name)?;
    Some(match keep {
        true => Segment::Keep(alphabet, len),
        false => Segment::Encrypt(alphabet, len),
    })
}

fn wrong() -> Error {
    Error::Format {
        what: "pattern is to be followed by text and parts such as {digits:6} or {keep upper:2}, of digits, hex, lower, upper, \
               alphanumeric or printable, each of 1 to 1024 symbols",
    }
}
