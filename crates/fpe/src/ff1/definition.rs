//! FF1 in the steps of SP 800-38G, for tests. All other code of this folder must give the same
//! results.

use crate::{
    AesKey,
    definition::{bytes, ciph, mix, num, prf},
    feistel::Direction,
};
use alloc::vec::Vec;
use sordino_aes::Key;

/// Algorithm 7, `FF1.Encrypt(K, T, X)`. Backward it is Algorithm 8, `FF1.Decrypt(K, T, X)`, which
/// runs the rounds from the last to the first and exchanges `A` and `B` in each.
pub(crate) fn ff1<const D: Direction>(k: &AesKey, radix: u32, t: &[u8], x: &[u16]) -> Vec<u16> {
    let k = &Key::portable(k.bytes());
    let n = x.len();
    // 1. u = floor(n / 2); v = n - u.
    let (u, v) = (n / 2, n - n / 2);
    // 2. A = X[1..u]; B = X[u + 1..n].
    let (mut a, mut b) = (x[..u].to_vec(), x[u..].to_vec());
    // 3. b = ceil(ceil(v LOG(radix)) / 8).
    let b_bytes = bytes(radix, v);
    // 4. d = 4 ceil(b / 4) + 4.
    let d = 4 * b_bytes.div_ceil(4) + 4;
    // 5. P = [1] || [2] || [1] || [radix]^3 || [10] || [u mod 256] || [n]^4 || [t]^4.
    let mut p = [&[1, 2, 1][..], &radix.to_be_bytes()[1..], &[10]].concat();
    p.push(u.to_le_bytes()[0]);
    p.extend(&n.to_be_bytes()[4..]);
    p.extend(&t.len().to_be_bytes()[4..]);
    // 6. For i from 0 to 9:
    for i in 0..10 {
        let i = if D { i } else { 9 - i };
        let (changed, other) = if D { (&a, &b) } else { (&b, &a) };
        // i. Q = T || [0]^((-t - b - 1) mod 16) || [i] || [NUM_radix(B)]^b.
        let mut q = t.to_vec();
        while !(q.len() + b_bytes + 1).is_multiple_of(16) {
            q.push(0);
        }
        q.push(i);
        q.extend(num(other, radix, b_bytes));
        // ii. R = PRF(P || Q).
        let r = prf(k, &[&p[..], &q].concat());
        // iii. S = the first d bytes of R || CIPH_K(R ^ [1]^16) || CIPH_K(R ^ [2]^16) ...
        let blocks = (1u128..).map(|j| ciph(k, (u128::from_be_bytes(r) ^ j).to_be_bytes()));
        let s: Vec<u8> = r.into_iter().chain(blocks.flatten()).take(d).collect();
        // iv. y = NUM(S). v. m = u if i is even, else v.
        // vi. c = (NUM_radix(A) + y) mod radix^m. vii. C = STR^m_radix(c).
        debug_assert_eq!(changed.len(), if i % 2 == 0 { u } else { v });
        let c = mix::<D>(changed, &s, radix);
        // viii. A = B. ix. B = C.
        (a, b) = if D { (b, c) } else { (c, a) };
    }
    // 7. Return A || B.
    [a, b].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feistel::{DECRYPT, ENCRYPT};

    /// NIST's samples 1 and 3 of FF1.
    #[test]
    fn published_samples() {
        let key = AesKey::new_128(&0x2b7e151628aed2a6abf7158809cf4f3c_u128.to_be_bytes());
        let numerals = |text: &str| -> Vec<u16> {
            let numeral = |c: char| u16::try_from(c.to_digit(36).unwrap()).unwrap();
            text.chars().map(numeral).collect()
        };
        for (radix, tweak, plain, cipher) in [
            (10, &b""[..], "0123456789", "2433477484"),
            (
                36,
                b"7777pqrs777",
                "0123456789abcdefghi",
                "a9tv40mll9kdu509eum",
            ),
        ] {
            let (plain, cipher) = (numerals(plain), numerals(cipher));
            assert_eq!(ff1::<ENCRYPT>(&key, radix, tweak, &plain), cipher);
            assert_eq!(ff1::<DECRYPT>(&key, radix, tweak, &cipher), plain);
        }
    }
}
