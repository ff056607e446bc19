#![no_main]
//! Rings of content keys, the owner's list in them, and lists that are sealed for several keys. Bytes that were not sealed
//! do not open. A list that is read is written back as the same bytes.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_index::IdKind;
use sordino_index::code::Codec;
use sordino_index::digest::Coded;
use sordino_index::manifest::{FramePart, KeyUse, Local, Manifest, Mode, Readers, Segment};
use sordino_search::Metric;
use sordino_vault::directory::Directory;
use sordino_vault::{OwnerKeys, ReaderKeys, ReaderSecret, ring};

/// A version with readers of its own, and three segments under two keys.
fn manifest() -> Manifest {
    let mut mode = Local::new(Codec::Int8);
    for (at, key) in [1, 2, 1].into_iter().enumerate() {
        let id = [u8::try_from(at).expect("three"); 16];
        let mut segment = Segment::new(id, 1, 10, [0; 32], Coded::default());
        segment.key = key;
        mode.segments.push(segment);
    }
    let frame = FramePart::new([8; 16], 1, 1, Coded::default());
    let (ids, metric, mode) = (IdKind::Number, Metric::Cosine, Mode::Local(mode));
    let mut manifest = Manifest::new(4, 5, ids, metric, [0; 32], frame, mode);
    let salt = [7; 16];
    let keys = [1, 2].map(|number| KeyUse {
        number,
        newest: number,
        salt,
    });
    manifest.readers = Some(Readers::new([9; 16], 1, Coded::default(), keys.to_vec()));
    manifest
}

fuzz_target!(|data: &[u8]| {
    static MANIFEST: OnceLock<(Manifest, ReaderKeys, OwnerKeys)> = OnceLock::new();
    let (manifest, reader, owner) = MANIFEST.get_or_init(|| {
        let owner = OwnerKeys::from_master([1; 32]);
        let secret = ReaderSecret::from_bytes([2; 32]);
        (
            manifest(),
            ReaderKeys::from_secret(secret, owner.public()),
            owner,
        )
    });
    let _ = ring::list(data);
    assert!(reader.contents(manifest, Some(data)).is_err());
    let all = owner.keys_of(manifest);
    assert!(all.open_deleted(manifest, data).is_err());
    assert!(all.open_frame(manifest, data).is_err());
    if let Ok(directory) = Directory::from_bytes(data)
        && let Ok(code) = directory.to_bytes()
    {
        assert_eq!(Directory::from_bytes(&code).ok(), Some(directory));
    }
});
