//! A reader's own pair of keys: X-Wing, which is ML-KEM-768 and X25519 together (draft-connolly-cfrg-xwing-kem).
//! Whoever breaks one of the two alone has nothing.

use std::fmt;

use rand_core::CryptoRng;
use x_wing::{
    DecapsulationKeyRejectNonContrib, Decapsulator, Encapsulate, EncapsulationKey, KeyExport,
    KeyInit, TryDecapsulate,
};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::manifest::CIPHERTEXT_LEN;

/// Bytes of a reader's public key: of ML-KEM-768, then of X25519.
pub const PUBLIC_KEY_LEN: usize = x_wing::ENCAPSULATION_KEY_SIZE;

/// A reader's secret: the seed of its pair of keys.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct ReaderSecret([u8; 32]);

/// The public half of a reader's pair: owners wrap content keys for it.
#[derive(Clone, PartialEq, Eq)]
pub struct ReaderPublicKey(Box<[u8; PUBLIC_KEY_LEN]>);

impl ReaderSecret {
    /// A new pair.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }

    /// The pair that a stored seed stands for.
    #[must_use]
    pub fn from_bytes(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// The seed, to be stored.
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

    /// A function from what was encapsulated for somebody to the shared secret; to another one, or none, if it was not for
    /// this reader.
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
    /// [`Error::Malformed`] if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "reader's public key",
            why: why.to_owned(),
        };
        let bytes: [u8; PUBLIC_KEY_LEN] = bytes
            .try_into()
            .map_err(|_| malformed(&format!("{} bytes, expected {PUBLIC_KEY_LEN}", bytes.len())))?;
        EncapsulationKey::try_from(&bytes[..]).map_err(|_| malformed("no key of X-Wing"))?;
        Ok(Self(Box::new(bytes)))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; PUBLIC_KEY_LEN] {
        &self.0
    }

    /// A shared secret, and the ciphertext by which the reader has it too.
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
            crate::digest::short(&crate::digest::of(&self.0[..]))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{TryCryptoRng, TryRng};
    use std::convert::Infallible;

    /// A generator that gives these bytes.
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
            // Another reader has another secret, not an error: which one it is for shows in what is sealed.
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
        // Coefficients that are not below q.
        assert!(ReaderPublicKey::from_bytes(&[0xff; PUBLIC_KEY_LEN]).is_err());
        assert_eq!(format!("{secret:?}"), "ReaderSecret { .. }");
    }
}
