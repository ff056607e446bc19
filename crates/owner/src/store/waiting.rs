//! Records on their way into a segment.

use sordino_index::Error;
use sordino_index::ids::IdSet;
use sordino_vectors::Vectors;

/// Records in the order of their ids.
pub(super) fn sorted(ids: &[u32], vectors: Vectors) -> Result<(IdSet, Vectors), Error> {
    if let Ok(set) = IdSet::from_ascending(ids.iter().copied()) {
        return Ok((set, vectors));
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&at| ids[at]);
    let set = IdSet::from_ascending(order.iter().map(|&at| ids[at]));
    let set = set.map_err(|id| Error::RepeatedId { id })?;
    let rows = order.iter().flat_map(|&at| vectors.row(at)).copied();
    let vectors = Vectors::new(vectors.dim(), rows.collect())?;
    Ok((set, vectors))
}

/// Records that wait until they fill a segment.
pub(super) struct Waiting {
    pub(super) ids: Vec<u32>,
    pub(super) data: Vec<f32>,
    pub(super) dim: usize,
}

impl Waiting {
    pub(super) fn new(dim: usize) -> Self {
        Self {
            ids: Vec::new(),
            data: Vec::new(),
            dim,
        }
    }

    /// The first `count` records, or all of them if there are fewer, in the order of their ids.
    pub(super) fn take(&mut self, count: usize) -> Result<(IdSet, Vectors), Error> {
        let count = count.min(self.ids.len());
        let rest = (
            self.ids.split_off(count),
            self.data.split_off(count * self.dim),
        );
        let (ids, data) = (
            std::mem::replace(&mut self.ids, rest.0),
            std::mem::replace(&mut self.data, rest.1),
        );
        sorted(&ids, Vectors::new(self.dim, data)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_into_order_and_repeats_are_named() {
        let vectors = Vectors::new(1, vec![3.0, 1.0, 2.0]).unwrap();
        let (ids, rows) = sorted(&[30, 10, 20], vectors.clone()).unwrap();
        assert!(ids.iter().eq([10, 20, 30]));
        assert_eq!(rows.as_slice(), [1.0, 2.0, 3.0]);
        assert!(matches!(
            sorted(&[5, 4, 5], vectors),
            Err(Error::RepeatedId { id: 5 })
        ));
    }
}
