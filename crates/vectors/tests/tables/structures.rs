//! Columns of dates, decimals, lists and structures, which are read as JSON text.

use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeListBuilder, Float32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
};
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DurationMillisecondArray,
    Int8Array, Int32Array, ListArray, NullArray, PrimitiveArray, RecordBatch, StringArray,
    StructArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;
use parquet::data_type::{FloatType, Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sordino_vectors::column::Column;
use sordino_vectors::{ColumnNames, Error, Format, Reader};

/// A table of two rows with vectors and these columns.
fn table(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let mut list = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for row in [[1.0, 2.0], [3.0, 4.0]] {
        list.values().append_slice(&row);
        list.append(true);
    }
    let vectors: ArrayRef = Arc::new(list.finish());
    let all = [("vectors", vectors)].into_iter();
    let all = all.chain(columns.iter().cloned());
    RecordBatch::try_from_iter_with_nullable(all.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn files(batch: &RecordBatch) -> [(Format, Vec<u8>); 2] {
    let mut parquet = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut parquet, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    [(Format::Parquet, parquet), (Format::Arrow, stream(batch))]
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut arrow = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    arrow.write(batch).unwrap();
    arrow.finish().unwrap();
    arrow.into_inner().unwrap()
}

fn read(format: Format, bytes: Vec<u8>, name: &str) -> Result<Column, Error> {
    let names = ColumnNames {
        vectors: Some("vectors".to_owned()),
        values: vec![name.to_owned()],
        ..ColumnNames::default()
    };
    let chunk = Reader::from_bytes_columns(format, bytes, &names)?.next();
    Ok(chunk.unwrap()?.values.remove(0))
}

fn json(values: [Option<&str>; 2]) -> Column {
    Column::Json(values.map(|text| text.map(Box::from)).to_vec())
}

/// An instant on a summer's day, with a fraction of a second.
const INSTANT: i64 = 1_720_000_000_120_000;

fn columns() -> Vec<(&'static str, ArrayRef, [Option<&'static str>; 2])> {
    let mut numbers = ListBuilder::new(Int64Builder::new());
    numbers.append_value([Some(1), None, Some(-3)]);
    numbers.append(false);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("a\"b");
    map.values().append_value(7);
    map.append(true).unwrap();
    map.append(true).unwrap();
    let fields: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("name", arrow_schema::DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("Zoë"), None])),
        ),
        (
            Arc::new(Field::new("open", arrow_schema::DataType::Boolean, true)),
            Arc::new(BooleanArray::from(vec![true, false])),
        ),
    ];
    let instants = TimestampMicrosecondArray::from(vec![Some(INSTANT), None]);
    let nanoseconds = vec![Some(INSTANT * 1000 + 7), Some(0)];
    let decimals = Decimal128Array::from(vec![Some(1250), Some(-5)]);
    let floats = PrimitiveArray::<Float64Type>::from(vec![0.5, f64::NAN]);
    let item = Arc::new(Field::new_list_field(floats.data_type().clone(), true));
    let lens = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
    vec![
        (
            "date",
            Arc::new(Date32Array::from(vec![Some(19_907), None])),
            [Some("\"2024-07-03\""), None],
        ),
        (
            "utc",
            Arc::new(instants.with_timezone("UTC")),
            [Some("\"2024-07-03T09:46:40.120Z\""), None],
        ),
        (
            "local",
            Arc::new(TimestampNanosecondArray::from(nanoseconds)),
            [
                Some("\"2024-07-03T09:46:40.120000007\""),
                Some("\"1970-01-01T00:00:00\""),
            ],
        ),
        (
            "time",
            Arc::new(Time64MicrosecondArray::from(vec![61_000_000, 0])),
            [Some("\"00:01:01\""), Some("\"00:00:00\"")],
        ),
        (
            "price",
            Arc::new(decimals.with_precision_and_scale(10, 2).unwrap()),
            [Some("\"12.50\""), Some("\"-0.05\"")],
        ),
        (
            "numbers",
            Arc::new(numbers.finish()),
            [Some("[1,null,-3]"), None],
        ),
        (
            "floats",
            Arc::new(ListArray::new(item, lens, Arc::new(floats), None)),
            [Some("[0.5]"), Some("[null]")],
        ),
        (
            "map",
            Arc::new(map.finish()),
            [Some(r#"{"a\"b":7}"#), Some("{}")],
        ),
        (
            "place",
            Arc::new(StructArray::from(fields)),
            [
                Some(r#"{"name":"Zoë","open":true}"#),
                Some(r#"{"name":null,"open":false}"#),
            ],
        ),
        (
            "big",
            Arc::new(UInt64Array::from(vec![u64::MAX, 0])),
            [Some("18446744073709551615"), Some("0")],
        ),
    ]
}

#[test]
fn values_that_people_have_are_json() {
    let all = columns();
    let named: Vec<(&str, ArrayRef)> = all.iter().map(|it| (it.0, Arc::clone(&it.1))).collect();
    for (format, bytes) in files(&table(&named)) {
        for (name, _, expected) in &all {
            let found = read(format, bytes.clone(), name).unwrap();
            assert_eq!(found, json(*expected), "{format:?} {name}");
        }
    }
    // Parquet has no durations. Its writers state, next to the numbers, that they are durations.
    let durations = DurationMillisecondArray::from(vec![-90_500, 86_400_000]);
    let durations: ArrayRef = Arc::new(durations);
    let item = Arc::new(Field::new_list_field(durations.data_type().clone(), true));
    let lens = arrow_buffer::OffsetBuffer::from_lengths([0, 2]);
    let list: ArrayRef = Arc::new(ListArray::new(item, lens, Arc::clone(&durations), None));
    for (format, bytes) in files(&table(&[("d", durations), ("of", list)])) {
        let found = read(format, bytes.clone(), "d").unwrap();
        let both = ["\"-PT90.5S\"", "\"PT86400S\""];
        assert_eq!(found, json(both.map(Some)), "{format:?}");
        let found = read(format, bytes, "of").unwrap();
        let list = format!("[{}]", both.join(","));
        assert_eq!(found, json([Some("[]"), Some(&list)]), "{format:?}");
    }
    for (format, bytes) in files(&table(&[("none", Arc::new(NullArray::new(2)))])) {
        let found = read(format, bytes, "none").unwrap();
        assert_eq!(found, Column::Text(vec![None, None]), "{format:?}");
    }
}

/// A file with two vectors, and two instants of 96 bits in a structure: nanoseconds of a day, and the Julian day.
fn instants(instants: [(u64, u32); 2]) -> Vec<u8> {
    let schema = "message m { required float x; required group at { required int96 seen; } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut to = group.next_column().unwrap().unwrap();
    to.typed::<FloatType>()
        .write_batch(&[1.0, 2.0], None, None)
        .unwrap();
    to.close().unwrap();
    let values = instants.map(|(within, day)| {
        let halves = [within & u64::from(u32::MAX), within >> 32];
        let [low, high] = halves.map(|half| u32::try_from(half).unwrap());
        Int96::from(vec![low, high, day])
    });
    let mut to = group.next_column().unwrap().unwrap();
    to.typed::<Int96Type>()
        .write_batch(&values, None, None)
        .unwrap();
    to.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    file
}

/// Spark writes instants as 96 bits. The first and the last day of the calendar do not fit into 64 bits of nanoseconds.
#[test]
fn instants_of_96_bits_are_read_exactly_or_refused() {
    let read = |values| {
        let names = ColumnNames {
            vectors: Some("x*".to_owned()),
            values: vec!["at".to_owned()],
            ..ColumnNames::default()
        };
        let mut reader = Reader::from_bytes_columns(Format::Parquet, instants(values), &names)?;
        Ok::<Column, Error>(reader.next().unwrap()?.values.remove(0))
    };
    let found = read([(0, 1_721_426), (86_399_999_999_000, 5_373_484)]).unwrap();
    let expected = ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"];
    let expected = expected.map(|at| format!("{{\"seen\":\"{at}\"}}"));
    assert_eq!(found, json([Some(&expected[0]), Some(&expected[1])]));
    let found = read([(7, 2_440_588), (0, 2_440_588)]).unwrap();
    let expected = ["1970-01-01T00:00:00.000000007", "1970-01-01T00:00:00"];
    let expected = expected.map(|at| format!("{{\"seen\":\"{at}\"}}"));
    assert_eq!(found, json([Some(&expected[0]), Some(&expected[1])]));
    for values in [[(7, 2_440_588), (0, 5_373_484)], [(0, 1 << 31), (0, 0)]] {
        let error = read(values).unwrap_err().to_string();
        assert!(
            error.contains("at.seen has INT96 timestamps outside"),
            "{error}"
        );
    }
}

#[test]
fn lists_within_lists_are_refused_with_the_command_that_takes_one() {
    let mut lists = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    for row in 0..2 {
        lists.values().append_value([Some(row), Some(2)]);
        lists.append(true);
    }
    let all = files(&table(&[("of", Arc::new(lists.finish()))]));
    for (format, bytes) in all {
        let names = ColumnNames {
            vectors: Some("of".to_owned()),
            ..ColumnNames::default()
        };
        let error = Reader::from_bytes_columns(format, bytes, &names).err();
        let error = error.unwrap().to_string();
        assert!(error.contains("select * replace (v[1] as v)"), "{error}");
    }
}

#[test]
fn what_would_be_too_long_or_too_deep_is_refused() {
    let mut deep: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2]));
    for depth in 0..18 {
        let item = Arc::new(Field::new_list_field(deep.data_type().clone(), true));
        let lens = arrow_buffer::OffsetBuffer::from_lengths([1, 1]);
        deep = Arc::new(ListArray::new(item, lens, deep, None));
        let found = read(
            Format::Arrow,
            stream(&table(&[("deep", Arc::clone(&deep))])),
            "deep",
        );
        match depth < 16 {
            true => assert!(matches!(found, Ok(Column::Json(_))), "{depth}"),
            false => assert!(matches!(found, Err(Error::ColumnType { .. })), "{depth}"),
        }
    }
    let item = Arc::new(Field::new_list_field(arrow_schema::DataType::Boolean, true));
    let lens = arrow_buffer::OffsetBuffer::from_lengths([1, 300_000]);
    let many: ArrayRef = Arc::new(BooleanArray::from(vec![true; 300_001]));
    let long = ListArray::new(item, lens, many, None);
    for (format, bytes) in files(&table(&[("long", Arc::new(long))])) {
        let error = read(format, bytes, "long").unwrap_err().to_string();
        assert!(
            error.contains("row 1, column long: expected at most 1 MiB"),
            "{error}"
        );
    }
    // This date lies outside every calendar, so it is refused.
    let odd = TimestampMicrosecondArray::from(vec![0, i64::MAX]);
    for (format, bytes) in files(&table(&[("odd", Arc::new(odd.clone()))])) {
        let error = read(format, bytes, "odd").unwrap_err().to_string();
        assert!(
            error.contains("row 1, column odd: expected a date"),
            "{error}"
        );
    }
}

