//! Signatures, keys, messages and contexts of any content, in a batch with a valid signature. The
//! target must not panic, and its verdicts equal those that `ml-dsa` and `libcrux-ml-dsa` give.
//!
//! Input: a selector of the parameter set and of the replaced part, the length of the message, the
//! length of the context, then bytes. The bytes replace a part of a valid signature, so that hints
//! and norms near the valid ones are reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_mldsa::ml_dsa::{self, signature::Keypair};
use sordino_mldsa::{Backend, BatchVerifier, Item, MlDsa44, MlDsa65, MlDsa87};
use std::sync::LazyLock;

struct Valid {
    public_key: Vec<u8>,
    signature: Vec<u8>,
}

macro_rules! target {
    ($name:ident, $set:ident, $libcrux:ident, $key:ident, $signature:ident) => {
        fn $name(selector: u8, message: &[u8], context: &[u8], bytes: &[u8]) {
            static VALID: LazyLock<Valid> = LazyLock::new(|| {
                let key = ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&[1; 32].into());
                let signature = key
                    .expanded_key()
                    .sign_deterministic(b"valid", b"")
                    .unwrap();
                Valid {
                    public_key: key.verifying_key().encode().to_vec(),
                    signature: signature.encode().to_vec(),
                }
            });
            let (mut key, mut signature) = (VALID.public_key.clone(), VALID.signature.clone());
            let len = signature.len();
            let mut message = message;
            let mut context = context;
            match selector >> 2 & 7 {
                // the whole signature, of any length
                0 => signature = bytes.to_vec(),
                // the key, of any length
                1 => key = bytes.to_vec(),
                // the end of the signature, where the hint is
                2 => {
                    let n = bytes.len().min(len);
                    signature[len - n..].copy_from_slice(&bytes[..n]);
                    (message, context) = (b"valid", b"");
                }
                // the start of the signature: c~ and z
                3 => {
                    let n = bytes.len().min(len);
                    signature[..n].copy_from_slice(&bytes[..n]);
                    (message, context) = (b"valid", b"");
                }
                // the start of the key
                4 => {
                    let n = bytes.len().min(key.len());
                    key[..n].copy_from_slice(&bytes[..n]);
                }
                // single bytes
                _ => {
                    for change in bytes.chunks_exact(3).take(8) {
                        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % len;
                        signature[at] ^= change[2];
                    }
                    (message, context) = (b"valid", b"");
                }
            }
            let expected = if key.len() == VALID.public_key.len() && signature.len() == len {
                let theirs =
                    ml_dsa::VerifyingKey::<ml_dsa::$set>::decode(&key[..].try_into().unwrap());
                let rustcrypto = ml_dsa::Signature::decode(&signature[..].try_into().unwrap())
                    .is_some_and(|s| theirs.verify_with_context(message, context, &s));
                let libcrux = libcrux_ml_dsa::$libcrux::verify(
                    &libcrux_ml_dsa::$libcrux::$key::new(key[..].try_into().unwrap()),
                    message,
                    context,
                    &libcrux_ml_dsa::$libcrux::$signature::new(signature[..].try_into().unwrap()),
                );
                assert_eq!(rustcrypto, libcrux.is_ok(), "the oracles disagree");
                rustcrypto
            } else {
                false
            };
            let valid = Item::<$set>::new(&VALID.public_key[..], b"valid", b"", &VALID.signature);
            let fuzzed = Item::new(&key[..], message, context, &signature);
            for backend in Backend::available() {
                let mut verifier = BatchVerifier::with_keys_on(backend, 16);
                let verdicts = verifier.verify_each(&[valid, fuzzed, valid]);
                assert_eq!(verdicts[1].is_ok(), expected, "{}", backend.name());
                assert!(verdicts[0].is_ok() && verdicts[2].is_ok());
            }
        }
    };
}
target!(
    fuzz_44,
    MlDsa44,
    ml_dsa_44,
    MLDSA44VerificationKey,
    MLDSA44Signature
);
target!(
    fuzz_65,
    MlDsa65,
    ml_dsa_65,
    MLDSA65VerificationKey,
    MLDSA65Signature
);
target!(
    fuzz_87,
    MlDsa87,
    ml_dsa_87,
    MLDSA87VerificationKey,
    MLDSA87Signature
);

fuzz_target!(|data: &[u8]| {
    let [selector, message, context, rest @ ..] = data else {
        return;
    };
    let (message, rest) = rest.split_at(rest.len().min(usize::from(*message)));
    let (context, rest) = rest.split_at(rest.len().min(usize::from(*context)));
    match selector & 3 {
        0 => fuzz_44(*selector, message, context, rest),
        1 => fuzz_65(*selector, message, context, rest),
        _ => fuzz_87(*selector, message, context, rest),
    }
});
