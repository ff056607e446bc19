//! The types with which columns are read, if Parquet's own types do not tell all.

use std::slice::Iter;
use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;

use super::{FORMAT, damaged};
use crate::Error;
use crate::table::caught;

/// The types of a file's columns.
pub(super) struct Types {
    /// The types of the values: Parquet's, or durations if a writer of Arrow recorded them.
    of_values: Schema,
    /// The types that a writer of Arrow recorded.
    written: Option<Schema>,
    has_durations: bool,
}

impl Types {
    pub(super) fn of(metadata: &ArrowReaderMetadata) -> Result<Self, Error> {
        let file = metadata.metadata().file_metadata();
        // The writer's metadata is optional: without it a column has the type that Parquet gives it.
        let written = caught(FORMAT, || {
            parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())
        })?;
        let written = written.ok();
        let of_values = all_typed(metadata.schema(), written.as_ref(), None);
        Ok(Self {
            has_durations: durations(of_values.fields()) > 0,
            of_values,
            written,
        })
    }

    /// The types of the values.
    pub(super) fn schema(&self) -> &Schema {
        &self.of_values
    }

    /// Opens the file to be read with these types, and with views of texts and bytes: many rows may share one long text of a
    /// dictionary, and views do not copy it. Leaves with [`far`](super::instants::far) instants are read as microseconds.
    pub(super) fn read(
        &self,
        metadata: ArrowReaderMetadata,
        far: &[bool],
    ) -> Result<ArrowReaderMetadata, Error> {
        let read = all_typed(metadata.schema(), self.written.as_ref(), Some(far));
        let options = ArrowReaderOptions::new().with_schema(Arc::new(read));
        let file = Arc::clone(metadata.metadata());
        match caught(FORMAT, || ArrowReaderMetadata::try_new(file, options))? {
            // Otherwise a duration would become a number without a unit, and a far instant would become a wrong instant.
            Err(error) if self.has_durations || far.contains(&true) => Err(damaged(error)),
            Err(_) => Ok(metadata),
            read => read.map_err(damaged),
        }
    }
}

/// All fields as [`typed`] returns them.
fn all_typed(plain: &Schema, written: Option<&Schema>, far: Option<&[bool]>) -> Schema {
    let mut far = far.map(<[bool]>::iter);
    let fields = plain.fields().iter().enumerate().map(|(at, field)| {
        let same = written.and_then(|it| it.fields().get(at));
        typed(field, same.map(AsRef::as_ref), &mut far)
    });
    Schema::new(fields.collect::<Fields>())
}

/// The field with the types in which it is read. It is a duration if the writer recorded one. `far` has an entry for
/// each leaf from this field on: true if the leaf is read as microseconds. With `far`, texts and bytes get views.
/// Without `far`, the field also gets the name of its Arrow extension type.
fn typed(field: &FieldRef, written: Option<&Field>, far: &mut Option<Iter<'_, bool>>) -> FieldRef {
    let views = far.is_some();
    let leaf = !field.data_type().is_nested();
    let is_far = leaf && far.as_mut().and_then(Iterator::next) == Some(&true);
    let written_kind = written.map(Field::data_type);
    let kind = match (field.data_type(), written_kind) {
        (DataType::Timestamp(..), _) if is_far => DataType::Timestamp(TimeUnit::Microsecond, None),
        (DataType::Int64, Some(written @ DataType::Duration(_))) => written.clone(),
        (DataType::Utf8, _) if views => DataType::Utf8View,
        (DataType::Binary, _) if views => DataType::BinaryView,
        (DataType::List(of), written) => {
            DataType::List(typed(of, written.and_then(item).map(AsRef::as_ref), far))
        }
        (DataType::Map(entries, sorted), written) => {
            let written = match written {
                Some(DataType::Map(written, _)) => Some(written.as_ref()),
                _ => None,
            };
            DataType::Map(typed(entries, written, far), *sorted)
        }
        (DataType::Struct(fields), written) => {
            let written = match written {
                Some(DataType::Struct(written)) => Some(written),
                _ => None,
            };
            let fields = fields.iter().enumerate().map(|(at, field)| {
                let same = written.and_then(|fields| fields.get(at));
                typed(field, same.map(AsRef::as_ref), far)
            });
            DataType::Struct(fields.collect())
        }
        (kind, _) => kind.clone(),
    };
    let mut typed = Field::clone(field).with_data_type(kind);
    if let Some(name) = written
        .and_then(Field::extension_type_name)
        .filter(|_| !views)
    {
        let mut metadata = typed.metadata().clone();
        metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
        typed.set_metadata(metadata);
    }
    Arc::new(typed)
}

/// The number of durations in these fields.
fn durations(fields: &Fields) -> usize {
    let all = fields.iter().map(|field| match field.data_type() {
        DataType::Duration(_) => 1,
        DataType::Struct(fields) => durations(fields),
        DataType::Map(entries, _) => durations(&vec![Arc::clone(entries)].into()),
        kind => item(kind).map_or(0, |item| durations(&vec![Arc::clone(item)].into())),
    });
    all.sum()
}

fn item(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => Some(item),
        _ => None,
    }
}
