//! Transforms one column of a Parquet file. Values of other columns are copied as the file stores them, without a conversion to
//! types of Arrow, which cannot hold all of them.

use crate::{Error, Transform, table::only};
use arrow_schema::{DataType, FieldRef, Schema};
use parquet::{
    arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema, parquet_to_arrow_schema},
    column::{
        reader::{ColumnReader, ColumnReaderImpl},
        writer::ColumnWriterImpl,
    },
    data_type::{ByteArray, ByteArrayType, DataType as Stored},
    errors::Result as Parquet,
    file::{
        metadata::{KeyValue, ParquetMetaData},
        properties::WriterProperties,
        reader::{ChunkReader, FileReader, RowGroupReader},
        serialized_reader::SerializedFileReader,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
};
use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use zeroize::Zeroizing;

/// The rows that are decoded at a time.
const BATCH: usize = 1024;

/// The most characters of columns' names in an error.
const NAMES: usize = 200;

/// A value of a column of text; `None` if it is null.
type Text = Option<Zeroizing<String>>;

/// Transforms one column of text in a Parquet file. A categorical column is written as plain text. Rows, the values and types of
/// other columns, compression and metadata are kept. The file's bytes differ, because another program writes them. Errors of rows
/// go to `refused`, unless [`Transform::on_error`] is [`crate::OnError::Stop`].
///
/// # Errors
/// [`Error::Parquet`] if the file is damaged or has an unsupported encoding. [`Error::NoColumn`] or [`Error::ColumnTwice`]
/// if no column or two columns have the name. [`Error::OwnTweak`] if the tweaks come from the column with the values.
/// [`Error::ColumnType`] if a column does not hold text. [`Error::Row`] or [`Error::Empty`] if the format refuses a value.
pub fn transform_parquet<R: ChunkReader + 'static>(
    transform: &Transform,
    (column, tweak): (&str, Option<&str>),
    input: R,
    output: impl Write + Send,
    refused: &mut dyn FnMut(Error),
) -> Result<(), Error> {
    // Decoders of this format have assertions that a damaged file can trigger.
    let work = || rewrite(transform, (column, tweak), input, output, refused);
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(damaged("it is damaged")))
}

fn rewrite<R: ChunkReader + 'static>(
    transform: &Transform,
    (column, tweak): (&str, Option<&str>),
    input: R,
    output: impl Write + Send,
    refused: &mut dyn FnMut(Error),
) -> Result<(), Error> {
    let reader = SerializedFileReader::new(input).map_err(damaged)?;
    let metadata = reader.metadata();
    let file = metadata.file_metadata();
    let stored = file.schema_descr();
    let schema = parquet_to_arrow_schema(stored, file.key_value_metadata()).map_err(damaged)?;
    let column = find(&schema, column)?;
    let tweak = tweak.map(|tweak| find(&schema, tweak)).transpose()?;
    let name = schema.field(column).name();
    if tweak == Some(column) {
        let column = name.clone();
        return Err(Error::OwnTweak { column });
    }
    // A column of text has one leaf, which holds its values.
    let leaf_of =
        |column| (0..stored.num_columns()).find(|at| stored.get_column_root_idx(*at) == column);
    let leaf = leaf_of(column).ok_or_else(|| damaged("it is damaged"))?;

    let properties = Arc::new(properties(metadata, &schema, column));
    let mut writer =
        SerializedFileWriter::new(output, stored.root_schema_ptr(), properties).map_err(damaged)?;
    let mut row = 0;
    for at in 0..reader.num_row_groups() {
        let group = reader.get_row_group(at).map_err(damaged)?;
        let values = texts(&*group, leaf)?;
        let tweaks = match tweak.and_then(leaf_of) {
            Some(leaf) => texts(&*group, leaf)?,
            None => Vec::new(),
        };
        let rows = values.len() as u64;
        let (results, kept) = work(transform, (values, &tweaks), (row, name), refused)?;
        row += rows;
        if results.is_empty() {
            continue;
        }
        let mut out = writer.next_row_group().map_err(damaged)?;
        for at in 0..stored.num_columns() {
            let next = out.next_column().map_err(damaged)?;
            let mut to = next.ok_or_else(|| damaged("it is damaged"))?;
            let done = match at == leaf {
                true => write(&results, to.typed()),
                false => group
                    .get_column_reader(at)
                    .and_then(|from| copy(from, &mut to, &kept)),
            };
            done.and_then(|()| to.close()).map_err(damaged)?;
        }
        out.close().map_err(damaged)?;
    }
    writer.close().map_err(damaged)?;
    Ok(())
}

