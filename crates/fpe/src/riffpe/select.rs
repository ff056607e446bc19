//! A step of Riffpe by the first eight bytes of the labels.
//!
//! Labels come from a chain of AES blocks, each of which waits for the one before; whatever a
//! label is compared with while the next is on its way costs nothing. Up to [`SMALL`] cards
//! every pair is compared, so that time and memory access are the same for all digits. More
//! cards are counted by their first byte, and only those that share it with the answer are
//! compared.

use crate::aes::Aes;
use alloc::vec::Vec;
use zeroize::Zeroize;

/// Most cards of which all pairs are compared: half of them in the shadow of one AES block.
const SMALL: usize = 128;

/// The stream of labels.
pub(super) struct Labels<A: Aes> {
    aes: A,
    s: A::Block,
    bytes_per_value: usize,
    /// Where the next label begins in the stream.
    offset: usize,
    /// The blocks so far, and the last two of them.
    blocks: usize,
    last: [u128; 2],
}

impl<A: Aes> Labels<A> {
    #[inline(always)]
    pub(super) fn new(aes: A, s: A::Block, bytes_per_value: usize) -> Self {
        Self {
            aes,
            s,
            bytes_per_value,
            offset: 0,
            blocks: 0,
            last: [0; 2],
        }
    }

    /// The first eight bytes of the next label, in the order of signed integers.
    #[inline(always)]
    fn next<const WHOLE: bool>(&mut self) -> i64 {
        let label = if WHOLE {
            self.s = self.aes.encrypt(self.s);
            self.aes.high(self.s)
        } else {
            self.part()
        };
        (label ^ (1 << 63)).cast_signed()
    }

    /// A label that need not begin with a block.
    #[inline(always)]
    fn part(&mut self) -> u64 {
        let (block, byte) = (self.offset / 16, self.offset % 16);
        self.offset += self.bytes_per_value;
        while self.blocks < block + 2 {
            self.s = self.aes.encrypt(self.s);
            self.last = [self.last[1], self.aes.store(self.s)];
            self.blocks += 1;
        }
        let [first, second] = self.last;
        // No shift by 128.
        let window = (first << (8 * byte)) | ((second >> 8) >> (120 - 8 * byte));
        (window >> 64) as u64
    }
}

/// Space for many cards, kept from step to step and erased at the end.
#[derive(Default)]
pub(super) struct Scratch {
    keys: Vec<i64>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

/// The card at place `x` of `n` sorted cards, or with `INVERSE` the place of card `x`; `None`
/// if eight bytes do not tell.
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
        (..=32, true) => small::<A, 32, INVERSE, true>(labels, n, x),
        (..=SMALL_U32, true) => small::<A, SMALL, INVERSE, true>(labels, n, x),
        (..=SMALL_U32, false) => small::<A, SMALL, INVERSE, false>(labels, n, x),
        (_, true) => large::<A, INVERSE, true>(labels, n, x, scratch),
        (_, false) => large::<A, INVERSE, false>(labels, n, x, scratch),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const SMALL_U32: u32 = SMALL as u32;

/// At most `N` cards, all pairs compared, four at a time.
#[inline(always)]
fn small<A: Aes, const N: usize, const INVERSE: bool, const WHOLE: bool>(
    mut labels: Labels<A>,
    n: u32,
    x: u32,
) -> Option<u32> {
    // A card that is not there is above all others.
    let mut keys = [i64::MAX; N];
    let mut places = [0i64; N];
    let n = n as usize;
    for j in 0..n {
        let key = labels.next::<WHOLE>();
        if !INVERSE {
            // Every card above the new one moves up; the new one is above all others.
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
    u32::try_from(answer).ok().filter(|_| same == 1)
}

/// Any number of cards.
#[inline(always)]
fn large<A: Aes, const INVERSE: bool, const WHOLE: bool>(
    mut labels: Labels<A>,
    n: u32,
    x: u32,
    scratch: &mut Scratch,
) -> Option<u32> {
    let bucket = |key: i64| usize::from((key.cast_unsigned() >> 56) as u8 ^ 0x80);
    let keys = &mut scratch.keys;
    keys.clear();
    let mut counts = [0u32; 256];
    for _ in 0..n {
        let key = labels.next::<WHOLE>();
        counts[bucket(key)] += 1;
        keys.push(key);
    }
    let (answer, key) = if INVERSE {
        let key = keys[x as usize];
        (keys.iter().map(|&k| u32::from(k < key)).sum(), key)
    } else {
        let mut rest = x;
        let found = (0..).zip(counts).find(|&(_, count)| {
            let here = rest < count;
            rest -= if here { 0 } else { count };
            here
        })?;
        let cards = (0u32..).zip(keys.iter().copied());
        let mut same: Vec<(i64, u32)> = cards
            .filter(|&(_, key)| bucket(key) == found.0)
            .map(|(card, key)| (key, card))
            .collect();
        let (_, &mut (key, card), _) = same.select_nth_unstable(rest as usize);
        same.zeroize();
        (card, key)
    };
    (keys.iter().filter(|&&k| k == key).count() == 1).then_some(answer)
}
