//! Riffpe on 16 strings in step, for radices up to 16 and labels of whole blocks. It uses VAES on registers of four
//! blocks, and compares all pairs of labels lane by lane.
//!
//! A message's block is a 128-bit lane of one of four registers: string `k` is in lane `k % 4` of register `k / 4`.
//! The first 32 bits of the strings' labels form one register. Unpacking the four registers leaves string `k` in
//! its 32-bit lane `4 (k % 4) + k / 4`.
#![expect(
    unsafe_code,
    reason = "loads and stores, and calls of vector instructions"
)]

use core::arch::x86_64::*;
use sordino_aes::{Schedule, aesni, vaes::encrypt};
use zeroize::Zeroize;

/// The number of strings in step.
pub(in crate::riffpe) const STRINGS: usize = 16;
/// The largest number of cards of a digit.
pub(in crate::riffpe) const CARDS: usize = 16;
/// The number of blocks of the longest message.
const BLOCKS: usize = 4;
/// The largest number of digits: with the index and one byte of padding they fill the blocks.
pub(in crate::riffpe) const MAX_DIGITS: usize = 16 * BLOCKS - 2;

/// Encrypts or decrypts [`STRINGS`] strings of `bases.len()` digits each, one after another. If the label that a
/// step selects has the same first four bytes as another label, the function changes nothing and returns false.
/// This happens about once in some hundred thousand calls.
///
/// # Panics
/// Panics if the number of digits differs, there are more than [`MAX_DIGITS`] in a string, or a base is above
/// [`CARDS`].
pub(in crate::riffpe) fn run<const INVERSE: bool>(
    _: sordino_cpu::Avx512Vaes,
    key: &aesni::Key,
    iv: u128,
    bases: &[u32],
    digits: &mut [u32],
) -> bool {
    assert!(digits.len() == STRINGS * bases.len() && bases.len() <= MAX_DIGITS);
    assert!(bases.iter().all(|&n| n as usize <= CARDS));
    // SAFETY: the token proves the instructions.
    unsafe { vectors::<INVERSE>(key.schedule(), iv, bases, digits) }
}

type Registers = [__m512i; STRINGS / 4];

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,avx2,sse4.1")]
#[expect(
    clippy::cast_possible_truncation,
    reason = "digits are below 16, and 62 in number"
)]
fn vectors<const INVERSE: bool>(
    schedule: &Schedule,
    iv: u128,
    bases: &[u32],
    digits: &mut [u32],
) -> bool {
    let l = bases.len();
    let blocks = (l + 1) / 16 + 1;
    // PKCS #7: each byte of the padding is the number of padding bytes.
    let mut bytes = [[(16 * blocks - l - 1) as u8; 16 * STRINGS]; BLOCKS];
    for (k, string) in digits.chunks(l).enumerate() {
        for (i, &digit) in string.iter().enumerate() {
            bytes[i / 16][16 * k + i % 16] = digit as u8;
        }
    }
    let mut t = [[_mm512_setzero_si512(); STRINGS / 4]; BLOCKS];
    for (t, bytes) in t.iter_mut().zip(&bytes) {
        for (t, bytes) in t.iter_mut().zip(bytes.as_chunks::<64>().0) {
            // SAFETY: `bytes` has the 64 bytes that are loaded.
            *t = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        }
    }
    let iv = iv.to_be_bytes();
    // SAFETY: `iv` has the 16 bytes that are loaded.
    let iv = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(iv.as_ptr().cast()) });
    let mut collision = false;
    for step in 0..2 * l {
        let step = if INVERSE { 2 * l - 1 - step } else { step };
        let (f, i) = (i8::from(step >= l), step % l);
        let at = |i: usize| 0x0001_0001_0001_0001u64 << (i % 16);
        let x = digit(&t[i / 16], i);
        for t in &mut t[i / 16] {
            *t = _mm512_mask_mov_epi8(*t, at(i), _mm512_set1_epi8(f));
        }
        for t in &mut t[l / 16] {
            *t = _mm512_mask_mov_epi8(*t, at(l), _mm512_set1_epi8(i as i8));
        }
        let mut s = [iv; STRINGS / 4];
        for t in &t[..blocks] {
            for (s, &t) in s.iter_mut().zip(t) {
                *s = _mm512_xor_si512(*s, t);
            }
            encrypt(schedule, &mut s);
        }
        let y = select::<INVERSE>(schedule, s, bases[i] as usize, x, &mut collision);
        for (r, t) in t[i / 16].iter_mut().enumerate() {
            *t = _mm512_mask_shuffle_epi8(*t, at(i), y, _mm512_set1_epi8(4 * r as i8));
        }
    }
    for (t, bytes) in t.iter().zip(&mut bytes) {
        for (&t, bytes) in t.iter().zip(bytes.as_chunks_mut::<64>().0) {
            // SAFETY: `bytes` has the 64 bytes that are stored.
            unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), t) };
        }
    }
    if !collision {
        for (k, string) in digits.chunks_mut(l).enumerate() {
            for (i, digit) in string.iter_mut().enumerate() {
                *digit = bytes[i / 16][16 * k + i % 16].into();
            }
        }
    }
    bytes.zeroize();
    !collision
}

