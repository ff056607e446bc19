//! The formats of files, and the columns of tables.

use std::path::Path;

use crate::Error;
use crate::id::IdKind;

/// A format from which vectors are read. 64-bit numbers, and numbers in texts, are rounded to 32 bits: see
/// [`Reader::loss`](crate::Reader::loss).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// NumPy's `.npy`: a matrix of floats, whole numbers or truth values.
    Npy,
    /// TEXMEX's `.fvecs`: f32.
    Fvecs,
    /// TEXMEX's `.bvecs`: u8.
    Bvecs,
    /// The billion-scale benchmarks' `.fbin`: f32.
    Fbin,
    /// The billion-scale benchmarks' `.u8bin`.
    U8bin,
    /// The billion-scale benchmarks' `.i8bin`.
    I8bin,
    /// Parquet: a column of lists of one length.
    #[cfg(feature = "arrow")]
    Parquet,
    /// Lines of JSON objects, with one member that is a list of numbers. A line may also be the list itself.
    #[cfg(feature = "text")]
    Jsonl,
    /// A JSON array of records as in the lines of [`Jsonl`](Self::Jsonl), or such lines.
    #[cfg(feature = "text")]
    Json,
    /// CSV with a header. The vectors are in one column: numbers separated by commas or spaces, with or without brackets.
    #[cfg(feature = "text")]
    Csv,
    /// Like [`Csv`](Self::Csv), with tabs between fields.
    #[cfg(feature = "text")]
    Tsv,
    /// Arrow IPC, as a file or as a stream: a column of lists of one length.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// The extensions of files that gzip or zstd compressed.
const PACKED: [&str; 4] = [".gz", ".gzip", ".zst", ".zstd"];

/// The text before the number of vectors in the names of shortened files of the billion-scale benchmarks.
const CROPPED: &str = ".crop_nb_";

impl Format {
    /// The format that a path's extension names, in upper or lower case. Text formats may be compressed: `.csv.gz`, `.jsonl.zst`.
    /// In `.parquet.gzip`, the second ending may stand for the compression within the file, which its first bytes show.
    ///
    /// # Errors
    /// Fails if the extension names no supported format.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, Error> {
        let name = path.as_ref().file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        let name = match name.rsplit_once(CROPPED) {
            Some((whole, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => whole,
            _ => &name,
        };
        let packing = PACKED.iter().find(|packing| name.ends_with(**packing));
        let plain = packing.map_or(name, |packing| &name[..name.len() - packing.len()]);
        let ending = plain.rsplit_once('.').map_or("", |(_, ending)| ending);
        match (Self::named(ending), packing) {
            (Ok(format), None) => Ok(format),
            (Ok(format), Some(_)) if format.is_text() || format.has_mark() => Ok(format),
            (_, None) => Err(unknown(ending)),
            (_, Some(packing)) => Err(unknown(&format!("{ending}{packing}"))),
        }
    }

    /// The format with this name, which is its file extension without the dot.
    ///
    /// # Errors
    /// Fails if there is no such format.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "npy" => Ok(Self::Npy),
            "fvecs" => Ok(Self::Fvecs),
            "bvecs" => Ok(Self::Bvecs),
            "fbin" => Ok(Self::Fbin),
            "u8bin" => Ok(Self::U8bin),
            "i8bin" => Ok(Self::I8bin),
            #[cfg(feature = "arrow")]
            "parquet" | "pq" => Ok(Self::Parquet),
            #[cfg(feature = "arrow")]
            "arrow" | "arrows" | "feather" | "ipc" => Ok(Self::Arrow),
            #[cfg(feature = "text")]
            "jsonl" | "ndjson" => Ok(Self::Jsonl),
            #[cfg(feature = "text")]
            "json" => Ok(Self::Json),
            #[cfg(feature = "text")]
            "csv" => Ok(Self::Csv),
            #[cfg(feature = "text")]
            "tsv" => Ok(Self::Tsv),
            other => Err(unknown(other)),
        }
    }

    /// True for a format of tables, whose columns have names.
    #[must_use]
    pub fn is_table(self) -> bool {
        match self {
            Self::Npy | Self::Fvecs | Self::Bvecs | Self::Fbin | Self::U8bin | Self::I8bin => false,
            #[cfg(feature = "arrow")]
            Self::Parquet | Self::Arrow => true,
            #[cfg(feature = "text")]
            Self::Jsonl | Self::Json | Self::Csv | Self::Tsv => true,
        }
    }

    /// True for a format whose files begin with bytes that no compressed file has.
    pub(crate) fn has_mark(self) -> bool {
        match self {
            Self::Npy => true,
            #[cfg(feature = "arrow")]
            Self::Parquet | Self::Arrow => true,
            _ => false,
        }
    }

    /// True for a table in a text format, which may be compressed.
    fn is_text(self) -> bool {
        match self {
            #[cfg(feature = "text")]
            Self::Jsonl | Self::Json | Self::Csv | Self::Tsv => true,
            _ => false,
        }
    }
}

