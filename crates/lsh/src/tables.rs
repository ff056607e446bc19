//! Hash tables over vectors, with lookups by several keys per table.

#[cfg(feature = "rayon")]
use rayon::prelude::*;

use crate::Error;
use crate::error::{check_floats, check_table, check_vectors};
use crate::family::{Family, probe_keys};
use crate::kernels::Kernels;
use crate::lookup::Lookup;
use crate::wire::{Reader, Writer};

/// Tables of the ids of vectors. The keys of the tables come from a family of hash functions. An id is the
/// vector's position in the list from which the tables were built.
///
/// # Security
/// A lookup reads the buckets of the query's keys. An attacker who sees which buckets it read learns where the
/// query is. So look up only on the machine that holds the index, or choose keys with [`Family::keys`] and fetch
/// the buckets privately.
///
/// # Examples
/// ```
/// use sordino_lsh::{Kind, Lookup, Seed, SimHashTables, Tables};
///
/// let vectors = [[1.0, 0.1, 0.0], [0.0, -1.0, 0.2], [0.9, 0.2, 0.1]];
/// let family = SimHashTables::new(3, 8, 4, Kind::Hyperplanes, Seed([1; 32]))?;
/// let tables = Tables::build(family, vectors.as_flattened())?;
/// let found = tables.candidates(&[1.0, 0.1, 0.05], 2, &mut Lookup::default())?.to_vec();
/// assert!(found.contains(&0) && found.contains(&2));
/// # Ok::<(), sordino_lsh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tables<F> {
    family: F,
    len: usize,
    tables: Vec<Table>,
}

/// One table: ids sorted by key, and the position where each key's ids start.
#[derive(Clone, Debug)]
struct Table {
    /// Strictly increasing.
    keys: Vec<u64>,
    /// One entry more than there are keys, from 0 to the number of ids.
    starts: Vec<u32>,
    ids: Vec<u32>,
}

impl<F: Family> Tables<F> {
    /// Builds the tables of vectors that lie one after the other. With the feature `rayon` it uses all threads of
    /// the current rayon pool.
    ///
    /// # Errors
    /// [`Error::Vectors`] if `vectors` is not a whole number of vectors. [`Error::Items`] if there are 2^32
    /// vectors or more.
    pub fn build(family: F, vectors: &[f32]) -> Result<Self, Error> {
        let (dim, count) = (family.dim(), family.tables());
        check_vectors(vectors, dim)?;
        let len = vectors.len() / dim;
        let most = u32::MAX as usize;
        if len > most {
            return Err(Error::Items { found: len, most });
        }
        let kernels = Kernels::detect();
        let keys_of = |values: &mut Vec<f32>, x: &[f32]| {
            family.values(kernels, x, values);
            (0..count)
                .map(|table| family.key(values, table))
                .collect::<Vec<u64>>()
        };
        #[cfg(feature = "rayon")]
        let keys = vectors.par_chunks(dim).map_init(Vec::new, keys_of);
        #[cfg(feature = "rayon")]
        let keys: Vec<u64> = keys.flatten_iter().collect();
        #[cfg(not(feature = "rayon"))]
        let keys: Vec<u64> = {
            let mut values = Vec::new();
            let keys = vectors.chunks(dim);
            keys.flat_map(|x| keys_of(&mut values, x)).collect()
        };
        let numbers = 0..count;
        #[cfg(feature = "rayon")]
        let numbers = numbers.into_par_iter();
        let tables = numbers
            .map(|table| Table::new(keys.iter().skip(table).step_by(count).copied()))
            .collect();
        Ok(Self {
            family,
            len,
            tables,
        })
    }

    /// The hash functions.
    #[must_use]
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no vectors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ids in the buckets of the `probes` likeliest keys in each table, without repetitions.
    ///
    /// # Errors
    /// [`Error::Floats`] if `x` is not one vector.
    pub fn candidates<'a>(
        &self,
        x: &[f32],
        probes: usize,
        room: &'a mut Lookup,
    ) -> Result<&'a [u32], Error> {
        check_floats(x, self.family.dim())?;
        room.start(self.len);
        self.family.values(Kernels::detect(), x, &mut room.values);
        for (i, table) in self.tables.iter().enumerate() {
            probe_keys(&self.family, i, probes, room);
            let Lookup {
                keys,
                found,
                seen,
                lookup,
                ..
            } = &mut *room;
            for id in keys.iter().flat_map(|key| table.bucket(*key)) {
                if seen[*id as usize] != *lookup {
                    seen[*id as usize] = *lookup;
                    found.push(*id);
                }
            }
        }
        Ok(&room.found)
    }

    /// The keys of a table that have vectors, each with its ids.
    ///
    /// # Errors
    /// [`Error::Table`] if there is no such table.
    pub fn buckets(&self, table: usize) -> Result<impl Iterator<Item = (u64, &[u32])>, Error> {
        check_table(table, self.tables.len())?;
        let table = &self.tables[table];
        Ok(table.keys.iter().map(|key| (*key, table.bucket(*key))))
    }

    /// The tables and the family's parameters as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(b"TABL");
        writer.number(F::TAG);
        self.family.write(&mut writer);
        writer.number(self.len);
        for table in &self.tables {
            writer.words(&table.keys);
            writer.ids(&table.starts);
            writer.ids(&table.ids);
        }
        writer.finish()
    }

    /// Reads tables.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not tables of this family. The function allocates at most 16 MiB more than the
    /// length of the bytes justifies.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, b"TABL")?;
        if reader.number()? != F::TAG {
            return Err(Error::Corrupt { what: "family" });
        }
        let family = F::read(&mut reader)?;
        let len = reader.number()?;
        let tables = (0..family.tables())
            .map(|_| Table::read(&mut reader, len))
            .collect::<Result<_, _>>()?;
        reader.finish()?;
        Ok(Self {
            family,
            len,
            tables,
        })
    }
}

impl Table {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 2^32 vectors"
    )]
    fn new(keys: impl Iterator<Item = u64>) -> Self {
        let mut pairs: Vec<(u64, u32)> = keys.zip(0..).collect();
        pairs.sort_unstable();
        let mut table = Self {
            keys: vec![],
            starts: vec![],
            ids: Vec::with_capacity(pairs.len()),
        };
        for (key, id) in pairs {
            if table.keys.last() != Some(&key) {
                table.keys.push(key);
                table.starts.push(table.ids.len() as u32);
            }
            table.ids.push(id);
        }
        table.starts.push(table.ids.len() as u32);
        table
    }

    fn bucket(&self, key: u64) -> &[u32] {
        match self.keys.binary_search(&key) {
            Ok(i) => &self.ids[self.starts[i] as usize..self.starts[i + 1] as usize],
            Err(_) => &[],
        }
    }

    fn read(reader: &mut Reader<'_>, len: usize) -> Result<Self, Error> {
        let table = Self {
            keys: reader.words()?,
            starts: reader.ids()?,
            ids: reader.ids()?,
        };
        let corrupt = |what| Err(Error::Corrupt { what });
        if !table.keys.is_sorted_by(|a, b| a < b) {
            return corrupt("order of keys");
        }
        let whole = table.starts.first() == Some(&0)
            && table
                .starts
                .last()
                .is_some_and(|last| *last as usize == table.ids.len())
            && table.starts.len() == table.keys.len() + 1;
        if !whole || !table.starts.is_sorted_by(|a, b| a < b) {
            return corrupt("bounds of buckets");
        }
        if table.ids.len() != len || table.ids.iter().any(|id| *id as usize >= len) {
            return corrupt("ids");
        }
        Ok(table)
    }
}
