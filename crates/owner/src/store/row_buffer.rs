//! Records that wait until they fill a segment.

use std::cmp::Ordering;

use sordino_index::{Error, Id, IdKind};
use sordino_vault::attributes::Attributes;
use sordino_vault::ids::Ids;
use sordino_vectors::Vectors;

use crate::room;
use crate::rows::{Mark, Rows};

/// Records that wait until they fill a segment, in the order in which they arrived.
pub(super) struct RowBuffer {
    kind: IdKind,
    dim: usize,
    ids: Vec<Id>,
    data: Vec<f32>,
    /// The values in the frame, one for each record, if the coordinates are residuals. Otherwise empty.
    marks: Vec<Mark>,
    attributes: Attributes,
}

impl RowBuffer {
    pub(super) fn new(kind: IdKind, dim: usize) -> Self {
        Self {
            kind,
            dim,
            ids: Vec::new(),
            data: Vec::new(),
            marks: Vec::new(),
            attributes: Attributes::default(),
        }
    }

    /// The number of records.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// At most `most` of the vectors, evenly spread over all.
    pub(super) fn sample(&self, most: usize) -> Result<Vectors, Error> {
        let step = self.len().div_ceil(most).max(1);
        room::check(self.len().div_ceil(step) * self.dim, size_of::<f32>())?;
        let rows = self.data.chunks_exact(self.dim).step_by(step);
        Ok(Vectors::new(self.dim, rows.flatten().copied().collect())?)
    }

    /// The permutation that sorts the ids, if they are not sorted.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        order(&self.ids)
    }

    /// Adds records: coordinates and a row of attributes for each id.
    pub(super) fn push(
        &mut self,
        ids: impl IntoIterator<Item = Id>,
        coordinates: &[f32],
        attributes: Attributes,
    ) -> Result<(), Error> {
        room::grow(&mut self.data, coordinates.len())?;
        self.attributes.append(attributes)?;
        self.ids.extend(ids);
        self.data.extend_from_slice(coordinates);
        Ok(())
    }

    /// Adds a whole batch. The coordinates of the first batch are not copied.
    pub(super) fn push_all(
        &mut self,
        ids: impl IntoIterator<Item = Id>,
        vectors: Vectors,
        attributes: Attributes,
    ) -> Result<(), Error> {
        if !self.data.is_empty() {
            return self.push(ids, vectors.as_slice(), attributes);
        }
        self.data = vectors.into_vec();
        self.push(ids, &[], attributes)
    }

    /// Adds records whose coordinates are residuals. `marks` has each residual's values in the frame.
    pub(super) fn push_residuals(
        &mut self,
        ids: impl IntoIterator<Item = Id>,
        residuals: &[f32],
        marks: impl IntoIterator<Item = Mark>,
        attributes: Attributes,
    ) -> Result<(), Error> {
        self.marks.extend(marks);
        self.push(ids, residuals, attributes)
    }

    /// The first `count` records, or all if there are fewer, sorted by their ids.
    pub(super) fn take(&mut self, count: usize) -> Result<Rows, Error> {
        let (all, count) = (self.ids.len(), count.min(self.ids.len()));
        let rest = Self {
            ids: self.ids.split_off(count),
            data: self.data.split_off(count * self.dim),
            marks: self.marks.split_off(count.min(self.marks.len())),
            attributes: Attributes::default(),
            ..*self
        };
        let taken = std::mem::replace(self, rest);
        let mut attributes = taken.attributes;
        // Attributes are kept even without records, so that columns keep their types.
        let rest: Vec<usize> = (count..all).collect();
        self.attributes = attributes.select(&rest);
        let order = order(&taken.ids);
        let marks = match &order {
            Some(order) if !taken.marks.is_empty() => {
                order.iter().map(|&at| taken.marks[at]).collect()
            }
            _ => taken.marks,
        };
        let vectors = match &order {
            None => Vectors::new(taken.dim, taken.data)?,
            Some(order) => {
                let all = Vectors::new(taken.dim, taken.data)?;
                let mut rows = Vec::with_capacity(all.as_slice().len());
                order
                    .iter()
                    .for_each(|&at| rows.extend_from_slice(all.row(at)));
                Vectors::new(taken.dim, rows)?
            }
        };
        let order = order.unwrap_or_else(|| (0..count).collect());
        if !attributes.is_none() {
            attributes = attributes.select(&order);
        } else {
            attributes = Attributes::none(count);
        }
        let ids = order.iter().map(|&at| &taken.ids[at]);
        Ok(Rows {
            ids: Ids::from_ascending(taken.kind, ids)?,
            vectors,
            marks,
            attributes,
        })
    }
}

/// The permutation that sorts these ids, if they are not sorted.
fn order(ids: &[Id]) -> Option<Vec<usize>> {
    if ids.is_sorted_by(|a, b| a.cmp(b) == Ordering::Less) {
        return None;
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&at| &ids[at]);
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_vectors::column::Column;

    fn waiting(ids: &[u64]) -> RowBuffer {
        let mut waiting = RowBuffer::new(IdKind::Number, 1);
        for &id in ids {
            let year = Column::Int(vec![Some(i64::try_from(id).unwrap())]);
            let attributes = Attributes::new(1, [("year".to_owned(), year)]).unwrap();
            let coordinate = sordino_vectors::to_f32(id as f64);
            waiting
                .push([Id::Number(id)], &[coordinate], attributes)
                .unwrap();
        }
        waiting
    }

    #[test]
    fn records_come_into_order_and_repeats_are_named() {
        let mut waiting = waiting(&[30, 10, 20, 5, 7]);
        for expected in [&[10u64, 20, 30][..], &[5, 7]] {
            let rows = waiting.take(3).unwrap();
            assert!(rows.ids.iter().eq(expected.iter().copied().map(Id::Number)));
            let coordinates = expected
                .iter()
                .map(|&id| sordino_vectors::to_f32(id as f64));
            assert!(rows.vectors.as_slice().iter().copied().eq(coordinates));
            let years = expected.iter().map(|&year| i64::try_from(year).ok());
            let years = Column::Int(years.collect());
            assert_eq!(rows.attributes.column("year"), Some(&years));
        }
        assert_eq!(waiting.len(), 0);
        assert!(matches!(
            self::waiting(&[5, 4, 5]).take(9),
            Err(Error::RepeatedId { id: Id::Number(5) })
        ));
    }
}
