//! Riffpe by its definition: it sorts whole labels. Tests compare all other code of this folder
//! with it. The faster code calls it if labels are shorter than eight bytes or begin alike.

use super::RiffpeX;
use alloc::vec::Vec;
use sordino_aes::Key;
use zeroize::Zeroizing;

/// Encrypts or decrypts digits in place, in the steps of the specification.
pub(super) fn run<const INVERSE: bool>(cipher: &RiffpeX, tweak: &[u8], digits: &mut [u32]) {
    let (key, l) = (&cipher.key, digits.len());
    let iv = mac(key, 0, &prefix(cipher, tweak));
    for step in 0..2 * l {
        let step = if INVERSE { 2 * l - 1 - step } else { step };
        let i = step % l;
        let mut view: Zeroizing<Vec<u8>> = Zeroizing::new(Vec::new());
        for (k, &digit) in digits.iter().enumerate() {
            let digit = if k == i { u32::from(step >= l) } else { digit };
            view.extend_from_slice(&digit.to_le_bytes()[..cipher.width]);
        }
        view.extend_from_slice(&(i as u64).to_le_bytes()[..cipher.width]);
        let s = mac(key, iv, &view);
        let (n, x) = (cipher.bases[i], digits[i]);
        digits[i] = self::step::<INVERSE>(key, s, n, cipher.bytes_per_value, x);
    }
}

/// The bytes whose CBC-MAC is the tweak's state.
fn prefix(cipher: &RiffpeX, tweak: &[u8]) -> Vec<u8> {
    let mut prefix = Vec::new();
    if cipher.uniform {
        prefix.extend_from_slice(&cipher.bases[0].to_le_bytes());
        prefix.extend_from_slice(&(cipher.bases.len() as u64).to_le_bytes()[..4]);
        prefix.extend_from_slice(&(tweak.len() as u64).to_le_bytes());
    } else {
        let bases: Vec<_> = cipher.bases.iter().map(|n| n.to_le_bytes()).collect();
        prefix.extend(bases.join(&b':'));
        prefix.push(b'^');
    }
    prefix.extend_from_slice(tweak);
    prefix
}

/// CBC-MAC with the padding of PKCS #7.
fn mac(key: &Key, iv: u128, message: &[u8]) -> u128 {
    let mut padded: Zeroizing<Vec<u8>> = Zeroizing::new(message.to_vec());
    let pad = 16 - message.len() % 16;
    padded.extend(core::iter::repeat_n(pad.to_le_bytes()[0], pad));
    let (blocks, _) = padded.as_chunks::<16>();
    blocks
        .iter()
        .fold(iv, |s, block| key.block(s ^ u128::from_be_bytes(*block)))
}

/// The card at position `x` of `n` cards sorted by their labels, or with `INVERSE` the position of
/// card `x`. The stream of labels is `E(s)`, `E(E(s))`...
pub(super) fn step<const INVERSE: bool>(
    key: &Key,
    mut s: u128,
    n: u32,
    bytes_per_value: usize,
    x: u32,
) -> u32 {
    let bytes = n as usize * bytes_per_value;
    let mut stream: Zeroizing<Vec<u8>> = Zeroizing::new(Vec::with_capacity(bytes + 16));
    while stream.len() < bytes {
        s = key.block(s);
        stream.extend_from_slice(&s.to_be_bytes());
    }
    let mut cards: Vec<(&[u8], u32)> = stream.chunks(bytes_per_value).zip(0..n).collect();
    cards.sort_unstable();
    if INVERSE {
        let place = cards.iter().zip(0..n).find(|((_, card), _)| *card == x);
        place.map_or(x, |(_, place)| place)
    } else {
        cards[x as usize].1
    }
}
