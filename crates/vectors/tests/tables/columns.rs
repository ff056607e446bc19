//! Ids and other columns of tables: Parquet with its compressions, lines of JSON, and CSV.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, FixedSizeListBuilder, Float32Builder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float16Array, Float32Array,
    Float64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt16Array,
    UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use sordino_vectors::column::Column;
use sordino_vectors::id::IdKind;
use sordino_vectors::{ColumnNames, Error, FileOptions, Format, Reader};

use crate::others::{self, stream, table};

const UUIDS: [&str; 2] = [
    "67e55044-10b1-426f-9247-bb680e5fe0c8",
    "00000000-0000-0000-0000-000000000001",
];

fn names(ids: Option<&str>, kind: Option<IdKind>, values: &[&str]) -> ColumnNames {
    ColumnNames {
        vectorless: false,
        vectors: None,
        ids: ids.map(str::to_owned),
        id_kind: kind,
        values: values.iter().map(|&name| name.to_owned()).collect(),
        ..ColumnNames::default()
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
    let packed = UUIDS.map(|uuid| *uuid::Uuid::parse_str(uuid).unwrap().as_bytes());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("name", Arc::new(StringArray::from(vec!["b", "a"]))),
        ("uuid", Arc::new(uuids.finish())),
        ("packed", Arc::new(BinaryArray::from_iter_values(packed))),
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
            // A type that Arrow has and Parquet lacks.
            Column::Text(vec![text("x"), None]),
        ];
        assert_eq!(values, expected);
        for (column, kind) in [
            ("uuid", None),
            ("uuid", Some(IdKind::Uuid)),
            // pandas writes UUIDs as bytes of any length.
            ("packed", None),
            ("packed", Some(IdKind::Uuid)),
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
        // If an index has texts as ids, whole numbers become texts.
        let texts = names(Some("big"), Some(IdKind::Text), &[]);
        let (_, ids, _) = all(Format::Parquet, bytes.clone(), &texts).unwrap();
        assert_eq!(ids, ["18446744073709551615", "0"]);
        let error = |named| {
            all(Format::Parquet, bytes.clone(), &named)
                .unwrap_err()
                .to_string()
        };
        assert!(
            error(names(Some("name"), Some(IdKind::Uuid), &[]))
                .contains("row 0: \"b\" is not an id")
        );
        assert!(error(names(Some("big"), Some(IdKind::Uuid), &[])).contains("expected a UUID"));
        assert!(
            error(names(Some("blob"), None, &[]))
                .contains("row 0: a value of 1 bytes is not an id: expected the 16 bytes")
        );
        assert!(
            error(names(Some("price"), None, &[]))
                .contains("column price holds Float64: expected whole numbers")
        );
        assert!(error(names(Some("cost"), None, &[])).contains("no column cost: there are flag"));
        assert!(error(names(Some("view"), None, &[])).contains("row 1, column view is null"));
        let (_, _, big) =
            all(Format::Parquet, bytes.clone(), &names(None, None, &["big"])).unwrap();
        let digits = [text("18446744073709551615"), text("0")];
        assert_eq!(big, [Column::Json(digits.to_vec())]);
    }
}

