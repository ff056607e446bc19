//! One block: a tagged `COSE_Sign1` (RFC 9052, 4.2) over claims.

use crate::cbor::{Head, Reader, SIGN1};
use crate::claims::Claims;
use crate::error::Error;
use crate::key::Algorithm;

/// Labels of the protected header (RFC 9052, 3.1).
const ALGORITHM: i64 = 1;
const KEY_ID: i64 = 4;

/// Encodings of "no algorithm": the text `none`, null, and the number that COSE reserves.
const NONE: &[u8] = b"\x64none";
const NULL: &[u8] = b"\xf6";
const RESERVED: i64 = 0;

/// The beginning of the structure that is signed (RFC 9052, 4.4): an array of four, the text `Signature1`.
const SIGNED: &[u8] = b"\x84\x6aSignature1";
/// The application's bytes in the signed structure: an empty string.
const EXTERNAL: &[u8] = b"\x40";

/// A block of a token. Its signature is not checked yet.
#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    /// All bytes of the block.
    pub(crate) bytes: &'a [u8],
    pub(crate) algorithm: Algorithm,
    /// The name of the key that the block claims to be signed by.
    pub(crate) signer: [u8; 32],
    pub(crate) claims: Claims,
    /// The digest of the block before, or `None` for the first block.
    pub(crate) parent: Option<[u8; 32]>,
    /// The structure that is signed, in pieces.
    pub(crate) signed: [&'a [u8]; 4],
    pub(crate) signature: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads block `number` of a token, from 0.
    pub(crate) fn read(reader: &mut Reader<'a>, number: usize) -> Result<Self, Error> {
        let start = reader.at();
        reader.begin(Head::Tag(SIGN1), "the tag of a COSE_Sign1")?;
        reader.begin(Head::Array(4), "a COSE_Sign1")?;
        let from = reader.at();
        let mut header = reader.within("the protected header")?;
        let (algorithm, signer) = read_header(&mut header, number)?;
        header.end("the end of the protected header")?;
        let protected = reader.since(from);
        reader.begin(Head::Map(0), "an empty unprotected header")?;
        let from = reader.at();
        let mut payload = reader.within("the claims")?;
        let (claims, parent) = Claims::read(&mut payload, number == 0)?;
        payload.end("the end of the claims")?;
        let payload = reader.since(from);
        let signature = reader.bytes("the signature")?;
        Ok(Self {
            bytes: reader.since(start),
            algorithm,
            signer,
            claims,
            parent,
            signed: [SIGNED, protected, EXTERNAL, payload],
            signature,
        })
    }

    /// The digest by which the next block names this block.
    pub(crate) fn digest(&self) -> [u8; 32] {
        digest(self.bytes)
    }
}

pub(crate) fn digest(block: &[u8]) -> [u8; 32] {
    *sordino_hash::hash(block).as_bytes()
}

fn read_header(reader: &mut Reader<'_>, block: usize) -> Result<(Algorithm, [u8; 32]), Error> {
    let unsigned = Error::Unsigned { block };
    if reader.is_empty() {
        return Err(unsigned);
    }
    let at = reader.at();
    let fields = reader.map("the protected header")?;
    if fields == 0 || reader.integer("a label")? != ALGORITHM {
        return Err(unsigned);
    }
    if [NONE, NULL]
        .iter()
        .any(|none| reader.rest().starts_with(none))
    {
        return Err(unsigned);
    }
    let algorithm = match reader.integer("the number of an algorithm")? {
        RESERVED => return Err(unsigned),
        found => Algorithm::from_cose(found).ok_or(Error::Algorithm { block, found })?,
    };
    if fields != 2 {
        let what = "a header of algorithm and key id";
        return Err(Error::Form { at, what });
    }
    reader.exactly(KEY_ID, "the key id")?;
    Ok((algorithm, reader.array_of("a key id of 32 bytes")?))
}

/// Writes a block that `signer` signs.
#[cfg(feature = "sign")]
pub(crate) fn write(
    claims: &Claims,
    parent: Option<&[u8; 32]>,
    signer: &crate::SigningKey,
) -> Vec<u8> {
    use crate::cbor::Writer;

    let mut header = Writer::default();
    header
        .begin(Head::Map(2))
        .integer(ALGORITHM)
        .integer(signer.public().algorithm().cose())
        .integer(KEY_ID)
        .bytes(&signer.public().id());
    let mut payload = Writer::default();
    claims.write(parent, &mut payload);
    let (mut protected, mut content) = (Writer::default(), Writer::default());
    protected.bytes(&header.0);
    content.bytes(&payload.0);
    let signed = [SIGNED, &protected.0, EXTERNAL, &content.0].concat();
    let mut block = Writer::default();
    block.begin(Head::Tag(SIGN1)).begin(Head::Array(4));
    block.0.extend_from_slice(&protected.0);
    block.begin(Head::Map(0));
    block.0.extend_from_slice(&content.0);
    block.bytes(&signer.sign(&signed));
    block.0
}
