//! FF1 on 32 strings in step. It uses VAES on registers of four blocks, 52-bit products for the reduction, and
//! decimal digits in vectors.
//!
//! A register holds eight strings in 64-bit lanes. Unpacking leaves strings 0 to 3 in the even lanes and strings 4 to 7
//! in the odd lanes. Lane `2 k` is string `k`, and lane `2 k + 1` is string `4 + k`.
#![expect(
    unsafe_code,
    reason = "loads and stores, and calls of vector instructions"
)]

use crate::{feistel::Direction, ff1::half::Half32};
use core::arch::x86_64::*;
use sordino_aes::{Schedule, aesni, vaes::encrypt};
use zeroize::Zeroize;

/// The number of strings in step.
pub(super) const STRINGS: usize = 32;
/// The number of registers of eight strings.
const GROUPS: usize = STRINGS / 8;
/// The number of bytes for strings of up to 16 digits, each with space for a register of 16 bytes.
const ROOM: usize = STRINGS * 16 + 16;

/// Proof that the processor has the instructions of this file.
#[derive(Clone, Copy)]
pub(super) struct Token(());

impl Token {
    pub(super) fn detect() -> Option<Self> {
        let vaes = sordino_cpu::Avx512Vaes::detect().is_some();
        (vaes && sordino_cpu::Avx512Ifma::detect().is_some()).then_some(Self(()))
    }
}

/// The last block of `P || Q` of each string, as [`crate::ff1::mac::Mac::tweak`] computes it: without the round's
/// index and `NUM(B)`. The fields are the block's first and last eight bytes, in the order of lanes.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    high: [u64; STRINGS],
    low: [u64; STRINGS],
}

impl Blocks {
    #[expect(clippy::cast_possible_truncation, reason = "halves of a block")]
    pub(super) fn new(block: impl Fn(usize) -> u128) -> Self {
        let mut blocks = Self {
            high: [0; STRINGS],
            low: [0; STRINGS],
        };
        for lane in 0..STRINGS {
            let string = lane / 8 * 8 + lane % 8 / 2 + lane % 2 * 4;
            let block = block(string);
            blocks.high[lane] = ((block >> 64) as u64).swap_bytes();
            blocks.low[lane] = (block as u64).swap_bytes();
        }
        blocks
    }
}

/// Encrypts decimal strings of 2 to 16 digits, with halves `u` and `v`, in place.
pub(super) struct Decimal<'a> {
    pub(super) key: &'a aesni::Key,
    pub(super) halves: &'a [Half32; 2],
    /// The number of bytes of `NUM(B)`.
    pub(super) b: u32,
    /// The positions of the digits of both halves in 16 bytes, for [`split`] and [`join`].
    pub(super) split: [u8; 16],
    pub(super) join: [u8; 16],
    pub(super) len: usize,
}

impl<'a> Decimal<'a> {
    #[expect(clippy::cast_possible_truncation, reason = "lengths are at most 16")]
    pub(super) fn new(key: &'a aesni::Key, halves: &'a [Half32; 2], b: u32, len: usize) -> Self {
        debug_assert!((2..=16).contains(&len));
        let u = len / 2;
        let v = len - u;
        // Each half in eight bytes, to the right; 0x80 makes a zero.
        let mut split = [0x80; 16];
        let mut join = [0x80; 16];
        for (i, join) in join[..len].iter_mut().enumerate() {
            let at = if i < u { 8 - u + i } else { 16 - v + (i - u) };
            split[at] = i as u8;
            *join = at as u8;
        }
        Self {
            key,
            halves,
            b,
            split,
            join,
            len,
        }
    }

