//! Reads and checks an inclusion proof. The target must not panic, and the bytes must not prove
//! anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_hash::{hash, merkle::Proof};

fuzz_target!(|data: &[u8]| {
    if let Ok(proof) = Proof::from_bytes(data) {
        assert_eq!(proof.to_bytes(), data);
        assert!(proof.index() < proof.count());
        assert!(proof.verify(&hash(b"root"), &hash(b"digest")).is_err());
    }
});
