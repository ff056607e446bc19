//! The readers on small files of each format, and on missing files. These tests are separate, because packages leave them
//! out: they read the workspace's data sets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use proptest::prelude::*;
use sordino_vectors::recall::Truth;
use sordino_vectors::{Error, Vectors};
use sordino_vectors::{Format, Reader};

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
    // A file of one format has another format's extension.
    let bytes = std::fs::read(fixture("3x4.fvecs")).unwrap();
    assert!(matches!(
        Vectors::from_bytes(Format::Npy, bytes),
        Err(Error::NpyHeader { .. })
    ));
}

/// The formats whose rows have one length: 4-byte or 1-byte values, after a head or after a number
/// before each row.
const ROWS: [Format; 6] = [
    Format::Npy,
    Format::Fvecs,
    Format::Bvecs,
    Format::Fbin,
    Format::U8bin,
    Format::I8bin,
];

/// A file of `rows` x `dim`, and its coordinates. A byte can hold each of them, so all formats can.
fn file(format: Format, rows: usize, dim: usize) -> (Vec<u8>, Vec<f32>) {
    let number = |x: usize| u32::try_from(x).unwrap().to_le_bytes();
    let values: Vec<u8> = (0..rows * dim)
        .map(|i| u8::try_from(i % 100).unwrap())
        .collect();
    let mut bytes = match format {
        Format::Npy => {
            let dict =
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}\n");
            let len = u16::try_from(dict.len()).unwrap().to_le_bytes();
            [b"\x93NUMPY\x01\x00", &len[..], dict.as_bytes()].concat()
        }
        Format::Fvecs | Format::Bvecs => Vec::new(),
        _ => [number(rows), number(dim)].concat(),
    };
    for row in values.chunks(dim) {
        if matches!(format, Format::Fvecs | Format::Bvecs) {
            bytes.extend(number(dim));
        }
        match format {
            Format::Bvecs | Format::U8bin | Format::I8bin => bytes.extend(row),
            _ => row
                .iter()
                .for_each(|&x| bytes.extend(f32::from(x).to_le_bytes())),
        }
    }
    (bytes, values.iter().map(|&x| f32::from(x)).collect())
}

fn all(format: Format, bytes: Vec<u8>) -> Result<Vec<f32>, Error> {
    let mut data = Vec::new();
    for chunk in Reader::from_bytes(format, bytes)? {
        data.extend_from_slice(chunk?.vectors.as_slice());
    }
    Ok(data)
}

#[test]
fn files_of_several_chunks_are_read_in_order() {
    let (rows, dim) = (700, 3000);
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [
        (Format::Fvecs, "a.fvecs"),
        (Format::U8bin, "a.u8bin"),
        (Format::Npy, "a.npy"),
    ] {
        let (bytes, expected) = file(format, rows, dim);
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert_eq!((reader.dim(), reader.len_hint()), (dim, Some(rows as u64)));
        let (mut data, mut chunks) = (Vec::new(), 0);
        for chunk in reader {
            let chunk = chunk.unwrap();
            assert_eq!(chunk.first, (data.len() / dim) as u64);
            assert!(chunk.vectors.as_slice().len() <= 1 << 20);
            data.extend_from_slice(chunk.vectors.as_slice());
            chunks += 1;
        }
        assert_eq!((chunks, data == expected), (3, true), "{name}");
        assert_eq!(Vectors::open(&path).unwrap().as_slice(), expected);
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_too_and_a_cut_one_is_noticed() {
    use std::io::Write as _;

    let folder = tempfile::tempdir().unwrap();
    for (cut, wanted) in [(0, true), (1, false)] {
        let path = folder.path().join(format!("{cut}.npy"));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: vectors from a pipe, there is no mkfifo"
            );
            return;
        }
        let (bytes, expected) = file(Format::Npy, 50, 4);
        let (to, len) = (path.clone(), bytes.len() - cut);
        let writer = std::thread::spawn(move || std::fs::write(to, &bytes[..len]));
        let read = Vectors::open(&path);
        writer.join().unwrap().unwrap();
        assert_eq!(read.is_ok_and(|read| read.as_slice() == expected), wanted);
    }
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.npy");
    std::fs::create_dir(&path).unwrap();
    let error = |path: &std::path::Path| match Reader::open(path) {
        Err(error @ Error::Folder { .. }) => error.to_string(),
        other => panic!("{:?}", other.err()),
    };
    assert!(error(&path).contains("read_parquet"));
    // Hugging Face's datasets, Delta Lake, Iceberg and Spark write such folders.
    for (name, conversion) in [
        ("data", "read_parquet"),
        ("part-00000-tid-1.csv", "/*.csv') to 'base.parquet'"),
        ("metadata", "iceberg_scan("),
        ("_delta_log", "delta_scan("),
        ("state.json", "load_from_disk("),
        ("dataset_dict.json", "['train'].to_parquet("),
    ] {
        std::fs::create_dir(path.join(name)).unwrap();
        let error = error(&path);
        assert!(error.contains(conversion), "{name}: {error}");
    }
}

