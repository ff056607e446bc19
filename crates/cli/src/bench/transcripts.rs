//! The messages of searches, one list of exchanges for each.

use sordino_search::{Exchange, KEYS_LEN};

/// The mean number of bytes of a search, from exchange number `first` on. Some searches bring the keys
/// of a session.
pub(super) fn mean(transcripts: &[Vec<Exchange>], first: usize, of: fn(&Exchange) -> usize) -> u64 {
    let some = transcripts.iter().flat_map(|search| &search[first..]);
    let sum: usize = some.map(of).sum();
    (sum as u64).div_ceil(transcripts.len() as u64)
}

/// True if all searches sent messages of the same number, order and sizes. The keys of sessions do not count.
pub(super) fn identical(transcripts: &[Vec<Exchange>]) -> bool {
    let up = |search: &[Exchange]| search.iter().map(|exchange| exchange.up).sum::<usize>();
    let Some(least) = transcripts.iter().min_by_key(|search| up(search)) else {
        return true;
    };
    let same = |(one, other): (&Exchange, &Exchange)| {
        let more = one.up.checked_sub(other.up);
        let keys = more.is_some_and(|more| more == 0 || more == KEYS_LEN);
        keys && (one.kind, one.down) == (other.kind, other.down)
    };
    let searches = transcripts.iter();
    searches
        .map(|search| (search.len(), search.iter().zip(least)))
        .all(|(len, mut pairs)| len == least.len() && pairs.all(same))
}
