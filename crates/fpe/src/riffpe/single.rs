//! Riffpe on one string with AVX-512, for radices up to 48 and labels of whole blocks.
//!
//! A step is a chain of AES blocks, one label each, and all else is done in its shadow: when all
//! labels but the last are known they are ranked, and the two between which the last must fall to
//! be the answer are found while the last block is on its way. Two comparisons then choose.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use super::definition;
use crate::aes::{Aes, Key, aesni};
use core::arch::x86_64::*;

/// Most cards of a digit.
const CARDS: u32 = 48;
/// Blocks of the longest message.
const BLOCKS: usize = 4;
/// Most digits: with the index and one byte of padding they fill the blocks.
const MAX_DIGITS: usize = 16 * BLOCKS - 2;

/// Proof that the processor has what this file uses, and that the bases are such as it takes.
#[derive(Clone, Copy)]
pub(super) struct Token(());

impl Token {
    pub(super) fn detect(bases: &[u32]) -> Option<Self> {
        let fits = bases.len() <= MAX_DIGITS && bases.iter().all(|&n| n <= CARDS);
        let has = sordino_cpu::Avx512::detect().is_some()
            && std::arch::is_x86_feature_detected!("popcnt")
            && std::arch::is_x86_feature_detected!("bmi1");
        (fits && has).then_some(Self(()))
    }
}

/// Encrypts or decrypts one string. `iv` is the tweak's state.
///
/// # Panics
/// If there are not as many digits as bases, or more than [`MAX_DIGITS`], or a base is above
/// [`CARDS`].
pub(super) fn run<const INVERSE: bool>(
    _: Token,
    (key, aesni): (&Key, &aesni::Key),
    iv: u128,
    bases: &[u32],
    digits: &mut [u32],
) {
    assert!(digits.len() == bases.len() && bases.len() <= MAX_DIGITS);
    assert!(bases.iter().all(|&n| n <= CARDS));
    let cipher = Cipher {
        key,
        aesni,
        iv,
        bases,
    };
    // SAFETY: the token proves the vector instructions, and a key of `aesni` the AES instructions.
    unsafe {
        if bases.len() < 15 {
            steps::<INVERSE, 1>(&cipher, digits);
        } else {
            steps::<INVERSE, BLOCKS>(&cipher, digits);
        }
    }
}

struct Cipher<'a> {
    key: &'a Key,
    aesni: &'a aesni::Key,
    iv: u128,
    bases: &'a [u32],
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,aes,avx2,sse4.1,popcnt,bmi1")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "at most 62 digits, each below 48"
)]
fn steps<const INVERSE: bool, const B: usize>(cipher: &Cipher<'_>, digits: &mut [u32]) {
    let aes = cipher.aesni;
    let l = digits.len();
    let blocks = (l + 1) / 16 + 1;
    // PKCS #7: the padding's bytes are their number.
    let padding = _mm_set1_epi8((16 * blocks - l - 1) as i8);
    let numbers = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    // A byte at one place of a block.
    let at = |x: u32, i: usize| {
        let here = _mm_cmpeq_epi8(numbers, _mm_set1_epi8((i % 16) as i8));
        _mm_and_si128(_mm_broadcastb_epi8(_mm_cvtsi32_si128(x as i32)), here)
    };
    let mut t = [padding; B];
    for i in 0..=l {
        let t = &mut t[if B == 1 { 0 } else { i / 16 }];
        let digit = digits.get(i).copied().unwrap_or_default();
        let here = _mm_xor_si128(at(u32::MAX, i), _mm_set1_epi8(-1));
        *t = _mm_or_si128(_mm_and_si128(*t, here), at(digit, i));
    }
    // What the first block of a message is added to.
    let start = aes.whiten(aes.load(cipher.iv));
    let mut index = 0;
    for step in 0..2 * l {
        let step = if INVERSE { 2 * l - 1 - step } else { step };
        let (f, i) = (u32::from(step >= l), step % l);
        let (here, last) = if B == 1 { (0, 0) } else { (i / 16, l / 16) };
        let x = digits[i];
        t[here] = _mm_xor_si128(t[here], at(x ^ f, i));
        t[last] = _mm_xor_si128(t[last], at(index ^ i as u32, l));
        index = i as u32;
        let mut s = _mm_xor_si128(start, t[0]);
        for &t in &t[1..blocks.min(B)] {
            s = _mm_xor_si128(aes.next_whitened(s), t);
        }
        let n = cipher.bases[i];
        let y = if n <= 16 {
            select::<INVERSE, 2>(aes, s, n, x)
        } else {
            select::<INVERSE, 6>(aes, s, n, x)
        };
        let y = y.unwrap_or_else(|| {
            // Two labels have the same first eight bytes.
            let s = aes.store(aes.encrypt_whitened(s));
            definition::step::<INVERSE>(cipher.key, s, n, 16, x)
        });
        digits[i] = y;
        t[here] = _mm_xor_si128(t[here], at(f ^ y, i));
    }
}

