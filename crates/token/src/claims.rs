//! The claims of a block: which key may do what, on which indexes, how often and until when.

use crate::action::Actions;
use crate::cbor::{Head, Reader};
use crate::error::Error;
use crate::key::{Algorithm, PublicKey};

/// The largest number of bytes of an audience.
pub const MAX_AUDIENCE: usize = 255;

/// The largest number of indexes that a token names.
pub const MAX_INDEXES: usize = 16;

/// Labels of claims: labels of RFC 8392 and RFC 8747, and private ones (below -65536).
mod label {
    pub(super) const AUDIENCE: i64 = 3;
    pub(super) const EXPIRY: i64 = 4;
    pub(super) const NOT_BEFORE: i64 = 5;
    pub(super) const CONFIRMATION: i64 = 8;
    pub(super) const INDEXES: i64 = -65537;
    pub(super) const ACTIONS: i64 = -65538;
    pub(super) const RATE: i64 = -65539;
    pub(super) const PARENT: i64 = -65540;
    /// Label in the confirmation (RFC 8747, 3.2).
    pub(super) const COSE_KEY: i64 = 1;
    /// Labels in the key (RFC 9052, 7.1, and RFC 9964): its type, algorithm and public part.
    pub(super) const TYPE: i64 = 1;
    pub(super) const ALGORITHM: i64 = 3;
    pub(super) const PUBLIC: i64 = -1;
}

/// The key type of algorithms that only need their name, `AKP` (RFC 9964).
const AKP: i64 = 7;

/// The claims of one block. Each block has all of them, and no claim exceeds the same claim of the block
/// before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The service that the token is for: 1 to [`MAX_AUDIENCE`] bytes, compared byte by byte.
    pub audience: String,
    /// The key of the holder, who may use the token. The service must check that a request comes from the
    /// holder of this key.
    pub holder: PublicKey,
    /// The indexes that the token is for: 1 to [`MAX_INDEXES`], each by the 16 bytes that name it in its
    /// manifest.
    pub indexes: Vec<[u8; 16]>,
    /// The actions that the token allows, at least one.
    pub actions: Actions,
    /// The number of requests a minute, at least 1.
    pub rate: u32,
    /// The first second since 1970 in which the token is valid.
    pub not_before: u64,
    /// The first second since 1970 in which the token is no longer valid.
    pub expiry: u64,
}

impl Claims {
    /// Checks that claims are within their bounds.
    fn check(&self) -> Result<(), Error> {
        let bounds = [
            (
                (1..=MAX_AUDIENCE).contains(&self.audience.len()),
                "audience",
                "1 to 255 bytes",
            ),
            (
                (1..=MAX_INDEXES).contains(&self.indexes.len())
                    && self.indexes.is_sorted_by(|a, b| a < b),
                "indexes",
                "1 to 16 different ones in ascending order",
            ),
            (!self.actions.is_empty(), "actions", "one at least"),
            (self.rate > 0, "rate", "1 request a minute at least"),
            (
                self.not_before < self.expiry,
                "expiry",
                "a time after that from which the token is valid",
            ),
        ];
        match bounds.into_iter().find(|(holds, ..)| !holds) {
            Some((_, claim, expected)) => Err(Error::Claim { claim, expected }),
            None => Ok(()),
        }
    }

    /// Checks that the claims of block `block` grant no more than the claims of the block before.
    pub(crate) fn check_within(&self, before: &Self, block: usize) -> Result<(), Error> {
        let named = |index| before.indexes.binary_search(index).is_ok();
        let bounds = [
            (self.audience == before.audience, "audience"),
            (self.indexes.iter().all(named), "indexes"),
            (self.actions.is_within(before.actions), "actions"),
            (self.rate <= before.rate, "rate"),
            (self.not_before >= before.not_before, "not before"),
            (self.expiry <= before.expiry, "expiry"),
        ];
        match bounds.into_iter().find(|(holds, _)| !holds) {
            Some((_, claim)) => Err(Error::Raised { block, claim }),
            None => Ok(()),
        }
    }

