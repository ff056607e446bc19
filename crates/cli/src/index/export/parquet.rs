//! Records as a Parquet file.

use crate::Error;
use crate::atomic_file::{AtomicFile, in_place};
use crate::index::input::exported::column_of;
use crate::index::input::layout::LABEL;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array,
    Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use sordino_search::{Column, ColumnKind, Id, IdKind, Stored};
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// A file to which records are appended: `id`, `payload` if there are payloads, a column for each attribute, `label` if
/// there are labels, `vector`.
pub(super) struct Table {
    writer: ArrowWriter<BufWriter<AtomicFile>>,
    columns: Columns,
    fault: Fault,
}

/// The columns of the file.
pub(super) struct Columns {
    pub(super) ids: IdKind,
    pub(super) payloads: bool,
    pub(super) attributes: Vec<(String, ColumnKind)>,
    pub(super) labels: bool,
    /// The number of coordinates of a vector, if vectors are written.
    pub(super) dim: Option<i32>,
}

/// Names the file in an error.
#[derive(Clone)]
struct Fault(std::path::PathBuf);

impl Fault {
    fn of(&self, error: impl ToString) -> Error {
        let text = error.to_string();
        // The library puts this word before errors that are not its own.
        let why = text.strip_prefix("External: ").unwrap_or(&text);
        Error::at(&self.0)(std::io::Error::other(why.to_owned()))
    }
}

impl Table {
    pub(super) fn create(path: &Path, columns: Columns) -> Result<Self, Error> {
        let fault = Fault(path.to_owned());
        let file = AtomicFile::new(path).map_err(Error::at(path))?;
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let writer = ArrowWriter::try_new(BufWriter::new(file), columns.schema(), Some(properties));
        Ok(Self {
            writer: writer.map_err(|error: ParquetError| fault.of(error))?,
            columns,
            fault,
        })
    }

    /// Appends records.
    pub(super) fn write(&mut self, some: &Stored) -> Result<(), Error> {
        let batch = self.columns.batch(some);
        let batch = batch.map_err(|error| self.fault.of(error))?;
        self.writer
            .write(&batch)
            .map_err(|error| self.fault.of(error))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        let Self { writer, fault, .. } = self;
        let file = writer.into_inner().map_err(|error| fault.of(error))?;
        let file = file.into_inner();
        let file = file.map_err(|error| fault.of(error.into_error()))?;
        in_place(&fault.0, file)
    }
}

impl Columns {
    fn schema(&self) -> Arc<Schema> {
        let ids = match self.ids {
            IdKind::Number => DataType::UInt64,
            IdKind::Text => DataType::Utf8,
            IdKind::Uuid => DataType::FixedSizeBinary(16),
        };
        let mut fields = vec![Field::new("id", ids, false)];
        if self.payloads {
            fields.push(Field::new("payload", DataType::Binary, false));
        }
        for (name, kind) in &self.attributes {
            let kind = match kind {
                ColumnKind::Int => DataType::Int64,
                ColumnKind::Float => DataType::Float64,
                ColumnKind::Bool => DataType::Boolean,
                _ => DataType::Utf8,
            };
            fields.push(Field::new(column_of(name), kind, true));
        }
        if self.labels {
            fields.push(Field::new(LABEL, DataType::Utf8, true));
        }
        if let Some(dim) = self.dim {
            let item = Arc::new(Field::new_list_field(DataType::Float32, false));
            let kind = DataType::FixedSizeList(item, dim);
            fields.push(Field::new("vector", kind, false));
        }
        Arc::new(Schema::new(fields))
    }

    fn batch(&self, some: &Stored) -> Result<RecordBatch, ArrowError> {
        let mut columns = vec![ids(self.ids, &some.ids)?];
        if self.payloads {
            let payloads = some.payloads.iter().flatten();
            let payloads: Vec<&[u8]> = payloads.map(Vec::as_slice).collect();
            columns.push(Arc::new(BinaryArray::from(payloads)));
        }
        for (name, kind) in &self.attributes {
            let none = Column::empty(*kind, some.ids.len());
            columns.push(values(some.attributes.column(name).unwrap_or(&none)));
        }
        if self.labels {
            let labels = vec![some.label.as_deref(); some.ids.len()];
            columns.push(Arc::new(StringArray::from(labels)));
        }
        if let Some(dim) = self.dim {
            let item = Arc::new(Field::new_list_field(DataType::Float32, false));
            let coordinates = Float32Array::from(some.vectors.as_slice().to_vec());
            let list = FixedSizeListArray::try_new(item, dim, Arc::new(coordinates), None)?;
            columns.push(Arc::new(list));
        }
        RecordBatch::try_new(self.schema(), columns)
    }
}

fn ids(kind: IdKind, ids: &[Id]) -> Result<ArrayRef, ArrowError> {
    Ok(match kind {
        IdKind::Number => {
            let numbers = ids.iter().filter_map(Id::number);
            Arc::new(UInt64Array::from(numbers.collect::<Vec<_>>()))
        }
        IdKind::Text => {
            let texts = ids.iter().map(Id::to_string);
            Arc::new(StringArray::from(texts.collect::<Vec<_>>()))
        }
        IdKind::Uuid => {
            let bytes = ids.iter().filter_map(|id| match id {
                Id::Uuid(uuid) => Some(*uuid.as_bytes()),
                _ => None,
            });
            Arc::new(FixedSizeBinaryArray::try_from_iter(bytes)?)
        }
    })
}

fn values(column: &Column) -> ArrayRef {
    match column {
        Column::Int(values) => Arc::new(Int64Array::from(values.clone())),
        Column::Float(values) => Arc::new(Float64Array::from(values.clone())),
        Column::Bool(values) => Arc::new(BooleanArray::from(values.clone())),
        Column::Text(values) | Column::Json(values) => {
            let texts = values.iter().map(Option::as_deref);
            Arc::new(StringArray::from(texts.collect::<Vec<_>>()))
        }
        // No attribute consists of bytes.
        Column::Bytes(values) => Arc::new(StringArray::new_null(values.len())),
    }
}
