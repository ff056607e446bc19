//! The types with which columns are read, if Parquet's own types do not tell all.

use std::sync::Arc;

use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;

use super::{FORMAT, damaged};
use crate::Error;
use crate::table::caught;

/// The types of a file's columns.
pub(super) struct Types {
    /// The types of the values: Parquet's, or durations if a writer of Arrow recorded them.
    of_values: SchemaRef,
    /// The same types with views of texts and bytes. Many rows may share one long text of a dictionary, and views do not copy it.
    read: SchemaRef,
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
        let plain = metadata.schema();
        let of = |views: bool| {
            let fields = plain.fields().iter().enumerate().map(|(at, field)| {
                let same = written.as_ref().and_then(|it| it.fields().get(at));
                typed(field, same.map(AsRef::as_ref), views)
            });
            Arc::new(Schema::new(fields.collect::<Fields>()))
        };
        let of_values = of(false);
        Ok(Self {
            has_durations: durations(of_values.fields()) > 0,
            read: of(true),
            of_values,
        })
    }

    /// The types of the values.
    pub(super) fn schema(&self) -> &Schema {
        &self.of_values
    }

    /// Opens the file to be read with these types.
    pub(super) fn read(&self, metadata: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, Error> {
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&self.read));
        let file = Arc::clone(metadata.metadata());
        match caught(FORMAT, || ArrowReaderMetadata::try_new(file, options))? {
            // A duration would become a number without a unit.
            Err(error) if self.has_durations => Err(damaged(error)),
            Err(_) => Ok(metadata),
            read => read.map_err(damaged),
        }
    }
}

/// The field with its types as they are read: a duration if the writer recorded one, and views of texts and bytes if requested.
/// Without views the field also gets the name of its Arrow extension type.
fn typed(field: &FieldRef, written: Option<&Field>, views: bool) -> FieldRef {
    let written_kind = written.map(Field::data_type);
    let kind = match (field.data_type(), written_kind) {
        (DataType::Int64, Some(written @ DataType::Duration(_))) => written.clone(),
        (DataType::Utf8, _) if views => DataType::Utf8View,
        (DataType::Binary, _) if views => DataType::BinaryView,
        (DataType::List(of), written) => {
            DataType::List(typed(of, written.and_then(item).map(AsRef::as_ref), views))
        }
        (DataType::Map(entries, sorted), written) => {
            let written = match written {
                Some(DataType::Map(written, _)) => Some(written.as_ref()),
                _ => None,
            };
            DataType::Map(typed(entries, written, views), *sorted)
        }
        (DataType::Struct(fields), written) => {
            let written = match written {
                Some(DataType::Struct(written)) => Some(written),
                _ => None,
            };
            let fields = fields.iter().enumerate().map(|(at, field)| {
                let same = written.and_then(|fields| fields.get(at));
                typed(field, same.map(AsRef::as_ref), views)
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
