//! The key that a client and a run of the server agree on at login, and the tags that it makes for requests.
//!
//! The server has an ML-KEM-768 key (FIPS 203) for its run. A client encapsulates a secret to it and signs, once, a
//! statement about the [`transcript`]. Both derive the key from the secret and that statement, so it belongs to one
//! run, one client, one nonce and one KEM key. An attacker in between who offers a KEM key of its own gets a signature
//! that the server refuses.

use std::fmt;

use blake3::{Hash, Hasher};
use zeroize::{Zeroize, Zeroizing};

use crate::signature::STATEMENT_LEN;

/// Separates the signatures of logins from others under the same key (FIPS 204, 5.2).
pub(crate) const CONTEXT: &[u8] = b"sordino login 1";

/// The context in which the key is derived.
const DERIVATION: &str = "sordino 2026 request key";

/// The size in bytes of an encapsulation key (FIPS 203, Table 3).
pub(crate) const KEM_KEY_LEN: usize = 1184;

/// Everything that the signature of a login covers, in addition to its time and its signer: the server's KEM key,
/// the ciphertext, and the token, if any.
pub(crate) fn transcript(kem_key: &[u8], ciphertext: &[u8], token: &[u8]) -> Vec<u8> {
    // The first two parts have fixed lengths.
    [kem_key, ciphertext, token].concat()
}

/// The key of a login. Erased when dropped.
pub(crate) struct RequestKey(Zeroizing<[u8; 32]>);

impl RequestKey {
    /// Derives the key from the encapsulated secret and the signed statement.
    pub(crate) fn new(secret: &[u8], statement: &[u8; STATEMENT_LEN]) -> Self {
        let mut hasher = Hasher::new_derive_key(DERIVATION);
        hasher.update(secret).update(statement);
        let mut hash = hasher.finalize();
        let key = Zeroizing::new(*hash.as_bytes());
        hash.zeroize();
        hasher.zeroize();
        Self(key)
    }

    /// The tag of request `number` of the login. The number comes last, so that the message's chunks are hashed
    /// together.
    pub(crate) fn tag(&self, number: u64, message: &[u8]) -> Hash {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(message).update(&number.to_le_bytes());
        let tag = hasher.finalize();
        hasher.zeroize();
        tag
    }
}

impl fmt::Debug for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_of_one_key_one_number_and_one_message() {
        let key = |secret, statement| RequestKey::new(&[secret; 32], &[statement; STATEMENT_LEN]);
        let tag = key(1, 2).tag(3, b"message");
        assert_eq!(tag, key(1, 2).tag(3, b"message"));
        for other in [
            key(0, 2).tag(3, b"message"),
            key(1, 0).tag(3, b"message"),
            key(1, 2).tag(4, b"message"),
            key(1, 2).tag(3, b"massage"),
            key(1, 2).tag(3, b""),
        ] {
            assert_ne!(tag, other);
        }
        // Uses only blake3, as docs/protocol describes it.
        let statement = [2; STATEMENT_LEN];
        let derived = blake3::derive_key(DERIVATION, &[&[1; 32], &statement[..]].concat());
        let plain = blake3::keyed_hash(&derived, b"message\x03\0\0\0\0\0\0\0");
        assert_eq!(tag, plain);
    }

    #[test]
    fn a_key_prints_nothing() {
        let key = RequestKey::new(&[1; 32], &[2; STATEMENT_LEN]);
        assert_eq!(format!("{key:?}"), "RequestKey { .. }");
    }
}
