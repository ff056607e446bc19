//! Cross-polytope hashing for angles (Andoni, Indyk, Laarhoven, Razenshteyn, Schmidt 2015): a random
//! rotation, then the nearest of the `2 size` points `+-e_j`. Near vectors share this point far
//! more often than they share a SimHash code of the same number of bits.

use crate::family::{Functions, check_shape, part};
use crate::kernels::Kernels;
use crate::probe::Step;
use crate::rotation::Rotation;
use crate::simhash::MAX_DIM;
use crate::wire::{Reader, Writer};
use crate::{Error, Seed};

/// The largest number of rotations of all tables together.
const MOST: usize = 256;

/// The number of next best vertices of each function that a probe may use.
const ALTERNATIVES: usize = 8;

/// Cross-polytope functions for tables. The key of a table joins the vertices of `functions`
/// functions.
#[derive(Clone, Debug)]
pub struct CrossPolytope {
    dim: usize,
    tables: usize,
    functions: usize,
    seed: Seed,
    rotation: Rotation,
}

impl CrossPolytope {
    /// Functions for `tables` tables, with keys of `functions` rotations each, for vectors of `dim`
    /// floats.
    ///
    /// # Errors
    /// [`Error::Dim`] if the dimension is 0 or too large; [`Error::Functions`] if there are more than 256 rotations in
    /// total.
    pub fn new(dim: usize, tables: usize, functions: usize, seed: Seed) -> Result<Self, Error> {
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(Error::Dim {
                found: dim,
                most: MAX_DIM,
            });
        }
        check_shape(tables, functions, MOST)?;
        let rotation = Rotation::new(seed, dim, tables * functions);
        Ok(Self {
            dim,
            tables,
            functions,
            seed,
            rotation,
        })
    }

    /// The images of a vector for one table's functions.
    fn images<'a>(&self, values: &'a [f32], table: usize) -> impl Iterator<Item = &'a [f32]> {
        let size = Rotation::size(self.dim);
        values[table * self.functions * size..]
            .chunks_exact(size)
            .take(self.functions)
    }
}

/// The vertex `+-e_j` as a number: `2 j`, and one more for a minus.
fn vertex(j: usize, value: f32) -> u64 {
    2 * j as u64 + u64::from(value < 0.0)
}

/// The position of the value farthest from zero. If several values are equally far, the first of their positions.
fn farthest(image: &[f32]) -> usize {
    let farther = |best: usize, j: usize| {
        if image[j].abs() > image[best].abs() {
            j
        } else {
            best
        }
    };
    (0..image.len()).fold(0, farther)
}

impl Functions for CrossPolytope {
    const TAG: usize = 1;

    fn dim(&self) -> usize {
        self.dim
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn values(&self, kernels: Kernels, x: &[f32], values: &mut Vec<f32>) {
        debug_assert_eq!(x.len(), self.dim, "callers check");
        self.rotation.apply(kernels, x, values);
    }

    fn key(&self, values: &[f32], table: usize) -> u64 {
        let images = self.images(values, table).enumerate();
        images.fold(0, |key, (function, image)| {
            let j = farthest(image);
            key.wrapping_add(part(function, vertex(j, image[j])))
        })
    }

    fn steps(&self, values: &[f32], table: usize, steps: &mut Vec<Step>) {
        for (function, image) in self.images(values, table).enumerate() {
            let j = farthest(image);
            let (most, here) = (image[j].abs(), part(function, vertex(j, image[j])));
            let first = steps.len();
            for (other, value) in image.iter().enumerate().filter(|(other, _)| *other != j) {
                let cost = (most - value.abs()) * (most - value.abs());
                if steps.len() - first == ALTERNATIVES {
                    if cost >= steps[steps.len() - 1].cost {
                        continue;
                    }
                    steps.pop();
                }
                let at = first + steps[first..].partition_point(|step| step.cost <= cost);
                let change = part(function, vertex(other, *value)).wrapping_sub(here);
                steps.insert(
                    at,
                    Step {
                        function,
                        change,
                        cost,
                    },
                );
            }
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.number(self.dim);
        writer.number(self.tables);
        writer.number(self.functions);
        writer.seed(self.seed);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let (dim, tables, functions) = (reader.number()?, reader.number()?, reader.number()?);
        Self::new(dim, tables, functions, reader.seed()?)
    }
}