#[test]
fn decimals_without_a_fraction_are_ids() {
    let ids = |scale: i8, last: i128| -> ArrayRef {
        let ids = Decimal128Array::from(vec![7, last]);
        Arc::new(ids.with_precision_and_scale(38, scale).unwrap())
    };
    let read = |column: ArrayRef| {
        let names = ColumnNames {
            ids: Some("id".to_owned()),
            ..ColumnNames::default()
        };
        files(&table(&[("id", column)])).map(|(format, bytes)| {
            let mut reader = Reader::from_bytes_columns(format, bytes, &names)?;
            let ids = reader.next().transpose()?.and_then(|chunk| chunk.ids);
            let ids = ids.unwrap().into_iter();
            Ok(ids.map(|id| id.to_string()).collect::<Vec<_>>())
        })
    };
    for found in read(ids(0, i128::from(u64::MAX))) {
        let found: Result<_, Error> = found;
        assert_eq!(found.unwrap(), ["7", "18446744073709551615"]);
    }
    for (column, why) in [
        (
            ids(0, -5),
            "row 1: -5 is not an id: expected a whole number from 0",
        ),
        (
            ids(2, 5),
            "column id holds Decimal128(38, 2): expected whole numbers",
        ),
    ] {
        for found in read(column) {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}

#[test]
fn vectors_of_spark_are_read_if_they_are_dense() {
    let values = |rows: [&[f64]; 2]| -> ArrayRef {
        let rows = rows.map(|row| Some(row.iter().copied().map(Some)));
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows))
    };
    let features = |kinds: [i8; 2], indices: [Option<Vec<Option<i32>>>; 2], numbers| -> ArrayRef {
        let sparse = kinds.map(|kind| (kind == 0).then_some(3));
        let indices = ListArray::from_iter_primitive::<Int32Type, _, _>(indices);
        let columns: [(&str, ArrayRef); 4] = [
            ("type", Arc::new(Int8Array::from(kinds.to_vec()))),
            ("size", Arc::new(Int32Array::from(sparse.to_vec()))),
            ("indices", Arc::new(indices)),
            ("values", values(numbers)),
        ];
        let fields = columns.map(|(name, column)| {
            let kind = column.data_type().clone();
            (Arc::new(Field::new(name, kind, true)), column)
        });
        Arc::new(StructArray::from(fields.to_vec()))
    };
    let batch = |column| RecordBatch::try_from_iter([("features", column)]).unwrap();
    let open = |batch: &RecordBatch, name: Option<&str>| {
        files(batch).map(|(format, bytes)| {
            let names = ColumnNames {
                vectors: name.map(str::to_owned),
                ..ColumnNames::default()
            };
            Reader::from_bytes_columns(format, bytes, &names)
        })
    };
    let dense = batch(features(
        [1, 1],
        [None, None],
        [&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]],
    ));
    for name in [None, Some("features")] {
        for refused in open(&dense, name) {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("features.values"), "{error}");
        }
    }
    for read in open(&dense, Some("features.values")) {
        let chunk = read.unwrap().next().unwrap().unwrap();
        assert_eq!(chunk.vectors.as_slice(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
    // pandas writes types of no value for members that are missing everywhere.
    let columns: [(&str, ArrayRef); 4] = [
        ("type", Arc::new(Int8Array::from(vec![1, 1]))),
        ("size", Arc::new(NullArray::new(2))),
        ("indices", Arc::new(NullArray::new(2))),
        ("values", values([&[1.0, 2.0], &[3.0, 4.0]])),
    ];
    let fields = columns.map(|(name, column)| {
        let kind = column.data_type().clone();
        (Arc::new(Field::new(name, kind, true)), column)
    });
    let of_pandas = batch(Arc::new(StructArray::from(fields.to_vec())));
    for read in open(&of_pandas, Some("features.values")) {
        assert_eq!(read.unwrap().count(), 1);
    }
    // A missing structure says nothing about the others.
    let missing = batch(features([1, 1], [None, None], [&[1.0, 2.0], &[3.0, 4.0]]));
    let missing = missing.column(0).to_data().into_builder();
    let nulls = NullBuffer::from(vec![true, false]);
    let missing = arrow_array::make_array(missing.nulls(Some(nulls)).build().unwrap());
    let missing = RecordBatch::try_from_iter_with_nullable([("features", missing, true)]).unwrap();
    for read in open(&missing, Some("features.values")) {
        let error = read.unwrap().find_map(Result::err).unwrap();
        assert!(matches!(error, Error::Null { row: 1, .. }), "{error}");
    }
    // Both have two values, which would be read as vectors of two dimensions.
    let at = |indices: [i32; 2]| Some(indices.map(Some).to_vec());
    let sparse = batch(features(
        [0, 0],
        [at([0, 1]), at([0, 2])],
        [&[1.0, 2.0], &[4.0, 5.0]],
    ));
    let odd = batch(features([0, 1], [None, None], [&[1.0, 2.0], &[4.0, 5.0]]));
    for refused in [sparse, odd]
        .iter()
        .flat_map(|batch| open(batch, Some("features.values")))
    {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("vector_to_array"), "{error}");
    }
}
