//! Riffpe and RiffpeX, by the reference's source at revision 7d46a7d of 14 December 2025
//! (github.com/filipzz/riffpe): there is no paper, and earlier revisions have other wire formats.
//!
//! | symbol | meaning |
//! |---|---|
//! | `n_i`, `l` | digit `i` is below `n_i`; there are `l` digits |
//! | `w` | bytes that a digit has in a message: 1 below radix 256, 2 below 65536, else 4 |
//! | `T` | the digits but one, and the index of that one, padded as PKCS #7 does |
//! | `bytes_per_value` | bytes of a card's label |
//!
//! Two phases, absorb and squeeze, go over all digits. A digit's step keys a stream of labels
//! by the CBC-MAC of `T`, one label for each of `n_i` cards; the digit selects a card by its
//! place in the order of the labels.

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;
mod bases;
mod definition;
mod select;

use crate::{
    Error, Fpe,
    aes::{Aes, Key, Operation},
};
use alloc::{vec, vec::Vec};
use zeroize::Zeroizing;

pub use bases::find_best_bases;

/// Largest radix of a digit: a step costs one AES block, at least, for each card.
pub const MAX_RIFFPE_RADIX: u32 = 1 << 20;

/// Largest number of bytes per value.
pub const MAX_BYTES_PER_VALUE: usize = 64;

/// Which digit of an integer comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitOrder {
    /// The most significant.
    Big,
    /// The least significant: the default of the reference's command line.
    Little,
}

/// Riffpe: all digits of one radix. See [`RiffpeX`] for what both are and are not.
///
/// ```
/// use sordino_fpe::Riffpe;
///
/// let riffpe = Riffpe::new(&[7; 16], 10, 6)?;
/// let mut digits = [1, 2, 3, 4, 5, 6];
/// riffpe.encrypt(b"tweak", &mut digits)?;
/// riffpe.decrypt(b"tweak", &mut digits)?;
/// assert_eq!(digits, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Riffpe(RiffpeX);

/// RiffpeX: each digit of its own radix.
///
/// # Security
/// A research cipher without a published proof; FF1 is the standard. It is kept for data that
/// was written with it, and as the subject of comparison. What is known is weak where strings
/// are short: the simple argument gives indistinguishability for well below `n^((l - 1) / 2)`
/// messages, some hundreds for six digits of radix 10, and the reference itself calls radix 10
/// potentially insecure. A label of 8 `bytes_per_value` bits makes a permutation of `n` cards
/// uniform but for `n^2 / 2^(8 bytes_per_value + 1)`: few bytes are a biased cipher.
///
/// The tweak of RiffpeX is not separated from its list of radices: use one key for one list.
///
/// Time and memory access do not depend on digits of a radix up to 48; for a larger radix a
/// digit is selected through a table.
#[derive(Clone)]
pub struct RiffpeX {
    key: Key,
    bases: Vec<u32>,
    width: usize,
    bytes_per_value: usize,
    /// All digits of one radix, and the tweak's state as Riffpe has it.
    uniform: bool,
}

impl core::fmt::Debug for RiffpeX {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RiffpeX")
            .field("bases", &self.bases)
            .field("bytes_per_value", &self.bytes_per_value)
            .finish_non_exhaustive()
    }
}

impl Riffpe {
    /// `digits` digits of radix `radix`, 16 bytes per value, AES by the length of the key.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Radix`], [`Error::Length`].
    pub fn new(key: &[u8], radix: u32, digits: usize) -> Result<Self, Error> {
        let most = check_shape(radix, radix, digits);
        let width = most?;
        Ok(Self(RiffpeX {
            key: Key::new(key)?,
            bases: vec![radix; digits],
            width,
            bytes_per_value: 16,
            uniform: true,
        }))
    }

    /// With labels of this many bytes.
    ///
    /// # Errors
    /// [`Error::BytesPerValue`] for 0 or more than [`MAX_BYTES_PER_VALUE`].
    pub fn with_bytes_per_value(self, bytes_per_value: usize) -> Result<Self, Error> {
        self.0.with_bytes_per_value(bytes_per_value).map(Self)
    }

