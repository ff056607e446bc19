//! Parquet and Arrow IPC files that the tests make.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, LargeListBuilder, ListBuilder};
use arrow_array::types::{Float16Type, Float64Type, Int8Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Int32Array, Int64Array,
    PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use sordino_vectors::{ColumnNames, Format, Reader};
use sordino_vectors::{Error, Vectors};

const DIM: usize = 3;

/// Rows 0, 1, 2 and so on, whose coordinates encode their position.
fn values(rows: usize) -> Vec<f32> {
    (0u16..)
        .map(|i| f32::from(i % 1000) - 100.0)
        .take(rows * DIM)
        .collect()
}

fn fixed(rows: usize) -> ArrayRef {
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), i32::try_from(DIM).unwrap());
    for row in values(rows).chunks(DIM) {
        list.values().append_slice(row);
        list.append(true);
    }
    Arc::new(list.finish())
}

/// Lists whose type allows any length.
fn variable(lists: &[&[f32]]) -> ArrayRef {
    let mut list = ListBuilder::new(Float32Builder::new());
    for row in lists {
        list.values().append_slice(row);
        list.append(true);
    }
    Arc::new(list.finish())
}

/// Two fixed-size lists of two numbers of another type.
fn of_type<T: ArrowPrimitiveType>(values: [T::Native; 4]) -> ArrayRef {
    let array = PrimitiveArray::<T>::from_iter_values(values);
    let field = Arc::new(Field::new_list_field(array.data_type().clone(), true));
    Arc::new(FixedSizeListArray::new(field, 2, Arc::new(array), None))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn parquet(batches: &[RecordBatch], compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batches[0].schema(), Some(properties)).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    bytes
}

