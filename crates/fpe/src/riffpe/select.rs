//! A step of Riffpe that compares the first eight bytes of the labels.
//!
//! Labels come from a chain of AES blocks, each of which waits for the one before. Up to 16 cards are compared with
//! each other as they arrive, while the next block is computed. Up to [`SMALL`] cards are compared after all have
//! arrived. Earlier comparisons would make the wide loads wait for narrow stores. Both ways take the same time and
//! access the same memory for all digits. If there are more cards, they are counted by their first bits. Then only
//! the cards with the same first bits as the answer are compared.

use alloc::vec::Vec;
use sordino_aes::Aes;
use zeroize::Zeroize;

/// The largest number of cards for which all pairs are compared. For more cards, counting is faster.
pub(super) const SMALL: u32 = 48;

/// The stream of labels.
pub(super) struct Labels<A: Aes> {
    aes: A,
    /// The last block, whitened.
    s: A::Block,
    bytes_per_value: usize,
    /// The position in the stream where the next label begins.
    offset: usize,
    /// The number of blocks so far, and the last two blocks.
    blocks: usize,
    last: [u128; 2],
}

impl<A: Aes> Labels<A> {
    #[inline(always)]
    pub(super) fn new(aes: A, s: A::Block, bytes_per_value: usize) -> Self {
        Self {
            aes,
            s: aes.whiten(s),
            bytes_per_value,
            offset: 0,
            blocks: 0,
            last: [0; 2],
        }
    }

    /// The first eight bytes of the next label, as a signed integer that sorts like them.
    #[inline(always)]
    fn next<const WHOLE: bool>(&mut self) -> i64 {
        let label = if WHOLE {
            self.s = self.aes.next_whitened(self.s);
            self.aes.high(self.aes.whiten(self.s))
        } else {
            self.part()
        };
        (label ^ (1 << 63)).cast_signed()
    }

    /// A label that may begin within a block.
    #[inline(always)]
    fn part(&mut self) -> u64 {
        let (block, byte) = (self.offset / 16, self.offset % 16);
        self.offset += self.bytes_per_value;
        while self.blocks < block + 2 {
            self.s = self.aes.next_whitened(self.s);
            self.last = [self.last[1], self.aes.store(self.aes.whiten(self.s))];
            self.blocks += 1;
        }
        let [first, second] = self.last;
        // Avoids a shift by 128.
        let window = (first << (8 * byte)) | ((second >> 8) >> (120 - 8 * byte));
        (window >> 64) as u64
    }
}

/// Working memory for many cards, kept from step to step and erased at the end.
#[derive(Default)]
pub(super) struct Scratch {
    keys: Vec<i64>,
    /// The labels of one bucket, with their cards.
    same: Vec<(i64, u32)>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.keys.zeroize();
        self.same.zeroize();
    }
}

/// The card at position `x` of `n` sorted cards, or with `INVERSE` the position of card `x`. `None` if eight bytes do
/// not decide.
#[inline(always)]
pub(super) fn select<A: Aes, const INVERSE: bool>(
    labels: Labels<A>,
    n: u32,
    x: u32,
    scratch: &mut Scratch,
) -> Option<u32> {
    let whole = labels.bytes_per_value == 16;
    match (n, whole) {
        (..=16, true) => small::<A, 16, INVERSE, true>(labels, n, x),
        (..=28, true) => middle::<A, 28, INVERSE, true>(labels, n, x),
        (..=SMALL, true) => middle::<A, 48, INVERSE, true>(labels, n, x),
        (..=SMALL, false) => middle::<A, 48, INVERSE, false>(labels, n, x),
        (_, true) => large::<A, INVERSE, true>(labels, n, x, scratch),
        (_, false) => large::<A, INVERSE, false>(labels, n, x, scratch),
    }
}