    /// Encrypts digits in place. On an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`].
    pub fn encrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.0.encrypt(tweak, digits)
    }

    /// Decrypts digits in place. On an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`].
    pub fn decrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.0.decrypt(tweak, digits)
    }

    /// Encrypts strings of digits that lie one after another, many at once. The result equals
    /// [`Riffpe::encrypt`] of each. On an error all are unchanged.
    ///
    /// # Errors
    /// [`Error::Batch`] if the strings are not whole, [`Error::Numeral`].
    pub fn encrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.0.encrypt_batch(tweak, strings)
    }

    /// The inverse of [`Riffpe::encrypt_batch`].
    ///
    /// # Errors
    /// As [`Riffpe::encrypt_batch`].
    pub fn decrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.0.decrypt_batch(tweak, strings)
    }

    /// Encrypts an integer below `radix^digits`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Domain`] where `radix^digits` is above `2^128`.
    pub fn encrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.0.encrypt_integer(tweak, x, order)
    }

    /// Decrypts an integer below `radix^digits`.
    ///
    /// # Errors
    /// As [`Riffpe::encrypt_integer`].
    pub fn decrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        self.0.decrypt_integer(tweak, x, order)
    }
}

/// The width of a digit, for digits of radices between `least` and `most`.
fn check_shape(least: u32, most: u32, digits: usize) -> Result<usize, Error> {
    for radix in [least, most] {
        if !(2..=MAX_RIFFPE_RADIX).contains(&radix) {
            return Err(Error::Radix {
                found: radix,
                min: 2,
                max: MAX_RIFFPE_RADIX,
            });
        }
    }
    let (width, max) = match most {
        0..256 => (1, 1 << 8),
        256..65536 => (2, 1 << 16),
        // The reference would take 2^32; this is more than a machine can work through.
        _ => (4, 1 << 20),
    };
    // The index of a digit must fit in a digit's width, or two digits would share a step.
    if !(1..=max).contains(&digits) {
        return Err(Error::Length {
            found: digits,
            min: 1,
            max,
        });
    }
    Ok(width)
}

impl RiffpeX {
    /// One digit for each of `bases`, 16 bytes per value, AES by the length of the key.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Radix`], [`Error::Length`].
    pub fn new(key: &[u8], bases: &[u32]) -> Result<Self, Error> {
        let least = bases.iter().copied().min().unwrap_or(2);
        let most = bases.iter().copied().max().unwrap_or(2);
        let width = check_shape(least, most, bases.len())?;
        Ok(Self {
            key: Key::new(key)?,
            bases: bases.to_vec(),
            width,
            bytes_per_value: 16,
            uniform: false,
        })
    }

    /// With labels of this many bytes.
    ///
    /// # Errors
    /// [`Error::BytesPerValue`] for 0 or more than [`MAX_BYTES_PER_VALUE`].
    pub fn with_bytes_per_value(mut self, bytes_per_value: usize) -> Result<Self, Error> {
        if !(1..=MAX_BYTES_PER_VALUE).contains(&bytes_per_value) {
            return Err(Error::BytesPerValue {
                found: bytes_per_value,
                max: MAX_BYTES_PER_VALUE,
            });
        }
        self.bytes_per_value = bytes_per_value;
        Ok(self)
    }

    /// The radices of the digits.
    #[must_use]
    pub fn bases(&self) -> &[u32] {
        &self.bases
    }

