//! Texts of databases, spreadsheets and pandas. They are read as intended, or refused with an error
//! that says what to do.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::basic::GzipLevel;
use sordino_vectors::column::Column;
use sordino_vectors::id::IdKind;
use sordino_vectors::{Chunk, ColumnNames, Error, FileOptions, Format, Reader, Vectors};

use crate::others::{self, lists, named, stream, table};

fn read(format: Format, text: &str, names: &ColumnNames) -> Result<Chunk, Error> {
    with(format, None, text, names)
}

fn with(
    format: Format,
    delimiter: Option<u8>,
    text: &str,
    names: &ColumnNames,
) -> Result<Chunk, Error> {
    let options = FileOptions {
        format: Some(format),
        delimiter,
        ..FileOptions::default()
    };
    let mut reader = Reader::from_bytes_with(text.into(), names, &options)?;
    let mut last = reader.next().unwrap()?;
    for chunk in reader {
        last = chunk?;
    }
    Ok(last)
}

fn texts(chunk: &Chunk) -> Vec<&str> {
    let Column::Text(texts) = &chunk.values[0] else {
        panic!("expected texts");
    };
    texts.iter().map(|text| text.as_deref().unwrap()).collect()
}

/// If the reader took COPY's escapes as plain text, `\N` would become a text instead of a missing value. So it refuses
/// them.
#[test]
fn escapes_of_copy_are_refused_unless_backslashes_stand_for_themselves() {
    let names = named(Some("v"), Some("id"), &["t"]);
    let table =
        |first: &str, second: &str| format!("id\tv\tt\n1\t[1 2]\t{first}\n2\t[3 4]\t{second}\n");
    for (first, second, line) in [
        ("x", r"\N", "line 3"),
        (r"a\tb", "x", "line 2"),
        (r"C:\\temp", "x", "line 2"),
    ] {
        let text = table(first, second);
        let error = read(Format::Tsv, &text, &names).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{line}, column t: a backslash")),
            "{error}"
        );
        assert!(
            error.contains("WITH (FORMAT csv, HEADER)") && error.contains("--delimiter tab"),
            "{error}"
        );
        let named = with(Format::Tsv, Some(b'\t'), &text, &names).unwrap();
        assert_eq!(texts(&named), [first, second]);
    }
    // COPY writes each backslash twice, so these files are not from COPY.
    let windows = table(r"C:\Users", r"C:\temp");
    let windows = read(Format::Tsv, &windows, &names).unwrap();
    assert_eq!(texts(&windows), [r"C:\Users", r"C:\temp"]);
    // Columns that are not read may have anything, and CSV has no such escapes.
    let unread = named(Some("v"), None, &[]);
    assert!(read(Format::Tsv, &table("x", r"\N"), &unread).is_ok());
    let csv = table("x", r"\N").replace('\t', ",");
    assert!(read(Format::Csv, &csv, &names).is_ok());
}

#[test]
fn files_of_spreadsheets_say_what_to_name() {
    let names = named(Some("f*"), None, &[]);
    let german = "id;f0;f1\n1;0,5;1,2\n2;0,5;1,3\n";
    for (format, delimiter, text, why) in [
        (
            Format::Csv,
            None,
            german.to_owned(),
            "--delimiter semicolon",
        ),
        (
            Format::Csv,
            Some(b';'),
            german.to_owned(),
            "line 2: column f0: a decimal comma: expected a decimal point, as `python3 -c \"import pandas; t = pandas.read_csv('FILE', sep=';', \
             dtype=str, keep_default_na=False)",
        ),
        (
            Format::Csv,
            None,
            german.replace(';', "\t"),
            "--delimiter tab",
        ),
        (
            Format::Tsv,
            None,
            german.replace(';', "\t"),
            "pandas.read_csv('FILE', sep='\\t', dtype=str",
        ),
        (
            Format::Csv,
            Some(b'|'),
            german.replace(';', "|"),
            "pandas.read_csv('FILE', sep='|', dtype=str",
        ),
        (
            Format::Tsv,
            None,
            "id,f0,f1\n1,2,3\n".to_owned(),
            "--delimiter comma",
        ),
        (
            Format::Csv,
            None,
            format!("sep=;\n{german}"),
            "line 1: Excel's line sep=, which names the sign",
        ),
        (
            Format::Csv,
            None,
            format!("\u{feff}sep=;\r\n{german}"),
            "`sed -i 1d FILE`, and name the sign if it is no comma (on the command line --delimiter semicolon)",
        ),
        (
            Format::Csv,
            Some(b';'),
            format!("sep=;\n{german}"),
            "Excel's line sep=",
        ),
        (
            Format::Csv,
            None,
            "sep=\t\nid\tf0\n".to_owned(),
            "--delimiter tab",
        ),
        (
            Format::Csv,
            Some(b';'),
            "id;f0;f1\n1;x;2\n".to_owned(),
            "column f0: expected a number",
        ),
    ] {
        let error = with(format, delimiter, &text, &names).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(!error.contains("0,5") && !error.contains("1,2"), "{error}");
    }
}

