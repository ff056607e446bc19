//! Reads and checks an extension proof. The target must not panic, and the bytes must not prove
//! anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_hash::{hash, merkle::Extension};

fuzz_target!(|data: &[u8]| {
    if let Ok(proof) = Extension::from_bytes(data) {
        assert_eq!(proof.to_bytes(), data);
        assert!(proof.old() <= proof.new_len());
        assert!(proof.verify(&hash(b"old"), &hash(b"new")).is_err());
    }
});
