//! The scan over packed codes, which selects the nearest ones on the way.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

use sordino_cpu::dispatch;

use crate::kernels::Kernels;

/// A code near a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// The number of bits in which the code and the query differ.
    pub distance: u32,
    /// The index of the code in its list.
    pub index: u32,
}

/// The number of codes whose words lie next to each other.
pub(crate) const LANES: usize = 8;

/// Offers every code to `best` that is nearer than the `k`-th nearest so far.
///
/// `rows` holds groups of `query.len()` rows; row `j` of a group is word `j` of eight codes.
pub(crate) fn scan(kernels: Kernels, rows: &[[u64; LANES]], query: &[u64], best: &mut Best) {
    dispatch!(Kernels, kernels, self::scan(rows, query, best));
}

/// The `k` nearest codes so far. A code that is not among them costs one comparison.
///
/// Codes arrive in the order of their indices, so a code at the same distance as the `k`-th so far
/// is not better. Distances are small integers, so counting them gives the `k`-th directly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Best {
    k: usize,
    /// The number of codes. Lanes beyond it are empty.
    len: usize,
    /// Codes at this distance or farther are skipped.
    limit: u32,
    /// The number of codes found nearer than `limit`.
    nearer: usize,
    /// Codes found at each distance.
    counts: Vec<usize>,
    found: Vec<Neighbour>,
}

impl Best {
    pub(crate) fn start(&mut self, bits: usize, len: usize, k: usize) {
        (self.k, self.len, self.nearer) = (k.min(len), len, 0);
        #[expect(clippy::cast_possible_truncation, reason = "at most 1024 bits")]
        let limit = bits as u32 + 1;
        self.limit = limit;
        self.counts.clear();
        self.counts.resize(bits + 1, 0);
        self.found.clear();
    }

    /// The distance from which codes are skipped.
    #[inline]
    fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes a code whose distance is below the limit.
    fn offer(&mut self, index: usize, distance: u32) {
        if index >= self.len || distance >= self.limit {
            return;
        }
        // Removes codes that are no longer near. There are few of these unless every code is nearer than the earlier
        // ones.
        if self.found.len() >= 2 * self.k + 1024 {
            let limit = self.limit;
            self.found.retain(|neighbour| neighbour.distance <= limit);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "there are fewer than 2^32 codes"
        )]
        self.found.push(Neighbour {
            distance,
            index: index as u32,
        });
        self.counts[distance as usize] += 1;
        self.nearer += 1;
        // With k codes nearer than the limit, the farthest of these sets the new one.
        while self.nearer >= self.k {
            self.limit -= 1;
            self.nearer -= self.counts[self.limit as usize];
        }
    }

    pub(crate) fn finish(&mut self) -> &[Neighbour] {
        self.found.sort_unstable();
        self.found.truncate(self.k);
        &self.found
    }
}
