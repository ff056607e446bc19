//! The subset of CBOR (RFC 8949) that a token uses: definite lengths, and every number in its shortest form (4.2.1).
//!
//! No function here is recursive. A reader asks for each expected item, so it refuses nested bytes at the first
//! unexpected item.

use crate::error::Error;

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

/// The tag of a `COSE_Sign1` (RFC 9052, 2).
pub(crate) const SIGN1: u64 = 18;

/// Reads items, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The number of bytes read so far.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The bytes from `start` to the current position.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    /// All remaining bytes, without reading them.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Refuses bytes behind the last item.
    pub(crate) fn end(&self, what: &'static str) -> Result<(), Error> {
        let at = self.at;
        match self.is_empty() {
            true => Ok(()),
            false => Err(Error::Form { at, what }),
        }
    }

    fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let taken = self.bytes[self.at..].get(..len);
        let at = self.bytes.len();
        let taken = taken.ok_or(Error::Truncated { at, what })?;
        self.at += len;
        Ok(taken)
    }

    /// The next item's major type and argument.
    fn head(&mut self, what: &'static str) -> Result<(u8, u64), Error> {
        let form = Error::Form { at: self.at, what };
        let first = self.take(1, what)?[0];
        let (major, short) = (first >> 5, first & 31);
        let len = match short {
            0..=23 => return Ok((major, short.into())),
            24..=27 => 1 << (short - 24),
            // This value is reserved, or means an indefinite length.
            _ => return Err(form),
        };
        let mut argument = [0; 8];
        argument[8 - len..].copy_from_slice(self.take(len, what)?);
        let argument = u64::from_be_bytes(argument);
        let least = match len {
            1 => 24,
            2 => 1 << 8,
            4 => 1 << 16,
            _ => 1 << 32,
        };
        if argument < least {
            return Err(form);
        }
        Ok((major, argument))
    }

    fn of(&mut self, major: u8, what: &'static str) -> Result<u64, Error> {
        let at = self.at;
        match self.head(what)? {
            (found, argument) if found == major => Ok(argument),
            _ => Err(Error::Form { at, what }),
        }
    }

    /// Reads a whole number that is not negative.
    pub(crate) fn unsigned(&mut self, what: &'static str) -> Result<u64, Error> {
        self.of(UNSIGNED, what)
    }

    /// Reads a whole number within 64 bits.
    pub(crate) fn integer(&mut self, what: &'static str) -> Result<i64, Error> {
        let at = self.at;
        let form = Error::Form { at, what };
        let (major, argument) = self.head(what)?;
        let number = i64::try_from(argument).map_err(|_| form.clone())?;
        match major {
            UNSIGNED => Ok(number),
            NEGATIVE => Ok(-1 - number),
            _ => Err(form),
        }
    }

    /// Reads this number, and refuses any other.
    pub(crate) fn exactly(&mut self, number: i64, what: &'static str) -> Result<(), Error> {
        let at = self.at;
        match self.integer(what)? {
            found if found == number => Ok(()),
            _ => Err(Error::Form { at, what }),
        }
    }

    /// Reads a byte string. Its length must not exceed the remaining bytes.
    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let len = self.of(BYTES, what)?;
        self.take(usize::try_from(len).unwrap_or(usize::MAX), what)
    }

    /// A reader of the content of a byte string.
    pub(crate) fn within(&mut self, what: &'static str) -> Result<Self, Error> {
        let len = self.bytes(what)?.len();
        Ok(Self {
            bytes: &self.bytes[..self.at],
            at: self.at - len,
        })
    }

    /// Reads a byte string of `N` bytes.
    pub(crate) fn array_of<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Error> {
        let at = self.at;
        let form = |_| Error::Form { at, what };
        self.bytes(what)?.try_into().map_err(form)
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, what: &'static str) -> Result<&'a str, Error> {
        let at = self.at;
        let len = self.of(TEXT, what)?;
        let bytes = self.take(usize::try_from(len).unwrap_or(usize::MAX), what)?;
        std::str::from_utf8(bytes).map_err(|_| Error::Form { at, what })
    }

    /// Reads the head of an array: its number of items.
    pub(crate) fn array(&mut self, what: &'static str) -> Result<u64, Error> {
        self.of(ARRAY, what)
    }

    /// Reads the head of a map: its number of pairs.
    pub(crate) fn map(&mut self, what: &'static str) -> Result<u64, Error> {
        self.of(MAP, what)
    }

    /// Reads the head of an item of this kind and size, and refuses any other.
    pub(crate) fn begin(&mut self, kind: Head, what: &'static str) -> Result<(), Error> {
        let at = self.at;
        let (major, expected) = kind.head();
        match self.of(major, what)? {
            found if found == expected => Ok(()),
            _ => Err(Error::Form { at, what }),
        }
    }
}