/// A 32-bit float becomes the number with its shortest digits, because other programs and filters name it by these.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest float of 32 bits is meant"
)]
fn narrow_floats_are_the_numbers_that_people_write() {
    let written: [f64; 6] = [0.1, -0.7, 1e-7, 3.4e38, 16_777_216.0, 0.0];
    let singles = Float32Array::from_iter_values(written.map(|x| x as f32));
    let halves = written.map(|x| half::f16::from_f64(x.clamp(-65504.0, 65504.0)));
    let halves = Float16Array::from_iter_values(halves);
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 1);
    for x in singles.values() {
        list.values().append_value(*x);
        list.append(true);
    }
    let batch = table(vec![
        ("v", Arc::new(list.finish())),
        ("single", Arc::new(singles)),
        ("half", Arc::new(halves)),
    ]);
    let wanted = names(None, None, &["single", "half", "v"]);
    for (format, bytes) in [
        (
            Format::Parquet,
            others::parquet(&batch, Compression::SNAPPY),
        ),
        (Format::Arrow, stream(&batch)),
    ] {
        let (data, _, values) = all(format, bytes, &wanted).unwrap();
        assert_eq!(data, written.map(|x| x as f32));
        let floats = |values: [f64; 6]| Column::Float(values.map(Some).to_vec());
        assert_eq!(values[0], floats(written));
        // Half-precision floats near 65504 are 32 apart, so 65500 is the shortest text for that
        // value.
        let tiny = 1e-7;
        assert_eq!(values[1], floats([0.1, -0.7, tiny, 65500.0, 65500.0, 0.0]));
        let lists: Vec<String> = (0..6).map(|row| values[2].json(row).to_string()).collect();
        let expected = [
            "[0.1]",
            "[-0.7]",
            "[1e-7]",
            "[3.4e+38]",
            "[16777216.0]",
            "[0.0]",
        ];
        assert_eq!(lists, expected);
    }
    // The shortest number of each 16-bit float gives the same float again.
    let every = (0..=u16::MAX).map(half::f16::from_bits);
    let every: Vec<half::f16> = every.filter(|x| x.is_finite()).collect();
    let rows = every.len();
    let ones = Float32Array::from(vec![1.0; rows]);
    let column = Float16Array::from_iter_values(every.iter().copied());
    let batch = table(vec![("f0", Arc::new(ones)), ("half", Arc::new(column))]);
    let mut named = names(None, None, &["half"]);
    named.vectors = Some("f*".to_owned());
    let reader = Reader::from_bytes_columns(Format::Arrow, stream(&batch), &named).unwrap();
    let mut read = 0;
    for chunk in reader {
        let Column::Float(values) = &chunk.unwrap().values[0] else {
            panic!("expected floats");
        };
        for x in values.iter().flatten() {
            assert_eq!(half::f16::from_f64(*x).to_bits(), every[read].to_bits());
            read += 1;
        }
    }
    assert_eq!(read, rows);
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
    let text = Column::Text(vec![Some("a \"b\"\r\nc".into()), None]);
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
            "line 2: member v: a list with null as number 1, expected a list of numbers",
        ),
        (
            Format::Jsonl,
            "7",
            "at byte 1; expected one JSON object a line, or in a .json file an array",
        ),
        (
            Format::Jsonl,
            "{\"v\": [1]}\n{\"v\": [NaN]}",
            "line 2: expected value, at byte 8; JSON has no NaN",
        ),
        (
            Format::Csv,
            "id;v\n1;[1 2]\n",
            "one column: if there is a semicolon between fields, name it (on the command line --delimiter semicolon)",
        ),
        (
            Format::Jsonl,
            "\u{feff}{\"v\": [1]}\n{\"v\": [1]",
            "line 2: it ends within a value, so it was cut short",
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
            "line 3: column v: number 1 is not one: expected numbers such as",
        ),
        // The first bytes, which name the format, end before the first line does.
        (
            Format::Csv,
            "v,a_column_whose_name_is_longer_than_any_magic_number_of_a_format\r\n[1],2\r\nx,3\r\n",
            "line 3: column v: number 1 is not one: expected numbers such as",
        ),
        (
            Format::Csv,
            "v\n\"[0,12573; -0,1321]\"\n",
            "line 2: column v: semicolons between numbers with commas in them",
        ),
        (
            Format::Csv,
            "id,v\n1,\"[1,2]\"\n2,\"[1,,2]\"\n",
            "line 3: column v: nothing where number 2 should be",
        ),
        (
            Format::Csv,
            "v\n[0.1 0.2 ... 0.9]\n",
            "line 2: column v: \"...\" in place of numbers: expected all of them: NumPy leaves out",
        ),
        (
            Format::Csv,
            "w,v\n1,[1 2]\n2,\n",
            "line 3: column v: no numbers",
        ),
        (
            Format::Csv,
            "v,w,v\n[1],2,3\n",
            "two columns are named v, the columns 1 and 3, counted from 1",
        ),
        (
            Format::Jsonl,
            "{\"v\": [1]}\n{\"v\": [1], \"w\": 2, \"v\": [2]}",
            "line 2: two members are named \"v\", the members 1 and 3 of their object",
        ),
        (
            Format::Jsonl,
            "{\"v\": [1], \"p\": {\"a\": [{\"b\": 1, \"b\": 1}]}}",
            "line 1: two members are named \"b\"",
        ),
        (
            Format::Jsonl,
            "{\"v\": [\"1\", \"2\"]}",
            "no column of vectors",
        ),
        (Format::Jsonl, "{\"v\": 1}", "no column of vectors"),
        (Format::Csv, "", "no vectors"),
        (Format::Csv, "v\n", "no vectors"),
        (
            Format::Csv,
            "v,t\n[1],a\n[2],\"open\n[3],b\n[4],c\n",
            "cannot read this CSV file: the quotation mark that opens a field in line 3 is not closed",
        ),
        (
            Format::Csv,
            "v,t\n[1],5\" disk\n[2],\"open\n[3],b\n",
            "opens a field in line 3 is not closed",
        ),
        (
            Format::Csv,
            "v,\"t\n[1],a\n",
            "opens a field in line 1 is not closed",
        ),
        (
            Format::Json,
            "{\"columns\": [\"v\"], \"index\": [5, 6], \"data\": [[[1, 2]], [[3, 4]]]}",
            "member data is a list of lists",
        ),
        (
            Format::Json,
            "[{\"v\": [1], \"t\": \"a},\n{\"v\": [2], \"t\": \"b}, {\"v\": [3]}]",
            "the element that begins in line 1 is not JSON",
        ),
        (Format::Csv, "v\n1 2\n", "no column of vectors in brackets"),
        (
            Format::Csv,
            "1,hello,\"[1,2]\"\n2,b,\"[3,4]\"\n",
            "line 1: a list of numbers, where the names of columns are expected",
        ),
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

