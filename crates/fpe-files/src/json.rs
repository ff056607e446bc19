//! Transforms one field of JSON lines. The parser reports the position of each value, so all other bytes are written as they were
//! read.

use crate::{
    Error, Transform,
    stream::{Line, after_mark, read_line},
};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    fmt,
    io::{BufRead, Write},
    ops::Range,
};
use zeroize::Zeroizing;

/// The members of an object that are transformed or used as tweaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    /// The member with the values, at the top level of each object.
    pub value: String,
    /// The member with the records' own tweaks.
    pub tweak: Option<String>,
}

/// The positions of two members of an object in its line.
struct Found<'a> {
    value: Option<Range<usize>>,
    tweak: Option<Range<usize>>,
    /// A name that occurs twice, and the positions of the two values.
    twice: Option<(&'a str, [usize; 2])>,
}

/// Records the positions of two members. A name that occurs twice is refused, since programs differ in which value they use.
struct Finder<'a> {
    members: &'a Members,
    line: &'a str,
}

impl<'de> Visitor<'de> for Finder<'de> {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let mut found = Found {
            value: None,
            tweak: None,
            twice: None,
        };
        while let Some(name) = map.next_key::<Name<'de>>()? {
            let raw: &RawValue = map.next_value()?;
            let start = raw.get().as_ptr().addr() - self.line.as_ptr().addr();
            let range = start..start + raw.get().len();
            for (wanted, place) in [
                (Some(&self.members.value), &mut found.value),
                (self.members.tweak.as_ref(), &mut found.tweak),
            ] {
                let Some(wanted) = wanted.filter(|wanted| **wanted == name.0) else {
                    continue;
                };
                if let Some(first) = place.replace(range.clone()) {
                    found.twice = found
                        .twice
                        .or(Some((wanted.as_str(), [first.start, start])));
                }
            }
        }
        Ok(found)
    }
}

/// A name, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text of a member: a string with its escapes resolved, or an empty text for `null`.
fn text(raw: &str) -> Option<Zeroizing<String>> {
    if raw == "null" {
        return Some(Zeroizing::default());
    }
    serde_json::from_str(raw).ok().map(Zeroizing::new)
}

/// The position of an old value in its line, and the new value.
type Changed = (Range<usize>, Zeroizing<String>);

/// The new value of a line. `None` if the member is absent and
/// [empty values are allowed](Transform::keep_empty).
fn work(
    transform: &Transform,
    members: &Members,
    line: &str,
    number: u64,
) -> Result<Option<Changed>, Error> {
    let mut parser = serde_json::Deserializer::from_str(line);
    let finder = Finder { members, line };
    let found = parser.deserialize_map(finder);
    let found = found.and_then(|found| parser.end().map(|()| found));
    // The parser's message may quote the input, so it is not shown.
    let found = found.map_err(|error| Error::Json {
        line: number,
        character: error.column(),
    })?;
    if let Some((member, [first, second])) = found.twice {
        return Err(Error::MemberTwice {
            line: number,
            member: member.to_owned(),
            first: first + 1,
            second: second + 1,
        });
    }
    let missing = |member: &String| Error::NoMember {
        line: number,
        member: member.clone(),
    };
    let no_text = |member: &String| Error::NoText {
        line: number,
        member: member.clone(),
    };
    let place = match found.value {
        None if transform.keep_empty => return Ok(None),
        place => place.ok_or_else(|| missing(&members.value))?,
    };
    let own = match &members.tweak {
        None => Zeroizing::default(),
        Some(member) => {
            let place = found.tweak.ok_or_else(|| missing(member))?;
            text(&line[place]).ok_or_else(|| no_text(member))?
        }
    };
    let value = text(&line[place.clone()]).ok_or_else(|| no_text(&members.value))?;
    if value.is_empty() && transform.keep_empty {
        let same = Zeroizing::new(line[place.clone()].to_owned());
        return Ok(Some((place, same)));
    }
    let at = (number, place.start + 1, members.value.as_str());
    let result = transform.value(own.as_bytes(), value.as_bytes(), at)?;
    let result = serde_json::to_string(&*result).map_err(std::io::Error::from)?;
    Ok(Some((place, Zeroizing::new(result))))
}

/// Transforms one member of the object on every line. All other bytes stay unchanged: other members, their order, white space,
/// blank lines, line ends, a byte-order mark. Errors of lines go to `refused`, unless [`Transform::on_error`] is
/// [`crate::OnError::Stop`]. If empty values are allowed, lines may lack the member, but not all of them.
///
/// # Errors
/// [`Error::OwnTweak`] if the tweaks come from the member with the values. [`Error::Stream`] if reading or writing fails.
/// All other errors name the line. [`Error::Json`] if it is not a JSON object. [`Error::MemberTwice`] or [`Error::NoMember`]
/// if it has two members of the name, or none. [`Error::NoText`] if the member is not a string. [`Error::Value`] or
/// [`Error::Empty`] if the format refuses the value. [`Error::NotUtf8`] if the line is not UTF-8. [`Error::LineLength`] if
/// it is too long.
pub fn transform_json_lines(
    transform: &Transform,
    members: &Members,
    input: &mut dyn BufRead,
    output: &mut impl Write,
    refused: &mut dyn FnMut(Error),
) -> Result<(), Error> {
    if members.tweak.as_ref() == Some(&members.value) {
        let column = members.value.clone();
        return Err(Error::OwnTweak { column });
    }
    let mut input = after_mark(input, output)?;
    let mut buffer = Zeroizing::new(Vec::new());
    let (mut lacking, mut found) = (None, false);
    for number in 1.. {
        let Some(Line { content, end }) = read_line(&mut input, &mut buffer, number)? else {
            break;
        };
        let done = str::from_utf8(content)
            .map_err(|_| Error::NotUtf8 {
                line: number,
                column: 1,
            })
            .and_then(|line| match line.trim().is_empty() {
                true => Ok((0..0, Zeroizing::default())),
                false => {
                    let done = work(transform, members, line, number)?;
                    found |= done.is_some();
                    lacking = lacking.or(done.is_none().then_some(number));
                    Ok(done.unwrap_or_default())
                }
            });
        match done {
            Ok((place, result)) => {
                let (before, after) = (&content[..place.start], &content[place.end..]);
                for part in [before, result.as_bytes(), after, end] {
                    output.write_all(part)?;
                }
            }
            Err(error) => {
                if transform.refuse(error, refused)? {
                    output.write_all(content)?;
                    output.write_all(end)?;
                }
            }
        }
    }
    output.flush()?;
    match lacking {
        // A misspelt name would leave all values readable.
        Some(line) if !found => Err(Error::NoMember {
            line,
            member: members.value.clone(),
        }),
        _ => Ok(()),
    }
}
