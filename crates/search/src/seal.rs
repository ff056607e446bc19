//! AES-256-GCM for the parts of an index, each bound to its place.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};

/// What sealing adds to a plaintext.
pub(crate) const TAG_LEN: usize = 16;

/// The cipher of one kind of content of one version of one index.
///
/// The nonce is (version, part): a part is sealed once in a version, versions only grow, and the
/// key belongs to this index and kind alone. So a nonce never repeats under a key, and a part can
/// be opened only as what it was sealed as.
pub(crate) struct Seal {
    cipher: Aes256Gcm,
    kind: &'static str,
    index: [u8; 16],
    version: u64,
}

impl Seal {
    pub(crate) fn new(key: &[u8; 32], kind: &'static str, index: [u8; 16], version: u64) -> Self {
        Self {
            cipher: Aes256Gcm::new(key.into()),
            kind,
            index,
            version,
        }
    }

    /// Seals part number `part`; `shape` is what a reader must agree on: slot count, codec.
    pub(crate) fn seal(&self, part: u32, shape: &[u8], plain: &[u8]) -> Vec<u8> {
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

    /// Opens part number `part`; `None` if one bit of it, its place or its shape is another.
    pub(crate) fn open(&self, part: u32, shape: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let aad = self.aad(part, shape);
        self.cipher
            .decrypt(
                &self.nonce(part),
                Payload {
                    msg: sealed,
                    aad: &aad,
                },
            )
            .ok()
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
            self.kind.as_bytes(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_opens_only_in_its_place() {
        let seal = |kind, index, version| Seal::new(&[7; 32], kind, [index; 16], version);
        let sealed = seal("bucket", 1, 5).seal(9, b"shape", b"content");
        assert_eq!(sealed.len(), 7 + TAG_LEN);
        assert_eq!(
            seal("bucket", 1, 5).open(9, b"shape", &sealed).unwrap(),
            b"content"
        );
        assert!(seal("bucket", 1, 5).open(8, b"shape", &sealed).is_none());
        assert!(seal("bucket", 1, 6).open(9, b"shape", &sealed).is_none());
        assert!(seal("bucket", 2, 5).open(9, b"shape", &sealed).is_none());
        assert!(seal("rows", 1, 5).open(9, b"shape", &sealed).is_none());
        assert!(seal("bucket", 1, 5).open(9, b"shapes", &sealed).is_none());
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                seal("bucket", 1, 5).open(9, b"shape", &flipped).is_none(),
                "bit {bit}"
            );
        }
        assert!(
            seal("bucket", 1, 5)
                .open(9, b"shape", &sealed[..3])
                .is_none()
        );
    }
}
