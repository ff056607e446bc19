//! Tests of the encryption of columns of Parquet files.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, types::Int8Type,
};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType as Stored, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::printer::print_schema;
use sordino_fpe_files::{Error, OnError, Transform, transform_parquet};

use crate::transform;

/// A Parquet file with a column of numbers and one of text.
fn parquet_of(texts: ArrayRef) -> Vec<u8> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..texts.len() as i64));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("n", numbers, false), ("card", texts, true)])
            .unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "made by".into(),
            "a test".to_owned(),
        )]))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn parquet(transform: &Transform, input: &[u8]) -> Result<(Vec<u8>, Vec<String>), Error> {
    let (mut out, mut refused) = (Vec::new(), Vec::new());
    let note = &mut |error: Error| refused.push(error.to_string());
    let input = bytes::Bytes::copy_from_slice(input);
    transform_parquet(transform, ("card", None), input, &mut out, note)?;
    Ok((out, refused))
}

fn rows(file: &[u8]) -> (Vec<RecordBatch>, Compression, Option<String>) {
    let input = bytes::Bytes::copy_from_slice(file);
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).unwrap();
    let metadata = builder.metadata().clone();
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let made = pairs.iter().find(|pair| pair.key == "made by");
    (
        builder.build().unwrap().map(Result::unwrap).collect(),
        metadata.row_group(0).column(1).compression(),
        made.and_then(|pair| pair.value.clone()),
    )
}

#[test]
fn a_column_of_parquet_comes_back_with_all_others() {
    let texts = ["123456", "0000000", "99999999"].repeat(5000);
    let arrays: [ArrayRef; 3] = [
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from(texts)),
    ];
    for array in arrays {
        let file = parquet_of(array);
        let (hidden, refused) = parquet(&transform("digits", true), &file).unwrap();
        assert!(refused.is_empty());
        assert_ne!(rows(&hidden).0, rows(&file).0);
        assert_eq!(
            (rows(&hidden).1, rows(&hidden).2),
            (rows(&file).1, rows(&file).2)
        );
        let (back, _) = parquet(&transform("digits", false), &hidden).unwrap();
        assert_eq!(rows(&back), rows(&file));
    }
}

/// In Parquet, the categories of pandas are dictionaries.
#[test]
fn a_categorical_column_is_one_of_text() {
    let categories: DictionaryArray<Int8Type> =
        vec![Some("123456"), None, Some("654321"), Some("123456")]
            .into_iter()
            .collect();
    let texts = StringArray::from(vec![Some("123456"), None, Some("654321"), Some("123456")]);
    let run = |encrypt, file: &[u8]| {
        let transform = Transform {
            keep_empty: true,
            ..transform("digits", encrypt)
        };
        parquet(&transform, file).unwrap().0
    };
    let hidden = run(true, &parquet_of(Arc::new(categories)));
    let same = run(true, &parquet_of(Arc::new(texts.clone())));
    assert_eq!(rows(&hidden).0, rows(&same).0);
    assert_eq!(
        rows(&run(false, &hidden)).0,
        rows(&parquet_of(Arc::new(texts))).0
    );
}

#[test]
fn rows_of_parquet_that_are_refused_are_left_out_or_kept() {
    let texts = vec![Some("123456"), None, Some("x"), Some("654321")];
    let file = parquet_of(Arc::new(StringArray::from(texts)));
    let with = |on_error| Transform {
        on_error,
        ..transform("digits", true)
    };
    let stop = parquet(&with(OnError::Stop), &file)
        .unwrap_err()
        .to_string();
    assert!(
        stop.starts_with("row 2, column card: the value is empty"),
        "{stop}"
    );
    let (out, refused) = parquet(&with(OnError::Skip), &file).unwrap();
    assert_eq!(refused.len(), 2);
    assert_eq!(rows(&out).0[0].num_rows(), 2);
    let (out, _) = parquet(&with(OnError::Keep), &file).unwrap();
    let batch = rows(&out).0.remove(0);
    let kept = batch
        .column(1)
        .as_any()
        .downcast_ref::<StringArray>()
        .unwrap();
    assert_eq!((kept.is_null(1), kept.value(2)), (true, "x"));
    let numbers = Transform {
        ..transform("digits", true)
    };
    let error = transform_parquet(
        &numbers,
        ("n", None),
        bytes::Bytes::from(file),
        Vec::new(),
        &mut |_| (),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("column n holds Int64: expected text. ")
            && error.contains("CAST(\"n\" AS VARCHAR)")
            && error.contains("frame[\"n\"].astype(\"string\")"),
        "{error}"
    );
}

#[test]
fn damaged_parquet_is_an_error() {
    let file = parquet_of(Arc::new(StringArray::from(vec!["123456"; 500])));
    let encrypt = transform("digits", true);
    for at in (0..file.len()).step_by(7) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x55;
        // Damage of unused bytes may pass.
        drop(parquet(&encrypt, &damaged));
        assert!(parquet(&encrypt, &file[..at]).is_err());
    }
}

/// If two columns had one name, only one would be encrypted, and the other would stay readable.
#[test]
fn a_name_that_two_columns_have_is_refused() {
    let texts = |text| -> ArrayRef { Arc::new(StringArray::from(vec![text; 3])) };
    let fields = ["card", "n", "card"].map(|name| Field::new(name, DataType::Utf8, true));
    let columns = vec![texts("123456"), texts("1"), texts("654321")];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns).unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let error = parquet(&transform("digits", true), &file).unwrap_err();
    assert!(matches!(
        error,
        Error::ColumnTwice {
            first: 1,
            second: 3,
            ..
        }
    ));
    let file = bytes::Bytes::from(file);
    let own = ("n", Some("n"));
    let done = transform_parquet(
        &transform("digits", true),
        own,
        file,
        Vec::new(),
        &mut |_| {},
    );
    assert!(matches!(done, Err(Error::OwnTweak { .. })));
}

