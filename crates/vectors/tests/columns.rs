//! Ids and other columns of tables: Parquet with its compressions, lines of JSON, CSV.
#![cfg(all(feature = "arrow", feature = "text"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, FixedSizeListBuilder, Float32Builder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, LargeStringArray,
    RecordBatch, StringArray, StringViewArray, UInt16Array, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use sordino_vectors::column::Column;
use sordino_vectors::id::IdKind;
use sordino_vectors::{ColumnNames, Error, Format, Reader};

const UUIDS: [&str; 2] = [
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "00000000-0000-0000-0000-000000000001",
];

fn names(ids: Option<&str>, kind: Option<IdKind>, values: &[&str]) -> ColumnNames {
    ColumnNames {
        vectors: None,
        ids: ids.map(str::to_owned),
        id_kind: kind,
        values: values.iter().map(|&name| name.to_owned()).collect(),
    }
}

type Read = (Vec<f32>, Vec<String>, Vec<Column>);

fn all(format: Format, bytes: Vec<u8>, names: &ColumnNames) -> Result<Read, Error> {
    let mut read = (Vec::new(), Vec::new(), Vec::new());
    for chunk in Reader::from_bytes_columns(format, bytes, names)? {
        let chunk = chunk?;
        read.0.extend_from_slice(chunk.vectors.as_slice());
        let ids = chunk.ids.into_iter().flatten();
        read.1.extend(ids.map(|id| id.to_string()));
        read.2 = chunk.values;
    }
    Ok(read)
}

fn parquet(compression: Compression) -> Vec<u8> {
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    let mut uuids = FixedSizeBinaryBuilder::new(16);
    for (row, uuid) in [[1.0, 2.0], [3.0, 4.0]].iter().zip(UUIDS) {
        list.values().append_slice(row);
        list.append(true);
        let bytes = uuid::Uuid::parse_str(uuid).unwrap();
        uuids.append_value(bytes.as_bytes()).unwrap();
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("name", Arc::new(StringArray::from(vec!["b", "a"]))),
        ("uuid", Arc::new(uuids.finish())),
        ("v", Arc::new(list.finish())),
        ("large", Arc::new(LargeStringArray::from(UUIDS.to_vec()))),
        (
            "view",
            Arc::new(StringViewArray::from(vec![Some("x"), None])),
        ),
        ("year", Arc::new(UInt16Array::from(vec![Some(7), None]))),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 0]))),
        ("price", Arc::new(Float64Array::from(vec![0.5, -1.0]))),
        ("blob", Arc::new(BinaryArray::from(vec![&b"\xff"[..], b""]))),
        (
            "category",
            Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("x"), None])),
        ),
    ];
    let nullable = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn columns_of_every_type_come_in_the_order_asked_for() {
    let text = |text: &str| Some(Box::from(text));
    for compression in [Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())] {
        let bytes = parquet(compression);
        let wanted = ["year", "blob", "flag", "view", "price", "year", "category"];
        let (data, ids, values) = all(
            Format::Parquet,
            bytes.clone(),
            &names(Some("name"), None, &wanted),
        )
        .unwrap();
        assert_eq!(
            (&data[..], &ids[..]),
            (
                &[1.0, 2.0, 3.0, 4.0][..],
                &["b".to_owned(), "a".to_owned()][..]
            )
        );
        let year = Column::Int(vec![Some(7), None]);
        let expected = [
            year.clone(),
            Column::Bytes(vec![Some(Box::from(&b"\xff"[..])), Some(Box::default())]),
            Column::Bool(vec![Some(true), None]),
            Column::Text(vec![text("x"), None]),
            Column::Float(vec![Some(0.5), Some(-1.0)]),
            year,
            // A type of Arrow, of which Parquet knows nothing.
            Column::Text(vec![text("x"), None]),
        ];
        assert_eq!(values, expected);
        for (column, kind) in [
            ("uuid", None),
            ("uuid", Some(IdKind::Uuid)),
            ("large", Some(IdKind::Uuid)),
        ] {
            let named = names(Some(column), kind, &[]);
            let (_, ids, _) = all(Format::Parquet, bytes.clone(), &named).unwrap();
            assert_eq!(ids, UUIDS);
        }
        let (_, ids, _) = all(
            Format::Parquet,
            bytes.clone(),
            &names(Some("big"), None, &[]),
        )
        .unwrap();
        assert_eq!(ids, ["18446744073709551615", "0"]);
        let error = |named| {
            all(Format::Parquet, bytes.clone(), &named)
                .unwrap_err()
                .to_string()
        };
        assert!(
            error(names(Some("name"), Some(IdKind::Uuid), &[])).contains("row 0: no id: \"b\"")
        );
        assert!(error(names(Some("big"), Some(IdKind::Text), &[])).contains("expected a text"));
        assert!(
            error(names(Some("price"), None, &[]))
                .contains("column price holds Float64: expected whole numbers")
        );
        assert!(error(names(Some("cost"), None, &[])).contains("no column cost: there are flag"));
        assert!(error(names(Some("view"), None, &[])).contains("row 1, column view is null"));
        assert!(
            error(names(None, None, &["big"]))
                .contains("row 0, column big: expected a whole number below")
        );
    }
}

