//! Public keys of X.509 certificates (RFC 9881), through RustCrypto's `spki` traits.

use spki::der::{self, Tagged, asn1::BitStringRef};
use spki::{
    AlgorithmIdentifierRef, Document, EncodePublicKey, ObjectIdentifier, SubjectPublicKeyInfoRef,
};

use crate::key::ExpandedKey;
use crate::params::Params;

/// The set's object identifier, without parameters (RFC 9881, section 2).
fn algorithm<P: Params>() -> AlgorithmIdentifierRef<'static> {
    AlgorithmIdentifierRef {
        oid: const { ObjectIdentifier::new_unwrap(P::OID) },
        parameters: None,
    }
}

impl<P: Params> EncodePublicKey for ExpandedKey<P> {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        let info = SubjectPublicKeyInfoRef {
            algorithm: algorithm::<P>(),
            subject_public_key: BitStringRef::new(0, self.as_bytes())?,
        };
        Ok(Document::encode_msg(&info)?)
    }
}

/// Expands the key of a `SubjectPublicKeyInfo`. This also implements `DecodePublicKey`. A different algorithm is
/// refused as an unknown identifier, parameters as an unexpected element, and a key of the wrong length as malformed.
impl<P: Params> TryFrom<SubjectPublicKeyInfoRef<'_>> for ExpandedKey<P> {
    type Error = spki::Error;

    fn try_from(info: SubjectPublicKeyInfoRef<'_>) -> spki::Result<Self> {
        let oid = info.algorithm.oid;
        if oid != algorithm::<P>().oid {
            return Err(spki::Error::OidUnknown { oid });
        }
        if let Some(parameters) = info.algorithm.parameters {
            let (expected, actual) = (None, parameters.tag());
            let error: der::Error = der::ErrorKind::TagUnexpected { expected, actual }.into();
            return Err(error.into());
        }
        let encoded = info.subject_public_key.as_bytes();
        let key = encoded.and_then(|encoded| Self::from_bytes(encoded).ok());
        key.ok_or(spki::Error::KeyMalformed)
    }
}