/// The writer's properties, taken from the file that is read. A categorical column becomes one of plain text, because each value of
/// a dictionary gets several results.
fn properties(metadata: &ParquetMetaData, schema: &Schema, column: usize) -> WriterProperties {
    let pairs = metadata.file_metadata().key_value_metadata();
    let mut pairs: Vec<KeyValue> = pairs.into_iter().flatten().cloned().collect();
    if let DataType::Dictionary(_, kind) = schema.field(column).data_type() {
        let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
        let field = fields[column].as_ref().clone();
        fields[column] = Arc::new(field.with_data_type((**kind).clone()));
        let plain = Schema::new_with_metadata(fields, schema.metadata().clone());
        for pair in pairs
            .iter_mut()
            .filter(|pair| pair.key == ARROW_SCHEMA_META_KEY)
        {
            pair.value = Some(encode_arrow_schema(&plain));
        }
    }
    let mut properties = WriterProperties::builder().set_key_value_metadata(Some(pairs));
    if let Some(group) = metadata.row_groups().first() {
        for column in group.columns() {
            let path = column.column_path().clone();
            properties = properties.set_column_compression(path, column.compression());
        }
    }
    properties.build()
}

/// The number of the column with this name, which must hold text.
fn find(schema: &Schema, name: &str) -> Result<usize, Error> {
    let named = |&at: &usize| schema.field(at).name() == name;
    let at = only((0..schema.fields().len()).filter(named), name)?;
    let at = at.ok_or_else(|| {
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|it| it.name().as_str())
            .collect();
        let names: String = names.join(", ").chars().take(NAMES).collect();
        Error::NoColumn {
            column: name.to_owned(),
            columns: schema.fields().len(),
            hint: Some(format!(": {names}").into()),
        }
    })?;
    match schema.field(at).data_type() {
        kind if is_text(kind) => Ok(at),
        DataType::Dictionary(_, kind) if is_text(kind) => Ok(at),
        other => Err(Error::ColumnType {
            column: name.to_owned(),
            found: other.to_string(),
        }),
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}

/// The values of a column of text.
fn texts(group: &dyn RowGroupReader, leaf: usize) -> Result<Vec<Text>, Error> {
    let from = group.get_column_reader(leaf).map_err(damaged)?;
    let ColumnReader::ByteArrayColumnReader(mut from) = from else {
        return Err(damaged("it is damaged"));
    };
    let mut texts = Vec::new();
    loop {
        let (mut present, mut values) = (Vec::new(), Vec::new());
        let read = from.read_records(BATCH, Some(&mut present), None, &mut values);
        let (rows, ..) = read.map_err(damaged)?;
        if rows == 0 {
            return Ok(texts);
        }
        let mut values = values.into_iter();
        for at in 0..rows {
            // A column without nulls has no levels.
            let value = match present.get(at) {
                Some(0) => None,
                _ => values.next(),
            };
            let text = value.map(|value| {
                let text = str::from_utf8(value.data());
                let row = texts.len() + 1;
                text.map(|text| Zeroizing::new(text.to_owned()))
                    .map_err(|_| damaged(format!("row {row} of a row group is not UTF-8")))
            });
            texts.push(text.transpose()?);
        }
    }
}