    /// Encrypts digits in place. On an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`].
    pub fn encrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.check(digits)?;
        self.run::<false>(tweak, digits);
        Ok(())
    }

    /// Decrypts digits in place. On an error they are unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`].
    pub fn decrypt(&self, tweak: &[u8], digits: &mut [u32]) -> Result<(), Error> {
        self.check(digits)?;
        self.run::<true>(tweak, digits);
        Ok(())
    }

    /// Encrypts strings of digits that lie one after another, many at once. The result equals
    /// [`RiffpeX::encrypt`] of each. On an error all are unchanged.
    ///
    /// # Errors
    /// [`Error::Batch`] if the strings are not whole, [`Error::Numeral`].
    pub fn encrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.check_batch(strings)?;
        self.run_batch::<false>(tweak, strings);
        Ok(())
    }

    /// The inverse of [`RiffpeX::encrypt_batch`].
    ///
    /// # Errors
    /// As [`RiffpeX::encrypt_batch`].
    pub fn decrypt_batch(&self, tweak: &[u8], strings: &mut [u32]) -> Result<(), Error> {
        self.check_batch(strings)?;
        self.run_batch::<true>(tweak, strings);
        Ok(())
    }

    fn check_batch(&self, strings: &[u32]) -> Result<(), Error> {
        let l = self.bases.len();
        if !strings.len().is_multiple_of(l) {
            return Err(Error::Batch {
                found: strings.len(),
                expected: strings.len().next_multiple_of(l),
            });
        }
        let bad = |(x, n): (&u32, &u32)| x >= n;
        match strings.iter().zip(self.bases.iter().cycle()).position(bad) {
            Some(index) => Err(Error::Numeral { index }),
            None => Ok(()),
        }
    }

    fn run_batch<const INVERSE: bool>(&self, tweak: &[u8], strings: &mut [u32]) {
        let l = self.bases.len();
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let strings = self.wide::<INVERSE>(tweak, strings);
        for string in strings.chunks_mut(l) {
            self.run::<INVERSE>(tweak, string);
        }
    }

    /// As many strings as go in whole steps of AVX-512, where there is VAES; returns the others.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    fn wide<'a, const INVERSE: bool>(&self, tweak: &[u8], strings: &'a mut [u32]) -> &'a mut [u32] {
        let l = self.bases.len();
        let fits = self.bytes_per_value == 16
            && l <= avx512::MAX_DIGITS
            && self.bases.iter().all(|&n| n as usize <= avx512::CARDS);
        let (Some(token), Key::AesNi(key), true) =
            (sordino_cpu::Avx512Vaes::detect(), &self.key, fits)
        else {
            return strings;
        };
        let iv = self.key.run(TweakState {
            cipher: self,
            tweak,
        });
        let step = l * avx512::STRINGS;
        let whole = strings.len() / step * step;
        let (wide, rest) = strings.split_at_mut(whole);
        for strings in wide.chunks_mut(step) {
            if !avx512::run::<INVERSE>(token, key, iv, &self.bases, strings) {
                for string in strings.chunks_mut(l) {
                    self.run::<INVERSE>(tweak, string);
                }
            }
        }
        rest
    }

    /// Encrypts an integer below the product of the bases.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Domain`] where the product is above `2^128`.
    pub fn encrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        let mut digits = self.digits(x, order)?;
        self.run::<false>(tweak, &mut digits);
        Ok(self.integer(&digits, order))
    }

    /// Decrypts an integer below the product of the bases.
    ///
    /// # Errors
    /// As [`RiffpeX::encrypt_integer`].
    pub fn decrypt_integer(&self, tweak: &[u8], x: u128, order: DigitOrder) -> Result<u128, Error> {
        let mut digits = self.digits(x, order)?;
        self.run::<true>(tweak, &mut digits);
        Ok(self.integer(&digits, order))
    }

    fn check(&self, digits: &[u32]) -> Result<(), Error> {
        let l = self.bases.len();
        if digits.len() != l {
            return Err(Error::Length {
                found: digits.len(),
                min: l,
                max: l,
            });
        }
        let bad = |(x, n): (&u32, &u32)| x >= n;
        match digits.iter().zip(&self.bases).position(bad) {
            Some(index) => Err(Error::Numeral { index }),
            None => Ok(()),
        }
    }

    /// The digits of an integer: mixed radix, `order` telling which digit is first.
    fn digits(&self, mut x: u128, order: DigitOrder) -> Result<Zeroizing<Vec<u32>>, Error> {
        let mut digits = Zeroizing::new(vec![0; self.bases.len()]);
        // That no integer is meant twice: the product may be 2^128 itself, not more.
        let product = self.bases.iter().try_fold(1u128, |last, &n| {
            // `last` is the product so far minus one, plus one where it fits.
            last.checked_mul(n.into())
        });
        if product.is_none() && !self.is_power_128() {
            return Err(Error::Domain {
                found: u128::MAX,
                min: 1,
                max: u128::MAX,
            });
        }
        let mut put = |digit: &mut u32, n: u32| {
            *digit = u32::try_from(x % u128::from(n)).unwrap_or_default();
            x /= u128::from(n);
        };
        let pairs = digits.iter_mut().zip(&self.bases);
        match order {
            DigitOrder::Little => pairs.for_each(|(digit, &n)| put(digit, n)),
            DigitOrder::Big => pairs.rev().for_each(|(digit, &n)| put(digit, n)),
        }
        if x == 0 {
            Ok(digits)
        } else {
            Err(Error::OutOfRange)
        }
    }

    /// Whether the product of the bases is exactly `2^128`.
    fn is_power_128(&self) -> bool {
        let bits: u32 = self.bases.iter().map(|n| n.trailing_zeros()).sum();
        bits == 128 && self.bases.iter().all(|n| n.is_power_of_two())
    }

    fn integer(&self, digits: &[u32], order: DigitOrder) -> u128 {
        let add = |x: u128, (&digit, &n): (&u32, &u32)| x * u128::from(n) + u128::from(digit);
        let pairs = digits.iter().zip(&self.bases);
        match order {
            DigitOrder::Big => pairs.fold(0, add),
            DigitOrder::Little => pairs.rev().fold(0, add),
        }
    }

    fn run<const INVERSE: bool>(&self, tweak: &[u8], digits: &mut [u32]) {
        let fast = Fast::<INVERSE> {
            cipher: self,
            tweak,
            digits,
        };
        if self.bytes_per_value < 8 {
            // Labels shorter than a machine word collide: by the definition.
            definition::run::<INVERSE>(self, tweak, fast.digits);
        } else {
            self.key.run(fast);
        }
    }

    /// The tweak's state: the CBC-MAC of radices, digits and tweak.
    #[inline(always)]
    fn tweak_state<A: Aes>(&self, aes: A, tweak: &[u8]) -> A::Block {
        let mut mac = Mac::new(aes, aes.load(0));
        let l = self.bases.len();
        if self.uniform {
            mac.absorb(&self.bases[0].to_le_bytes());
            mac.absorb(&(l as u64).to_le_bytes()[..4]);
            mac.absorb(&(tweak.len() as u64).to_le_bytes());
        } else {
            for (i, n) in self.bases.iter().enumerate() {
                mac.absorb(&n.to_le_bytes());
                mac.absorb(if i + 1 < l { b":" } else { b"^" });
            }
        }
        mac.absorb(tweak);
        mac.finish()
    }
}

