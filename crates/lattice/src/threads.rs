//! Shares work between the threads of rayon's current pool. Without the feature `rayon` the calling thread does
//! all of it, item after item, with the same results.

#[cfg(feature = "rayon")]
use rayon::prelude::*;

/// The number of threads that share work.
#[must_use]
pub fn count() -> usize {
    #[cfg(feature = "rayon")]
    let count = rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    let count = 1;
    count
}

/// Calls `work` for each item, with the item's index and working memory. `room` makes this memory, which the
/// items of one thread share.
///
/// `room` is called at least once for each thread with items. A later item finds what earlier items left in the
/// memory.
pub fn for_each<T: Send, S>(
    items: Vec<T>,
    room: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, usize, T) + Send + Sync,
) {
    // A list of unit values takes no memory.
    map(items, room, work);
}

/// Like [`for_each`], but returns the results of `work`, in the order of the items.
pub fn map<T: Send, S, R: Send>(
    items: Vec<T>,
    room: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, usize, T) -> R + Send + Sync,
) -> Vec<R> {
    #[cfg(feature = "rayon")]
    return items
        .into_par_iter()
        .enumerate()
        .map_init(room, |room, (i, item)| work(room, i, item))
        .collect();
    #[cfg(not(feature = "rayon"))]
    {
        let mut room = room();
        let items = items.into_iter().enumerate();
        items.map(|(i, item)| work(&mut room, i, item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_each_item_is_worked_on_once() {
        assert!(count() >= 1);
        let items: Vec<_> = (0..1000).map(|i| 3 * i).collect();
        let squares = map(items, Vec::new, |room, i, item| {
            assert_eq!(item, 3 * i);
            room.push(i);
            assert!(room.is_sorted(), "one thread's items come in order");
            item * item
        });
        assert!(squares.into_iter().eq((0..1000).map(|i| 9 * i * i)));
        let mut bytes = [0u8; 100];
        for_each(
            bytes.chunks_mut(7).collect(),
            || (),
            |(), i, chunk| {
                chunk
                    .iter_mut()
                    .for_each(|byte| *byte += 1 + i.to_le_bytes()[0]);
            },
        );
        let expected = (0..100u8).map(|at| 1 + at / 7);
        assert!(bytes.into_iter().eq(expected));
        assert!(map(Vec::<u8>::new(), || (), |(), i, _| i).is_empty());
    }
}
