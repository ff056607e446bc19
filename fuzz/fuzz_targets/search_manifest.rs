#![no_main]
//! Manifests and indexes. The target must not panic, and bytes that were not signed are not accepted. `search_signed` reads
//! signed manifests.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_search::OwnerPublicKey;
use sordino_search::manifest::SignedManifest;
use sordino_search::{Index, OwnerKeys};

fuzz_target!(|data: &[u8]| {
    static OWNER: OnceLock<OwnerPublicKey> = OnceLock::new();
    let owner = OWNER.get_or_init(|| OwnerKeys::from_master([1; 32]).public());
    assert!(SignedManifest::from_bytes(data, owner).is_err());
    assert!(Index::from_bytes(data, owner).is_err());
    let _ = OwnerPublicKey::from_bytes(data);
});