fn unknown(ending: &str) -> Error {
    Error::UnknownFormat {
        extension: ending.chars().take(20).collect(),
    }
}

/// The options of a file, which say how to read it if its name and columns do not say so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// The format; if `None`, the path's extension names it.
    pub format: Option<Format>,
    /// The character between fields of CSV; if `None`, a comma, or a tab in `.tsv`.
    pub delimiter: Option<u8>,
    /// True if a one-dimensional `.npy` array is read as one vector.
    pub one_vector: bool,
    /// True if rows that cannot be read are left out. [`Reader::take_faults`](crate::Reader::take_faults) returns their errors. A
    /// fault of the whole file is still an error.
    pub skip: bool,
}

/// The position of the column with this name; `None` if there is no such column or more than one.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(crate) fn only_place<'a>(
    names: impl Iterator<Item = &'a str>,
    wanted: &str,
) -> Result<Option<usize>, Error> {
    let mut places = names.enumerate().filter(|(_, name)| *name == wanted);
    let first = places.next().map(|(at, _)| at);
    match (first, places.next()) {
        (Some(first), Some((second, _))) => Err(two_columns(wanted, (first, second))),
        (first, _) => Ok(first),
    }
}

/// The positions of the columns whose names match a pattern with one or more `*`. They are ordered by name, and numbers in names
/// are compared as numbers. In files, columns with one coordinate each may be in any order. `None` if the text has no `*`.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(crate) fn fitting<'a>(
    names: impl Iterator<Item = &'a str>,
    pattern: &str,
) -> Result<Vec<usize>, Error> {
    let parts: Vec<&str> = pattern.split('*').collect();
    let [first, middle @ .., last] = &parts[..] else {
        return Ok(Vec::new());
    };
    let fits = |name: &str| -> bool {
        // pandas gives such a name to the column of row numbers.
        if name.is_empty() || name.starts_with("__index_level_") {
            return false;
        }
        let within = name.strip_prefix(first);
        let within = within.and_then(|rest| rest.strip_suffix(last));
        let rest = middle.iter().try_fold(within, |rest, part| {
            let (_, after) = rest?.split_once(part)?;
            Some(Some(after))
        });
        rest.flatten().is_some()
    };
    let fitting = names.enumerate().filter(|(_, name)| fits(name));
    let mut fitting: Vec<(usize, &str)> = fitting.collect();
    fitting.sort_by_cached_key(|(_, name)| in_order(name));
    for pair in fitting.windows(2) {
        if pair[0].1 == pair[1].1 {
            return Err(two_columns(pair[0].1, (pair[0].0, pair[1].0)));
        }
    }
    Ok(fitting.into_iter().map(|(at, _)| at).collect())
}

/// The first of these names of columns, for a message: a table may have thousands.
#[cfg(any(feature = "arrow", feature = "text"))]
pub(crate) fn cut(mut names: impl Iterator<Item = String>) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<String> = names.by_ref().take(MOST).collect();
    let more = names.count();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}

/// A name for a message. One that is empty, or has spaces at an end, is in quotes.
#[cfg(feature = "text")]
pub(crate) fn named(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    match name.is_empty() || name.trim() != name {
        true => format!("{short:?}"),
        false => short,
    }
}

#[cfg(any(feature = "arrow", feature = "text"))]
fn two_columns(name: &str, (first, second): (usize, usize)) -> Error {
    Error::TwoColumns {
        name: name.chars().take(60).collect(),
        places: (first + 1, second + 1),
    }
}

