//! Riffpe on one string with AVX-512, for radices up to 48 and labels of whole blocks.
//!
//! A step is a chain of AES blocks, each of which is one label. Each block takes some forty cycles, and all other work
//! is done in that time. Each new label is sorted among the earlier ones. While the last block is computed, the kernel
//! finds the two neighbours at position `x`. The answer is the middle one of these two and the last label, by a maximum
//! and a minimum.
#![expect(unsafe_code, reason = "calls of vector instructions")]

use crate::riffpe::definition;
use core::arch::x86_64::*;
use sordino_aes::{Aes, Key, aesni};

/// The largest number of cards of a digit.
const CARDS: u32 = 48;
/// The number of blocks of the longest message.
const BLOCKS: usize = 4;
/// The largest number of digits: with the index and one byte of padding they fill the blocks.
const MAX_DIGITS: usize = 16 * BLOCKS - 2;

/// Proof that the processor has the instructions of this file.
#[derive(Clone, Copy)]
pub(in crate::riffpe) struct Token(());

impl Token {
    pub(in crate::riffpe) fn detect() -> Option<Self> {
        let popcnt = sordino_cpu::Popcnt::detect().is_some();
        (popcnt && sordino_cpu::Avx512::detect().is_some()).then_some(Self(()))
    }
}

/// True if [`run`] supports strings of these bases.
pub(in crate::riffpe) fn fits(bases: &[u32]) -> bool {
    bases.len() <= MAX_DIGITS && bases.iter().all(|&n| n <= CARDS)
}

/// Encrypts or decrypts one string. `iv` is the tweak's state.
///
/// # Panics
/// Panics if the numbers of digits and bases differ or exceed [`MAX_DIGITS`], or a base is above [`CARDS`].
pub(in crate::riffpe) fn run<const INVERSE: bool>(
    _: Token,
    (key, aesni): (&Key, &aesni::Key),
    iv: u128,
    bases: &[u32],
    digits: &mut [u32],
) {
    assert!(digits.len() == bases.len() && fits(bases));
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

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,aes,avx2,sse4.1,popcnt")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "at most 62 digits, each below 48"
)]
fn steps<const INVERSE: bool, const B: usize>(cipher: &Cipher<'_>, digits: &mut [u32]) {
    let aes = cipher.aesni;
    let l = digits.len();
    let blocks = (l + 1) / 16 + 1;
    // PKCS #7: each byte of the padding is the number of padding bytes.
    let padding = _mm_set1_epi8((16 * blocks - l - 1) as i8);
    let numbers = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    // Puts a byte at one position of a block.
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
    // The first block of a message is XORed with this value.
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
            // Two labels have the same first eight bytes, so the definition decides.
            let s = aes.store(aes.encrypt_whitened(s));
            definition::step::<INVERSE>(cipher.key, s, n, 16, x)
        });
        digits[i] = y;
        t[here] = _mm_xor_si128(t[here], at(f ^ y, i));
    }
}

/// A card's key is the first 58 bits of its label, followed by its number: 64-bit lanes of `G` registers. Lanes without
/// a card are above all cards.
type Keys<const G: usize> = [__m512i; G];

/// The card at position `x` of `n` sorted cards, or with `INVERSE` the position of card `x`. `None` if two labels share
/// their first 58 bits. `s` is the last block of the message before its encryption, to which the first round key was
/// added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,aes,avx2,sse4.1,popcnt")]
#[expect(clippy::cast_possible_truncation, reason = "at most 48 cards")]
fn select<const INVERSE: bool, const G: usize>(
    aes: &aesni::Key,
    s: __m128i,
    n: u32,
    x: u32,
) -> Option<u32> {
    let one = _mm_set1_epi64x(1);
    let mut keys = [_mm512_set1_epi64(-1); G];
    let mut s = aes.next_whitened(s);
    let mut card = _mm_setzero_si128();
    let mine_is = _mm_set1_epi64x(x.into());
    let mut mine = _mm_setzero_si128();
    let before = n - 1;
    for g in 0..G as u32 {
        for j in 8 * g..before.min(8 * g + 8) {
            s = aes.next_whitened(s);
            let new = key(aes.whiten(s), card);
            if INVERSE {
                let here = _mm_cmpeq_epi64(card, mine_is);
                mine = _mm_or_si128(mine, _mm_and_si128(here, new));
                let lane = 1 << (j % 8);
                let keys = &mut keys[g as usize];
                *keys = _mm512_mask_broadcastq_epi64(*keys, lane, new);
            } else {
                insert(&mut keys[..=g as usize], new);
            }
            card = _mm_add_epi64(card, one);
        }
    }
    // The others are counted or compared while the last block is computed.
    if INVERSE {
        let others = count(&keys, mine);
        let last = key(aes.encrypt_whitened(s), card);
        place(&keys, others, mine, last, x == before)
    } else {
        let neighbours = Neighbours::at(&keys, x);
        neighbours.between(key(aes.encrypt_whitened(s), card))
    }
}

