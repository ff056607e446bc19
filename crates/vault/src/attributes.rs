//! The attributes of a segment's records: typed columns that clients filter by, sealed.
//!
//! ```text
//! columns: u8 | for each: name: u8 length, bytes | type: u8 | for each row a bit, 1 where there is a value
//!             | values: i64 and f64 in 8 bytes, bool in 1, text: u32 length, bytes
//! ```
//!
//! The code is filled up with zeros to a class, like [record ids](crate::ids). So its length reveals the bytes of all
//! columns together, up to a factor of two. Names and types are inside the seal.

use std::collections::BTreeMap;

use sordino_index::Error;
use sordino_vectors::column::{Column, ColumnKind};

/// The largest number of columns.
const MAX_COLUMNS: usize = 64;

/// The size in bytes of the longest name.
const MAX_NAME: usize = 64;

/// The attributes of some records, row by row. Each column has a value or nothing in each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    rows: usize,
    columns: BTreeMap<Box<str>, Column>,
}

impl Attributes {
    /// The size in bytes of the longest text.
    pub const MAX_TEXT: usize = 4096;

    /// Records without attributes.
    #[must_use]
    pub fn none(rows: usize) -> Self {
        Self {
            rows,
            columns: BTreeMap::new(),
        }
    }

    /// The attributes of `rows` records, in columns by name.
    ///
    /// # Errors
    /// [`Error::Attribute`] for a column of bytes, or a column whose length is not `rows`. The same error for a text of
    /// more than 4,096 bytes, a name that is empty or longer than 64 bytes, more than 64 columns, or two columns of one
    /// name.
    pub fn new(
        rows: usize,
        columns: impl IntoIterator<Item = (String, Column)>,
    ) -> Result<Self, Error> {
        let mut all = Self::none(rows);
        for (name, column) in columns {
            let refused = |why: String| Error::Attribute {
                name: name.clone(),
                why,
            };
            if !(1..=MAX_NAME).contains(&name.len()) {
                return Err(refused(format!(
                    "a name of 1 to {MAX_NAME} bytes is needed"
                )));
            }
            if column.len() != rows {
                let found = column.len();
                return Err(refused(format!("{found} values for {rows} records")));
            }
            match &column {
                Column::Bytes(_) | Column::Json(_) => {
                    let found = column.kind().name();
                    let why =
                        format!("{found} cannot be compared: expected int, float, bool or text");
                    return Err(refused(why));
                }
                Column::Text(texts) => {
                    let longest = texts.iter().flatten().map(|text| text.len()).max();
                    if let Some(found) = longest.filter(|&len| len > Self::MAX_TEXT) {
                        let most = Self::MAX_TEXT;
                        let why = format!("a text of {found} bytes: expected at most {most}");
                        return Err(refused(why));
                    }
                }
                _ => (),
            }
            if all.columns.len() == MAX_COLUMNS {
                return Err(refused(format!("there are {MAX_COLUMNS} columns already")));
            }
            if all.columns.insert(name.as_str().into(), column).is_some() {
                return Err(refused("it is given twice".to_owned()));
            }
        }
        Ok(all)
    }

