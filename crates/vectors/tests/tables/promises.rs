//! Tables that state more than they hold: a few bytes that stand for a large number of values, and what writers
//! state about columns.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, Int64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int16Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use sordino_vectors::column::Column;
use sordino_vectors::id::{Id, IdKind};
use sordino_vectors::{ColumnNames, Error, FileOptions, Format, Reader, Vectors};

use crate::others::{named, parquet, stream, table};

fn lists(rows: usize, dim: usize) -> ArrayRef {
    let mut list = ListBuilder::new(Float32Builder::with_capacity(rows * dim));
    let zeros = vec![0.0; dim];
    for _ in 0..rows {
        list.values().append_slice(&zeros);
        list.append(true);
    }
    Arc::new(list.finish())
}

fn packed(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    parquet(&table(columns), Compression::ZSTD(ZstdLevel::default()))
}

/// A few kilobytes of Parquet that stand for millions of zeros, which the decoder would allocate at once.
#[test]
fn lists_that_stand_in_no_bytes_are_refused() {
    let bytes = packed(vec![("v", lists(2, 1 << 20))]);
    assert!(bytes.len() < 1 << 16, "{}", bytes.len());
    let refused = |bytes: Vec<u8>, names: &ColumnNames| {
        let reader = Reader::from_bytes_columns(Format::Parquet, bytes, names)?;
        reader.collect::<Result<Vec<_>, Error>>()
    };
    let wide = refused(bytes, &ColumnNames::default()).unwrap_err();
    assert!(
        matches!(wide, Error::WideVectors { dim: 1_048_576 }),
        "{wide}"
    );
    let vectors = ("w", lists(34, 3));
    let bytes = packed(vec![("v", lists(34, 1 << 20)), vectors]);
    let many = refused(bytes.clone(), &named(Some("v"), None, &[])).unwrap_err();
    let why = many.to_string();
    assert!(
        why.contains("column v.list.") && why.contains("promises 35651584 values in "),
        "{why}"
    );
    // A column that is not read may state anything about its content.
    let read = refused(bytes, &named(Some("w"), None, &[])).unwrap();
    assert_eq!(read[0].vectors.len(), 34);
}

/// A dictionary holds a long text once. In one array for all rows, its copies would be longer than
/// 2 GiB.
#[test]
fn a_long_text_of_many_rows_is_repeated_a_few_rows_at_a_time() {
    let long = "x".repeat((2 << 20) + 4096);
    let keys = Int32Array::from(vec![0; 1024]);
    let texts = StringArray::from(vec![long.as_str()]);
    let texts = DictionaryArray::<Int32Type>::new(keys, Arc::new(texts));
    let bytes = packed(vec![("v", lists(1024, 2)), ("t", Arc::new(texts))]);
    let names = named(Some("v"), None, &["t"]);
    let mut reader = Reader::from_bytes_columns(Format::Parquet, bytes, &names).unwrap();
    let first = reader.next().unwrap().unwrap();
    let Column::Text(texts) = &first.values[0] else {
        panic!("expected texts");
    };
    assert!(texts.len() < 16, "{}", texts.len());
    assert!(texts.iter().all(|text| text.as_deref() == Some(&long)));
}

/// A table with the metadata of pandas.
fn of_pandas(index: &str) -> [(Format, Vec<u8>); 2] {
    let numbers = Int16Array::from(vec![7, 8]);
    let columns = vec![("v", lists(2, 2)), ("doc", Arc::new(numbers) as ArrayRef)];
    with_index(index, &table(columns), 1024)
}

/// The metadata of pandas with this index, in files whose batches and row groups have at most this number of rows.
fn with_index(index: &str, batch: &RecordBatch, most: usize) -> [(Format, Vec<u8>); 2] {
    let said = format!("{{\"index_columns\": {index}, \"columns\": []}}");
    let said = std::collections::HashMap::from([("pandas".to_owned(), said)]);
    let schema = batch.schema().as_ref().clone().with_metadata(said);
    let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    let mut bytes = Vec::new();
    // pandas writes this next to Arrow's schema.
    let values = batch.schema().metadata().clone().into_iter();
    let values = values.map(|(key, value)| KeyValue::new(key, value));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(values.collect()));
    let properties = properties.set_max_row_group_row_count(Some(most));
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut arrow = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for first in (0..batch.num_rows()).step_by(most) {
        let rows = most.min(batch.num_rows() - first);
        arrow.write(&batch.slice(first, rows)).unwrap();
    }
    arrow.finish().unwrap();
    [
        (Format::Parquet, bytes),
        (Format::Arrow, arrow.into_inner().unwrap()),
    ]
}