/// The key of a card with this label: `(label & label_bits) | card`.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx2,sse4.1")]
fn key(label: __m128i, card: __m128i) -> __m128i {
    let swap = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1);
    let label_bits = _mm_set1_epi64x(-64);
    _mm_ternarylogic_epi64::<0xea>(_mm_shuffle_epi8(label, swap), label_bits, card)
}

/// Inserts a new key into the sorted ones. Each lane becomes the middle one of itself, its neighbour below and the new
/// key, by a maximum and a minimum.
#[inline]
#[target_feature(enable = "avx512f")]
fn insert(keys: &mut [__m512i], new: __m128i) {
    let new = _mm512_broadcastq_epi64(new);
    let mut lower = _mm512_setzero_si512();
    for keys in keys {
        // For each key, its neighbour below, or zero.
        let below = _mm512_alignr_epi64::<7>(*keys, lower);
        lower = *keys;
        *keys = _mm512_min_epu64(*keys, _mm512_max_epu64(new, below));
    }
}

/// The position of the card whose key is `mine`. `others` counts all keys but the last against `mine`, for a card that
/// is not the last. For the last card, this function counts all keys.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the sign of a difference"
)]
fn place<const G: usize>(
    keys: &Keys<G>,
    (less, same): (u32, u32),
    mine: __m128i,
    last: __m128i,
    is_last: bool,
) -> Option<u32> {
    let (less_last, same_last) = count(keys, last);
    let last_less = _mm_cvtsi128_si64(_mm_srli_epi64::<63>(_mm_sub_epi64(
        _mm_srli_epi64::<1>(last),
        _mm_srli_epi64::<1>(mine),
    ))) as u32;
    let last_same = u32::from(shared(last, mine));
    let y = choose(is_last, less_last, less + last_less);
    let same = choose(is_last, same_last + 1, same + last_same);
    (same == 1).then_some(y)
}

/// The sorted keys at positions `x - 1` and `x`, before the last key is inserted.
struct Neighbours {
    low: __m128i,
    high: __m128i,
    /// True if two keys differ only in their cards' numbers.
    tie: bool,
}

impl Neighbours {
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a mask of all ones or none"
    )]
    fn at<const G: usize>(keys: &Keys<G>, x: u32) -> Self {
        let mut high = _mm512_setzero_si512();
        let mut low = high;
        let mut lower = high;
        let mut tie = 0;
        let lane = _mm512_set1_epi64((x % 8).into());
        for (g, &keys) in keys.iter().enumerate() {
            let below = _mm512_alignr_epi64::<7>(keys, lower);
            lower = keys;
            let here = u32::from(x / 8 == g as u32).wrapping_neg() as u8;
            high = _mm512_or_si512(high, _mm512_maskz_permutexvar_epi64(here, lane, keys));
            low = _mm512_or_si512(low, _mm512_maskz_permutexvar_epi64(here, lane, below));
            // Lanes without a card have equal keys, which do not count as a tie.
            let differ = _mm512_xor_si512(keys, below);
            tie |= _mm512_cmplt_epu64_mask(differ, _mm512_set1_epi64(64))
                & _mm512_test_epi64_mask(differ, differ);
        }
        Self {
            low: _mm512_castsi512_si128(low),
            high: _mm512_castsi512_si128(high),
            tie: tie != 0,
        }
    }

    /// The card at position `x` after the last key is known: the middle one of the three.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a card is below 48"
    )]
    fn between(&self, last: __m128i) -> Option<u32> {
        let answer = _mm_min_epu64(_mm_max_epu64(last, self.low), self.high);
        let tie = self.tie | shared(last, self.low) | shared(last, self.high);
        (!tie).then_some(_mm_cvtsi128_si64(answer) as u32 & 63)
    }
}

/// `a` if `first`, else `b`, without a branch.
#[inline(always)]
fn choose(first: bool, a: u32, b: u32) -> u32 {
    b ^ ((a ^ b) & u32::from(first).wrapping_neg())
}

/// True if the first lanes have the same 58 bits of a label.
#[inline]
#[target_feature(enable = "sse2")]
#[expect(clippy::cast_sign_loss, reason = "keys are bits")]
fn shared(a: __m128i, b: __m128i) -> bool {
    (_mm_cvtsi128_si64(_mm_xor_si128(a, b)) as u64) < 64
}

/// The number of keys below `key`, and of keys that share its label.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn count<const G: usize>(keys: &Keys<G>, key: __m128i) -> (u32, u32) {
    let key = _mm512_broadcastq_epi64(key);
    let (mut less, mut same) = (0u64, 0u64);
    for (h, &k) in keys.iter().enumerate() {
        let close = _mm512_cmplt_epu64_mask(_mm512_xor_si512(k, key), _mm512_set1_epi64(64));
        less |= u64::from(_mm512_cmplt_epu64_mask(k, key)) << (8 * h);
        same |= u64::from(close) << (8 * h);
    }
    (less.count_ones(), same.count_ones())
}
