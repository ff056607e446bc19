//! E2LSH for Euclidean distance (Datar, Immorlica, Indyk, Mirrokni 2004): `floor((a x + b) / w)` for Gaussian `a` and
//! uniform `b`. A probe prefers the functions whose value is nearest to one of the two borders of its interval (Lv et
//! al. 2007).

use crate::dense::Dense;
use crate::family::{Functions, check_shape, part};
use crate::kernels::Kernels;
use crate::probe::Step;
use crate::simhash::MAX_DIM;
use crate::wire::{Reader, Writer};
use crate::{Error, Seed};

/// The largest number of functions of all tables together.
const MOST: usize = 1024;

/// E2LSH functions for tables. The key of a table joins the intervals of `functions` functions.
#[derive(Clone, Debug)]
pub struct E2Lsh {
    dim: usize,
    tables: usize,
    functions: usize,
    width: f32,
    seed: Seed,
    dense: Dense,
    offsets: Vec<f32>,
}

impl E2Lsh {
    /// Functions for `tables` tables, with keys of `functions` intervals of `width`, for vectors of `dim` floats. Two
    /// vectors at distance `width` share an interval with probability 0.37, and at a quarter of that distance with
    /// 0.80.
    ///
    /// # Errors
    /// - [`Error::Dim`] if the dimension is 0 or too large
    /// - [`Error::Functions`] if there are more than 1024 functions in total
    /// - [`Error::Width`] if the width is not a positive number
    pub fn new(
        dim: usize,
        tables: usize,
        functions: usize,
        width: f32,
        seed: Seed,
    ) -> Result<Self, Error> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(Error::Dim {
                found: dim,
                most: MAX_DIM,
            });
        }
        check_shape(tables, functions, MOST)?;
        if !(width.is_normal() && width > 0.0) {
            return Err(Error::Width);
        }
        let mut draws = seed.stream(3);
        let offsets = (0..tables * functions).map(|_| draws.uniform()).collect();
        let dense = Dense::new(seed, dim, tables * functions);
        Ok(Self {
            dim,
            tables,
            functions,
            width,
            seed,
            dense,
            offsets,
        })
    }

    fn own<'a>(&self, values: &'a [f32], table: usize) -> &'a [f32] {
        &values[table * self.functions..][..self.functions]
    }
}

/// The number of an interval, in two's complement.
#[expect(
    clippy::cast_possible_truncation,
    reason = "far intervals saturate; a NaN is in interval 0"
)]
fn interval(value: f32) -> u64 {
    (value.floor() as i64).cast_unsigned()
}

impl Functions for E2Lsh {
    const TAG: usize = 2;

    fn dim(&self) -> usize {
        self.dim
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn values(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        debug_assert_eq!(x.len(), self.dim, "callers check");
        self.dense.apply(kernels, x, values);
        for (value, offset) in values.iter_mut().zip(&self.offsets) {
            *value = *value / self.width + offset;
        }
    }

    fn key(&self, values: &[f32], table: usize) -> u64 {
        let values = self.own(values, table).iter().enumerate();
        values.fold(0, |key, (i, value)| {
            key.wrapping_add(part(i, interval(*value)))
        })
    }

    fn steps(&self, values: &[f32], table: usize, steps: &mut Vec<Step>) {
        for (function, value) in self.own(values, table).iter().enumerate() {
            let (here, above_floor) = (interval(*value), value - value.floor());
            for (other, gap) in [
                (here.wrapping_sub(1), above_floor),
                (here.wrapping_add(1), 1.0 - above_floor),
            ] {
                let change = part(function, other).wrapping_sub(part(function, here));
                steps.push(Step {
                    function,
                    change,
                    cost: gap * gap,
                });
            }
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.number(self.dim);
        writer.number(self.tables);
        writer.number(self.functions);
        writer.float(self.width);
        writer.seed(self.seed);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (dim, tables, functions) = (reader.number()?, reader.number()?, reader.number()?);
        let width = reader.float()?;
        Self::new(dim, tables, functions, width, reader.seed()?)
    }
}