fn file(batches: &[RecordBatch], compressed: bool) -> Vec<u8> {
    let options = IpcWriteOptions::default();
    let codec = compressed.then_some(arrow_ipc::CompressionType::LZ4_FRAME);
    let options = options.try_with_compression(codec).unwrap();
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// The same table in every form that can be read.
fn forms(batches: &[RecordBatch]) -> Vec<(Format, Vec<u8>)> {
    vec![
        (Format::Parquet, parquet(batches, Compression::UNCOMPRESSED)),
        (Format::Parquet, parquet(batches, Compression::SNAPPY)),
        (Format::Parquet, parquet(batches, Compression::LZ4_RAW)),
        (
            Format::Parquet,
            parquet(batches, Compression::GZIP(Default::default())),
        ),
        (Format::Arrow, file(batches, false)),
        (Format::Arrow, file(batches, true)),
        (Format::Arrow, stream(batches)),
    ]
}

fn names(vectors: Option<&str>, ids: Option<&str>) -> ColumnNames {
    ColumnNames {
        vectors: vectors.map(str::to_owned),
        ids: ids.map(str::to_owned),
        ..ColumnNames::default()
    }
}

fn all(format: Format, bytes: Vec<u8>, names: &ColumnNames) -> Result<(Vec<f32>, Vec<u64>), Error> {
    let (mut data, mut ids, mut rows) = (Vec::new(), Vec::new(), 0);
    for chunk in Reader::from_bytes_columns(format, bytes, names)? {
        let chunk = chunk?;
        assert_eq!(chunk.first, rows);
        rows += chunk.vectors.len() as u64;
        data.extend_from_slice(chunk.vectors.as_slice());
        let numbers = chunk.ids.into_iter().flatten();
        ids.extend(numbers.filter_map(|id| id.number()));
    }
    Ok((data, ids))
}

#[test]
fn vectors_and_ids_come_back_from_every_form() {
    let ids: Vec<i64> = (0..1500).map(|row| row * 7).collect();
    let notes: Vec<String> = ids.iter().map(|id| format!("note {id}")).collect();
    let batch = table(vec![
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        ("note", Arc::new(StringArray::from(notes))),
        ("embedding", fixed(1500)),
    ]);
    // Batches of uneven sizes, one of them empty.
    let batches = [
        batch.slice(0, 1100),
        batch.slice(0, 0),
        batch.slice(1100, 400),
    ];
    for (at, (format, bytes)) in forms(&batches).into_iter().enumerate() {
        let named = names(None, Some("id"));
        let (data, found) = all(format, bytes.clone(), &named).unwrap();
        assert_eq!(data, values(1500), "form {at}");
        assert!(
            found
                .iter()
                .zip(&ids)
                .all(|(&found, &id)| i64::try_from(found) == Ok(id))
        );
        assert_eq!(found.len(), 1500, "form {at}");
        // Reads the vectors without ids, with the call for whole files.
        let vectors = Vectors::from_bytes(format, bytes).unwrap();
        assert_eq!((vectors.len(), vectors.dim()), (1500, DIM));
    }
    let reader = Reader::from_bytes(Format::Parquet, parquet(&batches, Compression::SNAPPY));
    assert_eq!(reader.unwrap().len_hint(), Some(1500));
}

#[test]
fn files_are_opened_by_their_extension() {
    let folder = tempfile::tempdir().unwrap();
    let batch = table(vec![
        ("v", fixed(5)),
        ("id", Arc::new(UInt32Array::from(vec![9; 5]))),
    ]);
    let batches = [batch];
    for (name, bytes) in [
        ("v.parquet", parquet(&batches, Compression::SNAPPY)),
        ("v.arrow", file(&batches, false)),
        ("v.feather", file(&batches, true)),
        ("v.arrows", stream(&batches)),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(
            Vectors::open(&path).unwrap().as_slice(),
            values(5),
            "{name}"
        );
        let reader = Reader::open_columns(&path, &names(Some("v"), Some("id"))).unwrap();
        assert_eq!(reader.dim(), DIM);
        for chunk in reader {
            assert!(chunk.unwrap().ids.unwrap().iter().all(|id| *id == 9u32));
        }
    }
}

#[test]
fn every_type_of_list_and_number_is_read() {
    let half = half::f16::from_f32;
    let mut large = LargeListBuilder::new(Float32Builder::new());
    for row in [[1.0, 2.0], [3.0, 4.0]] {
        large.values().append_slice(&row);
        large.append(true);
    }
    let columns: [ArrayRef; 6] = [
        of_type::<Float64Type>([1.0, 2.0, 3.0, 4.0]),
        of_type::<Float16Type>([1.0, 2.0, 3.0, 4.0].map(half)),
        of_type::<UInt8Type>([1, 2, 3, 4]),
        of_type::<Int8Type>([1, 2, 3, 4]),
        variable(&[&[1.0, 2.0], &[3.0, 4.0]]),
        Arc::new(large.finish()),
    ];
    for column in columns {
        for (format, bytes) in forms(&[table(vec![("v", column.clone())])]) {
            let vectors = Vectors::from_bytes(format, bytes).unwrap();
            assert_eq!(
                vectors.as_slice(),
                [1.0, 2.0, 3.0, 4.0],
                "{:?}",
                column.data_type()
            );
        }
    }
    let ids: [ArrayRef; 4] = [
        Arc::new(UInt32Array::from(vec![5])),
        Arc::new(Int32Array::from(vec![5])),
        Arc::new(UInt64Array::from(vec![5])),
        Arc::new(Int64Array::from(vec![5])),
    ];
    for column in ids {
        for (format, bytes) in forms(&[table(vec![("v", fixed(1)), ("i", column.clone())])]) {
            let (_, ids) = all(format, bytes, &names(None, Some("i"))).unwrap();
            assert_eq!(ids, [5], "{:?}", column.data_type());
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let error = |columns: Vec<(&str, ArrayRef)>, names: &ColumnNames| {
        let mut found: Vec<String> = forms(&[table(columns)])
            .into_iter()
            .map(|(format, bytes)| all(format, bytes, names).unwrap_err().to_string())
            // Parquet has no lists of fixed length.
            .map(|why| why.replace("FixedSizeList(3 x Float32)", "List(Float32)"))
            .collect();
        found.dedup();
        assert_eq!(found.len(), 1, "one reason in every form: {found:?}");
        found.swap_remove(0)
    };
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1, -1]));
    let any = ColumnNames::default();
    assert!(error(vec![("n", number.clone())], &any).contains("n (Int64)"));
    let two = error(vec![("a", fixed(2)), ("b", fixed(2))], &any);
    assert!(
        two.contains("name one of a (") && two.contains("b ("),
        "{two}"
    );
    let v = ("v", fixed(2));
    assert!(error(vec![v.clone()], &names(Some("w"), None)).contains("no column w"));
    assert!(error(vec![v.clone()], &names(None, Some("id"))).contains("no column id"));
    // A column of the wrong type is refused, because another column was probably meant.
    let both = vec![v, ("n", number.clone())];
    assert!(error(both.clone(), &names(Some("n"), None)).contains("column n"));
    assert!(error(both.clone(), &names(None, Some("v"))).contains("column v"));
    assert!(
        error(both, &names(None, Some("n")))
            .contains("row 1: -1 is not an id: expected a whole number")
    );

    let ragged = variable(&[&[1.0, 2.0], &[3.0]]);
    assert!(error(vec![("v", ragged)], &any).contains("vector 1 has dimension 1: expected 2"));
    let nan = variable(&[&[1.0, 2.0], &[3.0, f32::NAN]]);
    assert!(error(vec![("v", nan)], &any).contains("row 1, column 1"));
    let empty = variable(&[&[]]);
    assert!(error(vec![("v", empty)], &any).contains("no vectors"));
    assert!(error(vec![("v", fixed(0))], &any).contains("no vectors"));
    let wide = variable(&[&[0.5; 9000]]);
    assert!(error(vec![("v", wide)], &any).contains("9000 dimensions"));

    let mut nulls = FixedSizeListBuilder::new(Float32Builder::new(), 1);
    nulls.values().append_value(1.0);
    nulls.append(true);
    nulls.values().append_null();
    nulls.append(false);
    assert!(error(vec![("v", Arc::new(nulls.finish()))], &any).contains("row 1, column v is null"));
    let mut nulls = ListBuilder::new(Float32Builder::new());
    nulls.values().append_value(1.0);
    nulls.append(true);
    nulls.values().append_null();
    nulls.append(true);
    assert!(error(vec![("v", Arc::new(nulls.finish()))], &any).contains("row 1, column v is null"));
    let ids = Arc::new(Int64Array::from(vec![Some(1), None]));
    let missing = error(vec![("v", fixed(2)), ("id", ids)], &names(None, Some("id")));
    assert!(missing.contains("row 1, column id is null"), "{missing}");
}