    /// Encrypts or decrypts [`STRINGS`] strings of digits.
    ///
    /// # Panics
    /// Panics if the length of `text` is not the length of these strings.
    pub(super) fn run<const D: Direction>(&self, _: Token, blocks: &Blocks, text: &mut [u8]) {
        assert_eq!(text.len(), STRINGS * self.len);
        // SAFETY: the token proves the instructions.
        unsafe { run::<D>(self, blocks, text) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,vaes,aes,avx2,sse4.1")]
fn run<const D: Direction>(this: &Decimal<'_>, blocks: &Blocks, text: &mut [u8]) {
    let mut room = [0; ROOM];
    room[..text.len()].copy_from_slice(text);
    let mut a = [_mm512_setzero_si512(); GROUPS];
    let mut b = a;
    let split = lanes(&this.split);
    for g in 0..GROUPS {
        let even = parse(quad(&room, 8 * g, this.len), split);
        let odd = parse(quad(&room, 8 * g + 4, this.len), split);
        let pairs = _mm512_unpacklo_epi64(even, odd);
        a[g] = _mm512_and_si512(pairs, _mm512_set1_epi64(0xffff_ffff));
        b[g] = _mm512_srli_epi64::<32>(pairs);
    }
    feistel::<D>(
        this.key.schedule(),
        this.halves,
        this.b,
        blocks,
        &mut a,
        &mut b,
    );
    let join = lanes(&this.join);
    for g in 0..GROUPS {
        let (a, b) = (digits(a[g]), digits(b[g]));
        let even = _mm512_shuffle_epi8(_mm512_unpacklo_epi64(a, b), join);
        let odd = _mm512_shuffle_epi8(_mm512_unpackhi_epi64(a, b), join);
        // The order is ascending, because a store also writes behind its string, where the next string goes.
        store_quad(even, &mut room, 8 * g, this.len);
        store_quad(odd, &mut room, 8 * g + 4, this.len);
    }
    let len = text.len();
    text.copy_from_slice(&room[..len]);
    room[..len].zeroize();
}

/// Copies 16 bytes to every 128-bit lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(x: &[u8; 16]) -> __m512i {
    // SAFETY: `x` has 16 bytes.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(x.as_ptr().cast()) })
}

/// Loads four strings from string `i` on, each into a 128-bit lane with the bytes that follow it.
#[inline]
#[target_feature(enable = "avx512f")]
fn quad(room: &[u8; ROOM], i: usize, len: usize) -> __m512i {
    let string = |k: usize| {
        let at = &room[(i + k) * len..][..16];
        // SAFETY: `at` has the 16 bytes that are loaded.
        unsafe { _mm_loadu_si128(at.as_ptr().cast()) }
    };
    let x = _mm512_castsi128_si512(string(0));
    let x = _mm512_inserti32x4::<1>(x, string(1));
    let x = _mm512_inserti32x4::<2>(x, string(2));
    _mm512_inserti32x4::<3>(x, string(3))
}

/// The inverse of [`quad`]. It overwrites the bytes that follow each string.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_quad(x: __m512i, room: &mut [u8; ROOM], i: usize, len: usize) {
    let strings = [
        _mm512_castsi512_si128(x),
        _mm512_extracti32x4_epi32::<1>(x),
        _mm512_extracti32x4_epi32::<2>(x),
        _mm512_extracti32x4_epi32::<3>(x),
    ];
    for (k, string) in strings.into_iter().enumerate() {
        let at = &mut room[(i + k) * len..][..16];
        // SAFETY: `at` has the 16 bytes that are stored.
        unsafe { _mm_storeu_si128(at.as_mut_ptr().cast(), string) }
    }
}

/// Reads the digits of each 128-bit lane: `NUM(A) + 2^32 NUM(B)`, in the lane's first half.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn parse(x: __m512i, split: __m512i) -> __m512i {
    let x = _mm512_sub_epi8(x, _mm512_set1_epi8(0x30));
    let x = _mm512_shuffle_epi8(x, split);
    let pairs = _mm512_maddubs_epi16(x, _mm512_set1_epi16(0x010a));
    let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
    let fours = _mm512_packus_epi32(fours, fours);
    _mm512_madd_epi16(fours, _mm512_set1_epi32(0x0001_2710))
}

/// Writes the number below `10^8` in each lane as eight digits, the first digit lowest, like `decimal::digits`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn digits(x: __m512i) -> __m512i {
    let high = _mm512_srli_epi64::<40>(_mm512_mul_epu32(x, _mm512_set1_epi64(109_951_163)));
    let low = _mm512_sub_epi64(x, _mm512_mul_epu32(high, _mm512_set1_epi64(10_000)));
    let fours = _mm512_or_si512(high, _mm512_slli_epi64::<32>(low));
    let high = _mm512_srli_epi16::<4>(_mm512_mulhi_epu16(fours, _mm512_set1_epi16(10_486)));
    let low = _mm512_sub_epi16(fours, _mm512_mullo_epi16(high, _mm512_set1_epi16(100)));
    let pairs = _mm512_or_si512(high, _mm512_slli_epi32::<16>(low));
    let high = _mm512_srli_epi16::<10>(_mm512_mullo_epi16(pairs, _mm512_set1_epi16(103)));
    let low = _mm512_sub_epi16(pairs, _mm512_mullo_epi16(high, _mm512_set1_epi16(10)));
    let digits = _mm512_or_si512(high, _mm512_slli_epi16::<8>(low));
    _mm512_add_epi8(digits, _mm512_set1_epi8(0x30))
}

