//! Files in the forms that other programs write: columns of vectors with other types, categories, Arrow files without an
//! end, JSON arrays, packed texts.

use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, ListViewBuilder, UInt16Builder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Float32Array, Int64Array, RecordBatch,
    StringArray, StructArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Fields};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression};
use parquet::file::properties::WriterProperties;
use sordino_vectors::column::Column;
use sordino_vectors::{ColumnNames, Error, FileOptions, Format, Reader, Vectors};

pub(crate) fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter();
    let nullable = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(nullable).unwrap()
}

pub(crate) fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression);
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

pub(crate) fn named(vectors: Option<&str>, ids: Option<&str>, values: &[&str]) -> ColumnNames {
    ColumnNames {
        vectors: vectors.map(str::to_owned),
        ids: ids.map(str::to_owned),
        values: values.iter().map(|&name| name.to_owned()).collect(),
        ..ColumnNames::default()
    }
}

fn numbers(format: Format, bytes: &[u8], vectors: Option<&str>) -> Result<Vec<f32>, Error> {
    let names = named(vectors, None, &[]);
    let reader = Reader::from_bytes_columns(format, bytes.to_vec(), &names)?;
    Ok(Vectors::collect(reader)?.as_slice().to_vec())
}

pub(crate) fn lists() -> ArrayRef {
    let mut list = ListBuilder::new(Int64Builder::new());
    for row in [[1, -2], [3, 4]] {
        list.values().append_slice(&row);
        list.append(true);
    }
    Arc::new(list.finish())
}