/// A table in which columns 1 and 3 have the same name, as Parquet and as an Arrow stream.
fn two_columns() -> [(Format, Vec<u8>); 2] {
    let lists = || {
        let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
        list.values().append_slice(&[1.0, 2.0]);
        list.append(true);
        let list: ArrayRef = Arc::new(list.finish());
        list
    };
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let columns = vec![texts.clone(), lists(), texts, lists()];
    let fields = ["t", "v", "t", "w"].iter().zip(&columns);
    let fields: Vec<Field> = fields
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut parquet = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut parquet, schema.clone(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let mut arrow = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    arrow.write(&batch).unwrap();
    arrow.finish().unwrap();
    [
        (Format::Parquet, parquet),
        (Format::Arrow, arrow.into_inner().unwrap()),
    ]
}

#[test]
fn a_table_with_two_columns_of_one_name_is_refused_where_that_is_asked_for() {
    let named = |vectors: &str, ids: Option<&str>, values: &[&str]| ColumnNames {
        vectors: Some(vectors.to_owned()),
        ..names(ids, None, values)
    };
    for (format, bytes) in two_columns() {
        // The column has lists, which are no ids.
        let reader = Reader::from_bytes_columns(format, bytes.clone(), &named("v", Some("w"), &[]));
        assert!(matches!(reader, Err(Error::ColumnType { .. })));
        let reader = Reader::from_bytes_columns(format, bytes.clone(), &named("v", None, &[]));
        assert_eq!(reader.unwrap().columns(), ["t", "v", "t", "w"]);
        for names in [
            named("t", None, &[]),
            named("v", Some("t"), &[]),
            named("v", None, &["t"]),
        ] {
            let error = all(format, bytes.clone(), &names).unwrap_err();
            assert!(
                matches!(error, Error::TwoColumns { places: (1, 3), .. }),
                "{error}"
            );
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\":,v0-9\n ]{0,80}") {
        for format in [Format::Jsonl, Format::Json, Format::Csv, Format::Tsv] {
            for bytes in [&bytes[..], text.as_bytes()] {
                let names = names(Some("v"), None, &["v"]);
                let _ = all(format, bytes.to_vec(), &names);
                let skip = FileOptions { format: Some(format), skip: true, ..FileOptions::default() };
                let reader = Reader::from_bytes_with(bytes.to_vec(), &names, &skip);
                assert!(reader.into_iter().flatten().count() <= bytes.len());
            }
        }
    }
}