/// Services of embeddings return a list of objects within objects.
#[test]
fn a_list_of_objects_is_named_wherever_it_lies() {
    let text = "{\"id\":7,\"of\":{\"body\":{\"data\":[{\"embedding\":[1,2]}],\"v\":[3,4]}}}\n";
    let at = |name: &str| read(Format::Jsonl, text, &named(Some(name), None, &[]));
    assert!(at("of.body.v").is_ok());
    for name in [
        "of.body.data",
        "of.body.data.embedding",
        "of.body.data[0].embedding",
    ] {
        let error = at(name).unwrap_err().to_string();
        assert!(
            error.contains("'MEMBER'.split('.'), r)[0]['embedding']"),
            "{error}"
        );
    }
    for name in ["of.body.v.x", "of.body.w", "of.data"] {
        let error = at(name).unwrap_err().to_string();
        assert!(error.contains("no member of."), "{error}");
    }
}

/// Messages quote names of columns that would not be visible, hide names that may be the numbers of a query, and show a
/// few of many names.
#[test]
fn names_of_columns_are_shown_as_far_as_they_are_names() {
    let missing = |head: &str| {
        let text = format!("{head}\n1{}\n", ",2".repeat(head.matches(',').count()));
        let error = read(Format::Csv, &text, &named(Some("x"), None, &[]));
        error.unwrap_err().to_string()
    };
    let error = missing(",title,text ");
    assert!(
        error.contains("no column x: there are \"\", title, text; pandas")
            && error.contains("--id-column ''"),
        "{error}"
    );
    let error = missing("query 7,0.125 0.5,-0.25");
    assert!(
        error.ends_with("there are query 7, (numbers), (numbers)"),
        "{error}"
    );
    let many: Vec<String> = (0..25).map(|at| format!("c{at}")).collect();
    let error = missing(&many.join(","));
    assert!(error.ends_with("c18, c19, and 5 more"), "{error}");
}

/// By default, `DataFrame.to_json()` writes a column for each member. It writes lines only if an option
/// says so.
#[test]
fn a_table_of_pandas_by_columns_is_named() {
    let columns = r#"{"id":{"0":7,"1":8},"vector":{"0":[1.0,2.0],"1":[3.0,4.0]}}"#;
    let split = r#"{"columns":["id","vector"],"index":[0],"data":[[7,[1.0,2.0]]]}"#;
    let index = r#"{"0":{"id":7,"vector":[1.0,2.0]}}"#;
    let table = r#"{"schema":{"fields":[{"name":"id"}]},"data":[{"id":7,"vector":[1.0,2.0]}]}"#;
    for (text, member) in [
        (columns, "member vector is an object of lists"),
        (split, "member data is a list of lists"),
        (index, "member 0 is an object of lists"),
        (table, "member schema is an object of lists"),
    ] {
        let names = named(None, None, &[]);
        let error = read(Format::Json, text, &names).unwrap_err().to_string();
        assert!(
            error.contains(member) && error.contains("orient='records'"),
            "{error}"
        );
    }
    // An object with such a member is a record if it has a vector.
    let record = r#"{"meta": {"tags": ["x"]}, "vector": [1, 2]}"#;
    assert!(read(Format::Json, record, &named(None, None, &[])).is_ok());
    // An array with a comma after its last element is read too.
    let comma = "[{\"v\": [1, 2]},\n{\"v\": [3, 4]},\n]";
    let chunk = read(Format::Json, comma, &named(None, None, &[])).unwrap();
    assert_eq!(chunk.vectors.len(), 2);
}