    /// The number of records.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// True if no record has an attribute.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns, in the order of their names.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(name, column)| (&**name, column))
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(name)
    }

    /// The attributes of these rows, in this order.
    ///
    /// # Panics
    /// Panics if there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter();
        let columns =
            columns.map(|(name, column)| (name.clone(), column.rows(rows.iter().copied())));
        Self {
            rows: rows.len(),
            columns: columns.collect(),
        }
    }

    /// The existing columns of these names, for `rows` records that have no values in them.
    #[must_use]
    pub fn emptied(&self, names: &[String], rows: usize) -> Self {
        let known = names.iter().filter_map(|name| {
            let column = self.columns.get(name.as_str())?;
            Some((name.as_str().into(), Column::empty(column.kind(), rows)))
        });
        Self {
            rows,
            columns: known.collect(),
        }
    }

    /// Gives columns of numbers the type that `known` has for their names, if each number is exactly the same in it.
    #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
    pub fn fit(&mut self, known: &Self) {
        const EXACT: i64 = 1 << 53;
        let float = |x: &i64| (-EXACT..=EXACT).contains(x).then_some(*x as f64);
        let int = |x: &f64| (x.fract() == 0.0 && x.abs() <= EXACT as f64).then_some(*x as i64);
        for (name, column) in &mut self.columns {
            let kind = known.columns.get(name).map(Column::kind);
            let fitting = match (kind, &*column) {
                (Some(ColumnKind::Float), Column::Int(values)) => {
                    all(values, float).map(Column::Float)
                }
                (Some(ColumnKind::Int), Column::Float(values)) => all(values, int).map(Column::Int),
                _ => None,
            };
            if let Some(fitting) = fitting {
                *column = fitting;
            }
        }
    }

    /// Checks that columns have the same types as the columns of the same names here, and that there are not too many
    /// columns.
    ///
    /// # Errors
    /// [`Error::Attribute`] if a column has another type, or if there are too many columns.
    pub fn check_beside(&self, other: &Self) -> Result<(), Error> {
        for (name, column) in &other.columns {
            let known = self.columns.get(name);
            let (found, expected) = (column.kind().name(), known.map(|known| known.kind().name()));
            if let Some(expected) = expected.filter(|&expected| expected != found) {
                return Err(Error::Attribute {
                    name: name.to_string(),
                    why: format!(
                        "{found}, and {expected} in records that are there: convert the values, or have them read so (on the command line \
                         --attribute {name}:{expected})"
                    ),
                });
            }
        }
        let fresh = other.columns.keys();
        let fresh = fresh.filter(|name| !self.columns.contains_key(*name));
        match self.columns.len() + fresh.count() {
            0..=MAX_COLUMNS => Ok(()),
            found => Err(Error::Attribute {
                name: "columns".to_owned(),
                why: format!("{found} of them: expected at most {MAX_COLUMNS}"),
            }),
        }
    }

    /// The same records with the columns of `other` added, which has a row for each record. They replace columns of
    /// the same name.
    ///
    /// # Errors
    /// The errors of [`check_beside`](Self::check_beside).
    ///
    /// # Panics
    /// Panics if the numbers of rows differ.
    pub fn overlaid(mut self, other: Self) -> Result<Self, Error> {
        assert_eq!(self.rows, other.rows, "a row for each record");
        self.check_beside(&other)?;
        self.columns.extend(other.columns);
        Ok(self)
    }

    /// Appends the records of `other`. A column that only one of the two has is empty for the other's records.
    ///
    /// # Errors
    /// The errors of [`check_beside`](Self::check_beside). Nothing is changed then.
    pub fn append(&mut self, other: Self) -> Result<(), Error> {
        self.check_beside(&other)?;
        for (name, column) in other.columns {
            let kind = column.kind();
            let own = self.columns.entry(name);
            let own = own.or_insert_with(|| Column::empty(kind, self.rows));
            // Their types are equal, as was checked before.
            own.append(column);
        }
        self.rows += other.rows;
        let rows = self.rows;
        for column in self.columns.values_mut() {
            column.pad(rows - column.len());
        }
        Ok(())
    }

    /// Appends the code.
    pub fn write(&self, out: &mut Vec<u8>) {
        // There are at most 64 columns, with names of at most 64 bytes.
        out.push(self.columns.len().to_le_bytes()[0]);
        for (name, column) in &self.columns {
            out.push(name.len().to_le_bytes()[0]);
            out.extend_from_slice(name.as_bytes());
            out.push(kind_number(column.kind()));
            match column {
                Column::Int(values) => write(values, out, |x, out| out.extend(x.to_le_bytes())),
                Column::Float(values) => write(values, out, |x, out| out.extend(x.to_le_bytes())),
                Column::Bool(values) => write(values, out, |&x, out| out.push(x.into())),
                Column::Text(values) => write(values, out, |text, out| {
                    out.extend(sordino_vectors::u32_of(text.len()).to_le_bytes());
                    out.extend_from_slice(text.as_bytes());
                }),
                // Such columns were refused before.
                Column::Bytes(_) | Column::Json(_) => (),
            }
        }
    }

    /// Reads the attributes of `rows` records from the front of `bytes`.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not the code of such attributes.
    pub fn read(rows: usize, bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        let read = columns(rows, &mut rest).ok_or_else(|| Error::Malformed {
            what: "attributes",
            why: "truncated, or of another form".to_owned(),
        })?;
        Self::new(rows, read)
    }
}

