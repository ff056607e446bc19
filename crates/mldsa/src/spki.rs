//! Public keys of X.509 certificates (RFC 9881).

use spki::SubjectPublicKeyInfoRef;
use spki::der::Decode;

use crate::error::Error;
use crate::key::ExpandedKey;
use crate::params::Params;

impl<P: Params> ExpandedKey<P> {
    /// Expands the key in a DER-encoded `SubjectPublicKeyInfo`: RFC 9881, section 4, which wants
    /// the set's object identifier without parameters.
    ///
    /// # Errors
    /// [`Error::Spki`] for anything that is not the DER of a key of this set, and
    /// [`Error::PublicKeyLength`] for a key of the wrong length.
    pub fn from_spki_der(der: &[u8]) -> Result<Self, Error> {
        Self::from_bytes(public_key_of_spki::<P>(der)?)
    }
}

/// The encoded public key in a DER-encoded `SubjectPublicKeyInfo` of this set.
fn public_key_of_spki<P: Params>(der: &[u8]) -> Result<&[u8], Error> {
    let error = Error::Spki { expected: P::NAME };
    let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| error)?;
    if info.algorithm.oid.to_string() != P::OID || info.algorithm.parameters.is_some() {
        return Err(error);
    }
    info.subject_public_key.as_bytes().ok_or(error)
}