#[test]
fn what_stands_for_a_file_is_named() {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 51200128\n";
    let folder = tempfile::tempdir().unwrap();
    for (bytes, found) in [
        (&pointer[..], "git lfs pull"),
        (b"\n<html>"[1..].as_ref(), "web page"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
    ] {
        for ending in ["npy", "fbin", "fvecs", "parquet", "arrow"] {
            let path = folder.path().join(format!("base.{ending}"));
            std::fs::write(&path, bytes).unwrap();
            let error = Reader::open(&path).unwrap_err().to_string();
            let known = cfg!(feature = "arrow") || !matches!(ending, "parquet" | "arrow");
            assert!(
                error.contains(if known { found } else { ending }),
                "{error}"
            );
        }
    }
    // The number of vectors may have the bytes of a short mark.
    let mut bytes = b"PAR1".to_vec();
    bytes.extend(2u32.to_le_bytes());
    let error = all(Format::Fbin, bytes).unwrap_err();
    assert!(matches!(error, Error::ShapeLength { .. }), "{error}");
}

#[test]
fn an_error_late_in_a_file_names_its_row() {
    let (mut bytes, _) = file(Format::Fbin, 600, 2000);
    let at = 8 + (550 * 2000 + 7) * 4;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let error = all(Format::Fbin, bytes).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NotFinite {
                row: 550,
                column: 7
            }
        ),
        "{error}"
    );
}

#[test]
fn a_header_that_promises_much_allocates_little() {
    let mut bytes = [u32::MAX, 4096].map(u32::to_le_bytes).concat();
    bytes.extend([0; 64]);
    assert!(matches!(
        all(Format::Fbin, bytes),
        Err(Error::ShapeLength { .. })
    ));
}

proptest! {
    #[test]
    fn a_cut_file_is_an_error_and_a_whole_one_is_not(
        which in 0..ROWS.len(), rows in 1usize..30, dim in 1usize..20, cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, expected) = file(ROWS[which], rows, dim);
        prop_assert_eq!(all(ROWS[which], bytes.clone()).unwrap(), expected.clone());
        let len = cut.index(bytes.len());
        match all(ROWS[which], bytes[..len].to_vec()) {
            Err(_) => (),
            // These formats do not state the number of vectors.
            Ok(data) => {
                prop_assert!(matches!(ROWS[which], Format::Fvecs | Format::Bvecs));
                prop_assert_eq!(&data[..], &expected[..data.len()]);
                prop_assert!(data.len() % dim == 0);
            }
        }
    }

    #[test]
    fn damaged_files_are_errors_or_finite_matrices(
        which in 0..ROWS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (mut bytes, _) = file(ROWS[which], 9, 5);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(data) = all(ROWS[which], bytes.clone()) {
            prop_assert!(!data.is_empty() && data.len() <= bytes.len());
            prop_assert!(data.iter().all(|x| x.is_finite()));
        }
    }
}
