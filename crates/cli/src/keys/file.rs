//! The form of key files: one line of ASCII.
//!
//! ```text
//! sordino-KIND-1: hex(key | first 8 bytes of a BLAKE3 digest of kind and key) \n
//! ```
//!
//! The digest notices a damaged file, which otherwise would be another key. Of a secret, which is
//! uniform, 8 bytes of its digest tell nothing that can be used.

use super::kind::{CHECK_LEN, Kind, SECRET_LEN};
use crate::Error;
use sordino_net::{ClientKey, ClientPublicKey};
use sordino_search::OwnerPublicKey;
use sordino_search::{OwnerKeys, ReaderKeys};
use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{Read, Write},
    path::Path,
};
use zeroize::Zeroizing;

/// Longer than any key file.
const MAX_FILE: usize = 1 << 14;

/// A key file's content. Erased when dropped.
pub struct KeyFile {
    kind: Kind,
    key: Zeroizing<Vec<u8>>,
}

impl KeyFile {
    /// # Panics
    /// If the key has another length than its kind has.
    pub(super) fn new(kind: Kind, key: &[u8]) -> Self {
        assert_eq!(key.len(), kind.len(), "bytes of {}", kind.described());
        let key = Zeroizing::new(key.to_vec());
        Self { kind, key }
    }

    pub(super) fn reader(keys: &ReaderKeys) -> Self {
        let mut key = Zeroizing::new(Vec::with_capacity(Kind::Reader.len()));
        key.extend_from_slice(keys.content());
        key.extend(keys.owner().to_bytes());
        Self::new(Kind::Reader, &key)
    }

