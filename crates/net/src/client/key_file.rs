//! The form of key files: one line of ASCII.
//!
//! ```text
//! sordino-KIND-1: hex(key | first 8 bytes of a BLAKE3 digest of kind and key) \n
//! ```
//!
//! The digest reveals a damaged file, which otherwise would be another key. Secrets are uniform, so 8 bytes of
//! a secret's digest reveal nothing useful about the secret.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use sordino_index::OwnerPublicKey;
use sordino_token::{Algorithm, PublicKey, SigningKey};
use sordino_vault::OwnerKeys;
use zeroize::Zeroizing;

use crate::{ClientKey, ClientPublicKey, Error};

mod kind;
mod readers;

pub use kind::KeyKind;
use kind::{CHECK_LEN, OWNER_PUBLIC_LEN, SECRET_LEN};

/// Every key file has fewer bytes than this.
const MAX_FILE: usize = 1 << 14;

/// A key file's content. Erased when dropped.
///
/// ```
/// use rand::{SeedableRng, rngs::StdRng};
/// use sordino_net::KeyFile;
/// use sordino_search::OwnerKeys;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("owner.key");
/// let keys = OwnerKeys::generate(&mut StdRng::from_seed([1; 32])); // in earnest: from the system
/// KeyFile::of_owner(&keys).write(&path)?;
/// assert_eq!(KeyFile::read(&path)?.owner()?.public(), keys.public());
/// # Ok(())
/// # }
/// ```
pub struct KeyFile {
    kind: KeyKind,
    key: Zeroizing<Vec<u8>>,
    exposed: bool,
}

impl KeyFile {
    /// # Panics
    /// Panics if the key's length is not its kind's.
    fn new(kind: KeyKind, key: &[u8]) -> Self {
        assert_eq!(key.len(), kind.len(), "bytes of {}", kind.described());
        Self {
            kind,
            key: Zeroizing::new(key.to_vec()),
            exposed: false,
        }
    }

    /// The file of an owner's keys.
    #[must_use]
    pub fn of_owner(keys: &OwnerKeys) -> Self {
        Self::new(KeyKind::Owner, keys.master())
    }

    /// The file of an owner's public key.
    #[must_use]
    pub fn of_public(key: &OwnerPublicKey) -> Self {
        Self::new(KeyKind::Public, &key.to_bytes())
    }

    /// The file of a client's key.
    #[must_use]
    pub fn of_client(key: &ClientKey) -> Self {
        Self::new(KeyKind::Client, &*key.seed())
    }

    /// The file of a client's public key.
    #[must_use]
    pub fn of_client_public(key: &ClientPublicKey) -> Self {
        Self::new(KeyKind::ClientPublic, key.to_bytes())
    }

    /// The file of the key that issues tokens, by its seed: a key of ML-DSA-65.
    #[must_use]
    pub fn of_issuer(seed: &[u8; 32]) -> Self {
        Self::new(KeyKind::Issuer, seed)
    }

    /// The file of an issuer's public key of ML-DSA-65.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of another algorithm.
    pub fn of_issuer_public(key: &PublicKey) -> Result<Self, Error> {
        ClientPublicKey::from_bytes(key.as_bytes())?;
        Ok(Self::new(KeyKind::IssuerPublic, key.as_bytes()))
    }