/// Selects from at most `N` cards, and compares all pairs as the labels arrive, four at a time.
#[inline(always)]
fn small<A: Aes, const N: usize, const INVERSE: bool, const WHOLE: bool>(
    mut labels: Labels<A>,
    n: u32,
    x: u32,
) -> Option<u32> {
    // Lanes without a card are above all cards.
    let mut keys = [i64::MAX; N];
    let mut places = [0i64; N];
    let n = n as usize;
    for j in 0..n {
        let key = labels.next::<WHOLE>();
        if !INVERSE {
            // Every card above the new one moves up. The new one is above all other cards.
            let mut below = [0i64; 4];
            let fours = j.div_ceil(4);
            let (keys, places) = (keys.as_chunks::<4>().0, places.as_chunks_mut::<4>().0);
            for (keys, places) in keys[..fours].iter().zip(&mut places[..fours]) {
                for lane in 0..4 {
                    let moves = i64::from(key < keys[lane]);
                    places[lane] += moves;
                    below[lane] += 1 - moves;
                }
            }
            places.as_flattened_mut()[j] = below.iter().sum();
        }
        keys[j] = key;
    }
    let (mut answer, mut key) = (0, 0);
    if INVERSE {
        for (card, k) in keys[..n].iter().enumerate() {
            key |= k & -i64::from(card == x as usize);
        }
        answer = keys[..n].iter().map(|&k| i64::from(k < key)).sum();
    } else {
        for (card, (k, &place)) in (0i64..).zip(keys[..n].iter().zip(&places)) {
            let here = -i64::from(place == i64::from(x));
            answer |= card & here;
            key |= k & here;
        }
    }
    let same: u32 = keys[..n].iter().map(|&k| u32::from(k == key)).sum();
    keys[..n].zeroize();
    places[..n].zeroize();
    u32::try_from(answer).ok().filter(|_| same == 1)
}

/// Selects from at most `N` cards, and compares all pairs after all labels have arrived.
#[inline(always)]
fn middle<A: Aes, const N: usize, const INVERSE: bool, const WHOLE: bool>(
    mut labels: Labels<A>,
    n: u32,
    x: u32,
) -> Option<u32> {
    // Lanes without a card are above all cards.
    let mut keys = [i64::MAX; N];
    let n = n as usize;
    for key in &mut keys[..n] {
        *key = labels.next::<WHOLE>();
    }
    let (mut answer, mut key) = (0, 0);
    if INVERSE {
        for (card, k) in keys.iter().enumerate() {
            key |= k & -i64::from(card == x as usize);
        }
        answer = keys.iter().map(|&k| i64::from(k < key)).sum();
    } else {
        let mut places = [0i64; N];
        for &k in &keys[..n] {
            for (place, &other) in places.iter_mut().zip(&keys) {
                *place += i64::from(k < other);
            }
        }
        // Lanes without a card get position n.
        for (card, (&k, place)) in (0i64..).zip(keys.iter().zip(places)) {
            let here = -i64::from(place == i64::from(x));
            answer |= card & here;
            key |= k & here;
        }
    }
    let same: i64 = keys.iter().map(|&k| i64::from(k == key)).sum();
    keys.zeroize();
    u32::try_from(answer).ok().filter(|_| same == 1)
}

/// Selects from any number of cards.
#[inline(always)]
fn large<A: Aes, const INVERSE: bool, const WHOLE: bool>(
    mut labels: Labels<A>,
    n: u32,
    x: u32,
    scratch: &mut Scratch,
) -> Option<u32> {
    // The shift balances the cards in a bucket and the number of buckets to visit.
    let shift = if n <= 256 { 58 } else { 56 };
    let keys = &mut scratch.keys;
    keys.resize(n as usize, 0);
    let mut counts = [0u32; 256];
    for key in keys.iter_mut() {
        *key = labels.next::<WHOLE>();
        if !INVERSE {
            counts[bucket(*key, shift)] += 1;
        }
    }
    let (answer, key) = if INVERSE {
        let key = keys[x as usize];
        (keys.iter().map(|&k| u32::from(k < key)).sum(), key)
    } else {
        let mut rest = x;
        let (found, count) = counts.iter().enumerate().find_map(|(i, &count)| {
            let here = rest < count;
            rest -= if here { 0 } else { count };
            here.then_some((i, count as usize))
        })?;
        let same = &mut scratch.same;
        same.resize(count + 1, (0, 0));
        let mut len = 0;
        for (card, &key) in (0u32..).zip(keys.iter()) {
            same[len] = (key, card);
            len += usize::from(bucket(key, shift) == found);
        }
        let (_, &mut (key, card), _) = same[..count].select_nth_unstable(rest as usize);
        (card, key)
    };
    let same: u32 = keys.iter().map(|&k| u32::from(k == key)).sum();
    (same == 1).then_some(answer)
}

/// The first bits of a label.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "at most eight bits are left"
)]
fn bucket(key: i64, shift: u32) -> usize {
    usize::from(((key.cast_unsigned() ^ (1 << 63)) >> shift) as u8)
}

/// Erases many lanes of secrets.
pub(super) fn erase<const N: usize>(lanes: &mut [[i32; N]]) {
    lanes.as_flattened_mut().zeroize();
}