#[test]
fn text_is_read_as_it_is_written() {
    let lines = "{\"id\": 7, \"v\": [1, -2.5e0], \"t\": {\"b\": 1.50}}\n\n{\"t\": null, \"id\": 8, \"v\": [3, 4]}";
    let json = all(
        Format::Jsonl,
        lines.into(),
        &names(Some("id"), None, &["t"]),
    )
    .unwrap();
    let raw = Column::Json(vec![Some("{\"b\": 1.50}".into()), None]);
    assert_eq!(
        json,
        (
            vec![1.0, -2.5, 3.0, 4.0],
            vec!["7".to_owned(), "8".to_owned()],
            vec![raw]
        )
    );
    let table = "id,v,t\r\nx,\"[1, -2.5e0]\",\"a \"\"b\"\"\r\nc\"\r\ny,\"[3; 4]\",\r\n";
    let csv = all(Format::Csv, table.into(), &names(Some("id"), None, &["t"])).unwrap();
    let text = Column::Text(vec![Some("a \"b\"\r\nc".into()), Some("".into())]);
    assert_eq!(
        csv,
        (
            vec![1.0, -2.5, 3.0, 4.0],
            vec!["x".to_owned(), "y".to_owned()],
            vec![text]
        )
    );
    for (format, text, expected) in [
        (Format::Jsonl, "", "no vectors"),
        (
            Format::Jsonl,
            "{\"v\": [1], \"n\": 1}\n{\"v\": [1, 2]}",
            "line 2: a vector of dimension 2: expected 1",
        ),
        (
            Format::Jsonl,
            "{\"v\": [1]}\n{\"v\": [null]}",
            "line 2: member v: expected a list of numbers",
        ),
        (
            Format::Jsonl,
            "[1]",
            "line 1: invalid type: sequence, expected a map, at byte 0; expected one JSON object a line",
        ),
        (
            Format::Jsonl,
            "\u{feff}{\"v\": [1]}\n{\"v\": [1]",
            "line 2: EOF while parsing an object, at byte 9",
        ),
        (
            Format::Csv,
            "v,w\r\n[1],2\r\n[1]\r\n",
            "line 3: 1 fields: expected 2",
        ),
        (
            Format::Csv,
            "v,w\n[1],2\n[1]\n",
            "line 3: 1 fields: expected 2",
        ),
        (
            Format::Csv,
            "v,w\r\n[1],2\r\nx,3\r\n",
            "line 3: column v: expected numbers",
        ),
        (Format::Jsonl, "{\"v\": 1}", "no column of vectors"),
        (Format::Csv, "", "no vectors"),
        (Format::Csv, "v\n", "no vectors"),
        (Format::Csv, "v\n1 2\n", "no column of vectors in brackets"),
        (
            Format::Csv,
            "v\n[1 2]\n[1]\n",
            "line 3: a vector of dimension 1: expected 2",
        ),
        (Format::Csv, "v,w\n[1],[2]\n", "name one of v, w"),
        (Format::Csv, "v\n[inf]\n", "is not a finite one"),
    ] {
        let error = all(format, text.into(), &ColumnNames::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\":,v0-9\n ]{0,80}") {
        for format in [Format::Jsonl, Format::Csv] {
            for bytes in [&bytes[..], text.as_bytes()] {
                let _ = all(format, bytes.to_vec(), &names(Some("v"), None, &["v"]));
            }
        }
    }
}
