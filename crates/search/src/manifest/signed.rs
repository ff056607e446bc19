//! A manifest with the owner's signature, as it is stored and sent.

use super::{Digest, Manifest};
use crate::keys::{OwnerKeys, OwnerPublicKey};
use crate::wire::{self, Edition};
use crate::{Error, wire::MANIFEST};

/// Length of an encoded manifest's signature: ML-DSA-87's.
pub(super) const SIGNATURE_LEN: usize = 4627;

/// An encoded manifest without its signature is never longer: 64 segments take about 9,000 bytes.
pub(super) const MAX_LEN: usize = 16_384;

/// A signed manifest is never longer.
pub const MAX_SIGNED_LEN: usize = wire::FILE_HEAD_LEN + MAX_LEN + SIGNATURE_LEN;

/// A manifest with its encoding and the owner's signature on that.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedManifest {
    manifest: Manifest,
    bytes: Vec<u8>,
}

impl SignedManifest {
    /// Signs a manifest.
    pub(crate) fn sign(manifest: Manifest, keys: &OwnerKeys) -> Self {
        let mut bytes = wire::file_head(MANIFEST);
        bincode::serde::encode_into_std_write(&manifest, &mut bytes, config())
            .expect("a vector accepts all bytes");
        let signature = keys.sign(&bytes);
        bytes.extend(signature);
        Self { manifest, bytes }
    }

    /// Reads a manifest and checks its signature and that its parts agree.
    ///
    /// # Errors
    /// If it is not signed by `owner`, or not a manifest that this version can serve.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "manifest",
            why,
        };
        let body = wire::strip_file_head(MANIFEST, bytes)?;
        let head_len = bytes.len() - body.len();
        let Some(len) = body
            .len()
            .checked_sub(SIGNATURE_LEN)
            .filter(|&len| len <= MAX_LEN)
        else {
            return Err(malformed(format!(
                "{} bytes, expected {SIGNATURE_LEN} to {}",
                body.len(),
                SIGNATURE_LEN + MAX_LEN
            )));
        };
        // Nothing in it is looked at before the signature is known to be the owner's.
        owner.verify(&bytes[..head_len + len], &body[len..])?;
        let (manifest, read): (Manifest, usize) =
            bincode::serde::decode_from_slice(&body[..len], config())
                .map_err(|error| malformed(error.to_string()))?;
        if read != len {
            return Err(malformed(format!("{} bytes after its end", len - read)));
        }
        manifest.check().map_err(malformed)?;
        Ok(Self {
            manifest,
            bytes: bytes.to_vec(),
        })
    }

    /// The signed encoding.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest that the next version names as its predecessor.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *blake3::hash(&self.bytes).as_bytes()
    }

    /// What requests about this version name it by.
    pub(crate) fn edition(&self) -> Edition {
        Edition::new(self.manifest.version, &self.digest())
    }
}

impl std::ops::Deref for SignedManifest {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

/// Numbers of fixed size, so that a manifest's length depends on its mode and its number of segments alone.
fn config() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<MAX_LEN>()
}
