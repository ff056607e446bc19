//! A reader's own pair of keys. It is X-Wing, a combination of ML-KEM-768 and X25519 (draft-connolly-cfrg-xwing-kem).
//! An attacker must break both of them.

use std::fmt;

use rand_core::CryptoRng;
use x_wing::{
    DecapsulationKeyRejectNonContrib, Decapsulator, Encapsulate, EncapsulationKey, KeyExport,
    KeyInit, TryDecapsulate,
};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use sordino_index::Error;
use sordino_index::manifest::CIPHERTEXT_LEN;

/// The size in bytes of a reader's public key: the key of ML-KEM-768, then the key of X25519.
pub const PUBLIC_KEY_LEN: usize = x_wing::ENCAPSULATION_KEY_SIZE;

/// The size in bytes of the key of X25519, its second half.
const X25519_LEN: usize = 32;

/// A reader's secret: the seed of its pair of keys.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ReaderSecret([u8; 32]);

/// The public half of a reader's pair. Owners wrap content keys for it.
#[derive(Clone, PartialEq, Eq)]
pub struct ReaderPublicKey(Box<[u8; PUBLIC_KEY_LEN]>);

impl ReaderSecret {
    /// A new pair, from a hash of 32 bytes of `rng`. A program that sees the same bytes elsewhere does not learn the
    /// pair.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut drawn = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *drawn);
        Self(blake3::derive_key("sordino 2026 new reader", &*drawn))
    }

    /// The pair of a stored seed.
    #[must_use]
    pub fn from_bytes(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// The seed, so that the caller can store it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> ReaderPublicKey {
        let pair = self.pair();
        let mut bytes = Box::new([0; PUBLIC_KEY_LEN]);
        bytes.copy_from_slice(&pair.encapsulation_key().to_bytes());
        ReaderPublicKey(bytes)
    }

    /// Maps a ciphertext to the secret that it shares with this reader. If the ciphertext is for another reader, the
    /// secret differs, or there is none.
    pub(crate) fn decapsulator(
        &self,
    ) -> impl Fn(&[u8; CIPHERTEXT_LEN]) -> Option<Zeroizing<[u8; 32]>> + use<> {
        let pair = self.pair();
        move |ciphertext| {
            let mut shared = pair.try_decapsulate(&(*ciphertext).into()).ok()?;
            let kept = Zeroizing::new(shared.0);
            shared.0.zeroize();
            Some(kept)
        }
    }

    fn pair(&self) -> DecapsulationKeyRejectNonContrib {
        DecapsulationKeyRejectNonContrib::new(&self.0.into())
    }
}

impl ReaderPublicKey {
    /// The key of these bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the bytes are not a public key, or the key would protect nothing. The half of X25519 may
    /// be of low order: the agreed secret is then zero for every other side. Or it may have an encoding that no pair of
    /// keys has, so that the pair could not open what is wrapped for it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "reader's public key",
            why: why.to_owned(),
        };
        let bytes: [u8; PUBLIC_KEY_LEN] = bytes
            .try_into()
            .map_err(|_| malformed(&format!("{} bytes, expected {PUBLIC_KEY_LEN}", bytes.len())))?;
        EncapsulationKey::try_from(&bytes[..]).map_err(|_| malformed("no key of X-Wing"))?;
        let mut half = [0; X25519_LEN];
        half.copy_from_slice(&bytes[PUBLIC_KEY_LEN - X25519_LEN..]);
        if !is_reduced(&half) {
            return Err(malformed("its X25519 half is not below 2^255 - 19"));
        }
        // Scalars are multiples of the cofactor, so the result for one scalar holds for all.
        let agreed = StaticSecret::from([1; X25519_LEN]).diffie_hellman(&PublicKey::from(half));
        if !agreed.was_contributory() {
            return Err(malformed(
                "its X25519 half is of low order: no secret could be agreed on with it",
            ));
        }
        Ok(Self(Box::new(bytes)))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; PUBLIC_KEY_LEN] {
        &self.0
    }

    /// A shared secret, and the ciphertext from which the reader gets it.
    ///
    /// The reader learns 32 of the 64 drawn bytes, since ML-KEM's decapsulation gives them. So `rng` must be a
    /// generator that nothing else uses.
    pub(crate) fn encapsulate<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
    ) -> ([u8; CIPHERTEXT_LEN], Zeroizing<[u8; 32]>) {
        let key = EncapsulationKey::try_from(&self.0[..]).expect("it was one when it was read");
        let (ciphertext, mut shared) = key.encapsulate_with_rng(rng);
        let kept = Zeroizing::new(shared.0);
        shared.0.zeroize();
        (ciphertext.0, kept)
    }
}

/// True for a number below 2^255 - 19, little-endian.
fn is_reduced(number: &[u8; X25519_LEN]) -> bool {
    let [first, between @ .., last] = number;
    let large = *last == 0x7f && between.iter().all(|byte| *byte == 0xff) && *first >= 0xed;
    *last < 0x80 && !large
}

impl fmt::Debug for ReaderSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderSecret").finish_non_exhaustive()
    }
}

