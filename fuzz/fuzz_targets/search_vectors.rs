#![no_main]
//! The readers of vector files. A file that they accept gives a complete matrix of finite numbers.

use libfuzzer_sys::fuzz_target;
use sordino_search::IdKind;
use sordino_search::vectors::{ColumnNames, Format, Reader, ids, npy, texmex};

/// Parquet and Arrow are missing: their decoders may panic on a damaged file, which the reader catches
/// and a fuzz target cannot.
const FORMATS: [Format; 10] = [
    Format::Npy,
    Format::Fvecs,
    Format::Bvecs,
    Format::Fbin,
    Format::U8bin,
    Format::I8bin,
    Format::Jsonl,
    Format::Json,
    Format::Csv,
    Format::Tsv,
];

fuzz_target!(|data: &[u8]| {
    let _ = npy::neighbours(data);
    for texts in [false, true] {
        let _ = npy::ids(data, texts);
    }
    for kind in IdKind::ALL {
        let _ = ids::lines(data, kind);
    }
    let _ = texmex::ivecs(data);
    for format in FORMATS {
        read(format, data, ColumnNames::default());
    }
    for format in [Format::Jsonl, Format::Json, Format::Csv] {
        let names = ColumnNames {
            vectors: Some("v".to_owned()),
            ids: Some("id".to_owned()),
            values: ["t", "attributes.t"].map(str::to_owned).to_vec(),
            ..ColumnNames::default()
        };
        read(format, data, names);
    }
});

fn read(format: Format, data: &[u8], names: ColumnNames) {
    let Ok(reader) = Reader::from_bytes_columns(format, data.to_vec(), &names) else {
        return;
    };
    let (dim, mut rows) = (reader.dim(), 0);
    for chunk in reader {
        let Ok(chunk) = chunk else { return };
        assert_eq!(chunk.first, rows);
        rows += chunk.vectors.len() as u64;
        assert_eq!(chunk.vectors.dim(), dim);
        assert!(chunk.vectors.as_slice().iter().all(|x| x.is_finite()));
        assert!(chunk.ids.is_none_or(|ids| ids.len() == chunk.vectors.len()));
        let lines = chunk.lines.iter().flatten();
        assert!(
            lines.is_sorted_by(|a, b| a < b)
                && chunk
                    .lines
                    .is_none_or(|lines| lines.len() == chunk.vectors.len())
        );
        assert!(
            chunk
                .values
                .iter()
                .all(|column| column.len() == chunk.vectors.len())
        );
        assert!(chunk.vectors.as_slice().len() <= data.len());
    }
}