/// The results of the rows that are kept, and for each row whether it is kept. `first` is the number of rows before.
fn work(
    transform: &Transform,
    (values, tweaks): (Vec<Text>, &[Text]),
    (first, name): (u64, &str),
    refused: &mut dyn FnMut(Error),
) -> Result<(Vec<Text>, Vec<bool>), Error> {
    let (mut results, mut kept) = (Vec::new(), Vec::with_capacity(values.len()));
    let mut tweaks = tweaks.iter();
    for (row, value) in (first + 1..).zip(values) {
        let own = tweaks.next().and_then(Option::as_ref);
        let own = own.map_or(&b""[..], |own| own.as_bytes());
        let result = match &value {
            None if transform.keep_empty => Ok(None),
            value => {
                let text = value.as_ref().map_or("", |value| value.as_str());
                let expected = transform.cipher.expected();
                let done = transform.text(own, text).map(Some);
                let place = || format!("row {row}, column {name}");
                done.map_err(|source| match text {
                    "" => Error::Empty {
                        place: place(),
                        expected,
                    },
                    _ => Error::Row {
                        place: place().into(),
                        source,
                        expected,
                    },
                })
            }
        };
        let (result, keeps) = match result {
            Ok(result) => (result, true),
            Err(error) => (value, transform.refuse(error, refused)?),
        };
        kept.push(keeps);
        if keeps {
            results.push(result);
        }
    }
    Ok((results, kept))
}

/// Writes the column of text.
fn write(results: &[Text], to: &mut ColumnWriterImpl<'_, ByteArrayType>) -> Parquet<()> {
    let optional = to.get_descriptor().max_def_level() > 0;
    for some in results.chunks(BATCH) {
        let values = some.iter().flatten();
        let values: Vec<ByteArray> = values.map(|text| text.as_str().into()).collect();
        let present: Vec<i16> = some.iter().map(|text| text.is_some().into()).collect();
        to.write_batch(&values, optional.then_some(&present), None)?;
    }
    Ok(())
}

/// Copies the rows of a column that are kept.
fn copy(from: ColumnReader, to: &mut SerializedColumnWriter<'_>, kept: &[bool]) -> Parquet<()> {
    use ColumnReader as From;
    match from {
        From::BoolColumnReader(from) => copy_values(from, to.typed(), kept),
        From::Int32ColumnReader(from) => copy_values(from, to.typed(), kept),
        From::Int64ColumnReader(from) => copy_values(from, to.typed(), kept),
        From::Int96ColumnReader(from) => copy_values(from, to.typed(), kept),
        From::FloatColumnReader(from) => copy_values(from, to.typed(), kept),
        From::DoubleColumnReader(from) => copy_values(from, to.typed(), kept),
        From::ByteArrayColumnReader(from) => copy_values(from, to.typed(), kept),
        From::FixedLenByteArrayColumnReader(from) => copy_values(from, to.typed(), kept),
    }
}

fn copy_values<T: Stored>(
    mut from: ColumnReaderImpl<T>,
    to: &mut ColumnWriterImpl<'_, T>,
    kept: &[bool],
) -> Parquet<()> {
    let present_level = to.get_descriptor().max_def_level();
    let has_levels = (present_level > 0, to.get_descriptor().max_rep_level() > 0);
    let mut kept = kept.iter();
    let mut keeps = true;
    loop {
        let (mut present, mut repeated, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let read = from.read_records(BATCH, Some(&mut present), Some(&mut repeated), &mut values);
        let (rows, _, levels) = read?;
        if rows == 0 {
            return Ok(());
        }
        if kept.as_slice().iter().take(rows).all(|keeps| *keeps) {
            kept = kept.as_slice().get(rows..).unwrap_or_default().iter();
        } else {
            let mut read = values.into_iter();
            let (mut some_present, mut some_repeated) = (Vec::new(), Vec::new());
            values = Vec::new();
            for at in 0..levels {
                let (present, repeated) = (present.get(at).copied(), repeated.get(at).copied());
                // A row begins where nothing is repeated.
                if repeated.unwrap_or(0) == 0 {
                    keeps = kept.next().copied().unwrap_or(true);
                }
                let value = match present.is_none_or(|level| level == present_level) {
                    true => read.next(),
                    false => None,
                };
                if keeps {
                    values.extend(value);
                    some_present.extend(present);
                    some_repeated.extend(repeated);
                }
            }
            (present, repeated) = (some_present, some_repeated);
        }
        let present = has_levels.0.then_some(&present[..]);
        let repeated = has_levels.1.then_some(&repeated[..]);
        to.write_batch(&values, present, repeated)?;
    }
}

fn damaged(error: impl ToString) -> Error {
    Error::Parquet {
        why: error.to_string(),
    }
}
