#![no_main]
//! The facts of a build, and the segments or lists of its tasks, which an owner's processes exchange. Bytes without the owner's
//! tag are refused. Bytes with the tag are refused, or read and written back as the same bytes.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_search::{Blueprint, Centroids, Nearest, OwnerKeys, Piece};

fuzz_target!(|data: &[u8]| {
    static KEYS: OnceLock<OwnerKeys> = OnceLock::new();
    let keys = KEYS.get_or_init(|| OwnerKeys::from_master([1; 32]));
    assert!(Blueprint::from_bytes(data, keys).is_err() || data.len() > 16);
    assert!(Piece::from_bytes(data, keys).is_err() || data.len() > 16);
    assert!(Centroids::from_bytes(data, keys).is_err() || data.len() > 16);
    assert!(Nearest::from_bytes(data, keys).is_err() || data.len() > 16);
    // Adds a tag to a piece, as another process of the owner would.
    let tagged = |kind: &[u8]| {
        let tag = keys.ids().id(&[0; 32], kind, data, std::iter::empty());
        [data, &tag].concat()
    };
    let bytes = tagged(b"blueprint");
    assert!(Piece::from_bytes(&bytes, keys).is_err());
    if let Ok(blueprint) = Blueprint::from_bytes(&bytes, keys) {
        assert_eq!(blueprint.to_bytes(keys), bytes);
    }
    let bytes = tagged(b"piece");
    assert!(Blueprint::from_bytes(&bytes, keys).is_err());
    if let Ok(piece) = Piece::from_bytes(&bytes, keys) {
        assert_eq!(piece.to_bytes(keys), bytes);
    }
    let bytes = tagged(b"centroids");
    if let Ok(centroids) = Centroids::from_bytes(&bytes, keys) {
        assert_eq!(centroids.to_bytes(keys), bytes);
    }
    let bytes = tagged(b"nearest");
    assert!(Centroids::from_bytes(&bytes, keys).is_err());
    if let Ok(nearest) = Nearest::from_bytes(&bytes, keys) {
        assert_eq!(nearest.to_bytes(keys), bytes);
    }
});