    /// The kind of the key in the file.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// True if the key is secret, and came from a file that others than the file's owner may read.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposed
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, [`Error::KeyFile`] if it is not a key file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::at(path))?;
        // The memory is allocated at the longest file's size, so that growing leaves no copy.
        let mut text = Zeroizing::new(Vec::with_capacity(MAX_FILE));
        (&file)
            .take(MAX_FILE as u64)
            .read_to_end(&mut text)
            .map_err(Error::at(path))?;
        let mut key = Self::parse(&text).map_err(|why| Error::KeyFile {
            path: path.to_owned(),
            why,
        })?;
        key.exposed = key.kind.is_secret() && others_may_read(&file);
        Ok(key)
    }

    /// Reads a key file's bytes.
    ///
    /// # Errors
    /// A description of the fault, which contains none of the bytes.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        // Editors, `echo` and stores of secrets append white space.
        let text = text.trim_ascii_end();
        let mut kinds = KeyKind::ALL.into_iter();
        let (kind, digits) = kinds
            .find_map(|kind| Some((kind, text.strip_prefix(kind.prefix().as_bytes())?)))
            .ok_or_else(|| unlike(text))?;
        if digits.iter().any(u8::is_ascii_uppercase) {
            return Err("a damaged key file: upper-case digits");
        }
        let mut bytes = Zeroizing::new(vec![0; kind.len() + CHECK_LEN]);
        hex::decode_to_slice(digits, &mut bytes)
            .map_err(|_| "a damaged key file: it is too short or too long, or has signs other than hex digits: copy its line as a whole")?;
        let (key, check) = bytes.split_at(kind.len());
        if check != kind.check(key) {
            return Err("a damaged key file: the check at its end is wrong");
        }
        Ok(Self::new(kind, key))
    }

    /// The content of the key's file, for an environment variable or a store of secrets. It shows a secret key.
    #[must_use]
    pub fn text(&self) -> Zeroizing<String> {
        let check = self.kind.check(&self.key);
        // The memory is allocated at the final size, so that growing leaves no copy.
        let prefix = self.kind.prefix();
        let len = prefix.len() + 2 * (self.key.len() + CHECK_LEN) + 1;
        let mut text = Zeroizing::new(String::with_capacity(len));
        text.push_str(&prefix);
        for byte in self.key.iter().chain(&check) {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
        }
        text.push('\n');
        text
    }

    /// Writes the key to a new file, and a secret key with mode 0600.
    ///
    /// # Errors
    /// Fails if the file exists, or if it cannot be written; then no part of it is left behind.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.kind.is_secret() {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut file = options.open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::KeyExists { path: path.into() },
            _ => Error::at(path)(error),
        })?;
        let written = file.write_all(self.text().as_bytes());
        written.and_then(|()| file.sync_all()).map_err(|error| {
            // This call created the file, so no other program uses it.
            let _ = std::fs::remove_file(path);
            Error::at(path)(error)
        })
    }

    fn wrong(&self, expected: &'static str) -> Error {
        Error::KeyKind {
            found: self.kind.described(),
            expected,
        }
    }

    fn secret(&self) -> Zeroizing<[u8; SECRET_LEN]> {
        let mut secret = Zeroizing::new([0; SECRET_LEN]);
        secret.copy_from_slice(&self.key[..SECRET_LEN]);
        secret
    }

    /// The owner's keys.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn owner(&self) -> Result<OwnerKeys, Error> {
        match self.kind {
            KeyKind::Owner => Ok(OwnerKeys::from_master(*self.secret())),
            _ => Err(self.wrong("the owner's key")),
        }
    }

    /// The owner's public key, from its own file, a reader's or the owner's.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn public(&self) -> Result<OwnerPublicKey, Error> {
        let bytes = match self.kind {
            KeyKind::Owner => return Ok(self.owner()?.public()),
            KeyKind::Reader | KeyKind::ReaderPair | KeyKind::Writer => &self.key[SECRET_LEN..],
            KeyKind::Public => &self.key[..],
            _ => {
                return Err(self.wrong("an owner's public key, or a reader's or the owner's key"));
            }
        };
        OwnerPublicKey::from_bytes(bytes).map_err(|_| Error::KeyLength {
            what: "owner's public key",
            found: bytes.len(),
            expected: OWNER_PUBLIC_LEN,
        })
    }

    /// The client's key.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn client(&self) -> Result<ClientKey, Error> {
        match self.kind {
            KeyKind::Client => Ok(ClientKey::from_seed(&self.secret())),
            _ => Err(self.wrong("a client's key")),
        }
    }

    /// The client's public key, from its own file or the client's.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn client_public(&self) -> Result<ClientPublicKey, Error> {
        match self.kind {
            KeyKind::Client => Ok(self.client()?.public().clone()),
            KeyKind::ClientPublic => ClientPublicKey::from_bytes(&self.key),
            _ => Err(self.wrong("a client's public key, or its key")),
        }
    }
}

impl KeyFile {
    /// The key that issues tokens.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn issuer(&self) -> Result<SigningKey, Error> {
        match self.kind {
            KeyKind::Issuer => Ok(SigningKey::from_seed(Algorithm::MlDsa65, &self.secret())),
            _ => Err(self.wrong("an issuer's key")),
        }
    }

    /// Reads the issuer's public key. The file may hold this key or the issuer's secret key.
    ///
    /// # Errors
    /// [`Error::KeyKind`] if the file holds a different kind of key.
    pub fn issuer_public(&self) -> Result<PublicKey, Error> {
        match self.kind {
            KeyKind::Issuer => Ok(self.issuer()?.public().clone()),
            KeyKind::IssuerPublic => Ok(ClientPublicKey::from_bytes(&self.key)?.for_tokens()),
            _ => Err(self.wrong("an issuer's public key, or its key")),
        }
    }
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyFile")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Explains why a text is not a key file, if it does not begin like one.
fn unlike(text: &[u8]) -> &'static str {
    match text {
        [0xef, 0xbb, 0xbf, ..] => {
            "the file begins with a byte-order mark: expected ASCII without one; \
             `sed -i '1s/^\\xEF\\xBB\\xBF//' FILE` takes it off"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "the file is UTF-16, as `>` of PowerShell writes it: expected ASCII; \
             `iconv -f UTF-16 -t ASCII FILE > NEW` converts it"
        }
        [] => "the file is empty: expected a line as `sordino keys new` writes it",
        _ if text.starts_with(b"sordino-") => "not a key file of this version of sordino",
        _ => {
            "not a key file: expected a line that begins with sordino- and the kind, as `sordino keys new` \
             writes it"
        }
    }
}

#[cfg(unix)]
fn others_may_read(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map_or(0, |data| data.permissions().mode());
    mode & 0o077 != 0
}

#[cfg(not(unix))]
fn others_may_read(_: &File) -> bool {
    false
}

#[cfg(test)]
mod tests;
