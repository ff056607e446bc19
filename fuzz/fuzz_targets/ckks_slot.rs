#![no_main]
//! Messages of slot mode: decoding never panics, and what decodes can be used.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_ckks::slot::{Ciphertext, Evaluator, GaloisKey, Params, SecretKey};

/// The smallest parameter set, for short messages.
fn deployed() -> &'static (Params, SecretKey) {
    static DEPLOYED: OnceLock<(Params, SecretKey)> = OnceLock::new();
    DEPLOYED.get_or_init(|| {
        let params = Params::new(2048, &[33_574_913], 67_153_921, 1024.0).expect("within the cap");
        let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let secret = SecretKey::generate(&mut rng, &params);
        (params, secret)
    })
}

fuzz_target!(|data: &[u8]| {
    let (params, secret) = deployed();
    if let Ok(ciphertext) = Ciphertext::from_bytes(params, data) {
        assert_eq!(ciphertext.to_bytes(), data);
        let _ = secret.decrypt(&ciphertext);
        let evaluator = Evaluator::new(params, Vec::new()).expect("no keys");
        let _ = evaluator.add(&ciphertext, &ciphertext);
        let _ = evaluator.rescale(&ciphertext);
    }
    if let Ok(key) = GaloisKey::from_bytes(params, data) {
        assert_eq!(key.to_bytes(), data);
        let rotation = key.rotation();
        let mut rng = chacha20::ChaCha20Rng::from_seed([2; 32]);
        let plaintext = sordino_ckks::slot::Encoder::new(params)
            .encode(&[1.0])
            .expect("one slot");
        let ciphertext = secret.encrypt(&mut rng, &plaintext).expect("one set");
        let evaluator = Evaluator::new(params, vec![key]).expect("one set");
        let _ = evaluator.rotate(&ciphertext, rotation);
    }
});
