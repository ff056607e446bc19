//! Real fields: what of a text is encrypted, what is kept, and what is recomputed.
//!
//! The symbols to be encrypted, wherever they stand in the text, are one value: a numeral string
//! where they are all of one alphabet, else an integer of mixed radix that walks within FF1 over
//! bits. Everything kept is bound into the tweak.

mod calendar; // days and dates
mod check; // check digits
mod cipher; // a format under a key
mod name; // formats by name
mod preset; // well-known fields
mod range; // fields that are integers of a range
mod slots; // what of a text is encrypted

use crate::{Alphabet, Error, aes::Key};
use alloc::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
pub use check::Check;
pub use cipher::FormatCipher;
use slots::Text;

/// A part of a [`Format::pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// This text, as it is.
    Literal(String),
    /// So many symbols of the alphabet, kept.
    Keep(Alphabet, usize),
    /// So many symbols of the alphabet, encrypted.
    Encrypt(Alphabet, usize),
}

/// The shape of a field.
///
/// ```
/// use sordino_fpe::Format;
///
/// let cards = Format::pan().cipher(&[7; 16])?;
/// let hidden = cards.encrypt(b"shop", "4111 1111 1111 1111")?;
/// assert!(hidden.starts_with("4111 11") && hidden.ends_with(" 1111"));
/// assert_eq!(cards.decrypt(b"shop", &hidden)?, "4111 1111 1111 1111");
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    shape: Shape,
    /// What tells this format from every other: bound into the tweak.
    identity: Vec<u8>,
    small: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// Symbols of one alphabet among characters that pass.
    Text(Text),
    /// A fixed sequence of segments.
    Pattern(Vec<Segment>),
    /// Nine digits that the numbering of the United States allows.
    Ssn,
    /// Dates from a first day to a last.
    Date(u32, u32),
}

impl Format {
    /// Any number of symbols of one alphabet; the characters of `pass` stay where they are. The
    /// name is part of the format's identity.
    #[must_use]
    pub fn text(name: &str, alphabet: Alphabet, pass: &str) -> Self {
        let parts = [
            b"text",
            name.as_bytes(),
            alphabet.to_string().as_bytes(),
            pass.as_bytes(),
        ]
        .map(<[u8]>::to_vec);
        let text = Text {
            alphabet,
            pass: pass.into(),
            keep_prefix: 0,
            keep_suffix: 0,
            check: None,
            until: None,
        };
        Self::new(Shape::Text(text), &parts.each_ref().map(Vec::as_slice))
    }

    /// Segments one after another. The name is part of the format's identity.
    #[must_use]
    pub fn pattern(name: &str, segments: Vec<Segment>) -> Self {
        let mut parts = vec![b"pattern".to_vec(), name.into()];
        for segment in &segments {
            let (tag, text, len) = match segment {
                Segment::Literal(text) => ("literal", text.clone(), 0),
                Segment::Keep(alphabet, len) => ("keep", alphabet.to_string(), *len),
                Segment::Encrypt(alphabet, len) => ("encrypt", alphabet.to_string(), *len),
            };
            parts.push(tag.into());
            parts.push(text.into());
            parts.push((len as u64).to_be_bytes().into());
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Self::new(Shape::Pattern(segments), &parts)
    }

    fn new(shape: Shape, parts: &[&[u8]]) -> Self {
        let mut identity = Vec::new();
        parts.iter().for_each(|part| push(&mut identity, part));
        Self {
            shape,
            identity,
            small: false,
        }
    }

    /// Keeps the first and the last symbols of a [`Format::text`]; of any other format nothing.
    #[must_use]
    pub fn keep(mut self, prefix: usize, suffix: usize) -> Self {
        if let Shape::Text(text) = &mut self.shape {
            (text.keep_prefix, text.keep_suffix) = (prefix, suffix);
            push(&mut self.identity, &(prefix as u64).to_be_bytes());
            push(&mut self.identity, &(suffix as u64).to_be_bytes());
        }
        self
    }

    /// The last symbols of a [`Format::text`] are a check of those before: it is verified, and
    /// recomputed for the result.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        if let Shape::Text(text) = &mut self.shape {
            text.check = Some(check);
            push(&mut self.identity, format!("{check:?}").as_bytes());
        }
        self
    }

    /// Also takes texts with 100 to 999,999 possible values.
    ///
    /// # Security
    /// As for [`crate::Ff1::allow_small_domain`].
    #[must_use]
    pub fn allow_small_domain(mut self) -> Self {
        self.small = true;
        self
    }

    /// The format under a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn cipher(self, key: &[u8]) -> Result<FormatCipher, Error> {
        Ok(FormatCipher::new(Key::new(key)?, self))
    }
}

/// `part` after its length.
fn push(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u64).to_be_bytes());
    out.extend_from_slice(part);
}
