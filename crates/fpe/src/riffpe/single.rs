//! Riffpe on one string with AVX-512, for radices up to 48 and labels of whole blocks.
//!
//! A step is a chain of AES blocks, one label each, and all else is done in its shadow: labels are
//! sorted as they come, and while the last is on its way the two between which it must fall to be
//! the answer are found. A maximum and a minimum then choose.
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
            && std::arch::is_x86_feature_detected!("popcnt");
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

/// The card at place `x` of `n` sorted cards, or with `INVERSE` the place of card `x`; `None` if
/// two labels share their first 58 bits. `s` is the last block of the message before its
/// encryption, whitened.
///
/// A card's key is the first 58 bits of its label, then its number. Keys are kept in order in
/// the 64-bit lanes of `G` registers: a new one is put among them by a maximum and a minimum.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,aes,avx2,sse4.1,popcnt")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 48 cards; keys are bits"
)]
fn select<const INVERSE: bool, const G: usize>(
    aes: &aesni::Key,
    s: __m128i,
    n: u32,
    x: u32,
) -> Option<u32> {
    let swap = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, -1, -1, -1, -1, -1, -1, -1, -1);
    let label_bits = _mm_set1_epi64x(-64);
    // (label & label_bits) | card
    let key = |block, card| {
        _mm_ternarylogic_epi64::<0xea>(_mm_shuffle_epi8(block, swap), label_bits, card)
    };
    let one = _mm_set1_epi64x(1);
    // A card that is not there is above all others.
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
                let new = _mm512_broadcastq_epi64(new);
                let mut lower = _mm512_setzero_si512();
                for keys in &mut keys[..=g as usize] {
                    // Each key's neighbour below, or zero.
                    let below = _mm512_alignr_epi64::<7>(*keys, lower);
                    lower = *keys;
                    *keys = _mm512_min_epu64(*keys, _mm512_max_epu64(new, below));
                }
            }
            card = _mm_add_epi64(card, one);
        }
    }
    if INVERSE {
        // The last card's key goes where the first that is not there was.
        let (less, same) = count(&keys, mine);
        let last = key(aes.encrypt_whitened(s), card);
        let (less_last, same_last) = count(&keys, last);
        let last_less = _mm_cvtsi128_si64(_mm_srli_epi64::<63>(_mm_sub_epi64(
            _mm_srli_epi64::<1>(last),
            _mm_srli_epi64::<1>(mine),
        ))) as u32;
        let last_same = u32::from(shared(last, mine));
        let is_last = x == before;
        let y = choose(is_last, less_last, less + last_less);
        let same = choose(is_last, same_last + 1, same + last_same);
        (same == 1).then_some(y)
    } else {
        // What place x holds is the last key, kept between the two that hold x - 1 and x now.
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
            // Neighbours that differ in their numbers alone; cards that are not there do not.
            let differ = _mm512_xor_si512(keys, below);
            tie |= _mm512_cmplt_epu64_mask(differ, _mm512_set1_epi64(64))
                & _mm512_test_epi64_mask(differ, differ);
        }
        let (high, low) = (_mm512_castsi512_si128(high), _mm512_castsi512_si128(low));
        let last = key(aes.encrypt_whitened(s), card);
        let answer = _mm_min_epu64(_mm_max_epu64(last, low), high);
        let tie = (tie != 0) | shared(last, low) | shared(last, high);
        (!tie).then_some(_mm_cvtsi128_si64(answer) as u32 & 63)
    }
}

/// `a` if `first`, else `b`, without a branch.
#[inline(always)]
fn choose(first: bool, a: u32, b: u32) -> u32 {
    b ^ ((a ^ b) & u32::from(first).wrapping_neg())
}

/// Whether the first lanes have the same 58 bits of a label.
#[inline]
#[target_feature(enable = "sse2")]
#[expect(clippy::cast_sign_loss, reason = "keys are bits")]
fn shared(a: __m128i, b: __m128i) -> bool {
    (_mm_cvtsi128_si64(_mm_xor_si128(a, b)) as u64) < 64
}

/// How many keys are below `key`, and how many share its label.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn count<const G: usize>(keys: &[__m512i; G], key: __m128i) -> (u32, u32) {
    let key = _mm512_broadcastq_epi64(key);
    let (mut less, mut same) = (0u64, 0u64);
    for (h, &k) in keys.iter().enumerate() {
        let close = _mm512_cmplt_epu64_mask(_mm512_xor_si512(k, key), _mm512_set1_epi64(64));
        less |= u64::from(_mm512_cmplt_epu64_mask(k, key)) << (8 * h);
        same |= u64::from(close) << (8 * h);
    }
    (less.count_ones(), same.count_ones())
}