const FOREIGN: &str = "message m {
    optional int96 seen;
    required binary card (UTF8);
    optional fixed_len_byte_array(12) span (INTERVAL);
    required fixed_len_byte_array(16) uid (UUID);
    optional binary told (JSON);
    optional int64 at (TIME(MICROS, true));
    optional group tags (LIST) { repeated group list { optional int32 element; } }
}";

/// A file of three rows, the second of which has a card that is refused. Columns have types that Arrow does not have.
fn foreign() -> Vec<u8> {
    fn put<T: Stored>(to: &mut SerializedColumnWriter<'_>, values: &[T::T], present: &[i16]) {
        let present = Some(present).filter(|it| !it.is_empty());
        let done = to.typed::<T>().write_batch(values, present, None);
        done.unwrap();
    }
    let mut file = Vec::new();
    let schema = Arc::new(parse_message_type(FOREIGN).unwrap());
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for at in 0..7 {
        let mut to = group.next_column().unwrap().unwrap();
        match at {
            // The days of 0001-01-01 and 9999-12-31 in Julian's count, which 64 bits of nanoseconds do not hold.
            0 => {
                let days = [1_721_426, 5_373_484].map(|day| Int96::from(vec![7, 1, day]));
                put::<Int96Type>(&mut to, &days, &[1, 0, 1]);
            }
            1 => {
                let cards = ["123456", "x", "654321"].map(ByteArray::from);
                put::<ByteArrayType>(&mut to, &cards, &[]);
            }
            2 => {
                let spans = [1, 2].map(|byte| FixedLenByteArray::from(vec![byte; 12]));
                put::<FixedLenByteArrayType>(&mut to, &spans, &[1, 1, 0]);
            }
            3 => {
                let uids = [1, 2, 3].map(|byte| FixedLenByteArray::from(vec![byte; 16]));
                put::<FixedLenByteArrayType>(&mut to, &uids, &[]);
            }
            4 => put::<ByteArrayType>(&mut to, &["{}", "[]"].map(ByteArray::from), &[0, 1, 1]),
            5 => put::<Int64Type>(&mut to, &[5, 6, 7], &[1, 1, 1]),
            _ => {
                let (present, repeated) = ([3, 2, 1, 3, 3, 3], [0, 1, 0, 0, 1, 1]);
                let to = to.typed::<Int32Type>();
                to.write_batch(&[1, 2, 3, 4], Some(&present), Some(&repeated))
                    .unwrap();
            }
        }
        to.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    file
}

/// A file's schema, and the levels and values of each column as the file stores them.
fn stored(file: &[u8]) -> (String, Vec<String>) {
    fn all<T: Stored>(mut from: ColumnReaderImpl<T>) -> String {
        let (mut present, mut repeated, mut values) = (vec![], vec![], vec![]);
        from.read_records(100, Some(&mut present), Some(&mut repeated), &mut values)
            .unwrap();
        format!("{present:?} {repeated:?} {values:?}")
    }
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(file)).unwrap();
    let mut schema = Vec::new();
    print_schema(&mut schema, reader.metadata().file_metadata().schema());
    let group = reader.get_row_group(0).unwrap();
    let columns = (0..7).map(|at| match group.get_column_reader(at).unwrap() {
        ColumnReader::Int32ColumnReader(from) => all(from),
        ColumnReader::Int64ColumnReader(from) => all(from),
        ColumnReader::Int96ColumnReader(from) => all(from),
        ColumnReader::ByteArrayColumnReader(from) => all(from),
        ColumnReader::FixedLenByteArrayColumnReader(from) => all(from),
        _ => String::new(),
    });
    (String::from_utf8(schema).unwrap(), columns.collect())
}

#[test]
fn columns_of_types_that_arrow_lacks_are_kept_exactly() {
    let file = foreign();
    let with = |encrypt, on_error| Transform {
        on_error,
        ..transform("digits", encrypt)
    };
    let (hidden, _) = parquet(&with(true, OnError::Keep), &file).unwrap();
    let ((schema, columns), (same, all)) = (stored(&hidden), stored(&file));
    assert_eq!((&schema, columns.len()), (&same, 7));
    for at in 0..7 {
        assert_eq!(columns[at] == all[at], at != 1, "{}", columns[at]);
    }
    let (back, _) = parquet(&with(false, OnError::Keep), &hidden).unwrap();
    assert_eq!(stored(&back), stored(&file));

    // The option skips the second row.
    let (left, _) = parquet(&with(true, OnError::Skip), &file).unwrap();
    let (back, _) = parquet(&with(false, OnError::Stop), &left).unwrap();
    let (schema, columns) = stored(&back);
    assert_eq!(schema, same);
    assert_eq!(columns[0], all[0].replace("[1, 0, 1]", "[1, 1]"));
    assert!(!columns[1].contains("120") && columns[2].starts_with("[1, 0]"));
    assert_eq!(columns[5], "[1, 1] [] [5, 7]");
    assert_eq!(columns[6], "[3, 2, 3, 3, 3] [0, 1, 0, 1, 1] [1, 2, 3, 4]");
}
