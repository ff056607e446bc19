//! Wire forms: a header of 48 bytes, then a payload whose length the parameters fix.
//!
//! | bytes | field |
//! |---|---|
//! | 4 | magic, `SPIR` |
//! | 2 | format of this release |
//! | 1 | kind of message |
//! | 1 | scheme (upper half), named parameter set (lower half) |
//! | 8, 8, 8 | records, bytes per record, records per column |
//! | 8 | version of the database |
//! | 8 | bytes of the payload |
//!
//! Integers are little-endian. Decoding allocates nothing before the length of the message has been
//! compared with what its parameters ask for.

pub(crate) use crate::params::HEADER_LEN;
use crate::params::{Protocol, Scheme, Set};
use crate::{Error, Params};

const MAGIC: [u8; 4] = *b"SPIR";
const FORMAT: u16 = 1;

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Params = 1,
    SimpleHint = 2,
    SimpleQuery = 3,
    SimpleAnswer = 4,
    DoubleHint = 5,
    DoubleQuery = 6,
    DoubleAnswer = 7,
    SimpleRawAnswer = 8,
    SimpleUpdate = 9,
    DoubleUpdate = 10,
    Database = 11,
    HintlessKeys = 12,
    HintlessQuery = 13,
    HintlessAnswer = 14,
}

impl Kind {
    pub(crate) const fn hint(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Simple => Self::SimpleHint,
            Scheme::Double => Self::DoubleHint,
        }
    }

    pub(crate) const fn query(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Simple => Self::SimpleQuery,
            Scheme::Double => Self::DoubleQuery,
        }
    }

    pub(crate) const fn answer(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Simple => Self::SimpleAnswer,
            Scheme::Double => Self::DoubleAnswer,
        }
    }
}

/// The fields of a header, in their order.
struct Header {
    magic: [u8; 4],
    format: u16,
    kind: u8,
    set: u8,
    records: u64,
    record_len: u64,
    per_column: u64,
    version: u64,
    length: u64,
}

impl Header {
    fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        let (head, numbers) = bytes.split_at_mut(8);
        head[..4].copy_from_slice(&self.magic);
        head[4..6].copy_from_slice(&self.format.to_le_bytes());
        head[6] = self.kind;
        head[7] = self.set;
        let fields = [
            self.records,
            self.record_len,
            self.per_column,
            self.version,
            self.length,
        ];
        for (bytes, field) in numbers.as_chunks_mut().0.iter_mut().zip(fields) {
            *bytes = field.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Self {
        let &[a, b, c, d, format_low, format_high, kind, set, ..] = bytes;
        let number = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
        Self {
            magic: [a, b, c, d],
            format: u16::from_le_bytes([format_low, format_high]),
            kind,
            set,
            records: number(1),
            record_len: number(2),
            per_column: number(3),
            version: number(4),
            length: number(5),
        }
    }
}

/// Encodes a message of `length` payload bytes, which `write` appends.
pub(crate) fn encode<P: Protocol>(
    kind: Kind,
    params: &Params<P>,
    version: u64,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let set = P::SCHEME.code() << 4 | params.set().code();
    let numbers = [params.records(), params.record_len(), params.per_column()];
    let [records, record_len, per_column] = numbers.map(|number| number as u64);
    let numbers = [records, record_len, per_column, version];
    encode_numbers(kind, set, numbers, length, write)
}

/// Like [`encode`], with the header's byte for the set and its four numbers given directly.
pub(crate) fn encode_numbers(
    kind: Kind,
    set: u8,
    [records, record_len, per_column, version]: [u64; 4],
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let header = Header {
        magic: MAGIC,
        format: FORMAT,
        kind: kind as u8,
        set,
        records,
        record_len,
        per_column,
        version,
        length: length as u64,
    };
    let mut bytes = Vec::with_capacity(HEADER_LEN + length);
    bytes.extend_from_slice(&header.to_bytes());
    write(&mut bytes);
    debug_assert_eq!(bytes.len(), HEADER_LEN + length);
    bytes
}

/// The parameters, version and payload of a message of `kind`.
pub(crate) fn decode<P: Protocol>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(Params<P>, u64, &[u8]), Error> {
    let (set, [records, record_len, per_column, version], payload) = decode_numbers(kind, bytes)?;
    let scheme = set >> 4;
    let set = Set::from_code(set & 15).ok_or(Error::Header("unknown parameter set"))?;
    let scheme = match scheme {
        0 => Scheme::Simple,
        1 => Scheme::Double,
        _ => return Err(Error::Header("unknown scheme")),
    };
    check_scheme(scheme, P::SCHEME)?;
    let size = |word: u64| usize::try_from(word).map_err(|_| Error::Header("a size above memory"));
    let (records, record_len) = (size(records)?, size(record_len)?);
    let params = Params::under(set, records, record_len, size(per_column)?)?
        .ok_or(Error::Header("a layout that the set does not serve"))?;
    Ok((params, version, payload))
}

/// The byte for the set, the four numbers and the payload of a message of `kind`.
pub(crate) fn decode_numbers(kind: Kind, bytes: &[u8]) -> Result<(u8, [u64; 4], &[u8]), Error> {
    let (head, payload) = bytes.split_first_chunk().ok_or(Error::Length {
        found: bytes.len(),
        expected: HEADER_LEN,
    })?;
    let header = Header::from_bytes(head);
    if header.magic != MAGIC {
        let found = header.magic;
        return Err(Error::Magic { found });
    }
    if header.format != FORMAT {
        let (found, expected) = (header.format, FORMAT);
        return Err(Error::Format { found, expected });
    }
    if header.kind != kind as u8 {
        let (found, expected) = (header.kind, kind as u8);
        return Err(Error::Kind { found, expected });
    }
    if header.length != payload.len() as u64 {
        return Err(Error::Length {
            found: payload.len(),
            expected: usize::try_from(header.length).unwrap_or(usize::MAX),
        });
    }
    let Header {
        set,
        records,
        record_len,
        per_column,
        version,
        ..
    } = header;
    Ok((set, [records, record_len, per_column, version], payload))
}

/// Like [`decode`], for a receiver that knows the parameters: `length` payload bytes.
pub(crate) fn decode_for<'a, P: Protocol>(
    kind: Kind,
    params: &Params<P>,
    length: usize,
    bytes: &'a [u8],
) -> Result<(u64, &'a [u8]), Error> {
    let (found, version, payload) = decode(kind, bytes)?;
    check_params(&found, params)?;
    if payload.len() != length {
        return Err(Error::Length {
            found: payload.len(),
            expected: length,
        });
    }
    Ok((version, payload))
}

