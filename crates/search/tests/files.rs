//! The readers on small files of each format, and on files that are not there.

use sordino_search::recall::Truth;
use sordino_search::{Error, Vectors};

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../datasets/fixtures")
        .join(name)
}

#[test]
fn the_same_matrix_is_read_from_every_format() {
    let expected = [
        1.0, 0.0, 0.5, -2.0, 0.25, 3.0, -1.0, 8.0, -0.125, 2.0, 2.0, 1.0,
    ];
    for name in ["3x4_f16.npy", "3x4.fvecs"] {
        let vectors = Vectors::open(fixture(name)).unwrap();
        assert_eq!((vectors.len(), vectors.dim()), (3, 4), "{name}");
        assert_eq!(vectors.as_slice(), expected, "{name}");
    }
    let truth = Truth::open(fixture("2x3.ivecs")).unwrap();
    assert_eq!(truth.of(0), [2, 0, 1]);
    assert_eq!(truth.of(1), [1, 2, 0]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let missing = Vectors::open("no/such/file.npy").unwrap_err();
    assert!(
        missing.to_string().starts_with("no/such/file.npy: "),
        "{missing}"
    );
    let unknown = Vectors::open(fixture("2x3.ivecs")).unwrap_err();
    assert!(matches!(unknown, Error::UnknownFormat { extension } if extension == "ivecs"));
    // Another format under a known extension.
    let bytes = std::fs::read(fixture("3x4.fvecs")).unwrap();
    assert!(matches!(
        sordino_search::vectors::npy::vectors(&bytes),
        Err(Error::NpyHeader { .. })
    ));
}