#[test]
fn vectors_come_from_every_type_of_column() {
    let mut view = ListViewBuilder::new(UInt16Builder::new());
    for row in [[1, 2], [3, 4]] {
        view.values().append_slice(&row);
        view.append(true);
    }
    let texts = StringArray::from(vec!["[1, -2]", "{3,4}"]);
    let blob = |row: [f32; 2]| row.map(f32::to_le_bytes).concat();
    let blobs = [blob([1.0, -2.0]), blob([3.0, 4.0])];
    let blobs = BinaryArray::from_iter_values(&blobs);
    let fields = Fields::from(vec![Field::new("v", lists().data_type().clone(), true)]);
    let nested = StructArray::new(fields, vec![lists()], None);
    let batch = table(vec![
        ("id", Arc::new(Int64Array::from(vec![7, 8]))),
        ("list", lists()),
        ("text", Arc::new(texts)),
        ("blob", Arc::new(blobs)),
        ("of", Arc::new(nested)),
        ("f10", Arc::new(Int64Array::from(vec![-2, 4]))),
        ("f9", Arc::new(Float32Array::from(vec![1.0, 3.0]))),
    ]);
    for (format, bytes) in [
        (
            Format::Parquet,
            parquet(&batch, Compression::BROTLI(BrotliLevel::default())),
        ),
        (Format::Arrow, stream(&batch)),
    ] {
        for name in [
            None,
            Some("list"),
            Some("text"),
            Some("blob"),
            Some("of.v"),
            Some("f*"),
        ] {
            let found = numbers(format, &bytes, name).unwrap();
            assert_eq!(found, [1.0, -2.0, 3.0, 4.0], "{format:?} {name:?}");
        }
        for (name, why) in [
            (
                "id",
                "column id holds Int64: expected lists of numbers, texts such as",
            ),
            ("g*", "no column g*: there are id (Int64)"),
            ("of.w", "no column of.w"),
            ("t*", "column text holds Utf8: expected numbers"),
        ] {
            let error = numbers(format, &bytes, Some(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
    // Parquet has no such types.
    let views = stream(&table(vec![("v", Arc::new(view.finish()))]));
    assert_eq!(
        numbers(Format::Arrow, &views, None).unwrap(),
        [1.0, 2.0, 3.0, 4.0]
    );
    let odd = BinaryArray::from_iter_values([[0u8; 8].as_slice(), &[0u8; 7]]);
    let odd = stream(&table(vec![("v", Arc::new(odd))]));
    let error = numbers(Format::Arrow, &odd, Some("v"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("row 1, column v: 7 bytes, expected 4 bytes for each"),
        "{error}"
    );
}

/// A missing structure has no fields, whatever values the columns hold for them.
#[test]
fn a_field_of_no_structure_is_no_value() {
    let fields = Fields::from(vec![Field::new("t", DataType::Utf8, true)]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let nested = StructArray::new(fields, vec![texts], Some(vec![true, false].into()));
    let batch = table(vec![("v", lists()), ("of", Arc::new(nested))]);
    for (format, bytes) in [
        (Format::Parquet, parquet(&batch, Compression::UNCOMPRESSED)),
        (Format::Arrow, stream(&batch)),
    ] {
        let names = named(None, None, &["of.t"]);
        let mut reader = Reader::from_bytes_columns(format, bytes, &names).unwrap();
        let values = reader.next().unwrap().unwrap().values;
        assert_eq!(values, [Column::Text(vec![Some("a".into()), None])]);
    }
}

#[test]
fn categories_are_texts_and_ids() {
    let categories = DictionaryArray::<Int8Type>::from_iter([Some("en"), Some("de")]);
    let ids = DictionaryArray::<Int8Type>::from_iter([Some("x"), Some("y")]);
    let batch = table(vec![
        ("v", lists()),
        ("lang", Arc::new(categories)),
        ("id", Arc::new(ids)),
    ]);
    for bytes in [stream(&batch), file(&batch)] {
        let names = named(None, Some("id"), &["lang"]);
        let mut reader = Reader::from_bytes_columns(Format::Arrow, bytes, &names).unwrap();
        let chunk = reader.next().unwrap().unwrap();
        let ids: Vec<String> = chunk.ids.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["x", "y"]);
        let lang = Column::Text(vec![Some("en".into()), Some("de".into())]);
        assert_eq!(chunk.values, [lang]);
    }
}

#[test]
fn arrow_may_end_without_a_mark() {
    let batch = table(vec![("v", lists())]);
    let mark = [255, 255, 255, 255, 0, 0, 0, 0];
    let mut bytes = stream(&batch);
    assert!(bytes.ends_with(&mark));
    bytes.truncate(bytes.len() - 8);
    assert_eq!(numbers(Format::Arrow, &bytes, None).unwrap().len(), 4);
    let mut bytes = file(&batch);
    let at = bytes.windows(8).rposition(|found| found == mark).unwrap();
    bytes.drain(at..at + 8);
    assert_eq!(numbers(Format::Arrow, &bytes, None).unwrap().len(), 4);
    // The batch is missing, and the footer names it.
    let (first, second) = (file(&batch), file(&batch.slice(0, 0)));
    let start = |bytes: &[u8]| bytes.windows(8).rposition(|found| found == mark).unwrap();
    let mixed = [&second[..start(&second)], &first[start(&first)..]].concat();
    assert!(numbers(Format::Arrow, &mixed, None).is_err());
}

/// Polars writes the description of the columns without its length, because readers take that from the footer.
#[test]
fn arrow_files_of_polars_are_read_and_late_categories_named() {
    let batch = table(vec![("v", lists())]);
    let mut bytes = file(&batch);
    let at = bytes
        .windows(4)
        .position(|found| found == [255; 4])
        .unwrap();
    bytes.drain(at..at + 8);
    assert_eq!(
        numbers(Format::Arrow, &bytes, None).unwrap(),
        [1.0, -2.0, 3.0, 4.0]
    );
    assert!(numbers(Format::Arrow, &bytes[..at + 16], None).is_err());
    let other = [&b"ARROW1\0\0"[..], &[7; 64], &[255; 8], &[7; 64]].concat();
    assert!(numbers(Format::Arrow, &other, None).is_err());

    let categories = DictionaryArray::<Int8Type>::from_iter([Some("en"), Some("de")]);
    let bytes = stream(&table(vec![("v", lists()), ("lang", Arc::new(categories))]));
    let (mut messages, mut rest) = (Vec::new(), &bytes[..]);
    while rest.len() > 8 {
        let len = u32::from_le_bytes(*rest[4..].first_chunk().unwrap()) as usize;
        let message = arrow_ipc::root_as_message(&rest[8..8 + len]).unwrap();
        let end = 8 + len + usize::try_from(message.bodyLength()).unwrap();
        messages.push(&rest[..end]);
        rest = &rest[end..];
    }
    messages.swap(1, 2);
    let late = [messages.concat(), rest.to_vec()].concat();
    let names = named(None, None, &["lang"]);
    let error = Reader::from_bytes_columns(Format::Arrow, late, &names).unwrap_err();
    assert!(error.to_string().contains("cast(pl.String)"), "{error}");
}

#[test]
fn a_json_array_is_read_an_element_at_a_time() {
    let objects = b"\xef\xbb\xbf [\n {\"id\": \"a, ]\\\"\", \"v\": [1, 2]},\n\n {\"id\": \"b\",\n  \"v\": \"[3,4]\"}\n]\n";
    let lists = b"[[1, 2],\n[3, 4]]";
    for text in [
        &objects[..],
        lists,
        b"[1, 2]\n[3, 4]\n",
        b"\n{\"v\": [1, 2]}\n{\"v\": [3, 4]}",
    ] {
        let found = numbers(Format::Json, text, None);
        if text.starts_with(b"[1") {
            // An array of numbers is refused if something else follows it.
            assert!(found.is_err());
            assert_eq!(
                numbers(Format::Jsonl, text, None).unwrap(),
                [1.0, 2.0, 3.0, 4.0]
            );
            continue;
        }
        assert_eq!(found.unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
    let names = named(Some("v"), Some("id"), &[]);
    let mut reader = Reader::from_bytes_columns(Format::Json, objects.to_vec(), &names).unwrap();
    let chunk = reader.next().unwrap().unwrap();
    assert_eq!(chunk.lines, Some(vec![2, 4]));
    assert_eq!(chunk.ids.unwrap()[0].to_string(), "a, ]\"");
    for (text, why) in [
        (&b"[[1, 2], [3, 4]"[..], "cut short"),
        (b"[]", "no vectors"),
        (b"", "no vectors"),
        (b"[[1], {\"v\": 1}]", "no column of vectors"),
        (b"[[1]] x", "something follows the JSON array"),
        (b"[[1], [2, 3]]", "line 1: a vector of dimension 2"),
        (b"[[1], [NaN]]", "JSON has no NaN"),
    ] {
        let error = numbers(Format::Json, text, None).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn packed_texts_and_other_delimiters_are_read() {
    let text = b"id\tv\n1\t[1 2]\n2\t[3 4]\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(&text[..], 3).unwrap();
    for bytes in [
        text.to_vec(),
        gzip.clone(),
        [gzip.clone(), gzip[..0].to_vec()].concat(),
        zstd,
    ] {
        assert_eq!(
            numbers(Format::Tsv, &bytes, None).unwrap(),
            [1.0, 2.0, 3.0, 4.0]
        );
    }
    assert!(numbers(Format::Tsv, &gzip[..gzip.len() - 9], None).is_err());
    let options = FileOptions {
        format: Some(Format::Csv),
        delimiter: Some(b';'),
        ..FileOptions::default()
    };
    let spread = b"x1;name;x2\n1;a;2\n3;b;4\n".to_vec();
    let names = named(Some("x*"), None, &["name"]);
    let reader = Reader::from_bytes_with(spread, &names, &options).unwrap();
    assert_eq!(
        Vectors::collect(reader).unwrap().as_slice(),
        [1.0, 2.0, 3.0, 4.0]
    );
    let bad = b"x1;x2\n1;2\n3;\n".to_vec();
    let names = named(Some("x*"), None, &[]);
    let mut reader = Reader::from_bytes_with(bad, &names, &options).unwrap();
    let error = reader.next().unwrap().unwrap_err().to_string();
    assert!(
        error.contains("line 3: column x2: the field is empty: expected a number"),
        "{error}"
    );
}
