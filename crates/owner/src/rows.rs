//! Records before they are written to a segment.

use std::borrow::Cow;

use rayon::prelude::*;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_index::manifest::CHUNK;
use sordino_index::{Error, Id};
use sordino_vault::attributes::Attributes;
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::Frame;
use sordino_vault::ids::Ids;
use sordino_vault::quantiser::Entry;
use sordino_vectors::metric::{Metric, length};
use sordino_vectors::{Vectors, to_f32, u32_of};

use crate::random::mixed;
use crate::room;

/// Records in the order of their ids.
pub(crate) struct Rows {
    pub(crate) ids: Ids,
    /// The given vectors or, once they are ready to be written, their residuals in the index's frame.
    pub(crate) vectors: Vectors,
    /// The values that belong to each residual.
    pub(crate) marks: Vec<Mark>,
    pub(crate) attributes: Attributes,
}

/// The values that belong to a residual in the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    /// The base to which the residual is relative.
    pub(crate) base: u8,
    /// The row's scale if it was stored before, otherwise 0.
    pub(crate) scale: f32,
    /// The constant that belongs to `scale`, if a server scores rows.
    pub(crate) constant: f32,
    /// The step to which the row's coordinates were rounded when it was stored, or 0 for a new vector.
    pub(crate) step: f32,
}

impl Rows {
    /// The residuals of new vectors.
    pub(crate) fn framed(self, frame: &Frame) -> Result<Self, Error> {
        let (n, dim, width) = (self.vectors.len(), self.vectors.dim(), frame.stored_dim());
        let mut marks = vec![Mark::default(); n];
        let residual = |vector: &[f32], mark: &mut Mark| {
            let y = frame.centred(vector);
            mark.base = frame.nearest_base(&y);
            frame.residual(mark.base, &y)
        };
        let mut residuals = self.vectors.into_vec();
        if width == dim {
            // Residuals of the same width replace the vectors, so that both are never held.
            let rows = residuals.par_chunks_exact_mut(dim).zip(&mut marks);
            rows.for_each(|(row, mark)| row.copy_from_slice(&residual(row, mark)));
        } else {
            let vectors = std::mem::replace(&mut residuals, vec![0.0; n * width]);
            let rows = residuals.par_chunks_exact_mut(width).zip(&mut marks);
            let rows = rows.zip(vectors.par_chunks_exact(dim));
            rows.for_each(|((row, mark), vector)| row.copy_from_slice(&residual(vector, mark)));
        }
        Ok(Self {
            vectors: Vectors::new(width, residuals)?,
            marks,
            ..self
        })
    }

    /// The same rows in another frame of the same metric.
    pub(crate) fn reframed(self, old: &Frame, new: &Frame) -> Result<Self, Error> {
        room::check(self.vectors.as_slice().len(), 2 * size_of::<f32>())?;
        let rows = self.marks.par_iter().enumerate();
        let vectors = rows.flat_map_iter(|(row, mark)| {
            old.restored(&old.whole(mark.base, self.vectors.row(row)))
        });
        let vectors = Vectors::new(old.dim(), vectors.collect())?;
        let steps: Vec<f32> = self.marks.iter().map(|mark| mark.step).collect();
        let mut rows = Self { vectors, ..self }.framed(new)?;
        for (mark, step) in rows.marks.iter_mut().zip(steps) {
            mark.step = step;
        }
        Ok(rows)
    }