/// The card at place `x` of `n` sorted cards, or with `INVERSE` the place of card `x`, by the
/// first eight bytes of labels, of which `8 * G` registers' lanes have room; `None` if they do
/// not tell. `s` is the last block of the message before its encryption, whitened.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,aes,avx2,sse4.1,popcnt,bmi1")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "at most 48 cards; labels are bits"
)]
fn select<const INVERSE: bool, const G: usize>(
    aes: &aesni::Key,
    s: __m128i,
    n: u32,
    x: u32,
) -> Option<u32> {
    let swap = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1);
    let one = _mm512_set1_epi64(1);
    // A card that is not there is above all others.
    let mut keys = [_mm512_set1_epi64(-1); G];
    let mut places = [_mm512_set1_epi64(-1); G];
    let mut s = aes.next_whitened(s);
    let before = n - 1;
    for g in 0..G as u32 {
        for lane in 0..8 {
            let j = 8 * g + lane;
            if j >= before {
                break;
            }
            s = aes.next_whitened(s);
            let label = _mm512_broadcastq_epi64(_mm_shuffle_epi8(aes.whiten(s), swap));
            if !INVERSE {
                // Every card above the new one moves up; the new one is above all others.
                let mut above = 0;
                for h in 0..=g as usize {
                    let moves = _mm512_cmplt_epu64_mask(label, keys[h]);
                    places[h] = _mm512_mask_add_epi64(places[h], moves, places[h], one);
                    above |= u64::from(moves) << (8 * h);
                }
                let place = j - (above & ((1 << j) - 1)).count_ones();
                let place = _mm512_set1_epi64(place.into());
                places[g as usize] = _mm512_mask_mov_epi64(places[g as usize], 1 << lane, place);
            }
            keys[g as usize] = _mm512_mask_mov_epi64(keys[g as usize], 1 << lane, label);
        }
    }
    let label = |s| _mm_cvtsi128_si64(_mm_shuffle_epi8(s, swap)) as u64;
    let there = (1u64 << before) - 1;
    if INVERSE {
        // The label of card x, if it is not the last one.
        let mine = select_key(&keys, (1 << x) & there);
        let (less, same) = count(&keys, mine, there);
        let last = label(aes.encrypt_whitened(s));
        let (less_last, same_last) = count(&keys, last, there);
        let is_last = x == before;
        let y = choose(is_last, less_last, less + u32::from(last < mine));
        let same = choose(is_last, same_last + 1, same + u32::from(last == mine));
        (same == 1).then_some(y)
    } else {
        // The neighbours of a last label that would be the answer.
        let (above, below) = (rank(&places, x.into()), rank(&places, i64::from(x) - 1));
        let (above, below) = (above & there, below & there);
        let (high, low) = (select_key(&keys, above), select_key(&keys, below));
        let single = u32::from(above != 0) + u32::from(below != 0);
        let same = (count(&keys, high, there).1 & u32::from(above != 0).wrapping_neg())
            + (count(&keys, low, there).1 & u32::from(below != 0).wrapping_neg());
        let (high_card, low_card) = (above.trailing_zeros(), below.trailing_zeros());
        // Where there is no neighbour, nothing is beyond it.
        let high = high | u64::from(above != 0).wrapping_sub(1);
        let last = label(aes.encrypt_whitened(s));
        let y = choose(last > high, high_card, before);
        let y = choose(last < low, low_card, y);
        let tie = (last == high) | (last == low) | (same != single);
        (!tie).then_some(y)
    }
}

/// `a` if `first`, else `b`, without a branch.
#[inline(always)]
fn choose(first: bool, a: u32, b: u32) -> u32 {
    b ^ ((a ^ b) & u32::from(first).wrapping_neg())
}

/// The lanes whose place is `x`.
#[inline]
#[target_feature(enable = "avx512f")]
fn rank<const G: usize>(places: &[__m512i; G], x: i64) -> u64 {
    let x = _mm512_set1_epi64(x);
    let mut here = 0;
    for (h, &place) in places.iter().enumerate() {
        here |= u64::from(_mm512_cmpeq_epi64_mask(place, x)) << (8 * h);
    }
    here
}

/// The key in the one lane of `here`; zero if there is none.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "masks of eight lanes; a label is bits"
)]
fn select_key<const G: usize>(keys: &[__m512i; G], here: u64) -> u64 {
    let mut key = _mm512_setzero_si512();
    for (h, &k) in keys.iter().enumerate() {
        key = _mm512_or_si512(key, _mm512_maskz_mov_epi64((here >> (8 * h)) as u8, k));
    }
    _mm512_reduce_or_epi64(key) as u64
}

/// How many of the lanes `there` have keys below `key`, and how many the same.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
#[expect(clippy::cast_possible_wrap, reason = "a label is bits")]
fn count<const G: usize>(keys: &[__m512i; G], key: u64, there: u64) -> (u32, u32) {
    let key = _mm512_set1_epi64(key as i64);
    let (mut less, mut same) = (0, 0);
    for (h, &k) in keys.iter().enumerate() {
        less |= u64::from(_mm512_cmplt_epu64_mask(k, key)) << (8 * h);
        same |= u64::from(_mm512_cmpeq_epi64_mask(k, key)) << (8 * h);
    }
    ((less & there).count_ones(), (same & there).count_ones())
}
