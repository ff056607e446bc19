//! The heads of messages and files (a magic number, a version, a kind and a length), and the bodies of queries, which
//! the reader writes and the server reads.
//!
//! Bodies need no lengths of their own. All sizes follow from the signed manifest, so a reader knows the length of a body before
//! it reads it.

use crate::Error;

pub mod fetch;
mod manifest_head;
mod request;
pub mod routed;
pub mod score;

pub(crate) use manifest_head::{
    ADDED, MANIFEST, OF_MANIFESTS, WITH_READERS, WITH_WRITERS, is_added, strip_added_head,
    strip_manifest_head,
};
pub use request::Request;

/// The first bytes of everything that this crate writes.
pub const MAGIC: [u8; 4] = *b"SRDN";

/// The version of the format of messages and files.
pub const VERSION: u16 = 4;

/// A kind of file.
pub type Kind = (u16, &'static str);

/// A whole index.
pub const INDEX: Kind = (2, "index");

/// A log of manifests.
pub(crate) const LOG: Kind = (3, "log");
/// A proof from a log of manifests.
pub(crate) const LOG_PROOF: Kind = (4, "log proof");
/// Content keys, wrapped for readers.
pub const RING: Kind = (5, "ring");

/// Magic, version, kind.
pub const FILE_HEAD_LEN: usize = 8;

/// Writes the head of a file.
#[must_use]
pub fn file_head(kind: Kind) -> Vec<u8> {
    file_head_of(VERSION, kind)
}

/// Writes the head of a file with this version.
#[must_use]
pub(crate) fn file_head_of(version: u16, (kind, _): Kind) -> Vec<u8> {
    [&MAGIC[..], &version.to_le_bytes(), &kind.to_le_bytes()].concat()
}

/// The bytes after the head of a file.
///
/// # Errors
/// [`Error::Malformed`] if the form is wrong; [`Error::FormatVersion`] if the format's version is not supported.
pub fn strip_file_head(kind: Kind, bytes: &[u8]) -> Result<&[u8], Error> {
    let (_, body) = strip_head_of(kind, &[VERSION], bytes)?;
    Ok(body)
}

/// The version of a file, which must be one of these, and the bytes after its head.
fn strip_head_of<'a>(
    (kind, what): Kind,
    versions: &[u16],
    bytes: &'a [u8],
) -> Result<(u16, &'a [u8]), Error> {
    let malformed = |why: String| Error::Malformed { what, why };
    let Some((head, body)) = bytes.split_first_chunk::<FILE_HEAD_LEN>() else {
        return Err(malformed(format!(
            "{} bytes, expected {FILE_HEAD_LEN} and more",
            bytes.len()
        )));
    };
    let &[m0, m1, m2, m3, v0, v1, k0, k1] = head;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(malformed("it does not begin with SRDN".to_owned()));
    }
    let version = u16::from_le_bytes([v0, v1]);
    if !versions.contains(&version) {
        return Err(Error::FormatVersion {
            what,
            found: version,
            expected: versions[0],
        });
    }
    let found = u16::from_le_bytes([k0, k1]);
    if found != kind {
        return Err(malformed(format!("kind {found}, expected {kind}")));
    }
    Ok((version, body))
}

/// The version of an index that a request is about: the manifest's number and the beginning of its digest. Every request except
/// the one for the manifest begins its body with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    /// The version's number.
    pub version: u64,
    digest: [u8; 16],
}

/// The size in bytes of an edition.
pub const EDITION_LEN: usize = 24;

impl Edition {
    /// The edition of a version whose signed manifest has this digest.
    #[must_use]
    pub fn new(version: u64, digest: &[u8; 32]) -> Self {
        let mut start = [0; 16];
        start.copy_from_slice(&digest[..16]);
        Self {
            version,
            digest: start,
        }
    }