    /// The residual of a row as it may have been before it was rounded. All values within half a step of the stored one
    /// are equally likely. The function picks one of them pseudorandomly, with the position as seed. If recall were
    /// measured with stored values, the queries would be rounded, too.
    pub(crate) fn unrounded(&self, row: usize) -> Cow<'_, [f32]> {
        let (stored, step) = (self.vectors.row(row), f64::from(self.marks[row].step));
        if step == 0.0 {
            return stored.into();
        }
        let seed = mixed(row as u64);
        let coordinates = (0..).zip(stored).map(|(at, &x)| {
            let drawn = mixed(seed ^ mixed(at)) as f64 / 2f64.powi(64) - 0.5;
            to_f32(f64::from(x) + drawn * step)
        });
        coordinates.collect::<Vec<f32>>().into()
    }

    /// All residuals, one after the other. It makes a copy only if one was rounded.
    pub(crate) fn all_unrounded(&self) -> Cow<'_, [f32]> {
        let stored = self.vectors.as_slice();
        if self.marks.iter().all(|mark| mark.step == 0.0) {
            return stored.into();
        }
        let mut all = stored.to_vec();
        let rows = all.par_chunks_exact_mut(self.vectors.dim()).enumerate();
        rows.for_each(|(row, into)| into.copy_from_slice(&self.unrounded(row)));
        all.into()
    }

    /// The `y` of a row before it was rounded.
    pub(crate) fn whole(&self, frame: &Frame, row: usize) -> Vec<f32> {
        frame.whole(self.marks[row].base, &self.unrounded(row))
    }

    /// Row `row` in the form that buckets and chunks store, with the unit vector to which it is lifted.
    pub(crate) fn entry<'a>(&'a self, row: usize, unit: &'a [f32]) -> Entry<'a> {
        let Mark { base, scale, .. } = self.marks[row];
        Entry {
            row: u32_of(row),
            base,
            scale,
            residual: self.vectors.row(row),
            unit,
        }
    }

    /// The rows that are longer than the frame's bound on lifted vectors, in order.
    pub(crate) fn beyond(&self, frame: &Frame) -> Vec<usize> {
        if frame.metric() == Metric::Cosine {
            return Vec::new();
        }
        let lengths = self.lengths(frame).into_iter().enumerate();
        let beyond = lengths.filter(|(_, length)| *length > frame.longest());
        beyond.map(|(row, _)| row).collect()
    }

    /// The length of each row from the centre.
    pub(crate) fn lengths(&self, frame: &Frame) -> Vec<f64> {
        let rows = self.marks.par_iter().enumerate();
        let whole = |(row, mark): (usize, &Mark)| frame.whole(mark.base, self.vectors.row(row));
        rows.map(|row| length(&whole(row))).collect()
    }

    /// The same rows without their scales, so that they get new ones.
    pub(crate) fn unscaled(mut self) -> Self {
        self.marks.iter_mut().for_each(|mark| mark.scale = 0.0);
        self
    }

    /// The rows as a client has them after downloading them in this code.
    pub(crate) fn decoded(&self, frame: &Frame, codec: Codec) -> Result<DecodedRows, Error> {
        let n = self.vectors.len();
        let layout = Layout {
            dim: u32_of(frame.stored_dim()),
            slots: u32_of(n).min(CHUNK),
            codec,
        };
        let rows: Vec<usize> = (0..n).collect();
        let chunks = rows.par_chunks(layout.slots as usize).map(|rows| {
            let entries = rows.iter().map(|&row| self.entry(row, &[]));
            let plain = BucketCodec(layout).write(&[], &entries.collect::<Vec<_>>());
            let mut opened = DecodedRows::default();
            BucketCodec(layout).read(&plain, frame, &mut opened)?;
            Ok(opened)
        });
        let mut all = DecodedRows::default();
        for chunk in chunks.collect::<Result<Vec<DecodedRows>, Error>>()? {
            all.append(chunk);
        }
        Ok(all)
    }

    /// Only these rows, which must ascend.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let ids = rows.iter().map(|&row| self.ids.id(u32_of(row)));
        let ids: Vec<Id> = ids.collect();
        let dim = self.vectors.dim();
        let mut vectors = Vec::with_capacity(rows.len() * dim);
        rows.iter()
            .for_each(|&row| vectors.extend_from_slice(self.vectors.row(row)));
        Ok(Self {
            ids: Ids::from_ascending(self.ids.kind(), &ids)?,
            vectors: Vectors::new(dim, vectors)?,
            marks: rows.iter().map(|&row| self.marks[row]).collect(),
            attributes: match self.attributes.is_none() {
                true => Attributes::none(rows.len()),
                false => self.attributes.select(rows),
            },
        })
    }

    /// The encoding of everything except the vectors, to which a segment's id is bound. It includes scales, because they
    /// determine the sealed codes, like coordinates.
    pub(crate) fn code(&self) -> Vec<u8> {
        let mut ids = Vec::new();
        self.ids.write(&mut ids);
        let mut code = (ids.len() as u64).to_le_bytes().to_vec();
        code.append(&mut ids);
        self.attributes.write(&mut code);
        for mark in &self.marks {
            code.push(mark.base);
            code.extend(mark.scale.to_bits().to_le_bytes());
        }
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::IdKind;

    #[test]
    fn what_decides_about_codes_is_bound() {
        let code = |mark| {
            let ids = Ids::from_ascending(IdKind::Number, &[Id::Number(1)]).unwrap();
            let (vectors, attributes) = (Vectors::new(1, vec![0.5]), Attributes::none(1));
            let rows = Rows {
                ids,
                vectors: vectors.unwrap(),
                marks: vec![mark],
                attributes,
            };
            rows.code()
        };
        let plain = Mark::default();
        assert_ne!(code(plain), code(Mark { base: 1, ..plain }));
        assert_ne!(
            code(plain),
            code(Mark {
                scale: 2.0,
                ..plain
            })
        );
    }
}
