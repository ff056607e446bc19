//! RustCrypto's traits, used with a key and signatures of RustCrypto's `ml-dsa`.

use crate::signer::Signs;
use ml_dsa::signature::{MultipartVerifier, SignatureEncoding, Verifier};
use sordino_mldsa::{Error, ExpandedKey, MlDsa44, MlDsa65, MlDsa87, Params, Signature};

/// Verifies like code that is generic in the type of the key.
fn verifies<S, K: Verifier<S> + MultipartVerifier<S>>(
    key: &K,
    message: &[u8],
    signature: &S,
) -> bool {
    let verdict = key.verify(message, signature).is_ok();
    for cut in 0..=message.len() {
        let (start, end) = message.split_at(cut);
        let parts = key.multipart_verify(&[start, b"", end], signature).is_ok();
        assert_eq!(parts, verdict);
    }
    verdict
}

fn generic_callers<P: Signs>() {
    let (signer, other) = (P::signer([1; 32]), P::signer([2; 32]));
    let key = ExpandedKey::<P>::try_from(signer.public_key()).unwrap();
    let signature = Signature::<P>::try_from(&signer.sign(b"message", b"")[..]).unwrap();
    assert!(verifies(&key, b"message", &signature));
    assert!(!verifies(&key, b"massage", &signature));
    let of_context = Signature::<P>::try_from(&signer.sign(b"message", b"context")[..]).unwrap();
    assert!(!verifies(&key, b"message", &of_context));

    let copy = key.clone();
    assert_eq!(copy, key);
    assert!(verifies(&copy, b"message", &signature));
    assert_ne!(ExpandedKey::<P>::try_from(other.public_key()).unwrap(), key);
    assert_eq!(key.to_bytes(), signer.public_key());
    assert_eq!(key.as_ref(), key.as_bytes());

    let repr = SignatureEncoding::to_bytes(&signature);
    assert_eq!(Signature::<P>::try_from(&repr[..]).unwrap(), signature);
    let (expected, found) = (P::SIGNATURE_LEN, P::SIGNATURE_LEN - 1);
    let short = Signature::<P>::try_from(&repr[1..]).unwrap_err();
    assert_eq!(short, Error::SignatureLength { expected, found });
    let (expected, found) = (P::PUBLIC_KEY_LEN, P::PUBLIC_KEY_LEN + 1);
    let long = [signer.public_key(), &[0]].concat();
    let long = ExpandedKey::<P>::try_from(&long[..]).unwrap_err();
    assert_eq!(long, Error::PublicKeyLength { expected, found });
    digest(&key, &signature);
}

#[cfg(feature = "digest")]
fn digest<P: Params>(key: &ExpandedKey<P>, signature: &Signature<P>) {
    use ml_dsa::signature::{DigestVerifier, Error, digest::Update};
    let message = |text: &'static [u8]| {
        move |hasher: &mut shake::Shake256| {
            hasher.update(&text[..3]);
            hasher.update(&text[3..]);
            Ok(())
        }
    };
    assert!(key.verify_digest(message(b"message"), signature).is_ok());
    assert!(key.verify_digest(message(b"massage"), signature).is_err());
    let refused = |_: &mut _| Err(Error::new());
    assert!(key.verify_digest(refused, signature).is_err());
}

#[cfg(not(feature = "digest"))]
fn digest<P: Params>(_: &ExpandedKey<P>, _: &Signature<P>) {}

#[test]
fn generic_callers_44() {
    generic_callers::<MlDsa44>();
}

#[test]
fn generic_callers_65() {
    generic_callers::<MlDsa65>();
}

#[test]
fn generic_callers_87() {
    generic_callers::<MlDsa87>();
}
