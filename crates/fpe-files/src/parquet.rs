//! Transforms one column of a Parquet file.

use crate::{Error, Transform, error::listed, table::only};
use arrow_array::{
    Array, ArrayRef, BooleanArray, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    cast::AsArray,
};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    file::{
        metadata::{KeyValue, ParquetMetaData},
        properties::WriterProperties,
        reader::ChunkReader,
    },
};
use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use zeroize::Zeroizing;

/// The rows that are decoded at a time.
const BATCH: usize = 8192;

/// The key of metadata that the writer creates itself.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Transforms one column of text in a Parquet file. A categorical column is written as plain text. Rows, other columns, the
/// schema, compression and metadata are kept. The file's bytes differ, because another program writes them. Errors of rows go to
/// `refused`, unless [`Transform::on_error`] is [`crate::OnError::Stop`].
///
/// # Errors
/// [`Error::Parquet`] if the file is damaged or has an unsupported encoding. [`Error::NoColumn`], and [`Error::ColumnTwice`] for
/// a name that two columns have. [`Error::OwnTweak`], [`Error::ColumnType`], [`Error::Row`], [`Error::Empty`].
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
    let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(damaged)?;
    let schema = Arc::clone(builder.schema());
    let column = find(&schema, column)?;
    let tweak = tweak.map(|tweak| find(&schema, tweak)).transpose()?;
    if tweak == Some(column) {
        let column = schema.field(column).name().clone();
        return Err(Error::OwnTweak { column });
    }
    let properties = properties(builder.metadata());
    let written = plain(&schema, column);
    let mut writer =
        ArrowWriter::try_new(output, Arc::clone(&written), Some(properties)).map_err(damaged)?;
    let mut row = 0;
    for batch in builder.with_batch_size(BATCH).build().map_err(damaged)? {
        let batch = batch.map_err(damaged)?;
        let done = work(transform, (&batch, &written), (column, tweak), row, refused)?;
        row += batch.num_rows() as u64;
        writer.write(&done).map_err(damaged)?;
    }
    writer.close().map_err(damaged)?;
    Ok(())
}

/// The writer's properties, taken from the file that is read.
fn properties(metadata: &ParquetMetaData) -> WriterProperties {
    let file = metadata.file_metadata();
    let kept = |pair: &&KeyValue| pair.key != ARROW_SCHEMA;
    let pairs = file.key_value_metadata().into_iter().flatten();
    let pairs: Vec<KeyValue> = pairs.filter(kept).cloned().collect();
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
    let at = at.ok_or_else(|| Error::NoColumn {
        column: name.to_owned(),
        found: listed(schema.fields().iter().map(|field| field.name().into())),
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

/// The schema with this column as plain text, since each value of a dictionary gets several results.
fn plain(schema: &Schema, column: usize) -> SchemaRef {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    if let DataType::Dictionary(_, kind) = fields[column].data_type() {
        let field = fields[column]
            .as_ref()
            .clone()
            .with_data_type((**kind).clone());
        fields[column] = Arc::new(field);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The same values without a dictionary.
fn unpacked(array: &ArrayRef) -> Result<ArrayRef, Error> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => {
            arrow_select::take::take(dictionary.values(), dictionary.keys(), None).map_err(damaged)
        }
        None => Ok(Arc::clone(array)),
    }
}

/// The values of a column of text.
fn texts(array: &ArrayRef) -> Box<dyn Iterator<Item = Option<&str>> + '_> {
    let array = &**array;
    if let Some(array) = array.as_any().downcast_ref::<StringArray>() {
        Box::new(array.iter())
    } else if let Some(array) = array.as_any().downcast_ref::<LargeStringArray>() {
        Box::new(array.iter())
    } else if let Some(array) = array.as_any().downcast_ref::<StringViewArray>() {
        Box::new(array.iter())
    } else {
        unreachable!("the schema has a column of text here")
    }
}

/// A batch with the column transformed, without the rows that are left out.
fn work(
    transform: &Transform,
    (batch, written): (&RecordBatch, &SchemaRef),
    (column, tweak): (usize, Option<usize>),
    first: u64,
    refused: &mut dyn FnMut(Error),
) -> Result<RecordBatch, Error> {
    let values = unpacked(batch.column(column))?;
    let tweaks = tweak
        .map(|tweak| unpacked(batch.column(tweak)))
        .transpose()?;
    let mut tweaks = tweaks.as_ref().map(texts);
    let mut results: Vec<Option<Zeroizing<String>>> = Vec::with_capacity(batch.num_rows());
    let mut kept = Vec::with_capacity(batch.num_rows());
    for (row, value) in (first + 1..).zip(texts(&values)) {
        let own = tweaks.as_mut().and_then(Iterator::next).flatten();
        let own = own.unwrap_or_default().as_bytes();
        let result = match value {
            None if transform.keep_empty => Ok(None),
            value => {
                let (text, expected) = (value.unwrap_or_default(), transform.cipher.expected());
                let done = transform.text(own, text).map(Some);
                done.map_err(|source| match text {
                    "" => {
                        let name = batch.schema_ref().field(column).name();
                        let place = format!("row {row}, column {name}");
                        Error::Empty { place, expected }
                    }
                    _ => Error::Row {
                        row,
                        source,
                        expected,
                    },
                })
            }
        };
        match result {
            Ok(result) => {
                results.push(result);
                kept.push(true);
            }
            Err(error) => {
                kept.push(transform.refuse(error, refused)?);
                results.push(value.map(|value| Zeroizing::new(value.to_owned())));
            }
        }
    }
    let texts = results
        .iter()
        .map(|text| text.as_ref().map(|text| text.as_str()));
    let array: ArrayRef = match values.data_type() {
        DataType::Utf8 => Arc::new(texts.collect::<StringArray>()),
        DataType::LargeUtf8 => Arc::new(texts.collect::<LargeStringArray>()),
        _ => Arc::new(texts.collect::<StringViewArray>()),
    };
    let mut columns = batch.columns().to_vec();
    columns[column] = array;
    let batch = RecordBatch::try_new(Arc::clone(written), columns).map_err(damaged)?;
    if kept.iter().all(|kept| *kept) {
        return Ok(batch);
    }
    arrow_select::filter::filter_record_batch(&batch, &BooleanArray::from(kept)).map_err(damaged)
}

fn damaged(error: impl ToString) -> Error {
    Error::Parquet {
        why: error.to_string(),
    }
}