#[test]
fn texts_in_other_encodings_say_how_to_convert_them() {
    let csv = "id,vector,text\n1,\"[1, 2]\",Z\u{fc}rich\n";
    let latin: Vec<u8> = csv.chars().map(|c| u8::try_from(c).unwrap()).collect();
    let utf16 = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(csv.encode_utf16());
        units.flat_map(order).collect()
    };
    for (bytes, why) in [
        (latin, "iconv -f WINDOWS-1252 -t UTF-8"),
        (utf16(u16::to_le_bytes), "iconv -f UTF-16 -t UTF-8"),
        (utf16(u16::to_be_bytes), "iconv -f UTF-16 -t UTF-8"),
        // These bytes have another format, but the caller says that they are text.
        (b"PAR1\x15\x04\xff".to_vec(), "--format parquet"),
        (b"ARROW1\0\0\xff".to_vec(), "--format arrow"),
        (b"\x93NUMPY\x01\0v\0".to_vec(), "--format npy"),
        (b"PK\x03\x04\x14\0".to_vec(), "zip archive"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n".to_vec(),
            "git lfs pull",
        ),
        (b"<!DOCTYPE HTML>\n<html>".to_vec(), "web page"),
    ] {
        for format in [Format::Csv, Format::Jsonl, Format::Json] {
            if format != Format::Csv && why.contains("1252") {
                continue;
            }
            let names = named(Some("vector"), None, &[]);
            let error = Reader::from_bytes_columns(format, bytes.clone(), &names).unwrap_err();
            assert!(error.to_string().contains(why), "{format:?}: {error}");
        }
    }
}

#[test]
fn a_column_may_have_the_name_of_a_format() {
    for name in ["PAR1", "par1", "Arrow1"] {
        let text = format!("{name},vector\nx,\"[1, 2]\"\n");
        let names = named(Some("vector"), Some(name), &[]);
        assert!(read(Format::Csv, &text, &names).is_ok(), "{name}");
    }
}

#[test]
fn whole_numbers_are_texts_where_ids_are_texts() {
    let names = |kind| ColumnNames {
        id_kind: Some(kind),
        ..named(Some("v"), Some("id"), &[])
    };
    let text =
        "{\"id\": 7, \"v\": [1, 2]}\n{\"id\": \"x\", \"v\": [3, 4]}\n{\"id\": -8, \"v\": [3, 4]}\n";
    let chunk = read(Format::Jsonl, text, &names(IdKind::Text)).unwrap();
    let ids = chunk.ids.unwrap();
    assert!(ids.iter().all(|id| id.kind() == IdKind::Text));
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["7", "x", "-8"]);
    // A number with a fraction is the text that the file has.
    for id in ["7.0", "1e3"] {
        let text = format!("{{\"id\": {id}, \"v\": [1, 2]}}");
        let chunk = read(Format::Jsonl, &text, &names(IdKind::Text)).unwrap();
        assert_eq!(chunk.ids.unwrap().first().unwrap().to_string(), id);
    }
    for id in ["true", "null", "[7]"] {
        let text = format!("{{\"id\": {id}, \"v\": [1, 2]}}");
        assert!(
            read(Format::Jsonl, &text, &names(IdKind::Text)).is_err(),
            "{id}"
        );
    }
    assert!(read(Format::Jsonl, text, &names(IdKind::Uuid)).is_err());
}

#[test]
fn a_required_member_may_be_null_and_not_absent() {
    let names = ColumnNames {
        required: vec!["t".to_owned()],
        ..named(Some("v"), None, &["t", "u"])
    };
    let text = "{\"v\": [1, 2], \"t\": null}\n{\"v\": [3, 4], \"t\": \"x\"}\n";
    let chunk = read(Format::Jsonl, text, &names).unwrap();
    assert_eq!(
        chunk.values[0],
        Column::Json(vec![None, Some("\"x\"".into())])
    );
    let error = read(
        Format::Jsonl,
        &text.replace("\"t\": \"x\"", "\"w\": 1"),
        &names,
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("line 2: member t: expected a value, or null"),
        "{error}"
    );
}

