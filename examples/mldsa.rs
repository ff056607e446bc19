//! Signs a thousand messages with a few keys, spoils one signature, and verifies them all. It verifies one by one, as a
//! batch, and as a batch on all threads.

use std::time::Instant;

use sordino_mldsa::ml_dsa::{self, SigningKey, signature::Keypair};
use sordino_mldsa::{BatchError, BatchVerifier, ExpandedKey, Item, Message, MlDsa87};

const SIGNERS: u8 = 4;
const MESSAGES: usize = 1000;

fn main() {
    let signers: Vec<SigningKey<ml_dsa::MlDsa87>> = (0..SIGNERS)
        .map(|seed| SigningKey::from_seed(&[seed; 32].into()))
        .collect();
    let public_keys: Vec<_> = signers.iter().map(|s| s.verifying_key().encode()).collect();
    let messages: Vec<String> = (0..MESSAGES).map(|i| format!("message {i}")).collect();
    let mut signatures: Vec<_> = messages
        .iter()
        .zip(signers.iter().cycle())
        .map(|(message, signer)| {
            let signature = signer
                .expanded_key()
                .sign_deterministic(message.as_bytes(), b"");
            signature.expect("the context is short").encode()
        })
        .collect();
    signatures[700][100] ^= 1;

    let items: Vec<Item<'_, MlDsa87>> = (0..MESSAGES)
        .map(|i| {
            let key = &public_keys[i % signers.len()][..];
            Item::new(key, messages[i].as_bytes(), b"", &signatures[i])
        })
        .collect();
    let mut verifier = BatchVerifier::new();
    println!(
        "ML-DSA-87, {MESSAGES} signatures by {SIGNERS} keys, backend {}",
        verifier.backend().name()
    );

    let keys: Vec<ExpandedKey<MlDsa87>> = public_keys
        .iter()
        .map(|key| ExpandedKey::from_bytes(key).expect("a key of the right length"))
        .collect();
    time("one by one, expanded keys", || {
        (0..MESSAGES)
            .filter(|&i| {
                let message = Message::Pure {
                    message: messages[i].as_bytes(),
                    context: b"",
                };
                keys[i % keys.len()]
                    .verify(message, &signatures[i])
                    .is_err()
            })
            .count()
    });
    let refused = |verdicts: Vec<Result<(), _>>| verdicts.iter().filter(|v| v.is_err()).count();
    time("verify_each", || refused(verifier.verify_each(&items)));
    time("par_verify_each", || {
        refused(verifier.par_verify_each(&items))
    });

    let failure = verifier
        .verify_all(&items)
        .expect_err("one signature was spoiled");
    println!("verify_all: {failure}");
    assert!(matches!(failure, BatchError::Invalid { index: 700, .. }));
}

/// Prints the time per signature of one way to verify, and the number of refused signatures.
fn time(name: &str, verify: impl FnOnce() -> usize) {
    let start = Instant::now();
    let refused = verify();
    let each = start.elapsed().as_secs_f64() * 1e6 / MESSAGES as f64;
    println!("{name}: {each:.1} us each, {refused} refused");
}
