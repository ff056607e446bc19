#![no_main]
//! Additions of any content, signed by a writer. An addition gives a typed error, or it only appends to the base, and the sizes
//! of the parts that it names are bounded. A thief of a writer's key can make such additions.
//!
//! Input: the fields of an addition. The target inserts the digest of the version before.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_fuzz::{added, fields, owner, with_fields};
use sordino_search::OwnerPublicKey;
use sordino_search::manifest::{
    MOST_ADDED_BYTES, MOST_ADDED_RECORDS, Manifest, Mode, SignedManifest,
};

/// The version without the additions since the base.
fn base_of(read: &Manifest, base: &Manifest) -> Manifest {
    let mut rest = read.clone();
    if let (Mode::Masked(own), Mode::Masked(there)) = (&mut rest.mode, &base.mode) {
        own.segments.truncate(there.segments.len());
    }
    rest.recent.truncate(base.recent.len());
    (rest.n, rest.version, rest.previous) = (base.n, base.version, base.previous);
    rest
}

fuzz_target!(|data: &[u8]| {
    static BASE: OnceLock<(SignedManifest, OwnerPublicKey)> = OnceLock::new();
    let (base, owner) = BASE.get_or_init(|| (added().0, owner().public()));
    let bytes = with_fields(base, data);
    let Ok(read) = SignedManifest::from_bytes(&bytes, owner) else {
        return;
    };
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(base_of(&read, base), **base);
    assert_eq!(read.before_addition().as_ref(), Some(base));
    assert_eq!(read.previous, base.digest());
    assert!(read.version > base.version && read.follows(&base.digest()));
    let (_, addition) = read.additions().next().expect("an addition");
    let count = u64::from(read.n - base.n);
    assert!(addition.records() == count && (1..=MOST_ADDED_RECORDS).contains(&count));
    for segment in &read.segments()[base.segments().len()..] {
        assert!(read.is_added(segment) && segment.key == addition.key);
    }
    for payloads in &read.recent[base.recent.len()..] {
        assert_eq!(
            read.places_of(payloads),
            u64::from(base.n)..u64::from(read.n)
        );
        assert!(payloads.content_part().len <= MOST_ADDED_BYTES);
    }
    assert!(read.parts().is_ok());
    // Each value that is read has only one encoding.
    let mut data = data.to_vec();
    data[16..48].copy_from_slice(&base.digest());
    assert_eq!(fields(base, &read), data);
});
