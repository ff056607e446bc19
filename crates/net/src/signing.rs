//! The signatures of logins and changes, and the key that clients log in with.

use std::fmt;

use bytes::Bytes;
use rand_core::CryptoRng;
use sordino_index::OwnerPublicKey;
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use sordino_vault::{OwnerKeys, WriterKeys};
use zeroize::{Zeroize, Zeroizing};

use crate::schema::RequestSignature;
use crate::signature::{STATEMENT_LEN, shown, statement};
use crate::{ClientPublicKey, login};

/// A client's ML-DSA-65 key, with which it logs in.
///
/// The server, and anyone who has its logs, can link all requests of one key. If this risk is greater than the
/// risk of requests from unknown clients, let the server answer clients without a key.
pub struct ClientKey {
    signing: SigningKey<ml_dsa::MlDsa65>,
    public: ClientPublicKey,
}

impl ClientKey {
    /// A new key.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        // The seed is a hash. So a program that sees the generator's bytes elsewhere does not learn it.
        Self::from_seed(&Zeroizing::new(shown(rng, b"new client key")))
    }

    /// The key of a stored seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let mut array = (*seed).into();
        let signing = SigningKey::from_seed(&array);
        array.zeroize();
        let public = ClientPublicKey {
            bytes: signing.verifying_key().encode().to_vec(),
        };
        Self { signing, public }
    }

    /// The seed, to be stored. Its holder can ask as this client.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(self.signing.as_seed());
        seed
    }

    /// The public half, which the server has to know.
    #[must_use]
    pub fn public(&self) -> &ClientPublicKey {
        &self.public
    }

    /// Signs a login's transcript. Also returns the signed statement.
    pub(crate) fn sign_login(
        &self,
        instance: &[u8; 32],
        transcript: &[u8],
        time: u64,
    ) -> (RequestSignature, [u8; STATEMENT_LEN]) {
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&shown(&mut rand::rng(), transcript)[..16]);
        let key = self.public.id();
        let statement = statement(instance, &key, time, &nonce, transcript);
        let signature = self
            .signing
            .expanded_key()
            .sign_deterministic(&statement, login::CONTEXT)
            .expect("a context of less than 256 bytes");
        let signature = RequestSignature {
            key: Bytes::copy_from_slice(&key),
            time,
            nonce: Bytes::copy_from_slice(&nonce),
            signature: Bytes::copy_from_slice(&signature.encode()),
        };
        (signature, statement)
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// The signing of steps of a change: an owner's, or a writer's.
pub trait ChangeSigner {
    /// The public key that verifies the signatures.
    fn signing_key(&self) -> OwnerPublicKey;

    /// The public key of the owner of the index.
    fn owner(&self) -> OwnerPublicKey;

    /// Signs a step.
    fn sign_change(&self, message: &[u8]) -> Vec<u8>;
}

impl ChangeSigner for OwnerKeys {
    fn signing_key(&self) -> OwnerPublicKey {
        self.public()
    }

    fn owner(&self) -> OwnerPublicKey {
        self.public()
    }

    fn sign_change(&self, message: &[u8]) -> Vec<u8> {
        Self::sign_change(self, message)
    }
}

impl ChangeSigner for WriterKeys {
    fn signing_key(&self) -> OwnerPublicKey {
        self.secret().public().signing
    }

    fn owner(&self) -> OwnerPublicKey {
        Self::owner(self).clone()
    }

    fn sign_change(&self, message: &[u8]) -> Vec<u8> {
        self.secret().sign_change(message)
    }
}

#[cfg(feature = "client")]
/// Signs that the owner, or a writer, wants this step at this run of the server, now.
pub(crate) fn sign_change(
    keys: &impl ChangeSigner,
    instance: &[u8; 32],
    step: &[u8],
    time: u64,
) -> RequestSignature {
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&shown(&mut rand::rng(), step)[..16]);
    let key = *blake3::hash(&keys.signing_key().to_bytes()).as_bytes();
    let signature = keys.sign_change(&statement(instance, &key, time, &nonce, step));
    RequestSignature {
        key: Bytes::copy_from_slice(&key),
        time,
        nonce: Bytes::copy_from_slice(&nonce),
        signature: signature.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn a_key_is_its_seed_and_prints_nothing_secret() {
        let key = ClientKey::generate(&mut StdRng::seed_from_u64(1));
        let again = ClientKey::from_seed(&key.seed());
        assert_eq!(key.public(), again.public());
        assert_eq!(
            &ClientPublicKey::from_bytes(key.public().to_bytes()).unwrap(),
            key.public()
        );
        assert!(ClientPublicKey::from_bytes(&[0; 1951]).is_err());
        let debug = format!("{key:?}");
        assert!(debug.contains(".."), "{debug}");
        let seed: String = key
            .seed()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(!debug.contains(&seed));
    }
}