/// Checks that a header belongs to the scheme that its receiver expects.
fn check_scheme(found: Scheme, expected: Scheme) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::SchemeMismatch { found, expected })
}

/// Checks that both sides use the same parameters.
pub(crate) fn check_params<P: Protocol>(
    found: &Params<P>,
    expected: &Params<P>,
) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::ParamsMismatch {
        found: Box::new((*found).into()),
        expected: Box::new((*expected).into()),
    })
}

/// Checks that both sides use the same version of the database.
pub(crate) fn check_version(found: u64, expected: u64) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::VersionMismatch { found, expected })
}

/// The `Debug` form of a message or a party: its sizes, and not its megabytes of content.
pub(crate) fn describe<P: Protocol>(
    f: &mut std::fmt::Formatter<'_>,
    name: &str,
    params: &Params<P>,
    version: u64,
) -> std::fmt::Result {
    f.debug_struct(name)
        .field("params", params)
        .field("version", &version)
        .finish_non_exhaustive()
}

impl<P: Protocol> Params<P> {
    /// The wire form: a header without payload, 48 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_header(Kind::Params)
    }

    /// Reads a wire form.
    ///
    /// # Errors
    /// [`Error::Header`] if the bytes are not a header of this release, or describe a layout that no set serves.
    /// [`Error::SchemeMismatch`] for parameters of the other scheme. [`Error::Security`] for parameters below 128 bits,
    /// so that a sender cannot lower its receiver's security.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let params = Self::from_header(Kind::Params, bytes)?;
        let (bits, _) = params.set().bits();
        if bits < 128.0 {
            return Err(Error::Security { set: params.set() });
        }
        Ok(params)
    }

    /// Reads a wire form of parameters under [`Set::Published121`], for comparisons only. Queries under them have
    /// **121.5 bits** of security.
    ///
    /// # Errors
    /// The errors of [`Self::from_bytes`]; [`Error::Security`] for parameters under any other set.
    pub fn published_from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let params = Self::from_header(Kind::Params, bytes)?;
        if params.set() != Set::Published121 {
            return Err(Error::Security { set: params.set() });
        }
        Ok(params)
    }

    pub(crate) fn to_header(self, kind: Kind) -> Vec<u8> {
        encode(kind, &self, 0, 0, |_| ())
    }

    pub(crate) fn from_header(kind: Kind, bytes: &[u8]) -> Result<Self, Error> {
        let (params, version, payload) = decode(kind, bytes)?;
        // Parameters have no version, so the field must be zero: each has one encoding.
        check_version(version, 0)?;
        if !payload.is_empty() {
            return Err(Error::Length {
                found: bytes.len(),
                expected: HEADER_LEN,
            });
        }
        Ok(params)
    }
}
