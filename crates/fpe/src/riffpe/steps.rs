//! All steps of one string or of many, on the quickest backend that the processor has.

use super::{RiffpeX, definition, message::Message, portable8::Eight, select};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use super::{
    avx512::{one, sixteen},
    mac::TweakState,
};
#[cfg(all(feature = "std", target_arch = "x86_64"))]
use sordino_aes::Key;
use sordino_aes::{Aes, LANES, Operation};

impl RiffpeX {
    pub(super) fn run<const INVERSE: bool>(&self, tweak: &[u8], digits: &mut [u32]) {
        let fast = Fast::<INVERSE> {
            cipher: self,
            tweak,
            digits,
        };
        if self.bytes_per_value < 8 {
            // Labels shorter than a machine word collide, so the definition handles them.
            definition::run::<INVERSE>(self, tweak, fast.digits);
            return;
        }
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        if let (Some(token), Key::AesNi(aesni), 16) = (self.one, &self.key, self.bytes_per_value) {
            let iv = self.tweak_state(tweak);
            one::run::<INVERSE>(token, (&self.key, aesni), iv, &self.bases, fast.digits);
            return;
        }
        self.key.run(fast);
    }

    /// The tweak's state, as an integer.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    fn tweak_state(&self, tweak: &[u8]) -> u128 {
        let prefix = self.prefix;
        self.key.run(TweakState { prefix, tweak })
    }

    pub(super) fn run_batch<const INVERSE: bool>(&self, tweak: &[u8], strings: &mut [u32]) {
        let l = self.bases.len();
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let strings = self.sixteens::<INVERSE>(tweak, strings);
        for strings in strings.chunks_mut(l * LANES) {
            let whole = strings.len() == l * LANES && self.fits_eight();
            let eight = Eight::<INVERSE> {
                cipher: self,
                tweak,
                strings: &mut *strings,
            };
            if !(whole && self.key.run(eight)) {
                for string in strings.chunks_mut(l) {
                    self.run::<INVERSE>(tweak, string);
                }
            }
        }
    }

    /// Encrypts or decrypts the strings in groups of sixteen, if the processor has VAES. Returns
    /// the strings that do not fill a group.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    fn sixteens<'a, const INVERSE: bool>(
        &self,
        tweak: &[u8],
        strings: &'a mut [u32],
    ) -> &'a mut [u32] {
        let l = self.bases.len();
        let fits = self.bytes_per_value == 16
            && l <= sixteen::MAX_DIGITS
            && self.bases.iter().all(|&n| n as usize <= sixteen::CARDS);
        let (Some(token), Key::AesNi(key), true) =
            (sordino_cpu::Avx512Vaes::detect(), &self.key, fits)
        else {
            return strings;
        };
        let iv = self.tweak_state(tweak);
        let step = l * sixteen::STRINGS;
        let whole = strings.len() / step * step;
        let (sixteens, rest) = strings.split_at_mut(whole);
        for strings in sixteens.chunks_mut(step) {
            if !sixteen::run::<INVERSE>(token, key, iv, &self.bases, strings) {
                for string in strings.chunks_mut(l) {
                    self.run::<INVERSE>(tweak, string);
                }
            }
        }
        rest
    }
}

/// Runs both phases over all digits, and selects by the first eight bytes of labels.
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
        let iv = cipher.prefix.tweak_state(aes, tweak);
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
                // Two labels have the same first eight bytes, so the definition decides.
                let s = aes.store(s);
                definition::step::<INVERSE>(&cipher.key, s, n, cipher.bytes_per_value, x)
            });
            digits[i] = y;
            message.change(i, f ^ y);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AesKey, AesSize};
    use proptest::prelude::*;
    use sordino_aes::Key;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn every_backend_equals_the_definition(
            key: [u8; 32],
            bytes in prop_oneof![Just(16), Just(24), Just(32)],
            tweak in proptest::collection::vec(any::<u8>(), 0..40),
            bases in prop_oneof![
                proptest::collection::vec(2u32..=16, 1..64),
                proptest::collection::vec(2u32..=48, 1..34),
                proptest::collection::vec(2u32..=60, 1..6),
                proptest::collection::vec(250u32..300, 1..4),
            ],
            width in prop_oneof![3 => Just(16), 1 => 8usize..20],
            seed: u32,
        ) {
            let key = &key[..bytes];
            let size = AesSize::from_bytes(bytes).unwrap();
            let key = &AesKey::from_slice(size, key).unwrap();
            let native = RiffpeX::new(key, &bases).unwrap();
            let native = native.with_bytes_per_value(width).unwrap();
            let mut portable = native.clone();
            portable.key = Key::portable(key.bytes());
            #[cfg(all(feature = "std", target_arch = "x86_64"))]
            let scalar = RiffpeX { one: None, ..native.clone() };
            #[cfg(not(all(feature = "std", target_arch = "x86_64")))]
            let scalar = native.clone();
            let mut random = seed;
            let plain: Vec<u32> = bases.iter().cycle().take(25 * bases.len()).map(|&n| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 8) % n
            }).collect();
            let string = &plain[..bases.len()];
            let (mut hidden, mut shown) = (string.to_vec(), string.to_vec());
            definition::run::<false>(&native, &tweak, &mut hidden);
            definition::run::<true>(&native, &tweak, &mut shown);
            for cipher in [&native, &portable, &scalar] {
                let (mut x, mut y) = (string.to_vec(), string.to_vec());
                cipher.run::<false>(&tweak, &mut x);
                cipher.run::<true>(&tweak, &mut y);
                prop_assert!(x == hidden && y == shown);
            }
            let mut singles = plain.clone();
            for string in singles.chunks_mut(bases.len()) {
                native.run::<false>(&tweak, string);
            }
            // Tests 25 strings as 16, 8 and 1, then 9 as 8 and 1.
            for from in [0, 16] {
                let mut batch = plain[from * bases.len()..].to_vec();
                native.run_batch::<false>(&tweak, &mut batch);
                prop_assert!(batch == singles[from * bases.len()..]);
                native.run_batch::<true>(&tweak, &mut batch);
                prop_assert!(batch == plain[from * bases.len()..]);
            }
            let mut batch = plain[..8 * bases.len()].to_vec();
            portable.run_batch::<false>(&tweak, &mut batch);
            prop_assert!(batch == singles[..8 * bases.len()]);
        }
    }
}