/// The kind of an item that has a size.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    Array(u64),
    Map(u64),
    Tag(u64),
}

impl Head {
    fn head(self) -> (u8, u64) {
        match self {
            Self::Array(len) => (ARRAY, len),
            Self::Map(len) => (MAP, len),
            Self::Tag(tag) => (TAG, tag),
        }
    }
}

/// Writes items, one after the other.
#[cfg(feature = "sign")]
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

#[cfg(feature = "sign")]
impl Writer {
    fn head(&mut self, major: u8, argument: u64) -> &mut Self {
        let bytes = argument.to_be_bytes();
        let (short, len) = match argument {
            0..24 => (bytes[7], 0),
            24..0x100 => (24, 1),
            0x100..0x1_0000 => (25, 2),
            0x1_0000..0x1_0000_0000 => (26, 4),
            _ => (27, 8),
        };
        self.0.push(major << 5 | short);
        self.0.extend_from_slice(&bytes[8 - len..]);
        self
    }

    pub(crate) fn integer(&mut self, number: i64) -> &mut Self {
        match u64::try_from(number) {
            Ok(number) => self.head(UNSIGNED, number),
            Err(_) => self.head(NEGATIVE, !number.cast_unsigned()),
        }
    }

    pub(crate) fn unsigned(&mut self, number: u64) -> &mut Self {
        self.head(UNSIGNED, number)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.head(BYTES, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.head(TEXT, text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub(crate) fn begin(&mut self, kind: Head) -> &mut Self {
        let (major, argument) = kind.head();
        self.head(major, argument)
    }
}

#[cfg(all(test, feature = "sign"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(number in any::<i64>(), shift in 0..63u32) {
            for number in [number, number >> shift] {
                let mut writer = Writer::default();
                writer.integer(number);
                let mut reader = Reader::new(&writer.0);
                prop_assert_eq!(reader.integer("number"), Ok(number));
                prop_assert!(reader.is_empty());
            }
        }
    }

    /// The examples of RFC 8949, appendix A, and the same numbers in longer forms.
    #[test]
    fn numbers_have_one_form() {
        let read = |bytes: &[u8]| Reader::new(bytes).integer("number");
        for (bytes, number) in [
            (&[0x00][..], 0),
            (&[0x17], 23),
            (&[0x18, 0x18], 24),
            (&[0x19, 0x03, 0xe8], 1000),
            (
                &[0x1b, 0, 0, 0, 0xe8, 0xd4, 0xa5, 0x10, 0],
                1_000_000_000_000,
            ),
            (&[0x20], -1),
            (&[0x38, 0x63], -100),
            (&[0x3a, 0, 1, 0, 0], -65537),
        ] {
            assert_eq!(read(bytes), Ok(number));
        }
        let form = Err(Error::Form {
            at: 0,
            what: "number",
        });
        for bytes in [
            &[0x18, 0x17][..],
            &[0x19, 0, 0xff],
            &[0x1a, 0, 0, 0xff, 0xff],
            &[0x1b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
            &[0x1b, 0xff, 0, 0, 0, 0, 0, 0, 0],
            &[0x1c],
            &[0x1f],
            &[0x40],
            &[0xf6],
        ] {
            assert_eq!(read(bytes), form, "{bytes:x?}");
        }
        let (at, what) = (2, "number");
        assert_eq!(read(&[0x19, 1]), Err(Error::Truncated { at, what }));
    }

    #[test]
    fn a_length_beyond_the_end_takes_no_memory() {
        let mut endless = vec![0x5b];
        endless.extend([0xff; 8]);
        let (at, what) = (9, "string");
        let found = Reader::new(&endless).bytes(what);
        assert_eq!(found, Err(Error::Truncated { at, what }));
        endless[0] = 0x7b;
        let found = Reader::new(&endless).text(what);
        assert_eq!(found, Err(Error::Truncated { at, what }));
    }
}