    /// An edition that fills a whole body.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (version, digest) = bytes.split_first_chunk()?;
        Some(Self {
            version: u64::from_le_bytes(*version),
            digest: digest.try_into().ok()?,
        })
    }

    /// The 24 bytes that requests begin with.
    #[must_use]
    pub fn to_bytes(self) -> [u8; EDITION_LEN] {
        let mut bytes = [0; EDITION_LEN];
        bytes[..8].copy_from_slice(&self.version.to_le_bytes());
        bytes[8..].copy_from_slice(&self.digest);
        bytes
    }

    /// The bytes after this edition in the body of a request.
    ///
    /// # Errors
    /// [`Error::Stale`] if the request is about another edition.
    #[expect(clippy::missing_panics_doc, reason = "the length was checked")]
    pub fn strip(self, body: &[u8]) -> Result<&[u8], Error> {
        let Some((found, rest)) = body.split_first_chunk::<EDITION_LEN>() else {
            return Err(Error::Malformed {
                what: "message",
                why: format!("a request of {} bytes names no version", body.len()),
            });
        };
        if *found == self.to_bytes() {
            return Ok(rest);
        }
        let version = *found.first_chunk().expect("24 bytes begin with 8");
        Err(Error::Stale {
            found: u64::from_le_bytes(version),
            serving: self.version,
        })
    }
}

/// A message of the search protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Message {
    /// Asks for the manifest. It has no body.
    GetManifest = 101,
    /// The signed manifest.
    Manifest = 102,
    /// Asks for parts that clients download once: the edition, then the number of each part among all that clients download, as
    /// 16 bits.
    GetParts = 103,
    /// The parts, one after the other.
    Parts = 104,
    /// The edition, and an encrypted query. It asks for the scores of the centroids or, in open and masked mode, of all
    /// vectors.
    Score = 105,
    /// The encrypted scores.
    Scored = 106,
    /// The edition, and PIR queries, whose number the manifest fixes.
    Fetch = 107,
    /// A PIR answer for each query, in the same order.
    Fetched = 108,
    /// The edition, and a PIR query for each of the manifest's `k` results, or of a second look's candidates. Without a
    /// hint, the body has the edition, keys and one query for all pages.
    FetchPayloads = 109,
    /// A PIR answer for each query, in the same order.
    Payloads = 110,
    /// Asks for the manifests between two editions: the current edition, and the older one that the client knows.
    GetHistory = 111,
    /// The manifests, newest first, each after its length.
    History = 112,
    /// Asks a server which shard it is. It has no body.
    GetShard = 113,
    /// A shard's head, and its part of the body of the reply.
    Partial = 114,
}

impl Message {
    const ALL: [Self; 14] = [
        Self::GetManifest,
        Self::Manifest,
        Self::GetParts,
        Self::Parts,
        Self::Score,
        Self::Scored,
        Self::Fetch,
        Self::Fetched,
        Self::FetchPayloads,
        Self::Payloads,
        Self::GetHistory,
        Self::History,
        Self::GetShard,
        Self::Partial,
    ];

    /// The kind of the reply to this request. For a reply it is the same kind.
    #[must_use]
    pub const fn reply(self) -> Self {
        match self {
            Self::GetManifest => Self::Manifest,
            Self::GetParts => Self::Parts,
            Self::Score => Self::Scored,
            Self::Fetch => Self::Fetched,
            Self::FetchPayloads => Self::Payloads,
            Self::GetHistory => Self::History,
            Self::GetShard => Self::Partial,
            Self::Manifest
            | Self::Parts
            | Self::Scored
            | Self::Fetched
            | Self::Payloads
            | Self::History
            | Self::Partial => self,
        }
    }

    /// The message with this body.
    #[must_use]
    pub fn with(self, body: &[u8]) -> Vec<u8> {
        [&self.head(body.len())[..], body].concat()
    }

    /// The head of a message with a body of `len` bytes.
    #[must_use]
    pub fn head(self, len: usize) -> Vec<u8> {
        let len = (len as u64).to_le_bytes();
        [&file_head((self as u16, "message"))[..], &len].concat()
    }

    /// The request about an edition of an index, with this body.
    #[must_use]
    pub fn about(self, edition: Edition, body: &[u8]) -> Vec<u8> {
        self.with(&[&edition.to_bytes()[..], body].concat())
    }