/// Byte `i` of every message's block, in the lanes of labels.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
#[expect(clippy::cast_possible_truncation, reason = "below 16")]
fn digit(t: &Registers, i: usize) -> __m512i {
    let byte = _mm512_set1_epi8((i % 16) as i8);
    let mut digits = _mm512_setzero_si512();
    for (r, &t) in t.iter().enumerate() {
        let lane = 0x0001_0001_0001_0001 << (4 * r);
        digits = _mm512_mask_shuffle_epi8(digits, lane, t, byte);
    }
    digits
}

/// The card at position `x` of `n` sorted cards, or with `INVERSE` the position of card `x`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,aes,avx2,sse4.1")]
fn select<const INVERSE: bool>(
    schedule: &Schedule,
    mut s: Registers,
    n: usize,
    x: __m512i,
    collision: &mut bool,
) -> __m512i {
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(
        12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3,
    ));
    let (zero, one) = (_mm512_setzero_si512(), _mm512_set1_epi32(1));
    let mut labels = [zero; CARDS];
    let mut places = [zero; CARDS];
    for j in 0..n {
        encrypt(schedule, &mut s);
        let low = _mm512_unpacklo_epi32(s[0], s[1]);
        let high = _mm512_unpacklo_epi32(s[2], s[3]);
        let label = _mm512_shuffle_epi8(_mm512_unpacklo_epi64(low, high), swap);
        let mut place = zero;
        for p in 0..j {
            // Every card above the new one moves up. The new one is above all other cards.
            let moves = _mm512_cmplt_epu32_mask(label, labels[p]);
            places[p] = _mm512_mask_add_epi32(places[p], moves, places[p], one);
            place = _mm512_mask_add_epi32(place, !moves, place, one);
        }
        labels[j] = label;
        places[j] = place;
    }
    let (mut y, mut key, mut card) = (zero, zero, zero);
    for (&label, &place) in labels[..n].iter().zip(&places) {
        let (here, value) = if INVERSE {
            (_mm512_cmpeq_epi32_mask(card, x), place)
        } else {
            (_mm512_cmpeq_epi32_mask(place, x), card)
        };
        y = _mm512_mask_mov_epi32(y, here, value);
        key = _mm512_mask_mov_epi32(key, here, label);
        card = _mm512_add_epi32(card, one);
    }
    // A position is right if no other card's label begins with the same bytes.
    let mut same = zero;
    for &label in &labels[..n] {
        same = _mm512_mask_add_epi32(same, _mm512_cmpeq_epi32_mask(key, label), same, one);
    }
    *collision |= _mm512_cmpneq_epi32_mask(same, one) != 0;
    y
}
