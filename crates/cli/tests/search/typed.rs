//! Columns of dates, decimals and lists of a Parquet file, as payloads and as attributes.

use crate::binary::{done, failed};
use crate::place::Place;
use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt64Array,
};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes a table of two records. The second one has only a vector.
fn write(path: &Path) {
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for row in [[1.0, 2.0], [2.0, 1.0]] {
        vectors.values().append_slice(&row);
        vectors.append(true);
    }
    let mut tags = ListBuilder::new(StringBuilder::new());
    tags.append_value([Some("a"), None]);
    tags.append(false);
    let decimals = Decimal128Array::from(vec![Some(1250), None]);
    let instants = TimestampMicrosecondArray::from(vec![Some(1_720_000_000_120_000), None]);
    let columns: [(&str, ArrayRef); 7] = [
        ("v", Arc::new(vectors.finish())),
        ("title", Arc::new(StringArray::from(vec![Some("7"), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(19_907), None]))),
        ("seen", Arc::new(instants.with_timezone("UTC"))),
        (
            "price",
            Arc::new(decimals.with_precision_and_scale(10, 2).unwrap()),
        ),
        ("tags", Arc::new(tags.finish())),
        (
            "big",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
        ),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn dates_decimals_and_lists_are_payloads_and_attributes() {
    let place = Place::new();
    write(&place.path("t.parquet"));
    let build = |index: &str, options: &str| {
        place.line(&format!(
            "index build @t.parquet @{index} --key @owner.key --k 1 --vector-column v {options}"
        ))
    };
    let shown = |index: &str, id: usize| -> Value {
        let shown = done(&place.line(&format!("index get @{index} --ids {id} --key @owner.key")));
        serde_json::from_str(&shown).unwrap()
    };
    for (column, expected) in [
        ("day", json!("2024-07-03")),
        ("seen", json!("2024-07-03T09:46:40.120Z")),
        ("price", json!("12.50")),
        ("tags", json!(["a", null])),
        ("big", json!(u64::MAX.to_string())),
    ] {
        done(&build(column, &format!("--payload-column {column}")));
        assert_eq!(shown(column, 0)["payload"], expected, "{column}");
        assert_eq!(shown(column, 1)["payload"], "", "{column}");
    }
    let names = "title,day,price,tags,big";
    done(&build(
        "all",
        &format!(
            "--payload-column {names} --attribute day:text,price:float,seen:text,tags,big:text"
        ),
    ));
    let (first, second) = (shown("all", 0), shown("all", 1));
    let expected = json!({
        "title": "7", "day": "2024-07-03", "price": "12.50", "tags": ["a", null], "big": u64::MAX
    });
    assert_eq!(first["payload"], expected);
    let expected = json!({"big": u64::MAX.to_string(), "day": "2024-07-03", "price": 12.5, "seen": "2024-07-03T09:46:40.120Z", "tags": "[\"a\",null]"});
    assert_eq!(first["attributes"], expected);
    assert_eq!(
        second["payload"],
        json!({"title": null, "day": null, "price": null, "tags": null, "big": null})
    );

    for (attribute, expected) in [
        (
            "price",
            "for decimals say NAME:float, for larger numbers NAME:text",
        ),
        ("big", "a whole number below 2^63"),
        (
            "day:int",
            "row 0, column day: \"2024-07-03\", expected a whole number",
        ),
    ] {
        let error = failed(&build("refused", &format!("--attribute {attribute}")), 1);
        assert!(error.contains(expected), "{attribute}: {error}");
    }
}

/// Whole numbers are added to a column of floats, and floats without a fraction to one of whole numbers, if they stay the same.
#[test]
fn numbers_take_the_type_that_the_index_has() {
    let place = Place::new();
    let write = |name: &str, rows: &str| {
        std::fs::write(place.path(name), format!("id,vector,price,year\n{rows}")).unwrap();
    };
    write("a.csv", "1,\"[1,2]\",0.5,2000.0\n2,\"[2,1]\",,\n");
    write("b.csv", "3,\"[1,3]\",7,2001\n");
    write("c.csv", "4,\"[1,3]\",9007199254740993,2001\n");
    done(&place.line(
        "index build @a.csv @a.index --key @owner.key --k 1 --attribute price:float,year:int",
    ));
    done(
        &place.line("index add @a.index @b.csv --key @owner.key --attribute price:int,year:float"),
    );
    let shown = done(&place.line("index get @a.index --ids 3 --key @owner.key"));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["attributes"], json!({"price": 7.0, "year": 2001}));
    let error = failed(
        &place.line("index add @a.index @c.csv --key @owner.key --attribute price:int,year:int"),
        1,
    );
    assert!(error.contains("--attribute price:float"), "{error}");
}