#[test]
fn the_index_of_pandas_is_named_and_its_numbers_are_ids() {
    for (index, column) in [
        ("[\"doc\"]", Some("doc")),
        ("[{\"kind\": \"range\", \"start\": 0}]", None),
        ("[\"doc\", \"other\"]", None),
        ("[", None),
    ] {
        for (format, bytes) in of_pandas(index) {
            let names = |kind| ColumnNames {
                id_kind: kind,
                ..named(None, Some("doc"), &[])
            };
            let read = |kind| Reader::from_bytes_columns(format, bytes.clone(), &names(kind));
            let mut reader = read(None).unwrap();
            assert_eq!(reader.index_column(), column, "{format:?} {index}");
            let ids = reader.next().unwrap().unwrap().ids.unwrap();
            assert_eq!(ids, [7, 8].map(Id::Number));
            // In an index with texts as ids, they are texts and not UUIDs.
            let ids = read(Some(IdKind::Text)).unwrap().next().unwrap();
            let texts = ["7", "8"].map(|text| Id::Text(text.into()));
            assert_eq!(ids.unwrap().ids.unwrap(), texts);
            assert!(read(Some(IdKind::Uuid)).unwrap().next().unwrap().is_err());
        }
    }
    // A file without such metadata has no index column.
    let mut list = ListBuilder::new(Int64Builder::new());
    list.append_value([Some(1)]);
    let bytes = stream(&table(vec![("v", Arc::new(list.finish()))]));
    let reader = Reader::from_bytes(Format::Arrow, bytes).unwrap();
    assert_eq!(reader.index_column(), None);
}

/// The rows of a table whose index is a range called doc, each with its coordinate and its id. Every seventh row has no
/// vector.
fn rows_with_ids(range: &str, rows: u16, skip: bool) -> [Result<Vec<(f32, Id)>, Error>; 2] {
    let mut list = ListBuilder::new(Float32Builder::new());
    for row in 0..rows {
        let odd = skip && row % 7 == 3;
        (0..u16::from(!odd)).for_each(|_| list.values().append_value(f32::from(row)));
        list.append(!odd);
    }
    let batch = table(vec![("v", Arc::new(list.finish()))]);
    with_index(range, &batch, 110).map(|(format, bytes)| {
        let options = FileOptions {
            format: Some(format),
            skip,
            ..FileOptions::default()
        };
        let reader = Reader::from_bytes_with(bytes, &named(None, Some("doc"), &["doc"]), &options)?;
        assert_eq!(reader.columns(), ["v", "doc"]);
        assert_eq!(reader.index_column(), Some("doc"));
        let mut found = Vec::new();
        for chunk in reader {
            let chunk = chunk?;
            let ids = chunk.ids.unwrap();
            let values = ids.iter().map(|id| match id {
                Id::Number(id) => i64::try_from(*id).ok(),
                _ => None,
            });
            assert_eq!(chunk.values, [Column::Int(values.collect())]);
            found.extend(chunk.vectors.as_slice().iter().copied().zip(ids));
        }
        Ok(found)
    })
}

fn range(start: i64, stop: i64, step: i64) -> String {
    format!(
        "[{{\"kind\": \"range\", \"name\": \"doc\", \"start\": {start}, \"stop\": {stop}, \"step\": {step}}}]"
    )
}

/// pandas keeps such an index in metadata alone.
#[test]
fn a_range_with_a_name_is_a_column() {
    for (start, stop, step) in [(1000, 1300, 1), (1000, 1899, 3), (999, 399, -2)] {
        for skip in [false, true] {
            let kept = (0..300_u16).filter(|row| !skip || row % 7 != 3);
            let expected = kept.map(|row| {
                let id = u64::try_from(start + step * i64::from(row)).unwrap();
                (f32::from(row), Id::Number(id))
            });
            let expected: Vec<(f32, Id)> = expected.collect();
            for found in rows_with_ids(&range(start, stop, step), 300, skip) {
                assert_eq!(found.unwrap(), expected, "{start} {stop} {step}");
            }
        }
    }
    for found in rows_with_ids(&range(-1, 1, 1), 2, false) {
        assert!(
            matches!(found, Err(Error::IdRow { row: 0, .. })),
            "{found:?}"
        );
    }
}

/// A program that takes rows away, or adds some, may keep the metadata. pandas itself then passes over the range.
#[test]
fn a_range_of_other_rows_is_not_taken() {
    for (start, stop, step) in [
        (0, 4, 1),
        (0, 6, 1),
        (0, 5, 0),
        (5, 0, 1),
        (i64::MAX, i64::MIN, -1),
        (i64::MAX - 3, i64::MAX, 1),
        (i64::MAX, i64::MIN, i64::MIN),
    ] {
        let [parquet, arrow] = rows_with_ids(&range(start, stop, step), 5, false);
        let why = parquet.unwrap_err().to_string();
        assert!(why.starts_with("no column doc: there are v ("), "{why}");
        let why = arrow.unwrap_err().to_string();
        assert!(why.contains("and the table has 5 rows"), "{why}");
    }
    // The range is not looked at if nothing is read from it.
    for (format, bytes) in with_index(&range(0, 4, 1), &table(vec![("v", lists(5, 2))]), 2) {
        let reader = Reader::from_bytes(format, bytes).unwrap();
        assert_eq!(Vectors::collect(reader).unwrap().len(), 5);
    }
    // A column of the file has the name too.
    for (format, bytes) in of_pandas(&range(0, 2, 1)) {
        let reader = Reader::from_bytes_columns(format, bytes, &named(None, Some("doc"), &[]));
        let ids = reader.unwrap().next().unwrap().unwrap().ids.unwrap();
        assert_eq!(ids, [7, 8].map(Id::Number));
    }
}