fn columns(rows: usize, rest: &mut &[u8]) -> Option<Vec<(String, Column)>> {
    let count = take(rest, 1)?[0];
    let columns = (0..count).map(|_| {
        let len = take(rest, 1)?[0];
        let name = String::from_utf8(take(rest, len.into())?.to_vec()).ok()?;
        let kind = take(rest, 1)?[0];
        let there = take(rest, rows.div_ceil(8))?;
        let there = |row: usize| there[row / 8] >> (row % 8) & 1 == 1;
        let eight = |rest: &mut &[u8]| take(rest, 8)?.first_chunk().copied();
        let column = match kind {
            0 => Column::Int(read(rows, there, || {
                Some(i64::from_le_bytes(eight(rest)?))
            })?),
            1 => Column::Float(read(rows, there, || {
                Some(f64::from_le_bytes(eight(rest)?))
            })?),
            2 => Column::Bool(read(rows, there, || match take(rest, 1)?[0] {
                0 => Some(false),
                1 => Some(true),
                _ => None,
            })?),
            3 => Column::Text(read(rows, there, || {
                let len = u32::from_le_bytes(*take(rest, 4)?.first_chunk()?);
                let text = take(rest, usize::try_from(len).ok()?)?;
                Some(std::str::from_utf8(text).ok()?.into())
            })?),
            _ => return None,
        };
        Some((name, column))
    });
    columns.collect()
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

fn kind_number(kind: ColumnKind) -> u8 {
    match kind {
        ColumnKind::Int => 0,
        ColumnKind::Float => 1,
        ColumnKind::Bool => 2,
        ColumnKind::Text => 3,
        ColumnKind::Bytes | ColumnKind::Json => 4,
    }
}

fn write<T>(values: &[Option<T>], out: &mut Vec<u8>, one: impl Fn(&T, &mut Vec<u8>)) {
    for eight in values.chunks(8) {
        let there = eight.iter().enumerate();
        out.push(there.fold(0, |bits, (at, value)| {
            bits | u8::from(value.is_some()) << at
        }));
    }
    values.iter().flatten().for_each(|value| one(value, out));
}

fn read<T>(
    rows: usize,
    there: impl Fn(usize) -> bool,
    mut one: impl FnMut() -> Option<T>,
) -> Option<Vec<Option<T>>> {
    let mut values = Vec::new();
    for row in 0..rows {
        values.push(match there(row) {
            true => Some(one()?),
            false => None,
        });
    }
    Some(values)
}

/// The converted values, or `None` if one of them cannot be converted.
fn all<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> Option<U>) -> Option<Vec<Option<U>>> {
    let converted = values.iter().map(|value| match value {
        Some(value) => convert(value).map(Some),
        None => Some(None),
    });
    converted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attributes() -> impl Strategy<Value = Attributes> {
        use prop::collection::vec;
        use prop::option::of;
        (0usize..40).prop_flat_map(|rows| {
            let columns = (
                vec(of(any::<i64>()), rows),
                vec(of(-1e9f64..1e9), rows),
                vec(of(any::<bool>()), rows),
                vec(of("[a-zé]{0,9}".prop_map(String::into_boxed_str)), rows),
            );
            columns.prop_map(move |(int, float, bool, text)| {
                let columns = [
                    ("year", Column::Int(int)),
                    ("price", Column::Float(float)),
                    ("new", Column::Bool(bool)),
                    ("lang", Column::Text(text)),
                ];
                Attributes::new(
                    rows,
                    columns.map(|(name, column)| (name.to_owned(), column)),
                )
                .unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn attributes_survive_their_code(one in attributes(), two in attributes()) {
            let mut code = Vec::new();
            one.write(&mut code);
            let whole = code.len();
            crate::numbers::fill(&mut code);
            prop_assert_eq!(&Attributes::read(one.rows(), &code).unwrap(), &one);
            if one.rows() > 0 {
                prop_assert!(Attributes::read(one.rows(), &code[..whole / 2]).is_err());
            }
            let mut both = one.clone();
            both.append(two.clone()).unwrap();
            let rows: Vec<usize> = (0..one.rows()).collect();
            prop_assert_eq!(both.select(&rows), one.clone());
            let rows: Vec<usize> = (one.rows()..both.rows()).collect();
            prop_assert_eq!(both.select(&rows), two);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), rows in 0usize..20) {
            if let Ok(read) = Attributes::read(rows, &bytes) {
                prop_assert_eq!(read.rows(), rows);
            }
        }
    }

    #[test]
    fn columns_that_do_not_belong_together_are_refused() {
        let one = |name: &str, column| Attributes::new(2, [(name.to_owned(), column)]);
        let years = one("year", Column::Int(vec![Some(1), None])).unwrap();
        let texts = one("year", Column::empty(ColumnKind::Text, 2)).unwrap();
        let error = years.clone().append(texts).unwrap_err().to_string();
        assert_eq!(
            error,
            "attribute year: text, and int in records that are there: convert the values, or have them read so (on the command line \
             --attribute year:int)"
        );
        let floats =
            |values: [Option<f64>; 2]| one("year", Column::Float(values.to_vec())).unwrap();
        for (values, fits) in [
            ([Some(2000.0), None], true),
            ([Some(2000.5), None], false),
            ([Some(f64::NAN), None], false),
            ([Some(1e17), None], false),
        ] {
            let mut new = floats(values);
            new.fit(&years);
            assert_eq!(years.check_beside(&new).is_ok(), fits, "{values:?}");
        }
        for (value, fits) in [(7, true), ((1 << 53) + 1, false)] {
            let mut new = one("year", Column::Int(vec![Some(value), None])).unwrap();
            let prices = floats([Some(0.5), None]);
            new.fit(&prices);
            assert_eq!(prices.check_beside(&new).is_ok(), fits, "{value}");
        }
        let mut more = years.clone();
        more.append(Attributes::none(3)).unwrap();
        assert_eq!(more.column("year").unwrap().len(), 5);
        let mut late = Attributes::none(3);
        late.append(years).unwrap();
        assert_eq!(late.column("year").unwrap().len(), 5);
        for wrong in [
            one("", Column::empty(ColumnKind::Int, 2)),
            one("x", Column::empty(ColumnKind::Int, 3)),
            one("x", Column::empty(ColumnKind::Bytes, 2)),
            one("x", Column::Text(vec![Some("x".repeat(4097).into()), None])),
        ] {
            assert!(matches!(wrong, Err(Error::Attribute { .. })));
        }
    }
}
