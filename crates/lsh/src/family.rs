//! Families of hash functions for tables: `tables` keys per vector, each of `functions` functions.

use crate::error::{check_floats, check_table};
use crate::kernels::Kernels;
use crate::lookup::Lookup;
use crate::probe::{Step, probe};
use crate::simhash::{Kind, SimHash};
use crate::wire::{Reader, Writer};
use crate::{Error, Seed};

/// The functions of a family, as tables need them. Only families of this crate implement it.
pub trait Functions: Sized + Send + Sync {
    /// Names the family in saved tables.
    const TAG: usize;
    /// The number of floats of a vector.
    fn dim(&self) -> usize;
    /// The number of keys per vector.
    fn tables(&self) -> usize;
    /// The values from which all keys of a vector are computed. `x` has `dim` floats.
    fn values(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>);
    /// The key of a table.
    fn key(&self, values: &[f32], table: usize) -> u64;
    /// The changes to a table's key that are likely for near vectors.
    fn steps(&self, values: &[f32], table: usize, steps: &mut Vec<Step>);
    /// Writes the parameters.
    fn write(&self, writer: &mut Writer);
    /// Reads the parameters.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error>;
}

/// A family of hash functions for [`Tables`](crate::Tables): [`SimHashTables`],
/// [`CrossPolytope`](crate::CrossPolytope) or [`E2Lsh`](crate::E2Lsh).
pub trait Family: Functions {
    /// The `probes` likeliest keys of a vector in one table, likeliest first. A client that holds the family but
    /// not the buckets asks for these keys.
    ///
    /// # Errors
    /// [`Error::Floats`] if `x` is not one vector. [`Error::Table`] if there is no such table.
    fn keys<'a>(
        &self,
        x: &[f32],
        table: usize,
        probes: usize,
        room: &'a mut Lookup,
    ) -> Result<&'a [u64], Error> {
        check_floats(x, self.dim())?;
        check_table(table, self.tables())?;
        self.values(Kernels::detect(), x, &mut room.values);
        probe_keys(self, table, probes, room);
        Ok(&room.keys)
    }

    /// The parameters as bytes, from which [`Family::from_bytes`] makes the same functions.
    #[must_use]
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(b"FAML");
        writer.number(Self::TAG);
        self.write(&mut writer);
        writer.finish()
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// [`Error`] if [`Family::to_bytes`] does not write exactly these bytes. The function allocates at most 16
    /// MiB, whatever the bytes are.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, b"FAML")?;
        if reader.number()? != Self::TAG {
            return Err(Error::Corrupt { what: "family" });
        }
        let family = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(family)
    }
}

impl<F: Functions> Family for F {}

/// Replaces the keys in `room` by the `probes` likeliest of one table, given the values in `room`.
pub(crate) fn probe_keys<F: Functions>(family: &F, table: usize, probes: usize, room: &mut Lookup) {
    room.keys.clear();
    room.steps.clear();
    let key = family.key(&room.values, table);
    if probes > 1 {
        family.steps(&room.values, table, &mut room.steps);
    }
    probe(key, &mut room.steps, probes, &mut room.keys);
}

/// Checks that there is at least one function, and at most `most` in all tables together.
pub(crate) fn check_shape(tables: usize, functions: usize, most: usize) -> Result<(), Error> {
    match tables.checked_mul(functions) {
        Some(1..) if tables * functions <= most => Ok(()),
        _ => Err(Error::Functions {
            tables,
            functions,
            most,
        }),
    }
}

/// A function's contribution to a key: its value, spread over 64 bits in a way that differs for every function.
pub(crate) fn part(function: usize, value: u64) -> u64 {
    let mut x = value ^ (function as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// SimHash for tables: the key of a table is `functions` bits of a code, as a number below
/// `2^functions`.
///
/// For cosine and inner product. Near vectors differ in the bits whose projections are nearest to zero, so a probe
/// flips these first.
#[derive(Clone, Debug)]
pub struct SimHashTables {
    tables: usize,
    functions: usize,
    hash: SimHash,
}

impl SimHashTables {
    /// Functions for `tables` tables, with keys of `functions` bits, for vectors of `dim` floats.
    ///
    /// # Errors
    /// [`Error::Dim`] if the dimension is 0 or too large; [`Error::Functions`] if `functions` is not 1 to 64 or there
    /// are more than 1024 bits in total.
    pub fn new(
        dim: usize,
        tables: usize,
        functions: usize,
        kind: Kind,
        seed: Seed,
    ) -> Result<Self, Error> {
        check_shape(tables, functions, 1024)?;
        if functions > 64 {
            return Err(Error::Functions {
                tables,
                functions,
                most: 64,
            });
        }
        let bits = (tables * functions).next_multiple_of(64);
        Ok(Self {
            tables,
            functions,
            hash: SimHash::new(dim, bits, kind, seed)?,
        })
    }

    fn own<'a>(&self, values: &'a [f32], table: usize) -> &'a [f32] {
        &values[table * self.functions..][..self.functions]
    }
}

impl Functions for SimHashTables {
    const TAG: usize = 0;

    fn dim(&self) -> usize {
        self.hash.dim()
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn values(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        self.hash.values(kernels, x, values);
    }

    fn key(&self, values: &[f32], table: usize) -> u64 {
        let bit = |(i, value): (usize, &f32)| u64::from(*value >= 0.0) << i;
        self.own(values, table).iter().enumerate().map(bit).sum()
    }

    fn steps(&self, values: &[f32], table: usize, steps: &mut Vec<Step>) {
        for (function, value) in self.own(values, table).iter().enumerate() {
            let bit = 1_u64 << function;
            let change = if *value >= 0.0 {
                bit.wrapping_neg()
            } else {
                bit
            };
            steps.push(Step {
                function,
                change,
                cost: value * value,
            });
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.number(self.tables);
        writer.number(self.functions);
        self.hash.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (tables, functions) = (reader.number()?, reader.number()?);
        check_shape(tables, functions, 1024)?;
        let hash = SimHash::read(reader)?;
        if functions > 64 || hash.bits() != (tables * functions).next_multiple_of(64) {
            return Err(Error::Corrupt {
                what: "number of functions",
            });
        }
        Ok(Self {
            tables,
            functions,
            hash,
        })
    }
}