    /// Reads the claims, and the digest of the block before unless this is the first block.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        first: bool,
    ) -> Result<(Self, Option<[u8; 32]>), Error> {
        reader.begin(Head::Map(if first { 7 } else { 8 }), "the claims")?;
        reader.exactly(label::AUDIENCE, "the audience")?;
        let audience = reader.text("the audience")?.to_owned();
        reader.exactly(label::EXPIRY, "the expiry")?;
        let expiry = reader.unsigned("the expiry")?;
        reader.exactly(label::NOT_BEFORE, "the first second")?;
        let not_before = reader.unsigned("the first second")?;
        reader.exactly(label::CONFIRMATION, "the holder's key")?;
        let holder = read_key(reader)?;
        reader.exactly(label::INDEXES, "the indexes")?;
        let at = reader.at();
        let count = reader.array("the indexes")?;
        if count > MAX_INDEXES as u64 {
            let what = "at most 16 indexes";
            return Err(Error::Form { at, what });
        }
        let indexes = (0..count).map(|_| reader.array_of("an index of 16 bytes"));
        let indexes = indexes.collect::<Result<_, _>>()?;
        reader.exactly(label::ACTIONS, "the actions")?;
        let (at, what) = (reader.at(), "a set of actions");
        let actions = Actions::from_bits(reader.unsigned(what)?);
        let actions = actions.ok_or(Error::Form { at, what })?;
        reader.exactly(label::RATE, "the rate")?;
        let (at, what) = (reader.at(), "a rate of 32 bits");
        let rate = u32::try_from(reader.unsigned(what)?);
        let rate = rate.map_err(|_| Error::Form { at, what })?;
        let mut parent = None;
        if !first {
            reader.exactly(label::PARENT, "the block before")?;
            parent = Some(reader.array_of("a digest of 32 bytes")?);
        }
        let claims = Self {
            audience,
            holder,
            indexes,
            actions,
            rate,
            not_before,
            expiry,
        };
        claims.check()?;
        Ok((claims, parent))
    }

    /// The claims, with their indexes sorted.
    #[cfg(feature = "sign")]
    pub(crate) fn ordered(&self) -> Result<Self, Error> {
        let mut ordered = self.clone();
        ordered.indexes.sort_unstable();
        ordered.indexes.dedup();
        ordered.check()?;
        Ok(ordered)
    }

    #[cfg(feature = "sign")]
    pub(crate) fn write(&self, parent: Option<&[u8; 32]>, writer: &mut crate::cbor::Writer) {
        let key = &self.holder;
        writer
            .begin(Head::Map(if parent.is_some() { 8 } else { 7 }))
            .integer(label::AUDIENCE)
            .text(&self.audience)
            .integer(label::EXPIRY)
            .unsigned(self.expiry)
            .integer(label::NOT_BEFORE)
            .unsigned(self.not_before)
            .integer(label::CONFIRMATION)
            .begin(Head::Map(1))
            .integer(label::COSE_KEY)
            .begin(Head::Map(3))
            .integer(label::TYPE)
            .integer(AKP)
            .integer(label::ALGORITHM)
            .integer(key.algorithm().cose())
            .integer(label::PUBLIC)
            .bytes(key.as_bytes())
            .integer(label::INDEXES)
            .begin(Head::Array(self.indexes.len() as u64));
        for index in &self.indexes {
            writer.bytes(index);
        }
        writer
            .integer(label::ACTIONS)
            .unsigned(self.actions.bits().into())
            .integer(label::RATE)
            .unsigned(self.rate.into());
        if let Some(parent) = parent {
            writer.integer(label::PARENT).bytes(parent);
        }
    }
}

fn read_key(reader: &mut Reader<'_>) -> Result<PublicKey, Error> {
    reader.begin(Head::Map(1), "the holder's key")?;
    reader.exactly(label::COSE_KEY, "a COSE key")?;
    reader.begin(Head::Map(3), "a key of three parts")?;
    reader.exactly(label::TYPE, "a key type")?;
    reader.exactly(AKP, "key type AKP")?;
    reader.exactly(label::ALGORITHM, "the key's algorithm")?;
    let (at, what) = (reader.at(), "a key of ML-DSA-44 or ML-DSA-65");
    let algorithm = Algorithm::from_cose(reader.integer(what)?);
    let algorithm = algorithm.ok_or(Error::Form { at, what })?;
    reader.exactly(label::PUBLIC, "the public key")?;
    PublicKey::from_bytes(algorithm, reader.bytes("the public key")?)
}