/// The tweak's state, as an integer.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
struct TweakState<'a> {
    cipher: &'a RiffpeX,
    tweak: &'a [u8],
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
impl Operation for TweakState<'_> {
    type Output = u128;

    #[inline(always)]
    fn run<A: Aes>(self, aes: A) -> u128 {
        aes.store(self.cipher.tweak_state(aes, self.tweak))
    }
}

impl Fpe for Riffpe {
    fn radix(&self) -> u32 {
        self.0.bases[0]
    }
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        numerals(x, |digits| self.encrypt(tweak, digits))
    }
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error> {
        numerals(x, |digits| self.decrypt(tweak, digits))
    }
}

fn numerals(
    x: &mut [u16],
    cipher: impl FnOnce(&mut [u32]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut digits: Zeroizing<Vec<u32>> = Zeroizing::new(x.iter().map(|&x| x.into()).collect());
    cipher(&mut digits)?;
    for (x, &digit) in x.iter_mut().zip(digits.iter()) {
        // A radix above 65536 may give digits that no numeral holds: then nothing is changed.
        *x = u16::try_from(digit).map_err(|_| Error::OutOfRange)?;
    }
    Ok(())
}

/// CBC-MAC with the padding of PKCS #7.
struct Mac<A: Aes> {
    aes: A,
    state: A::Block,
    /// Bytes of the block that is not yet whole, the first most significant.
    block: u128,
    len: u32,
}

impl<A: Aes> Mac<A> {
    #[inline(always)]
    fn new(aes: A, state: A::Block) -> Self {
        Self {
            aes,
            state,
            block: 0,
            len: 0,
        }
    }

    #[inline(always)]
    fn absorb(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.block = (self.block << 8) | u128::from(byte);
            self.len += 1;
            if self.len == 16 {
                let x = self.aes.xor(self.state, self.aes.load(self.block));
                self.state = self.aes.encrypt(x);
                (self.block, self.len) = (0, 0);
            }
        }
    }

    #[inline(always)]
    fn finish(mut self) -> A::Block {
        let pad = 16 - self.len;
        for _ in 0..pad {
            self.block = (self.block << 8) | u128::from(pad);
        }
        let x = self.aes.xor(self.state, self.aes.load(self.block));
        self.aes.encrypt(x)
    }
}

