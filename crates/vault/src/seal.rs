//! AES-256-GCM for the parts of an index. Each seal is bound to the part's place.

use aes::Aes256;
use aes_gcm::aead::{Aead, AeadInOut, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use ctr::Ctr32BE;
use ctr::cipher::{KeyIvInit, StreamCipher};

use crate::purpose::Purpose;
use sordino_index::TAG_LEN;

/// The cipher for one kind of content in one version of one index.
///
/// The nonce is (version, part). A part is sealed once in a version, versions only grow, and the key belongs only to
/// this index and kind. So a nonce never repeats under a key, and a part opens only in the place for which it was
/// sealed.
pub struct Seal {
    cipher: Aes256Gcm,
    purpose: Purpose,
    index: [u8; 16],
    version: u64,
}

impl Seal {
    /// The cipher under `key`, for this use, index or segment, and version.
    #[must_use]
    pub fn new(key: &[u8; 32], purpose: Purpose, index: [u8; 16], version: u64) -> Self {
        Self {
            cipher: Aes256Gcm::new(key.into()),
            purpose,
            index,
            version,
        }
    }

    /// Seals part number `part`. `shape` holds what reader and owner must agree on: slot count and codec.
    #[expect(
        clippy::missing_panics_doc,
        reason = "contents are shorter than 2^36 bytes"
    )]
    #[must_use]
    pub fn seal(&self, part: u32, shape: &[u8], plain: &[u8]) -> Vec<u8> {
        let aad = self.aad(part, shape);
        let sealed = self.cipher.encrypt(
            &self.nonce(part),
            Payload {
                msg: plain,
                aad: &aad,
            },
        );
        sealed.expect("less than 2^36 bytes")
    }

    /// Opens part number `part`. `None` if a bit of it, its place or its shape differs.
    ///
    /// # Security
    /// A refused part takes the same time. So the time of a following message does not show if a part was changed.
    #[must_use]
    pub fn open(&self, part: u32, shape: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (content, tag) = sealed.split_last_chunk::<TAG_LEN>()?;
        let mut plain = content.to_vec();
        let (nonce, aad) = (self.nonce(part), self.aad(part, shape));
        let opened = self.cipher.decrypt_inout_detached(
            &nonce,
            &aad,
            plain.as_mut_slice().into(),
            tag.into(),
        );
        if opened.is_ok() {
            return Some(plain);
        }
        // The cipher stops at a wrong tag. Computing the keystream of another key takes the time that decryption would
        // have taken.
        Ctr32BE::<Aes256>::new(&[0; 32].into(), &[0; 16].into()).apply_keystream(&mut plain);
        std::hint::black_box(&plain);
        None
    }

    fn nonce(&self, part: u32) -> Nonce<aes_gcm::aead::consts::U12> {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.version.to_be_bytes());
        nonce[8..].copy_from_slice(&part.to_be_bytes());
        nonce.into()
    }

    /// Every field has a fixed length or comes last, so no two places share an encoding.
    fn aad(&self, part: u32, shape: &[u8]) -> Vec<u8> {
        [
            &self.index[..],
            &self.version.to_be_bytes(),
            &part.to_be_bytes(),
            &(shape.len() as u64).to_be_bytes(),
            shape,
            self.purpose.label().as_bytes(),
        ]
        .concat()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::TAG_LEN;

    #[test]
    fn a_part_opens_only_in_its_place() {
        let seal = |kind, index, version| Seal::new(&[7; 32], kind, [index; 16], version);
        let sealed = seal(Purpose::Bucket, 1, 5).seal(9, b"shape", b"content");
        assert_eq!(sealed.len(), 7 + TAG_LEN);
        assert_eq!(
            seal(Purpose::Bucket, 1, 5)
                .open(9, b"shape", &sealed)
                .unwrap(),
            b"content"
        );
        assert!(
            seal(Purpose::Bucket, 1, 5)
                .open(8, b"shape", &sealed)
                .is_none()
        );
        assert!(
            seal(Purpose::Bucket, 1, 6)
                .open(9, b"shape", &sealed)
                .is_none()
        );
        assert!(
            seal(Purpose::Bucket, 2, 5)
                .open(9, b"shape", &sealed)
                .is_none()
        );
        assert!(
            seal(Purpose::Chunk, 1, 5)
                .open(9, b"shape", &sealed)
                .is_none()
        );
        assert!(
            seal(Purpose::Bucket, 1, 5)
                .open(9, b"shapes", &sealed)
                .is_none()
        );
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                seal(Purpose::Bucket, 1, 5)
                    .open(9, b"shape", &flipped)
                    .is_none(),
                "bit {bit}"
            );
        }
        assert!(
            seal(Purpose::Bucket, 1, 5)
                .open(9, b"shape", &sealed[..3])
                .is_none()
        );
    }
}