#[test]
fn vectors_of_spark_in_json_are_dense() {
    let names = named(Some("f.values"), None, &[]);
    let line = |f: &str| format!("{{\"f\": {f}}}");
    let dense = line(r#"{"type": 1, "values": [1, 2]}"#);
    assert!(read(Format::Jsonl, &dense, &names).is_ok());
    // Other programs write objects with values.
    assert!(
        read(
            Format::Jsonl,
            &line(r#"{"size": 2, "values": [1, 2]}"#),
            &names
        )
        .is_ok()
    );
    for sparse in [
        r#"{"type": 0, "size": 4, "indices": [0, 2], "values": [1, 3]}"#,
        r#"{"type": 0, "size": null, "indices": null, "values": [1, 3]}"#,
        r#"{"size": 4, "indices": [0, 2], "values": [1, 3]}"#,
    ] {
        let error = read(Format::Jsonl, &line(sparse), &names).unwrap_err();
        assert!(error.to_string().contains("vector_to_array"), "{error}");
    }
}

#[test]
fn a_compressed_text_that_was_cut_short_says_so() {
    let rows = (0..500).map(|at| format!("{{\"v\": [{at}, 2]}}\n"));
    let text = rows.collect::<String>();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for bytes in [gzip, zstd] {
        let all = |bytes: &[u8]| -> Result<Vec<_>, _> {
            let names = named(Some("v"), None, &[]);
            Reader::from_bytes_columns(Format::Jsonl, bytes.to_vec(), &names)?.collect()
        };
        assert!(all(&bytes).is_ok());
        let error = all(&bytes[..bytes.len() / 2]).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{error}");
    }
}

/// MongoDB exports ids as objects.
#[test]
fn an_object_for_an_id_is_explained() {
    let text = "{\"_id\": {\"$oid\": \"66aa\"}, \"v\": [1, 2]}\n";
    let ids = |name| read(Format::Jsonl, text, &named(Some("v"), Some(name), &[]));
    let error = ids("_id").unwrap_err().to_string();
    assert!(
        error.starts_with("line 1: an object, of which a member is named '_id.$oid' (on the"),
        "{error}"
    );
    assert!(ids("_id.$oid").is_ok());
    let oid = StringArray::from(vec!["66aa"]);
    let fields = vec![Field::new("$oid", DataType::Utf8, true)];
    let id = StructArray::new(fields.into(), vec![Arc::new(oid)], None);
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = table(vec![("_id", Arc::new(id)), ("f0", one)]);
    let ids = |name| {
        let names = named(Some("f*"), Some(name), &[]);
        Reader::from_bytes_columns(Format::Arrow, stream(&batch), &names)
    };
    let error = ids("_id").unwrap_err().to_string();
    assert!(
        error.starts_with("column _id holds structures, of which a field is named '_id.$oid'"),
        "{error}"
    );
    assert!(ids("_id.$oid").is_ok());
}

#[test]
fn a_record_without_its_value_is_told_how_to_empty_it() {
    let text = "{\"id\": 1, \"price\": null}\n{\"id\": 2}\n";
    let names = ColumnNames {
        vectorless: true,
        ..named(None, Some("id"), &["price"])
    };
    let error = read(Format::Jsonl, text, &names).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 2: member price: expected a value, or null, which empties it; leave out a record that is to keep its own"
    );
}

/// pandas' own documents call a file df.parquet.gzip, whose pages are compressed and not the file.
#[test]
fn a_second_ending_says_nothing_of_the_content() {
    let batch = table(vec![("v", lists())]);
    let gzip = parquet::basic::Compression::GZIP(GzipLevel::default());
    let head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
    let npy = [
        b"\x93NUMPY\x01\0",
        &[u8::try_from(head.len()).unwrap(), 0][..],
        head,
    ]
    .concat();
    let numbers = [1f32, -2.0, 3.0, 4.0];
    let files = [
        ("df.parquet.gzip", others::parquet(&batch, gzip)),
        ("df.PARQUET.gz", others::parquet(&batch, gzip)),
        ("df.parquet.zstd", others::parquet(&batch, gzip)),
        ("df.arrow.zst", stream(&batch)),
        (
            "df.npy.gz",
            [npy, numbers.map(f32::to_le_bytes).concat()].concat(),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Vectors::open(&path).unwrap().as_slice(), numbers, "{name}");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&bytes).unwrap();
        for (packed, program) in [
            (packed.finish().unwrap(), "gunzip"),
            (zstd::encode_all(&bytes[..], 1).unwrap(), "unzstd"),
        ] {
            fs::write(&path, packed).unwrap();
            let error = Vectors::open(&path).unwrap_err().to_string();
            let why = format!("all of it is compressed: unpack it, with `{program} < FILE > base.");
            assert!(error.contains(&why), "{name}: {error}");
        }
    }
}
