//! The other implementations, behind one face: RustCrypto's `ml-dsa` signs and verifies,
//! `libcrux-ml-dsa` verifies.

use ml_dsa::signature::Keypair;
use sordino_mldsa::{MlDsa44, MlDsa65, MlDsa87, Params};

/// A key pair of RustCrypto's.
pub trait Signer {
    fn public_key(&self) -> &[u8];
    fn sign(&self, message: &[u8], context: &[u8]) -> Vec<u8>;
}

pub trait Oracle: Params {
    fn signer(seed: [u8; 32]) -> Box<dyn Signer>;
    /// Both verdicts, RustCrypto's first. Lengths must be right.
    fn verdicts(public_key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> [bool; 2];
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
        key.sign_deterministic(message, context).unwrap().encode().to_vec()
    }
}

macro_rules! oracle {
    ($set:ident, $libcrux:ident, $key:ident, $signature:ident) => {
        impl Oracle for $set {
            fn signer(seed: [u8; 32]) -> Box<dyn Signer> {
                let key = ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&seed.into());
                let public_key = key.verifying_key().encode().to_vec();
                Box::new(Pair { key, public_key })
            }

            fn verdicts(
                public_key: &[u8],
                message: &[u8],
                context: &[u8],
                signature: &[u8],
            ) -> [bool; 2] {
                let key = ml_dsa::VerifyingKey::<ml_dsa::$set>::decode(&public_key.try_into().unwrap());
                let rustcrypto = ml_dsa::Signature::decode(&signature.try_into().unwrap())
                    .is_some_and(|signature| key.verify_with_context(message, context, &signature));
                let key = libcrux_ml_dsa::$libcrux::$key::new(public_key.try_into().unwrap());
                let signature = libcrux_ml_dsa::$libcrux::$signature::new(signature.try_into().unwrap());
                let libcrux = libcrux_ml_dsa::$libcrux::verify(&key, message, context, &signature);
                [rustcrypto, libcrux.is_ok()]
            }
        }
    };
}
oracle!(MlDsa44, ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature);
oracle!(MlDsa65, ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature);
oracle!(MlDsa87, ml_dsa_87, MLDSA87VerificationKey, MLDSA87Signature);
