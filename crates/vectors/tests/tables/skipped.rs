//! Rows that cannot be read, left out.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{ArrayRef, StringArray};
use parquet::basic::Compression;
use sordino_vectors::{ColumnNames, Error, FileOptions, Format, Reader};

use crate::others::{named, parquet, stream, table};

fn reader(format: Format, bytes: Vec<u8>, names: &ColumnNames) -> Result<Reader, Error> {
    let options = FileOptions {
        format: Some(format),
        skip: true,
        ..FileOptions::default()
    };
    Reader::from_bytes_with(bytes, names, &options)
}

/// The rows that were read, each with its number, and the faults of others.
fn read(format: Format, bytes: Vec<u8>, names: &ColumnNames) -> (Vec<(u64, f32)>, Vec<String>) {
    let mut reader = reader(format, bytes, names).unwrap();
    let mut rows = Vec::new();
    for chunk in reader.by_ref() {
        let chunk = chunk.unwrap();
        let firsts = chunk.vectors.rows().map(|row| row[0]);
        rows.extend((chunk.first..).zip(firsts));
        for others in [
            chunk.ids.map(|ids| ids.len()),
            chunk.lines.map(|lines| lines.len()),
        ] {
            assert!(others.is_none_or(|len| len == chunk.vectors.len()));
        }
    }
    let faults = reader.take_faults();
    assert_eq!(reader.position(), (rows.len() + faults.len()) as u64);
    (rows, faults.iter().map(ToString::to_string).collect())
}

#[test]
fn rows_of_text_are_left_out_with_their_lines() {
    let csv = "id,v\n,[8 8]\na,[0 0]\nb,[1 NaN]\nc,[2]\nd,\n,[5 5]\ne,[6 6],x\nf,[7 7]\n";
    let names = named(Some("v"), Some("id"), &[]);
    let (rows, faults) = read(Format::Csv, csv.into(), &names);
    assert_eq!(rows, [(1, 0.0), (7, 7.0)]);
    let lines: Vec<&str> = faults
        .iter()
        .filter_map(|fault| fault.split(':').next())
        .collect();
    assert_eq!(
        lines,
        ["line 2", "line 4", "line 5", "line 6", "line 7", "line 8"]
    );
    let json = "{\"v\": null}\n{\"v\": [1, 2]}\nnonsense\n\n{\"v\": [NaN, 1]}\n{\"v\": [3, 4]}";
    let (rows, faults) = read(Format::Jsonl, json.into(), &named(Some("v"), None, &[]));
    assert_eq!((rows, faults.len()), (vec![(1, 1.0), (4, 3.0)], 3));
}

/// If the end of a record is unknown, the records after it would be lost silently.
#[test]
fn what_may_hide_records_is_a_fault_of_the_file() {
    let names = named(Some("v"), None, &[]);
    for (format, text, expected) in [
        (
            Format::Csv,
            "v,t\n[1],\"one\n[2],two\n[3],three\n".to_owned(),
            "line 2 is not closed",
        ),
        // The number of quotation marks is even.
        (
            Format::Csv,
            "v,t\n[1],5\" disk\n[2],\"oops\n[3],three\n".to_owned(),
            "line 3 is not closed",
        ),
        (
            Format::Json,
            r#"[{"v":[1],"t":"a},{"v":[2],"t":"b},{"v":[3]},{"v":[4]}]"#.to_owned(),
            "is not JSON",
        ),
        (
            Format::Json,
            r#"[{"v":[1]},{"v":[2],"t":[1},{"v":[3]}],{"v":[4]}]"#.to_owned(),
            "is not JSON",
        ),
        (
            Format::Csv,
            format!("v,t\n[1],\"{}", "x\n".repeat(17 << 20)),
            "longer than 32 MiB",
        ),
    ] {
        let error = match reader(format, text.clone().into(), &names) {
            Ok(reader) => reader.filter_map(Result::err).next(),
            Err(error) => Some(error),
        };
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        let text = &text[..text.len().min(100)];
        assert!(error.contains(expected), "{text}: {error}");
    }
    // Marks within a field are no quotation, and a quotation may have line ends and marks in it.
    let text = "v,t\n[1],5\" disk\n[2],\"two \"\"lines\"\"\nof one\"\n[3],\"end\nof file\"";
    let (rows, faults) = read(Format::Csv, text.into(), &names);
    assert_eq!((rows.len(), faults.len()), (3, 0));
    // The first record may be left out.
    let (rows, faults) = read(Format::Csv, "v,t\n[1],a,b\n[2],c\n".into(), &names);
    assert_eq!((rows, faults.len()), (vec![(1, 2.0)], 1));
}