/// The message `T` of a step, as blocks of big-endian integers.
struct Message {
    blocks: Zeroizing<Vec<u128>>,
    width: usize,
}

impl Message {
    #[expect(clippy::cast_possible_truncation, reason = "the padding is below 17")]
    fn new(digits: &[u32], width: usize) -> Self {
        let bytes = width * (digits.len() + 1);
        let pad = 16 - bytes % 16;
        let mut message = Self {
            blocks: Zeroizing::new(vec![0; (bytes + pad) / 16]),
            width,
        };
        for at in bytes..bytes + pad {
            message.blocks[at / 16] |= (pad as u128) << (8 * (15 - at % 16));
        }
        for (i, &digit) in digits.iter().enumerate() {
            message.change(i, digit);
        }
        debug_assert!(pad as u32 <= 16);
        message
    }

    /// Adds `delta` by XOR to item `i`, a little-endian integer.
    #[inline(always)]
    fn change(&mut self, i: usize, delta: u32) {
        let at = self.width * i;
        let delta = u128::from(delta.swap_bytes() >> (32 - 8 * self.width));
        self.blocks[at / 16] ^= delta << (8 * (16 - self.width - at % 16));
    }
}

/// Both phases over all digits, selection by the first eight bytes of labels.
struct Fast<'a, const INVERSE: bool> {
    cipher: &'a RiffpeX,
    tweak: &'a [u8],
    digits: &'a mut [u32],
}

impl<const INVERSE: bool> Operation for Fast<'_, INVERSE> {
    type Output = ();

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are at most 2^20 digits"
    )]
    fn run<A: Aes>(self, aes: A) {
        let Self {
            cipher,
            tweak,
            digits,
        } = self;
        let iv = cipher.tweak_state(aes, tweak);
        let l = digits.len();
        let mut message = Message::new(digits, cipher.width);
        let mut index = 0u32;
        let mut scratch = select::Scratch::default();
        for step in 0..2 * l {
            let step = if INVERSE { 2 * l - 1 - step } else { step };
            let (f, i) = ((step >= l) as u32, step % l);
            let x = digits[i];
            message.change(i, x ^ f);
            message.change(l, index ^ i as u32);
            index = i as u32;
            let mut s = iv;
            for &block in message.blocks.iter() {
                s = aes.encrypt(aes.xor(s, aes.load(block)));
            }
            let labels = select::Labels::new(aes, s, cipher.bytes_per_value);
            let n = cipher.bases[i];
            let y = select::select::<A, INVERSE>(labels, n, x, &mut scratch).unwrap_or_else(|| {
                // Two labels have the same first eight bytes.
                let s = aes.store(s);
                definition::step::<INVERSE>(&cipher.key, s, n, cipher.bytes_per_value, x)
            });
            digits[i] = y;
            message.change(i, f ^ y);
        }
    }
}
