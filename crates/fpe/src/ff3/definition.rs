//! FF3 and FF3-1 in the steps of SP 800-38G, for tests. All other code of this folder must give the
//! same results.

use crate::{
    AesKey,
    definition::{ciph, mix, num},
    feistel::Direction,
};
use alloc::vec::Vec;
use sordino_aes::Key;

/// Algorithm 9, `FF3.Encrypt(K, T, X)`. Backward it is Algorithm 10, `FF3.Decrypt(K, T, X)`, which
/// runs the rounds from the last to the first and exchanges `A` and `B` in each. With a tweak of
/// seven bytes it is FF3-1, from Revision 1's first draft.
pub(crate) fn ff3<const D: Direction>(k: &AesKey, radix: u32, t: &[u8], x: &[u16]) -> Vec<u16> {
    let k = &Key::portable(k.reversed().bytes());
    let reversed = |x: &[u16]| -> Vec<u16> { x.iter().rev().copied().collect() };
    let n = x.len();
    // 1. u = ceil(n / 2); v = n - u.
    let u = n.div_ceil(2);
    // 2. A = X[1..u]; B = X[u + 1..n].
    let (mut a, mut b) = (x[..u].to_vec(), x[u..].to_vec());
    // 3. T_L = T[0..31]; T_R = T[32..63]. FF3-1: T_L = T[0..27] || 0^4 and
    //    T_R = T[32..55] || T[28..31] || 0^4.
    let (t_l, t_r) = if t.len() == 8 {
        ([t[0], t[1], t[2], t[3]], [t[4], t[5], t[6], t[7]])
    } else {
        (
            [t[0], t[1], t[2], t[3] & 0xf0],
            [t[4], t[5], t[6], t[3] << 4],
        )
    };
    // 4. For i from 0 to 7:
    for i in 0..8u32 {
        let i = if D { i } else { 7 - i };
        let (changed, other) = if D { (&a, &b) } else { (&b, &a) };
        // i. If i is even, m = u and W = T_R, else m = v and W = T_L.
        let w = if i % 2 == 0 { t_r } else { t_l };
        // ii. P = W ^ [i]^4 || [NUM_radix(REV(B))]^12.
        let mut p = (u32::from_be_bytes(w) ^ i).to_be_bytes().to_vec();
        p.extend(num(&reversed(other), radix, 12));
        // iii. S = REVB(CIPH_REVB(K)(REVB(P))).
        p.reverse();
        let mut s = ciph(k, p.try_into().expect("16 bytes"));
        s.reverse();
        // iv. y = NUM(S). v. c = (NUM_radix(REV(A)) + y) mod radix^m. vi. C = REV(STR^m_radix(c)).
        let c = reversed(&mix::<D>(&reversed(changed), &s, radix));
        // vii. A = B. viii. B = C.
        (a, b) = if D { (b, c) } else { (c, a) };
    }
    // 5. Return A || B.
    [a, b].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feistel::{DECRYPT, ENCRYPT};

    /// NIST's sample 1 of FF3.
    #[test]
    fn published_sample() {
        let key = AesKey::new_128(&0xef4359d8d580aa4f7f036d6f04fc6a94_u128.to_be_bytes());
        let tweak = 0xd8e7920afa330a73_u64.to_be_bytes();
        let numerals = |text: &str| -> Vec<u16> {
            let numeral = |c: char| u16::try_from(c.to_digit(10).unwrap()).unwrap();
            text.chars().map(numeral).collect()
        };
        let (plain, cipher) = (
            numerals("890121234567890000"),
            numerals("750918814058654607"),
        );
        assert_eq!(ff3::<ENCRYPT>(&key, 10, &tweak, &plain), cipher);
        assert_eq!(ff3::<DECRYPT>(&key, 10, &tweak, &cipher), plain);
    }
}
