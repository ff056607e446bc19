//! Riffpe on eight strings in step, for radices up to 48 and labels of whole blocks. This code is portable. It helps on
//! every processor that encrypts several AES blocks together faster than one by one. Loops go over arrays of eight
//! lanes, which compilers turn into vector instructions.

use super::{
    RiffpeX,
    message::Message,
    select::{SMALL, erase},
};
use alloc::vec::Vec;
use sordino_aes::{Aes, LANES, Operation};
use zeroize::Zeroizing;

/// One number for each string.
type Lanes = [i32; LANES];

impl RiffpeX {
    /// True if eight strings can run in step.
    pub(super) fn fits_eight(&self) -> bool {
        self.bytes_per_value == 16 && self.bases.iter().all(|&n| n <= SMALL)
    }
}

/// Runs both phases over all digits of eight strings that lie one after another. If the label that a step selects has
/// the same first four bytes as another label, the function changes nothing and returns false. This happens about once
/// in some hundred thousand calls.
pub(super) struct Eight<'a, const INVERSE: bool> {
    pub(super) cipher: &'a RiffpeX,
    pub(super) tweak: &'a [u8],
    pub(super) strings: &'a mut [u32],
}

impl<const INVERSE: bool> Operation for Eight<'_, INVERSE> {
    type Output = bool;

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "digits are below 48, and at most 256 in number"
    )]
    fn run<A: Aes>(self, aes: A) -> bool {
        let Self {
            cipher,
            tweak,
            strings,
        } = self;
        let l = cipher.bases.len();
        let iv = cipher.prefix.tweak_state(aes, tweak);
        let mut digits: Zeroizing<Vec<u32>> = Zeroizing::new(strings.to_vec());
        let mut messages: Vec<Message> = Vec::with_capacity(LANES);
        for string in digits.chunks(l) {
            messages.push(Message::new(string, cipher.width));
        }
        let blocks = messages[0].blocks.len();
        let mut index = 0u32;
        for step in 0..2 * l {
            let step = if INVERSE { 2 * l - 1 - step } else { step };
            let (f, i) = ((step >= l) as u32, step % l);
            let mut x = [0; LANES];
            for (k, message) in messages.iter_mut().enumerate() {
                let digit = digits[k * l + i];
                x[k] = digit as i32;
                message.change(i, digit ^ f);
                message.change(l, index ^ i as u32);
            }
            index = i as u32;
            let mut s = [iv; LANES];
            for block in 0..blocks {
                for (s, message) in s.iter_mut().zip(&messages) {
                    *s = aes.xor(*s, aes.load(message.blocks[block]));
                }
                s = aes.encrypt8(s);
            }
            let Some(y) = select::<A, INVERSE>(aes, s, cipher.bases[i] as usize, x) else {
                return false;
            };
            for (k, message) in messages.iter_mut().enumerate() {
                digits[k * l + i] = y[k] as u32;
                message.change(i, f ^ y[k] as u32);
            }
        }
        strings.copy_from_slice(&digits);
        true
    }
}

/// The card at position `x` of `n` sorted cards, or with `INVERSE` the position of card `x`, found by the first four
/// bytes of the labels. `None` if these bytes do not decide.
#[inline(always)]
fn select<A: Aes, const INVERSE: bool>(
    aes: A,
    mut s: [A::Block; LANES],
    n: usize,
    x: Lanes,
) -> Option<Lanes> {
    let mut keys = [[0i32; LANES]; SMALL as usize];
    let mut places = [[0i32; LANES]; SMALL as usize];
    for j in 0..n {
        s = aes.encrypt8(s);
        let (mut key, mut place) = ([0; LANES], [0; LANES]);
        for (key, &s) in key.iter_mut().zip(&s) {
            // Flips the top bit, so that signed integers sort like the labels.
            *key = ((aes.high(s) >> 32) as u32 ^ (1 << 31)).cast_signed();
        }
        for (old, moved) in keys[..j].iter().zip(&mut places[..j]) {
            for lane in 0..LANES {
                // Every card above the new one moves up. The new one is above all other cards.
                let moves = i32::from(key[lane] < old[lane]);
                moved[lane] += moves;
                place[lane] += 1 - moves;
            }
        }
        keys[j] = key;
        places[j] = place;
    }
    let (mut y, mut mine) = ([0; LANES], [0; LANES]);
    for (card, (key, place)) in (0i32..).zip(keys[..n].iter().zip(&places)) {
        for lane in 0..LANES {
            let (at, value) = if INVERSE {
                (card, place[lane])
            } else {
                (place[lane], card)
            };
            let here = -i32::from(at == x[lane]);
            y[lane] |= value & here;
            mine[lane] |= key[lane] & here;
        }
    }
    // A position is right if no other card's label begins with the same bytes.
    let mut same = [0; LANES];
    for key in &keys[..n] {
        for lane in 0..LANES {
            same[lane] += i32::from(key[lane] == mine[lane]);
        }
    }
    erase(&mut keys[..n]);
    erase(&mut places[..n]);
    (same == [1; LANES]).then_some(y)
}