impl fmt::Debug for ReaderPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ReaderPublicKey({})",
            sordino_index::digest::short(&sordino_index::digest::of(&self.0[..]))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{TryCryptoRng, TryRng};
    use std::convert::Infallible;

    /// A generator that yields these bytes.
    struct Bytes(Vec<u8>);

    impl TryRng for Bytes {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            panic!("bytes alone")
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            panic!("bytes alone")
        }

        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
            let rest = self.0.split_off(out.len());
            out.copy_from_slice(&self.0);
            self.0 = rest;
            Ok(())
        }
    }

    impl TryCryptoRng for Bytes {}

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    #[test]
    fn the_published_vectors_of_x_wing() {
        let vectors = include_str!("../tests/xwing.csv").lines();
        let vectors = vectors.filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for line in vectors {
            let fields: Vec<Vec<u8>> = line.split(',').map(bytes).collect();
            let [seed, randomness, shared, public, ciphertext] = &fields[..] else {
                panic!("five fields");
            };
            let secret = ReaderSecret::from_bytes(seed[..].try_into().unwrap());
            assert_eq!(secret.public().as_bytes()[..], public[..]);
            let key = ReaderPublicKey::from_bytes(public).unwrap();
            let (sent, kept) = key.encapsulate(&mut Bytes(randomness.clone()));
            assert_eq!((&sent[..], &kept[..]), (&ciphertext[..], &shared[..]));
            let opened = secret.decapsulator()(&sent).unwrap();
            assert_eq!(opened[..], shared[..]);
            // Another reader gets another secret, not an error. The sealed content then shows that the entry is for a
            // different reader.
            let other = ReaderSecret::from_bytes([1; 32]).decapsulator()(&sent).unwrap();
            assert_ne!(other[..], shared[..]);
            count += 1;
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn no_key_is_refused_and_no_secret_is_printed() {
        let secret = ReaderSecret::from_bytes([5; 32]);
        let public = secret.public();
        assert_eq!(
            ReaderPublicKey::from_bytes(public.as_bytes()).unwrap(),
            public
        );
        for len in [0, 32, PUBLIC_KEY_LEN - 1] {
            assert!(ReaderPublicKey::from_bytes(&public.as_bytes()[..len]).is_err());
        }
        // A key is refused if its coefficients are not below q.
        assert!(ReaderPublicKey::from_bytes(&[0xff; PUBLIC_KEY_LEN]).is_err());
        assert_eq!(format!("{secret:?}"), "ReaderSecret { .. }");
    }

    /// All points of order 8 or less on the curve or its twist: 0, 1, two points of order 8, and -1.
    const LOW: [&str; 5] = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ];
    /// The other encodings in the list that Bernstein published (cr.yp.to/ecdh.html), for implementations that read 256
    /// bits.
    const ABOVE: [&str; 7] = [
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "cdeb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880",
        "4c9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7",
        "d9ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "daffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "dbffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];

    /// A public key with this second half.
    fn with_half(half: &[u8]) -> Vec<u8> {
        let mut bytes = ReaderSecret::from_bytes([5; 32])
            .public()
            .as_bytes()
            .to_vec();
        bytes[PUBLIC_KEY_LEN - X25519_LEN..].copy_from_slice(half);
        bytes
    }

    fn refusal(half: &[u8]) -> Option<String> {
        let refused = ReaderPublicKey::from_bytes(&with_half(half)).err()?;
        Some(refused.to_string())
    }

    #[test]
    fn halves_of_low_order_are_refused() {
        let pair = ReaderSecret::from_bytes([5; 32]);
        let (sent, _) = pair.public().encapsulate(&mut Bytes(vec![3; 64]));
        for low in LOW.map(bytes) {
            assert!(refusal(&low).unwrap().contains("low order"), "{low:x?}");
            // The reader itself detects, by its own scalar, that no secret was agreed on.
            let mut forced = sent;
            forced[CIPHERTEXT_LEN - X25519_LEN..].copy_from_slice(&low);
            assert!(pair.decapsulator()(&forced).is_none());
            // X25519 ignores the highest bit, so this is the same point.
            let mut high = low.clone();
            high[31] |= 0x80;
            assert!(refusal(&high).unwrap().contains("2^255 - 19"), "{high:x?}");
        }
        for above in ABOVE.map(bytes) {
            assert!(
                refusal(&above).unwrap().contains("2^255 - 19"),
                "{above:x?}"
            );
        }
    }

    #[test]
    fn halves_of_pairs_and_the_neighbours_of_low_ones_pass() {
        for seed in 0..50 {
            let public = ReaderSecret::from_bytes([seed; 32]).public();
            assert_eq!(
                ReaderPublicKey::from_bytes(public.as_bytes()).unwrap(),
                public
            );
            // The same point with another encoding would be a different reader on a list.
            let mut high = public.as_bytes().to_vec();
            high[PUBLIC_KEY_LEN - 1] |= 0x80;
            assert!(ReaderPublicKey::from_bytes(&high).is_err());
        }
        // The points 2, 9 and -2 do not have a low order, so they are accepted.
        for first in [2, 9] {
            let mut half = [0; 32];
            half[0] = first;
            assert_eq!(refusal(&half), None);
        }
        let mut half = bytes(LOW[4]);
        half[0] -= 1;
        assert_eq!(refusal(&half), None);
    }
}
