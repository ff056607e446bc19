//! The signature of a login or a change, as a server receives it.

use bytes::Bytes;
use sordino_mldsa::{MlDsa65, MlDsa87, Params};

use crate::schema::{LoginRequest, RequestSignature};
use crate::signature::{STATEMENT_LEN, statement};
use crate::{Refusal, login};

/// The bytes that a client's signature adds: four fields with their tags and lengths, and the tag and length of
/// the whole.
pub(crate) const ADDED_LEN: usize =
    (2 + 32) + (1 + 8) + (2 + 16) + (3 + MlDsa65::SIGNATURE_LEN) + 3;

/// The size in bytes of a ciphertext (FIPS 203, Table 3).
const CIPHERTEXT_LEN: usize = 1088;

/// The size in bytes of the longest login: its ciphertext and its token, each with a tag and a length,
/// and its signature.
pub(crate) const LONGEST_LOGIN: usize = 3 + CIPHERTEXT_LEN + 4 + sordino_token::MAX_LEN + ADDED_LEN;

/// A signed login, or a signed step of a change, whose parts have the right lengths. Its signature is not
/// verified yet.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    /// The run and, if the server has several indexes, the index for which it was signed.
    pub(crate) instance: [u8; 32],
    pub(crate) key: [u8; 32],
    pub(crate) time: u64,
    pub(crate) nonce: [u8; 16],
    pub(crate) statement: [u8; STATEMENT_LEN],
    pub(crate) signature: Bytes,
}

impl Signed {
    /// Reads the signature of a login at the run of the server that has this KEM key.
    pub(crate) fn of_login(
        instance: &[u8; 32],
        kem_key: &[u8],
        request: &LoginRequest,
    ) -> Result<Self, Refusal> {
        if request.ciphertext.len() != CIPHERTEXT_LEN {
            return Err(Refusal::Malformed);
        }
        let transcript = login::transcript(kem_key, &request.ciphertext, &request.token);
        let signature = request.signature.clone();
        Self::of_len(MlDsa65::SIGNATURE_LEN, instance, &transcript, signature)
    }

    /// Reads the signature of a step of a change.
    pub(crate) fn of_owner(
        instance: &[u8; 32],
        step: &[u8],
        signature: Option<RequestSignature>,
    ) -> Result<Self, Refusal> {
        Self::of_len(MlDsa87::SIGNATURE_LEN, instance, step, signature)
    }

    fn of_len(
        len: usize,
        instance: &[u8; 32],
        message: &[u8],
        signature: Option<RequestSignature>,
    ) -> Result<Self, Refusal> {
        let RequestSignature {
            key,
            time,
            nonce,
            signature,
        } = signature.ok_or(Refusal::Unsigned)?;
        let key: [u8; 32] = exact(&key)?;
        let nonce: [u8; 16] = exact(&nonce)?;
        if signature.len() != len {
            return Err(Refusal::Malformed);
        }
        Ok(Self {
            instance: *instance,
            key,
            time,
            nonce,
            statement: statement(instance, &key, time, &nonce, message),
            signature,
        })
    }
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Refusal> {
    bytes.try_into().map_err(|_| Refusal::Malformed)
}

#[cfg(feature = "client")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientKey;
    use prost::Message;

    #[test]
    fn every_signature_has_the_same_size() {
        let key = ClientKey::from_seed(&[3; 32]);
        for (message, time) in [(&b""[..], 1), (&[0; 5000], u64::MAX), (b"x", 1 << 40)] {
            let (signature, _) = key.sign_login(&[0; 32], message, time);
            // In a login, the signature has a tag and a length before it, like every field.
            assert_eq!(signature.encoded_len() + 3, ADDED_LEN);
        }
    }
}
