//! Opens files by their format.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

use super::{Reader, Source};
use crate::element::Element;
use crate::input::Input;
use crate::{ColumnNames, Error, FileOptions, Format};
use crate::{bin, content, npy, texmex};

impl Reader {
    /// Opens a file by its extension. The vectors of a table are its only column of lists of numbers.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or its format is not one of [`Format`]. It also fails if the
    /// header is damaged or contradicts the file's length, or if there are no vectors.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_columns(path, &ColumnNames::default())
    }

    /// Opens a file by its extension, and reads these columns of a table.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open). Fails if there are no such columns.
    pub fn open_columns(path: impl AsRef<Path>, columns: &ColumnNames) -> Result<Self, Error> {
        Self::open_with(path, columns, &FileOptions::default())
    }

    /// Opens a file with these options, and reads these columns of a table. The file may be a pipe.
    ///
    /// # Errors
    /// The errors of [`open_columns`](Self::open_columns).
    pub fn open_with(
        path: impl AsRef<Path>,
        columns: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.is_dir() {
            return Err(Error::folder(path));
        }
        let format = options.format.map_or_else(|| Format::of(path), Ok)?;
        let at = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let (file, len) = opened(path)?;
        #[cfg(feature = "arrow")]
        if format == Format::Parquet && len.is_some() {
            let mut start = Vec::new();
            let read = Read::take(&file, content::START).read_to_end(&mut start);
            read.map_err(at)?;
            content::check(format, &start)?;
            let table = crate::table::Table::parquet(file, columns, options.skip)?;
            return Ok(Self::table(table, options.skip));
        }
        let same = len.map(|_| file.try_clone()).transpose().map_err(at)?;
        let bytes = Box::new(BufReader::with_capacity(1 << 16, file));
        let input = Input {
            bytes,
            len,
            file: same,
        };
        Self::new(format, input, columns, options)
    }

    /// Reads these columns from a stream, whose format the options name.
    ///
    /// # Errors
    /// The errors of [`open_columns`](Self::open_columns). [`Error::UnknownFormat`] if there is no format.
    pub fn from_stream(
        bytes: Box<dyn Read + Send>,
        columns: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Self, Error> {
        let format = options.format.map_or_else(|| Format::of(""), Ok)?;
        let input = Input {
            bytes: Box::new(BufReader::with_capacity(1 << 16, bytes)),
            len: None,
            file: None,
        };
        Self::new(format, input, columns, options)
    }

    /// The names of all columns of a Parquet file, in order.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is damaged.
    #[cfg(feature = "arrow")]
    pub fn parquet_columns(path: impl AsRef<Path>) -> Result<Vec<String>, Error> {
        crate::table::parquet_columns(opened(path.as_ref())?.0)
    }

    /// Reads a file's bytes.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn from_bytes(format: Format, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::from_bytes_columns(format, bytes, &ColumnNames::default())
    }

    /// Reads these columns of a file's bytes.
    ///
    /// # Errors
    /// The errors of [`open_columns`](Self::open_columns).
    pub fn from_bytes_columns(
        format: Format,
        bytes: Vec<u8>,
        columns: &ColumnNames,
    ) -> Result<Self, Error> {
        Self::from_bytes_with(
            bytes,
            columns,
            &FileOptions {
                format: Some(format),
                ..FileOptions::default()
            },
        )
    }

    /// Reads these columns of a file's bytes, whose format the options name.
    ///
    /// # Errors
    /// The errors of [`open_columns`](Self::open_columns). [`Error::UnknownFormat`] if there is no format.
    pub fn from_bytes_with(
        bytes: Vec<u8>,
        columns: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Self, Error> {
        let format = options.format.map_or_else(|| Format::of(""), Ok)?;
        Self::new(format, Input::whole(bytes), columns, options)
    }

    fn new(
        format: Format,
        input: Input,
        columns: &ColumnNames,
        options: &FileOptions,
    ) -> Result<Self, Error> {
        let named = [&columns.vectors, &columns.ids];
        let named = named.into_iter().flatten().chain(&columns.values).next();
        let input = Input {
            bytes: content::checked(format, input.bytes)?,
            ..input
        };
        let (rows, len) = match format {
            #[cfg(feature = "arrow")]
            Format::Parquet => {
                // The format's metadata is at the end of the file, so a pipe is read completely.
                let (mut bytes, mut whole) = (Vec::new(), input.bytes);
                whole.read_to_end(&mut bytes).map_err(Error::Read)?;
                let bytes = bytes::Bytes::from(bytes);
                let table = crate::table::Table::parquet(bytes, columns, options.skip)?;
                return Ok(Self::table(table, options.skip));
            }
            #[cfg(feature = "arrow")]
            Format::Arrow => {
                let table = crate::table::Table::ipc(input.bytes, columns, options.skip)?;
                return Ok(Self::table(table, options.skip));
            }
            #[cfg(feature = "text")]
            Format::Jsonl | Format::Json | Format::Csv | Format::Tsv => {
                let text = crate::text::Text::open(format, input.bytes, columns, options)?;
                return Ok(Self {
                    dim: text.dim(),
                    ..Self::of(Source::Text(text), None, options.skip)
                });
            }
            _ if named.is_some() => {
                return Err(Error::NoColumn {
                    wanted: named.cloned().unwrap_or_default(),
                    found: "none, as it is no table".to_owned(),
                });
            }
            Format::Npy => {
                let (rows, len) = npy::rows(input, options.one_vector)?;
                (rows, Some(len))
            }
            Format::Fvecs => texmex::rows(input, Element::F32)?,
            Format::Bvecs => texmex::rows(input, Element::U8)?,
            Format::Fbin => bin::rows(input, Element::F32).map(|(rows, len)| (rows, Some(len)))?,
            Format::U8bin => bin::rows(input, Element::U8).map(|(rows, len)| (rows, Some(len)))?,
            Format::I8bin => bin::rows(input, Element::I8).map(|(rows, len)| (rows, Some(len)))?,
        };
        Ok(Self {
            dim: rows.dim(),
            ..Self::of(Source::Rows(rows), len, options.skip)
        })
    }

    #[cfg(feature = "arrow")]
    fn table(table: crate::table::Table, skip: bool) -> Self {
        Self {
            dim: table.dim(),
            len: table.len_hint(),
            ..Self::of(Source::Table(Box::new(table)), None, skip)
        }
    }

    fn of(source: Source, len: Option<u64>, skip: bool) -> Self {
        Self {
            source,
            dim: 0,
            len,
            read: 0,
            fault: None,
            failed: false,
            skip,
            faults: Vec::new(),
            waiting: None,
        }
    }
}

/// Opens a file and returns its length, which is not known for a pipe.
fn opened(path: &Path) -> Result<(File, Option<u64>), Error> {
    let at = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(|error| {
        let is_address = path.to_string_lossy().contains("://");
        at(match error.kind() {
            ErrorKind::NotFound if is_address => {
                let why = "addresses are not read: download the file, and name the copy";
                std::io::Error::new(ErrorKind::NotFound, why)
            }
            _ => error,
        })
    })?;
    let metadata = file.metadata().map_err(at)?;
    if metadata.is_dir() {
        return Err(Error::folder(path));
    }
    let len = metadata.is_file().then_some(metadata.len());
    Ok((file, len))
}
