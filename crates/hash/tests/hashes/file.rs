//! Tests of hashes of whole files.

use sordino_hash::{Error, hash, hash_file, par_hash_file};

#[test]
fn files_of_any_size_equal_their_contents() {
    let path = std::env::temp_dir().join(format!("sordino-hash-{}", std::process::id()));
    for len in [0, 1, 1000, 16 * 1024, 300_001, (1 << 21) + 7] {
        let contents: Vec<u8> = (0..=250).cycle().take(len).collect();
        std::fs::write(&path, &contents).unwrap();
        assert_eq!(hash_file(&path).unwrap(), hash(&contents), "{len} bytes");
        assert_eq!(
            par_hash_file(&path).unwrap(),
            hash(&contents),
            "{len} bytes"
        );
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_missing_file_is_named() {
    let error = hash_file("/no/such/file").unwrap_err();
    assert!(matches!(&error, Error::File { path, .. } if path.ends_with("file")));
    assert!(error.to_string().contains("/no/such/file"));
    assert!(par_hash_file(std::env::temp_dir()).is_err(), "a directory");
}