    /// Splits a message into kind and body.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong; [`Error::FormatVersion`] if the format's version is not supported.
    pub fn read(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let malformed = |why: String| Error::Malformed {
            what: "message",
            why,
        };
        let Some((head, rest)) = bytes.split_at_checked(FILE_HEAD_LEN) else {
            return Err(malformed(format!("{} bytes", bytes.len())));
        };
        let kind = u16::from_le_bytes([head[6], head[7]]);
        let message = Self::ALL
            .into_iter()
            .find(|message| *message as u16 == kind);
        let message = message.ok_or_else(|| malformed(format!("unknown kind {kind}")))?;
        strip_file_head((kind, "message"), bytes)?;
        let Some((len, body)) = rest.split_first_chunk() else {
            return Err(malformed(format!("{} bytes", bytes.len())));
        };
        let len = u64::from_le_bytes(*len);
        if len != body.len() as u64 {
            return Err(malformed(format!(
                "a body of {} bytes, expected {len}",
                body.len()
            )));
        }
        Ok((message, body))
    }

    /// The body of a message, which must have this kind and, if it is known, this length.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong; [`Error::FormatVersion`] if the format's version is not supported.
    pub fn expect(self, bytes: &[u8], len: Option<usize>) -> Result<&[u8], Error> {
        let (found, body) = Self::read(bytes)?;
        if found != self {
            let why = format!("{found:?}, expected {self:?}");
            return Err(Error::Malformed {
                what: "message",
                why,
            });
        }
        len.map_or(Ok(()), |len| self.check_len(body, len))?;
        Ok(body)
    }

    /// Checks that a body has the length that the manifest fixes.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the length is wrong.
    pub fn check_len(self, body: &[u8], expected: usize) -> Result<(), Error> {
        match body.len() == expected {
            true => Ok(()),
            false => Err(self.wrong_len(body, expected)),
        }
    }

    fn wrong_len(self, body: &[u8], expected: usize) -> Error {
        Error::Malformed {
            what: "message",
            why: format!("{self:?} of {} bytes, expected {expected}", body.len()),
        }
    }
}

/// The length of a message with a body of `len` bytes.
#[must_use]
pub const fn message_len(len: usize) -> usize {
    FILE_HEAD_LEN + 8 + len
}

/// The length of a request [about](Message::about) an edition, with a body of `len` bytes.
#[must_use]
pub const fn request_len(len: usize) -> usize {
    message_len(EDITION_LEN + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_and_damaged_ones_do_not() {
        let bytes = Message::Fetch.with(b"body");
        assert_eq!(bytes.len(), message_len(4));
        assert_eq!(
            Message::read(&bytes).unwrap(),
            (Message::Fetch, &b"body"[..])
        );
        assert_eq!(Message::Fetch.expect(&bytes, Some(4)).unwrap(), b"body");
        assert!(Message::Fetch.expect(&bytes, Some(5)).is_err());
        assert!(Message::Fetched.expect(&bytes, None).is_err());
        for len in 0..bytes.len() {
            assert!(Message::read(&bytes[..len]).is_err(), "length {len}");
        }
        for at in 0..FILE_HEAD_LEN + 8 {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(Message::read(&changed).is_err(), "byte {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Message::read(&longer).is_err());
    }

    #[test]
    fn an_edition_reads_back_and_nothing_else_does() {
        let edition = Edition::new(7, &[9; 32]);
        let bytes = edition.to_bytes();
        assert_eq!(Edition::from_bytes(&bytes), Some(edition));
        assert_eq!(Edition::from_bytes(&bytes[1..]), None);
        assert_eq!(Edition::from_bytes(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn files_of_another_kind_or_version_are_refused_by_name() {
        let head = file_head(INDEX);
        assert!(strip_file_head(INDEX, &head).unwrap().is_empty());
        let error = strip_file_head(MANIFEST, &head).unwrap_err().to_string();
        assert_eq!(error, "malformed manifest: kind 2, expected 1");
        let mut old = head;
        old[4] = 0;
        let error = strip_file_head(INDEX, &old).unwrap_err().to_string();
        assert!(error.starts_with("index of format version 0, and this program reads version 4"));
    }
}