#[test]
fn rows_of_tables_are_left_out_with_their_numbers() {
    let mut list = ListBuilder::new(Float32Builder::new());
    let mut expected = Vec::new();
    for at in 0..300u16 {
        let x = f32::from(at);
        match at % 7 {
            0 => list.append(false),
            3 => {
                list.values().append_slice(&[x]);
                list.append(true);
            }
            6 => {
                list.values().append_slice(&[x, f32::NAN]);
                list.append(true);
            }
            _ => {
                list.values().append_slice(&[x, 1.0]);
                list.append(true);
                if at % 5 > 0 {
                    expected.push((u64::from(at), x));
                }
            }
        }
    }
    let ids = (0..300).map(|at| (at % 5 > 0).then(|| format!("id {at}")));
    let ids: ArrayRef = Arc::new(StringArray::from_iter(ids));
    let batch = table(vec![("v", Arc::new(list.finish())), ("id", ids)]);
    for (format, bytes) in [
        (Format::Parquet, parquet(&batch, Compression::SNAPPY)),
        (Format::Arrow, stream(&batch)),
    ] {
        let (rows, faults) = read(format, bytes, &named(None, Some("id"), &["id"]));
        assert_eq!(rows, expected);
        assert!(
            faults
                .iter()
                .any(|fault| fault == "row 5, column id is null or contains a null"),
            "{faults:?}"
        );
    }
}

/// The dimension is that of most vectors at the start, not of the first.
#[test]
fn a_first_vector_of_another_length_is_left_out() {
    let lines = |first: &str| {
        let rest = (1..200).map(|at| format!("{{\"v\": [{at}, 1]}}\n"));
        format!("{first}\n{}", rest.collect::<String>())
    };
    for first in [
        "{\"v\": [7, 1, 2]}",
        "{\"v\": []}",
        "nonsense",
        "{\"v\": null}",
    ] {
        let names = named(Some("v"), None, &[]);
        let (rows, faults) = read(Format::Jsonl, lines(first).into(), &names);
        assert_eq!((rows.len(), faults.len()), (199, 1), "{first}");
        assert!(faults[0].starts_with("line 1: "), "{faults:?}");
    }
    let (_, faults) = read(
        Format::Jsonl,
        lines("{\"v\": [7, 1, 2]}").into(),
        &named(None, None, &[]),
    );
    let expected = "line 1: a vector of dimension 3: expected 2, like most of the first vectors";
    assert_eq!(faults, [expected]);
    // Of each pair of equal ids, the first is kept.
    let text = "{\"v\": [1]}\n{\"v\": [1, 2]}\n{\"v\": [1, 2]}\n{\"v\": [3]}\n";
    let (rows, _) = read(Format::Jsonl, text.into(), &named(None, None, &[]));
    assert_eq!(rows, [(0, 1.0), (3, 3.0)]);

    let mut list = ListBuilder::new(Float32Builder::new());
    for at in 0..50u16 {
        let row = [f32::from(at), 1.0, 2.0];
        list.values()
            .append_slice(&row[..if at < 2 { 1 } else { 3 }]);
        list.append(true);
    }
    let batch = table(vec![("v", Arc::new(list.finish()))]);
    for (format, bytes) in [
        (Format::Parquet, parquet(&batch, Compression::SNAPPY)),
        (Format::Arrow, stream(&batch)),
    ] {
        let (rows, faults) = read(format, bytes, &named(None, None, &[]));
        assert_eq!(rows.len(), 48);
        let expected = "vector 1 has dimension 1: expected 3, like most of the first vectors";
        assert_eq!(faults[1], expected);
    }
}

#[test]
fn rows_of_arrays_are_left_out() {
    let dict = "{'descr': '<f4', 'fortran_order': True, 'shape': (5, 2), }\n";
    let len = u16::try_from(dict.len()).unwrap().to_le_bytes();
    let values = [
        f32::NAN,
        1.0,
        f32::INFINITY,
        3.0,
        4.0,
        0.0,
        1.0,
        2.0,
        f32::NAN,
        4.0,
    ];
    let values = values.map(f32::to_le_bytes).concat();
    let bytes = [b"\x93NUMPY\x01\x00", &len[..], dict.as_bytes(), &values].concat();
    let (rows, faults) = read(Format::Npy, bytes, &ColumnNames::default());
    assert_eq!(rows, [(1, 1.0), (4, 4.0)]);
    let starts: Vec<&str> = faults
        .iter()
        .filter_map(|fault| fault.split(',').next())
        .collect();
    assert_eq!(starts, ["row 0", "row 2", "row 3"]);
}
