#![no_main]
//! Signed manifests of any content. A manifest gives a typed error, or it has only one encoding and the sizes of the parts that
//! it names are known. A malicious owner can make such manifests.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_search::manifest::{Mode, SignedManifest};
use sordino_search::{OwnerKeys, OwnerPublicKey};

fuzz_target!(|data: &[u8]| {
    static OWNER: OnceLock<(OwnerKeys, OwnerPublicKey)> = OnceLock::new();
    let (keys, owner) = OWNER.get_or_init(|| {
        let keys = OwnerKeys::from_master([1; 32]);
        let owner = keys.public();
        (keys, owner)
    });
    let signed = [data, &keys.sign(data)].concat();
    let Ok(manifest) = SignedManifest::from_bytes(&signed, owner) else {
        return;
    };
    let again = SignedManifest::sign((*manifest).clone(), keys);
    assert_eq!(&again.to_bytes()[..data.len()], data);
    let known = manifest.parts().is_ok();
    assert_eq!(manifest.stored_len().is_ok(), known);
    assert!(manifest.check_room(u64::MAX).is_ok() == known);
    if let (Mode::Routed(mode), true) = (&manifest.mode, known) {
        let width = usize::try_from(manifest.stored_dim()).expect("64 bits");
        assert!(mode.grid.query_len(width).is_ok() && mode.grid.reply_len().is_ok());
        assert!(mode.grid.tolerance(width) > 0 && mode.grid.scores() > 0);
    }
});
