//! RustCrypto's `ml-dsa`, as the signer.

use ml_dsa::signature::Keypair;
use sordino_mldsa::{MlDsa44, MlDsa65, MlDsa87, Params};

/// A key pair.
pub(crate) trait Signer {
    fn public_key(&self) -> &[u8];
    fn sign(&self, message: &[u8], context: &[u8]) -> Vec<u8>;
}

/// A parameter set that has a signer.
pub(crate) trait Signs: Params {
    fn signer(seed: [u8; 32]) -> Box<dyn Signer>;
}

struct Pair<P: ml_dsa::MlDsaParams> {
    key: ml_dsa::SigningKey<P>,
    public_key: Vec<u8>,
}

impl<P: ml_dsa::MlDsaParams> Signer for Pair<P> {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn sign(&self, message: &[u8], context: &[u8]) -> Vec<u8> {
        let key = self.key.expanded_key();
        key.sign_deterministic(message, context)
            .unwrap()
            .encode()
            .to_vec()
    }
}

macro_rules! signs {
    ($set:ident) => {
        impl Signs for $set {
            fn signer(seed: [u8; 32]) -> Box<dyn Signer> {
                let key = ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&seed.into());
                let public_key = key.verifying_key().encode().to_vec();
                Box::new(Pair { key, public_key })
            }
        }
    };
}
signs!(MlDsa44);
signs!(MlDsa65);
signs!(MlDsa87);