#[test]
fn columns_of_what_is_no_table_are_refused() {
    let fbin = [1u32, 1, 0].map(u32::to_le_bytes).concat();
    let error = Reader::from_bytes_columns(Format::Fbin, fbin, &names(None, Some("id")));
    assert!(matches!(error, Err(Error::NoColumn { .. })));
}

/// A small table in three forms, for the tests below.
fn small() -> [(Format, Vec<u8>); 3] {
    let ids = Arc::new(Int64Array::from((0..40).collect::<Vec<_>>()));
    let batch = table(vec![("id", ids), ("v", fixed(40))]);
    let batches = [batch.slice(0, 25), batch.slice(25, 15)];
    [
        (Format::Parquet, parquet(&batches, Compression::SNAPPY)),
        (Format::Arrow, file(&batches, true)),
        (Format::Arrow, stream(&batches)),
    ]
}

#[test]
fn a_truncated_table_is_refused_at_every_length() {
    for (form, (format, bytes)) in small().into_iter().enumerate() {
        let mut whole = Vec::new();
        for len in 0..bytes.len() {
            let read = all(format, bytes[..len].to_vec(), &names(None, Some("id")));
            whole.extend(read.map(|(_, ids)| ids.len()));
        }
        // A stream may end after each of its batches, without a mark at its end.
        let expected: &[usize] = if form == 2 { &[25, 40] } else { &[] };
        assert_eq!(whole, expected, "{format:?}");
        assert!(all(format, bytes, &names(None, Some("id"))).is_ok());
    }
}

#[test]
fn an_arrow_buffer_outside_its_message_is_an_error() {
    // Each 8-byte field of the messages becomes huge, and then negative.
    let (format, bytes) = small()[2].clone();
    for at in (0..bytes.len() - 8).step_by(4) {
        for value in [i64::MAX, -1, 1 << 40] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let _ = all(format, bytes, &names(None, Some("id")));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// No input causes a panic, and everything that is read is complete and finite.
    #[test]
    fn damaged_tables_are_errors_or_matrices(
        which in 0usize..3,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (format, mut bytes) = small()[which].clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok((data, ids)) = all(format, bytes, &names(None, Some("id"))) {
            prop_assert!(data.iter().all(|x| x.is_finite()));
            prop_assert!(!data.is_empty() && !ids.is_empty());
        }
    }
}