    /// The kind of the key in the file.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// If it cannot be read, or is no key file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::at(path))?;
        // At once of the size of the longest, so that no copy is left behind by growing.
        let mut text = Zeroizing::new(Vec::with_capacity(MAX_FILE));
        (&file)
            .take(MAX_FILE as u64)
            .read_to_end(&mut text)
            .map_err(Error::at(path))?;
        let key = Self::parse(&text).map_err(|why| Error::KeyFile {
            path: path.to_owned(),
            why,
        })?;
        if key.kind.is_secret() {
            warn_if_open(path, &file);
        }
        Ok(key)
    }

    /// Reads a key file's bytes.
    ///
    /// # Errors
    /// The fault in words, without anything of the bytes.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let mut kinds = Kind::ALL.into_iter();
        let (kind, digits) = kinds
            .find_map(|kind| Some((kind, text.strip_prefix(kind.prefix().as_bytes())?)))
            .ok_or("not a key file of this version of sordino")?;
        if digits.iter().any(u8::is_ascii_uppercase) {
            return Err("a damaged key file: upper-case digits");
        }
        let mut bytes = Zeroizing::new(vec![0; kind.len() + CHECK_LEN]);
        hex::decode_to_slice(digits, &mut bytes)
            .map_err(|_| "a damaged key file: not the hex digits of its length")?;
        let (key, check) = bytes.split_at(kind.len());
        if check != kind.check(key) {
            return Err("a damaged key file: the check at its end is wrong");
        }
        Ok(Self::new(kind, key))
    }

    fn text(&self) -> Zeroizing<String> {
        let check = self.kind.check(&self.key);
        // The final size at once, so that no copy is left behind by growing.
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

    /// Writes it to a file that does not exist yet; secrets with mode 0600.
    ///
    /// # Errors
    /// If it exists or cannot be written; then nothing is left behind.
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
            // It was made by this call, so it is no one else's.
            let _ = std::fs::remove_file(path);
            Error::at(path)(error)
        })
    }

    fn wrong(&self, path: &Path, expected: &'static str) -> Error {
        Error::KeyKind {
            path: path.to_owned(),
            found: self.kind.described(),
            expected,
        }
    }

    fn secret(&self) -> Zeroizing<[u8; SECRET_LEN]> {
        let mut secret = Zeroizing::new([0; SECRET_LEN]);
        secret.copy_from_slice(&self.key[..SECRET_LEN]);
        secret
    }

    pub(super) fn owner(&self, path: &Path) -> Result<OwnerKeys, Error> {
        match self.kind {
            Kind::Owner => Ok(OwnerKeys::from_master(*self.secret())),
            _ => Err(self.wrong(path, "the owner's key")),
        }
    }

    pub(super) fn reader_keys(&self, path: &Path) -> Result<ReaderKeys, Error> {
        match self.kind {
            Kind::Owner => Ok(self.owner(path)?.reader()),
            Kind::Reader => {
                let owner = OwnerPublicKey::from_bytes(&self.key[SECRET_LEN..])?;
                Ok(ReaderKeys::from_content(*self.secret(), owner))
            }
            _ => Err(self.wrong(path, "a reader's or the owner's key")),
        }
    }

    pub(super) fn public(&self, path: &Path) -> Result<OwnerPublicKey, Error> {
        match self.kind {
            Kind::Owner => Ok(self.owner(path)?.public()),
            Kind::Reader => Ok(OwnerPublicKey::from_bytes(&self.key[SECRET_LEN..])?),
            Kind::Public => Ok(OwnerPublicKey::from_bytes(&self.key)?),
            _ => Err(self.wrong(
                path,
                "an owner's public key, or a reader's or the owner's key",
            )),
        }
    }

    pub(super) fn client(&self, path: &Path) -> Result<ClientKey, Error> {
        match self.kind {
            Kind::Client => Ok(ClientKey::from_seed(&self.secret())),
            _ => Err(self.wrong(path, "a client's key")),
        }
    }

    pub(super) fn client_public(&self, path: &Path) -> Result<ClientPublicKey, Error> {
        match self.kind {
            Kind::Client => Ok(self.client(path)?.public().clone()),
            Kind::ClientPublic => Ok(ClientPublicKey::from_bytes(&self.key)?),
            _ => Err(self.wrong(path, "a client's public key, or its key")),
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

/// Says so if others can read a file that no one else should.
#[cfg(unix)]
fn warn_if_open(path: &Path, file: &File) {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        let path = path.display();
        eprintln!("sordino: warning: others can read the secret in {path}: chmod 600 {path}");
    }
}

#[cfg(not(unix))]
fn warn_if_open(_: &Path, _: &File) {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_key(kind: Kind) -> KeyFile {
        let key: Vec<u8> = (0u8..=255).cycle().take(kind.len()).collect();
        KeyFile::new(kind, &key)
    }

    #[test]
    fn every_kind_reads_back_as_itself() {
        for kind in Kind::ALL {
            let file = any_key(kind);
            for end in ["", "\r\n", "\n"] {
                let text = file.text().trim_end().to_owned() + end;
                assert!(text.len() < MAX_FILE);
                let read = KeyFile::parse(text.as_bytes()).unwrap();
                assert_eq!((read.kind, &read.key), (kind, &file.key));
            }
            assert_eq!(file.text().capacity(), file.text().len());
        }
    }

    #[test]
    fn a_changed_byte_is_noticed_wherever_it_is() {
        for kind in [Kind::Owner, Kind::Public] {
            let text = any_key(kind).text();
            let text = text.trim_end().as_bytes();
            for at in (0..text.len()).step_by(if kind == Kind::Owner { 1 } else { 61 }) {
                for flip in [1, 0x20, 0x80] {
                    let mut damaged = text.to_vec();
                    damaged[at] ^= flip;
                    assert!(KeyFile::parse(&damaged).is_err(), "{kind:?}, byte {at}");
                }
                assert!(KeyFile::parse(&text[..at]).is_err());
            }
        }
        // The check is of this kind only.
        let text = any_key(Kind::Owner)
            .text()
            .replace("owner-key", "client-key");
        assert!(KeyFile::parse(text.as_bytes()).is_err());
    }

    #[test]
    fn an_older_or_newer_version_is_no_key_file() {
        let text = any_key(Kind::Owner).text().replace("-1:", "-2:");
        let error = KeyFile::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains("this version"), "{error}");
    }

    #[test]
    fn debug_prints_no_secret() {
        let debug = format!("{:?}", any_key(Kind::Owner));
        assert_eq!(debug, "KeyFile { kind: Owner, .. }");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0usize..5) {
            prop_assert!(KeyFile::parse(&bytes).is_err());
            let text = [Kind::ALL[kind].prefix().as_bytes(), &bytes].concat();
            prop_assert!(KeyFile::parse(&text).is_err());
        }
    }
}
