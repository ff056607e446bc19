//! The kinds of keys that files hold.

use sordino_vault::reader_secret::PUBLIC_KEY_LEN;
use sordino_vault::writer_secret::WRITER_PUBLIC_LEN;

/// The size in bytes of a secret.
pub(super) const SECRET_LEN: usize = 32;
/// The size in bytes of an ML-DSA-87 public key.
pub(super) const OWNER_PUBLIC_LEN: usize = 2592;
/// The size in bytes of an ML-DSA-65 public key.
const CLIENT_PUBLIC_LEN: usize = 1952;
/// The size in bytes of the digest at the end.
pub(super) const CHECK_LEN: usize = 8;

/// The content of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The owner's master secret.
    Owner,
    /// The content key that readers share, and the owner's public key.
    Reader,
    /// The seed of a reader's own pair of keys, and the owner's public key.
    ReaderPair,
    /// The public half of a reader's own pair.
    ReaderPublic,
    /// A writer's secret, and the owner's public key.
    Writer,
    /// The public halves of a writer's keys.
    WriterPublic,
    /// The owner's public key.
    Public,
    /// The seed of a client's signing key.
    Client,
    /// A client's public key.
    ClientPublic,
    /// The seed of the ML-DSA-65 key that issues tokens.
    Issuer,
    /// The public key of an issuer of tokens.
    IssuerPublic,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Owner,
        Self::Reader,
        Self::ReaderPair,
        Self::ReaderPublic,
        Self::Public,
        Self::Client,
        Self::ClientPublic,
        Self::Issuer,
        Self::IssuerPublic,
        Self::Writer,
        Self::WriterPublic,
    ];

    /// The kind's name in the file and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner-key",
            Self::Reader => "reader-key",
            Self::ReaderPair => "reader-pair",
            Self::ReaderPublic => "reader-public-key",
            Self::Writer => "writer-key",
            Self::WriterPublic => "writer-public-key",
            Self::Public => "owner-public-key",
            Self::Client => "client-key",
            Self::ClientPublic => "client-public-key",
            Self::Issuer => "issuer-key",
            Self::IssuerPublic => "issuer-public-key",
        }
    }

    /// The kind's description in messages.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Self::Owner => "an owner's key (secret)",
            Self::Reader => "a reader's key (secret)",
            Self::ReaderPair => "a reader's own pair of keys (secret)",
            Self::ReaderPublic => "a reader's public key",
            Self::Writer => "a writer's key (secret)",
            Self::WriterPublic => "a writer's public key",
            Self::Public => "an owner's public key",
            Self::Client => "a client's key (secret)",
            Self::ClientPublic => "a client's public key",
            Self::Issuer => "an issuer's key (secret)",
            Self::IssuerPublic => "an issuer's public key",
        }
    }

    /// True if the key must be kept secret.
    #[must_use]
    pub fn is_secret(self) -> bool {
        match self {
            Self::Owner
            | Self::Reader
            | Self::ReaderPair
            | Self::Writer
            | Self::Client
            | Self::Issuer => true,
            Self::Public
            | Self::ReaderPublic
            | Self::WriterPublic
            | Self::ClientPublic
            | Self::IssuerPublic => false,
        }
    }

    pub(super) fn len(self) -> usize {
        match self {
            Self::Owner | Self::Client | Self::Issuer => SECRET_LEN,
            Self::Reader | Self::ReaderPair | Self::Writer => SECRET_LEN + OWNER_PUBLIC_LEN,
            Self::ReaderPublic => PUBLIC_KEY_LEN,
            Self::WriterPublic => WRITER_PUBLIC_LEN,
            Self::Public => OWNER_PUBLIC_LEN,
            Self::ClientPublic | Self::IssuerPublic => CLIENT_PUBLIC_LEN,
        }
    }

    pub(super) fn prefix(self) -> String {
        format!("sordino-{}-1:", self.name())
    }

    pub(super) fn check(self, key: &[u8]) -> [u8; CHECK_LEN] {
        let mut hasher = blake3::Hasher::new_derive_key("sordino 2026 key file check");
        hasher.update(self.name().as_bytes()).update(key);
        let mut check = [0; CHECK_LEN];
        check.copy_from_slice(&hasher.finalize().as_bytes()[..CHECK_LEN]);
        check
    }
}
