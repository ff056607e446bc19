//! Reads a log, and a proof from a log, with and without a valid head in front. The target must not
//! panic.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_index::Pin;
use sordino_index::log::{Log, LogFile, LogProof};
use sordino_vault::OwnerKeys;

/// The bytes of a file's head and of a log's head.
const HEADS: usize = 8 + 8 + 32 + 4627;

fuzz_target!(|data: &[u8]| {
    static EMPTY: OnceLock<(sordino_index::OwnerPublicKey, Vec<u8>)> = OnceLock::new();
    let (owner, empty) = EMPTY.get_or_init(|| {
        let keys = OwnerKeys::from_master([1; 32]);
        (keys.public(), Log::new(&keys).to_bytes())
    });
    assert_eq!(empty.len(), HEADS);
    let _ = Log::from_bytes(data, owner);
    let _ = LogProof::from_bytes(data, owner);
    let _ = LogFile::from_bytes(data, owner);
    // The head of a log without entries, for a log and for a proof.
    for kind in [3, 4] {
        let mut bytes = [&empty[..], data].concat();
        bytes[6] = kind;
        if let Ok(log) = Log::from_bytes(&bytes, owner) {
            assert_eq!(log.to_bytes(), bytes);
        }
        if let Ok(proof) = LogProof::from_bytes(&bytes, owner) {
            assert_eq!(proof.to_bytes(), bytes);
            let entry = proof.entry();
            let version = Pin {
                index: entry.index,
                version: entry.version,
                manifest: entry.manifest,
            };
            assert!(proof.check(&version, None).is_err());
        }
    }
});
