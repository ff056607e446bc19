//! The context of a request: a record, with its canonical bytes.

mod check;

use crate::error::at_most;
use crate::value::{Record, Value};
use crate::{Error, key};

/// The largest number of bytes of a context in its canonical form.
const MOST: usize = 1 << 20;

/// The context of a request: named values that belong to no entity, such as a rate or a time.
///
/// The constructor computes its canonical bytes once, so that a cache finds a request without encoding it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    record: Record,
    canonical: Box<[u8]>,
    shape: Box<[u8]>,
    /// The hashes of `canonical` and `shape`, for the keys of this process's caches.
    hashes: [u64; 2],
}

/// The empty context, for requests without one.
pub(crate) static EMPTY: std::sync::LazyLock<Context> = std::sync::LazyLock::new(Context::default);

impl Context {
    /// A context of these fields.
    ///
    /// # Errors
    /// - [`Error::DuplicateAttribute`] if two fields have one name
    /// - [`Error::TooDeep`] beyond 31 nested sets and records in a field
    /// - [`Error::TooLarge`] above a MiB
    /// - [`Error::Value`] for a value that Cedar's language does not have, such as `ip("300.1.1.1")`, at any depth
    ///
    /// # Examples
    /// ```
    /// use sordino_authz::{Context, Value};
    ///
    /// let context = Context::new([("mfa", Value::Bool(true)), ("results", Value::Long(10))])?;
    /// # Ok::<(), sordino_authz::Error>(())
    /// ```
    pub fn new<K: Into<Box<str>>>(
        fields: impl IntoIterator<Item = (K, Value)>,
    ) -> Result<Self, Error> {
        Self::of(Record::new(fields)?)
    }

    /// A context of this record.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the context is larger than a MiB. [`Error::Value`] for a value that Cedar's language
    /// does not have.
    pub fn of(record: Record) -> Result<Self, Error> {
        if record.fields().is_empty() {
            return Ok(Self::default());
        }
        let (mut canonical, mut shape) = (Vec::new(), Vec::new());
        write_record(&record, &mut canonical, Form::Canonical)?;
        write_record(&record, &mut shape, Form::Shape)?;
        check::check(&record).map_err(|error| check::within("context", error))?;
        let hashes = [key::hash(&canonical), key::hash(&shape)];
        let (canonical, shape) = (canonical.into(), shape.into());
        Ok(Self {
            record,
            canonical,
            shape,
            hashes,
        })
    }

    /// The fields.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The canonical bytes. Two contexts are equal if and only if these bytes are equal.
    #[must_use]
    pub fn canonical(&self) -> &[u8] {
        &self.canonical
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hashes[0]
    }

    pub(crate) fn shape_hash(&self) -> u64 {
        self.hashes[1]
    }

    /// The canonical bytes without the values that schemas do not look at. These are numbers, truth values, strings
    /// and arguments of constructors, which were checked already.
    pub(crate) fn shape(&self) -> &[u8] {
        &self.shape
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Canonical,
    Shape,
}

/// Writes a record: its tag, the number of its fields, then each name and value.
fn write_record(record: &Record, bytes: &mut Vec<u8>, form: Form) -> Result<(), Error> {
    bytes.push(b'R');
    write_len(record.fields().len(), bytes);
    for (name, value) in record.fields() {
        write_bytes(name.as_bytes(), bytes);
        write_value(value, bytes, form)?;
    }
    Ok(())
}

/// Writes a value: a tag, then its content. Content of variable length follows its length.
fn write_value(value: &Value, bytes: &mut Vec<u8>, form: Form) -> Result<(), Error> {
    at_most("bytes of a context", bytes.len(), MOST)?;
    let whole = form == Form::Canonical;
    match value {
        Value::Bool(value) => {
            bytes.push(b'B');
            if whole {
                bytes.push(u8::from(*value));
            }
        }
        Value::Long(value) => {
            bytes.push(b'L');
            if whole {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
        Value::String(value) => {
            bytes.push(b'T');
            if whole {
                write_bytes(value.as_bytes(), bytes);
            }
        }
        // Validation checks the ids of enumerated types and of actions.
        Value::Entity(value) => {
            bytes.push(b'E');
            write_bytes(value.type_name().as_bytes(), bytes);
            write_bytes(value.id().as_bytes(), bytes);
        }
        Value::Set(set) => {
            bytes.push(b'S');
            write_len(set.members().len(), bytes);
            for member in set.members() {
                write_value(member, bytes, form)?;
            }
        }
        Value::Record(record) => write_record(record, bytes, form)?,
        Value::Extension { kind, argument } => {
            bytes.extend_from_slice(&[b'X', *kind as u8]);
            if whole {
                write_bytes(argument.as_bytes(), bytes);
            }
        }
    }
    at_most("bytes of a context", bytes.len(), MOST)
}

fn write_bytes(content: &[u8], bytes: &mut Vec<u8>) {
    write_len(content.len(), bytes);
    bytes.extend_from_slice(content);
}

fn write_len(len: usize, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&(len as u64).to_le_bytes());
}
