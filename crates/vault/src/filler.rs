//! Chooses the page that a request fetches in a place where no page is wanted.

use crate::select::mask;

/// A page of these groups, chosen by a random number with equal probability. A group is given by its first page and its number of
/// pages. The result is page 0 if there are no pages.
pub(crate) fn filler(groups: impl Iterator<Item = (u32, u32)> + Clone, random: u64) -> u32 {
    let all: u64 = groups.clone().map(|(_, pages)| u64::from(pages)).sum();
    // The distribution is at most pages / 2^64 from uniform.
    let drawn = (u128::from(random) * u128::from(all)) >> 64;
    let mut left = u32::try_from(drawn).unwrap_or(0);
    let mut page = 0;
    for (first, pages) in groups {
        let inside = mask(left < pages);
        page |= inside & first.wrapping_add(left);
        // After a number has been used, it lies in no later group.
        left = (!inside & left.wrapping_sub(pages)) | inside;
    }
    page
}

#[cfg(test)]
mod tests {
    use super::filler;

    #[test]
    fn a_filler_is_any_page_that_can_be_opened() {
        let groups = [(3, 2), (9, 1), (20, 5)];
        let pages = [3, 4, 9, 20, 21, 22, 23, 24];
        let mut counts = [0; 8];
        for at in 0..800u64 {
            let page = filler(groups.into_iter(), at * (u64::MAX / 800));
            counts[pages.iter().position(|&it| it == page).unwrap()] += 1;
        }
        assert!(
            counts.iter().all(|count| (99..=101).contains(count)),
            "{counts:?}"
        );
        assert_eq!(filler(groups.into_iter(), u64::MAX), 24);
        assert_eq!(filler([(0, u32::MAX)].into_iter(), u64::MAX), u32::MAX - 1);
        for none in [&[][..], &[(5, 0)]] {
            assert_eq!(filler(none.iter().copied(), 7), 0);
        }
    }
}
