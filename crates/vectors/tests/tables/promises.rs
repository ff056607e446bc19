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
use sordino_vectors::{ColumnNames, Error, Format, Reader};

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

/// A few kilobytes of Parquet that stand for billions of zeros, which the decoder would allocate at
/// once.
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
    // A column that is not read may state anything.
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
    let batch = table(vec![("v", lists(2, 2)), ("doc", Arc::new(numbers))]);
    let said = format!("{{\"index_columns\": {index}, \"columns\": []}}");
    let said = std::collections::HashMap::from([("pandas".to_owned(), said)]);
    let schema = batch.schema().as_ref().clone().with_metadata(said);
    let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    let mut bytes = Vec::new();
    // pandas writes this next to Arrow's schema.
    let values = batch.schema().metadata().clone().into_iter();
    let values = values.map(|(key, value)| KeyValue::new(key, value));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(values.collect()));
    let properties = Some(properties.build());
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut arrow = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    arrow.write(&batch).unwrap();
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