/// The rounds of Algorithms 7 and 8.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,vaes,aes,avx2,sse4.1")]
fn feistel<const D: Direction>(
    schedule: &Schedule,
    halves: &[Half32; 2],
    b_bytes: u32,
    blocks: &Blocks,
    a: &mut [__m512i; GROUPS],
    b: &mut [__m512i; GROUPS],
) {
    let moduli = [Modulus::new(halves[0]), Modulus::new(halves[1])];
    for i in 0..10u64 {
        let i = if D { i } else { 9 - i };
        // The index stands in front of NUM(B), in big-endian order.
        let index = (i << (8 * b_bytes)).swap_bytes();
        if i.is_multiple_of(2) {
            round::<D>(schedule, &moduli[0], blocks, index, a, b);
        } else {
            round::<D>(schedule, &moduli[1], blocks, index, b, a);
        }
    }
}

/// One modulus in every lane.
struct Modulus {
    m: __m512i,
    /// `floor(2^52 / m)`.
    reciprocal: __m512i,
}

impl Modulus {
    #[inline]
    #[target_feature(enable = "avx512f")]
    #[expect(clippy::cast_possible_wrap, reason = "bits")]
    fn new(half: Half32) -> Self {
        Self {
            m: _mm512_set1_epi64(half.m as i64),
            reciprocal: _mm512_set1_epi64(((1u64 << 52) / half.m) as i64),
        }
    }
}

/// One round: `x = (x + y) mod m` or `(x - y) mod m`, with `y` from the encrypted `other`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,vaes,aes,avx2,sse4.1")]
#[expect(clippy::cast_possible_wrap, reason = "bits")]
fn round<const D: Direction>(
    schedule: &Schedule,
    modulus: &Modulus,
    blocks: &Blocks,
    index: u64,
    x: &mut [__m512i; GROUPS],
    other: &[__m512i; GROUPS],
) {
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(
        8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
    ));
    let index = _mm512_set1_epi64(index as i64);
    // SAFETY: the slice of eight integers has the 64 bytes that are loaded.
    let load = |x: &[u64]| unsafe { _mm512_loadu_si512(x[..8].as_ptr().cast()) };
    let mut s = [_mm512_setzero_si512(); 2 * GROUPS];
    for g in 0..GROUPS {
        let low = _mm512_xor_si512(load(&blocks.low[8 * g..]), index);
        let low = _mm512_xor_si512(low, _mm512_shuffle_epi8(other[g], swap));
        let high = load(&blocks.high[8 * g..]);
        s[2 * g] = _mm512_unpacklo_epi64(high, low);
        s[2 * g + 1] = _mm512_unpackhi_epi64(high, low);
    }
    encrypt(schedule, &mut s);
    for g in 0..GROUPS {
        let y = _mm512_unpacklo_epi64(s[2 * g], s[2 * g + 1]);
        let r = reduce(_mm512_shuffle_epi8(y, swap), modulus);
        let m = modulus.m;
        x[g] = if D {
            // r < 2 m, so the sum is below 3 m. A negative difference appears as a large integer.
            let sum = _mm512_add_epi64(r, x[g]);
            let sum = _mm512_min_epu64(sum, _mm512_sub_epi64(sum, m));
            _mm512_min_epu64(sum, _mm512_sub_epi64(sum, m))
        } else {
            let r = _mm512_min_epu64(r, _mm512_sub_epi64(r, m));
            let difference = _mm512_sub_epi64(x[g], r);
            _mm512_min_epu64(difference, _mm512_add_epi64(difference, m))
        };
    }
}

/// `y mod m`, or `y mod m + m`, for `m <= 2^32`. It reduces the upper 52 bits of `y` first, then their remainder
/// (below `2^33`) followed by the lower 12 bits. Both quotients are at most one too small.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(y: __m512i, modulus: &Modulus) -> __m512i {
    let Modulus { m, reciprocal } = *modulus;
    let zero = _mm512_setzero_si512();
    let high = _mm512_srli_epi64::<12>(y);
    let q = _mm512_madd52hi_epu64(zero, high, reciprocal);
    let r = _mm512_sub_epi64(high, _mm512_madd52lo_epu64(zero, q, m));
    let low = _mm512_and_si512(y, _mm512_set1_epi64(0xfff));
    let y = _mm512_or_si512(_mm512_slli_epi64::<12>(r), low);
    let q = _mm512_madd52hi_epu64(zero, y, reciprocal);
    _mm512_sub_epi64(y, _mm512_madd52lo_epu64(zero, q, m))
}
