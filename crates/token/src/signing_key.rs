//! Keys that sign blocks.

use std::fmt;

use sordino_mldsa::ml_dsa::{self, signature::Keypair};
use zeroize::{Zeroize, Zeroizing};

use crate::key::{Algorithm, PublicKey};

/// The key of an issuer, or of a holder that narrows its token. Erased when dropped.
pub struct SigningKey {
    secret: Secret,
    public: PublicKey,
}

/// Secret keys are large, and there is only one for each signing key.
enum Secret {
    MlDsa44(Box<ml_dsa::SigningKey<ml_dsa::MlDsa44>>),
    MlDsa65(Box<ml_dsa::SigningKey<ml_dsa::MlDsa65>>),
}

impl SigningKey {
    /// A key from a secret seed (FIPS 204's xi). The seed must come from a cryptographic generator, and the
    /// caller must erase its copy.
    #[must_use]
    pub fn from_seed(algorithm: Algorithm, seed: &[u8; 32]) -> Self {
        let mut array = (*seed).into();
        let (secret, public) = match algorithm {
            Algorithm::MlDsa44 => {
                let key = ml_dsa::SigningKey::<ml_dsa::MlDsa44>::from_seed(&array);
                let public = key.verifying_key().encode().to_vec();
                (Secret::MlDsa44(Box::new(key)), public)
            }
            Algorithm::MlDsa65 => {
                let key = ml_dsa::SigningKey::<ml_dsa::MlDsa65>::from_seed(&array);
                let public = key.verifying_key().encode().to_vec();
                (Secret::MlDsa65(Box::new(key)), public)
            }
        };
        array.zeroize();
        let public = PublicKey::of(algorithm, public);
        Self { secret, public }
    }

    /// The seed, so that the caller can store it.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(match &self.secret {
            Secret::MlDsa44(key) => key.as_seed(),
            Secret::MlDsa65(key) => key.as_seed(),
        });
        seed
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs with the empty context, as RFC 9964 requires.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let short = "an empty context";
        match &self.secret {
            Secret::MlDsa44(key) => {
                let signed = key.expanded_key().sign_deterministic(message, b"");
                signed.expect(short).encode().to_vec()
            }
            Secret::MlDsa65(key) => {
                let signed = key.expanded_key().sign_deterministic(message, b"");
                signed.expect(short).encode().to_vec()
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}
