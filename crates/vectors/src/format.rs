//! The formats of files, and the columns of tables.

use std::path::Path;

use crate::Error;
use crate::id::IdKind;

/// A format that vectors are read from. Numbers of 64 bits, and numbers in texts, are rounded to 32 bits: see
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
    /// Lines of JSON objects: a member that is a list of numbers. Lines may be the lists themselves.
    #[cfg(feature = "text")]
    Jsonl,
    /// A JSON array of records as in the lines of [`Jsonl`](Self::Jsonl), or such lines.
    #[cfg(feature = "text")]
    Json,
    /// CSV with a head: a column of numbers, separated by commas or spaces, in brackets or not.
    #[cfg(feature = "text")]
    Csv,
    /// The same with tabs between fields.
    #[cfg(feature = "text")]
    Tsv,
    /// Arrow IPC, as a file or as a stream: a column of lists of one length.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// The endings of files that gzip or zstd packed.
const PACKED: [&str; 4] = [".gz", ".gzip", ".zst", ".zstd"];

/// Stands before the number of vectors in names of the billion-scale benchmarks' files that were cut short.
const CROPPED: &str = ".crop_nb_";

impl Format {
    /// The format that a path's ending names, in capitals or not. Texts may be packed: `.csv.gz`, `.jsonl.zst`.
    ///
    /// # Errors
    /// If it names none that can be read.
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
            (Ok(format), Some(_)) if format.is_text() => Ok(format),
            (_, None) => Err(unknown(ending)),
            (_, Some(packing)) => Err(unknown(&format!("{ending}{packing}"))),
        }
    }

    /// The format of this name, which is the ending of its files, without a dot.
    ///
    /// # Errors
    /// If there is no such format.
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

    /// True for a table in text, which may be packed.
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

/// The way a file is read, where its name and columns do not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// The format; if `None`, the path's ending names it.
    pub format: Option<Format>,
    /// The sign between fields of CSV; if `None`, a comma, or a tab in `.tsv`.
    pub delimiter: Option<u8>,
    /// True if a `.npy` file of one dimension is one vector.
    pub one_vector: bool,
    /// True if rows that cannot be read are left out: [`Reader::take_faults`](crate::Reader::take_faults) tells them. A
    /// fault of the file still ends it.
    pub skip: bool,
}

/// The place of the only column of this name; `None` if there is no such column.
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

/// The places of the columns whose names fit a pattern with one `*` or more. They are in the order of their names, with
/// numbers in them as numbers: in files, columns of one coordinate each stand in any order. `None` for a pattern
/// without `*`.
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
        // pandas writes its numbers of rows so.
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

#[cfg(any(feature = "arrow", feature = "text"))]
fn two_columns(name: &str, (first, second): (usize, usize)) -> Error {
    Error::TwoColumns {
        name: name.chars().take(60).collect(),
        places: (first + 1, second + 1),
    }
}

/// A name cut before and after each of its numbers, which are compared by their values.
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

/// Which columns of a table hold vectors and ids. Other formats have no columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnNames {
    /// The column of lists of numbers; if `None`, the only one that there is. A name with a `*` in it that no column
    /// has stands for the columns that fit it, each of which holds a coordinate. So `f*` stands for `f0`, `f1` and so
    /// on. Within a structure, a name is `outer.inner`.
    pub vectors: Option<String>,
    /// True if no vectors are read. Then each row's vector is one coordinate, 0, and each record of lines of JSON has
    /// all values that are asked for.
    pub vectorless: bool,
    /// The column of ids; if `None`, vectors have none.
    pub ids: Option<String>,
    /// The kind of ids that texts are read as; `None`: texts stay texts. Columns of integers hold numbers, which are read
    /// as texts if texts are asked for. Columns of 16 bytes hold UUIDs.
    pub id_kind: Option<IdKind>,
    /// Columns of other values that are read too.
    pub values: Vec<String>,
    /// Members that no record of JSON may have, whatever their capitals: the first one lacks them, so their values would be lost.
    pub absent: Vec<String>,
}

#[cfg(any(feature = "arrow", feature = "text"))]
impl ColumnNames {
    /// True of a column that holds something other than coordinates.
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
        ] {
            assert_eq!(Format::of(name).unwrap(), format, "{name}");
        }
        for (name, why) in [
            (
                "x.npy.gz",
                "unknown format .npy.gz: unpack it, with `gunzip -k FILE`",
            ),
            ("glove-100-angular.hdf5", "h5py.File('FILE')['train']"),
            ("x.npz", "numpy.load('FILE')['NAME']"),
            ("x.pkl", "pandas.read_pickle"),
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
