//! A line of an owner's pins: the version that the owner knows of the index in a place.

use std::fmt;
use std::path::Path;

use sordino_index::{Pin, SignedManifest};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) place: String,
    pub(super) pin: Pin,
}

/// The newest known version of an index, in any place.
pub(super) fn newest(lines: &[Line], index: &[u8; 16]) -> Option<Pin> {
    let of = lines.iter().filter(|line| line.pin.index == *index);
    of.map(|line| line.pin).max_by_key(|pin| pin.version)
}

/// The versions from which a version in the place with these names must follow. They belong to the index that was there
/// before. If the place is new, they belong to the version's own index.
pub(super) fn expected(lines: &[Line], places: &[String], found: &SignedManifest) -> Vec<Pin> {
    let there = places
        .iter()
        .flat_map(|place| lines.iter().filter(move |line| line.place == *place));
    let mut indexes: Vec<[u8; 16]> = there.map(|line| line.pin.index).collect();
    if indexes.is_empty() {
        indexes.push(found.index);
    }
    let known = indexes.iter().filter_map(|index| newest(lines, index));
    known.collect()
}

/// A folder's name as text. Different folders have different texts.
pub(super) fn name(folder: &Path) -> String {
    let mut name = String::new();
    for chunk in folder.as_os_str().as_encoded_bytes().utf8_chunks() {
        name += chunk.valid();
        let wrong = chunk.invalid().iter();
        name.extend(wrong.map(|byte| format!("\0{byte:02x}")));
    }
    name
}

/// Replaces everything known of the version's index, and the index in this place, by this version.
pub(super) fn put(lines: &mut Vec<Line>, place: &str, pin: Pin) {
    lines.retain(|line| line.place != place || line.pin.index == pin.index);
    for line in lines.iter_mut().filter(|line| line.pin.index == pin.index) {
        line.pin = pin;
    }
    if lines.iter().all(|line| line.place != place) {
        let place = place.to_owned();
        lines.push(Line { place, pin });
    }
}

/// Like [`put`], unless a known version of this index is the same or newer. In that case the known version is written
/// in this place.
pub(super) fn raise(lines: &mut Vec<Line>, place: &str, pin: Pin) {
    let known = newest(lines, &pin.index);
    let known = known.filter(|known| known.version >= pin.version);
    put(lines, place, known.unwrap_or(pin));
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, pin } = self;
        hex(out, &pin.index)?;
        write!(out, " {} ", pin.version)?;
        hex(out, &pin.manifest)?;
        out.write_str(" ")?;
        for c in place.chars() {
            match c {
                '%' | '\0'..='\x1f' | '\x7f' => write!(out, "%{:02X}", u32::from(c))?,
                c => write!(out, "{c}")?,
            }
        }
        Ok(())
    }
}

fn hex(out: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

impl Line {
    /// The line in this text, if it is valid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let [index, version, manifest, place] = fields(text)?;
        let pin = Pin {
            index: bytes(index)?,
            version: version.parse().ok()?,
            manifest: bytes(manifest)?,
        };
        let mut pieces = place.split('%');
        let mut place = pieces.next()?.to_owned();
        for piece in pieces {
            let (code, rest) = piece.split_at_checked(2)?;
            place.push(char::from(u8::from_str_radix(code, 16).ok()?));
            place += rest;
        }
        let line = Self { place, pin };
        // Each line has only one text.
        (line.to_string() == text).then_some(line)
    }
}

/// The first three words, and the rest.
fn fields(text: &str) -> Option<[&str; 4]> {
    let (index, rest) = text.split_once(' ')?;
    let (version, rest) = rest.split_once(' ')?;
    let (manifest, place) = rest.split_once(' ')?;
    Some([index, version, manifest, place])
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if hex.len() != 2 * N || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(index: u8, version: u64, place: &str) -> Line {
        let pin = Pin {
            index: [index; 16],
            version,
            manifest: [0xa0; 32],
        };
        let place = place.to_owned();
        Line { place, pin }
    }

    #[test]
    fn a_line_is_read_back_whatever_its_place_is_called() {
        for place in ["/srv/base", "s3://bucket/a b", "/100% é\n\r\t", "", "%41"] {
            let line = line(7, u64::MAX, place);
            let text = line.to_string();
            assert!(!text.contains('\n'));
            assert_eq!(Line::parse(&text), Some(line), "{text}");
        }
        let text = line(7, 12, "/a").to_string();
        for at in 0..text.len() - 2 {
            assert_ne!(Line::parse(&text[..at]), Some(line(7, 12, "/a")), "{at}");
        }
        for wrong in [
            text.replace(" 12 ", " 012 "),
            text.replace(" 12 ", " -1 "),
            text.replace("a0", "A0"),
            format!("{text}%"),
            format!("{text}%4"),
            format!("{text}%41"),
            format!("{text}%é"),
        ] {
            assert_eq!(Line::parse(&wrong), None, "{wrong}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn folders_have_names_of_their_own_whatever_their_bytes_are() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let names = [
            &b"/a\xff"[..],
            b"/a\xfe",
            b"/a\xef\xbf\xbd",
            b"/a",
            b"/\xffa",
        ];
        let names = names.map(|bytes| name(Path::new(OsStr::from_bytes(bytes))));
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name));
            let line = line(7, 1, name);
            assert_eq!(Line::parse(&line.to_string()), Some(line));
        }
    }

    #[test]
    fn an_index_has_one_version_in_all_its_places_and_a_place_one_index() {
        let mut lines = vec![line(1, 3, "/a"), line(2, 9, "/b")];
        put(&mut lines, "/c", line(1, 4, "").pin);
        assert_eq!(
            lines,
            [line(1, 4, "/a"), line(2, 9, "/b"), line(1, 4, "/c")]
        );
        assert_eq!(newest(&lines, &[1; 16]), Some(line(1, 4, "").pin));
        raise(&mut lines, "/c", line(1, 3, "").pin);
        raise(&mut lines, "/d", line(2, 8, "").pin);
        assert_eq!(
            lines,
            [
                line(1, 4, "/a"),
                line(2, 9, "/b"),
                line(1, 4, "/c"),
                line(2, 9, "/d")
            ]
        );
        lines.pop();
        put(&mut lines, "/a", line(3, 1, "").pin);
        assert_eq!(
            lines,
            [line(2, 9, "/b"), line(1, 4, "/c"), line(3, 1, "/a")]
        );
        assert_eq!(newest(&lines, &[4; 16]), None);
    }
}