/// A name split before and after each number, so that numbers are compared by value.
#[cfg(any(feature = "arrow", feature = "text"))]
fn in_order(name: &str) -> Vec<(&str, Option<u128>)> {
    let mut cut = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digit = |c: char| c.is_ascii_digit();
        let (text, after) = rest.split_at(rest.find(digit).unwrap_or(rest.len()));
        let end = after.find(|c| !digit(c)).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        cut.push((text, number.parse().ok()));
        rest = after;
    }
    cut
}

/// The names of the columns of a table that hold vectors and ids. Other formats have no columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The column of lists of numbers; if `None`, the only such column. A name with a `*` that no column has stands for all
    /// columns that match it, each of which holds one coordinate. So `f*` stands for `f0`, `f1` and so on. A column within a
    /// structure is named `outer.inner`.
    pub vectors: Option<String>,
    /// True if no vectors are read. Then each row's vector is one coordinate, 0, and each JSON record must have all requested
    /// values.
    pub vectorless: bool,
    /// The column of ids; if `None`, the vectors have no ids.
    pub ids: Option<String>,
    /// The kind of ids to which texts are converted; if `None`, texts stay texts. Integer columns give numbers, or texts if text
    /// ids are requested. Columns of 16 bytes give UUIDs.
    pub id_kind: Option<IdKind>,
    /// The columns of other values to read.
    pub values: Vec<String>,
    /// The names in `values` that each JSON record must have. Their value may be null.
    pub required: Vec<String>,
    /// Members that no JSON record may have, in upper or lower case. The first record lacks them, so their values would be lost.
    pub absent: Vec<String>,
}

#[cfg(any(feature = "arrow", feature = "text"))]
impl ColumnNames {
    /// True if the column holds ids or other values, not coordinates.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.ids
            .iter()
            .chain(&self.values)
            .any(|taken| taken == name)
    }
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use super::*;

    #[test]
    fn endings_are_read_as_people_write_them() {
        for (name, format) in [
            ("BASE.NPY", Format::Npy),
            ("a.b/base.10M.fbin.crop_nb_1000000", Format::Fbin),
            ("base.1B.u8bin.crop_nb_10", Format::U8bin),
            ("x.Csv.GZ", Format::Csv),
            ("x.tsv.zst", Format::Tsv),
            ("x.json", Format::Json),
            ("x.npy.gz", Format::Npy),
        ] {
            assert_eq!(Format::of(name).unwrap(), format, "{name}");
        }
        for (name, why) in [
            (
                "x.fvecs.gz",
                "unknown format .fvecs.gz: unpack it, with `gunzip -k FILE`",
            ),
            ("glove-100-angular.hdf5", "h5py.File('FILE')['train']"),
            ("x.npz", "numpy.load('FILE')['NAME']"),
            ("x.pkl", "numpy.stack(pandas.read_pickle('FILE'))"),
            ("x.faiss", "v.invlists.get_ids(l)"),
            ("x.xlsx", "keep_default_na=False, na_values=['']"),
            ("x.db", "sqlite3.connect('FILE')"),
            ("x.vec", ".rsplit(' ', d)"),
            ("x.PT", "torch.load"),
            ("x.bin", "numpy.fromfile('FILE', 'float32')"),
            ("x.sql", "with (format csv, header)"),
            ("x", "no ending in the file's name"),
            ("-", "no ending in the file's name"),
            ("x.abc", "unknown format .abc: expected .npy"),
        ] {
            let error = Format::of(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }

    #[test]
    fn a_star_stands_for_a_part_of_a_name() {
        let names = ["id", "f0", "f10", "g", "f", "xfx", "f2"];
        let fit = |pattern: &str| fitting(names.into_iter(), pattern).unwrap();
        assert_eq!(fit("f*"), [4, 1, 6, 2]);
        assert_eq!(fit("*f*"), [4, 1, 6, 2, 5]);
        assert_eq!(fit("f*0"), [1, 2]);
        assert_eq!(fit("x*x"), [5]);
        assert!(fit("f").is_empty() && fit("ff*").is_empty());
        assert!(fitting(["f1", "f0", "f1"].into_iter(), "f*").is_err());
    }
}
