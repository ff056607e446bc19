//! Client keys, and the signature that goes with a request.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rand_core::CryptoRng;
use sordino_index::OwnerKeys;
use sordino_mldsa::ml_dsa::signature::Keypair;
use sordino_mldsa::ml_dsa::{self, SigningKey};
use sordino_mldsa::{MlDsa65, MlDsa87, Params};
use zeroize::{Zeroize, Zeroizing};

use crate::schema::RequestSignature;
use crate::{Error, Refusal};

/// Separates these signatures from others under the same key (FIPS 204, 5.2).
pub(crate) const CONTEXT: &[u8] = b"sordino request 1";

/// instance | key | time | nonce | digest of the message
const STATEMENT_LEN: usize = 32 + 32 + 8 + 16 + 32;

/// Bytes that a signature adds to a request: four fields, their tags and lengths, and those of the
/// whole.
pub(crate) const ADDED_LEN: usize =
    (2 + 32) + (1 + 8) + (2 + 16) + (3 + MlDsa65::SIGNATURE_LEN) + 3;

/// A client's ML-DSA-65 key, with which it signs its requests.
///
/// The server and whoever holds its logs can link all requests of one key. Where that is worse than
/// an open door, serve [`Access::Anyone`](crate::Access::Anyone).
pub struct ClientKey {
    signing: SigningKey<ml_dsa::MlDsa65>,
    public: ClientPublicKey,
}

impl ClientKey {
    /// A new key.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(&seed)
    }

    /// The key that a stored seed stands for.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let mut array = (*seed).into();
        let signing = SigningKey::from_seed(&array);
        array.zeroize();
        let public = ClientPublicKey {
            bytes: signing.verifying_key().encode().to_vec(),
        };
        Self { signing, public }
    }

    /// The seed, to be stored. Whoever has it can ask as this client.
    #[must_use]
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([0; 32]);
        seed.copy_from_slice(self.signing.as_seed());
        seed
    }

    /// The public half, which the server has to know.
    #[must_use]
    pub fn public(&self) -> &ClientPublicKey {
        &self.public
    }

    /// Signs that this client asks this of this run of the server, now.
    pub(crate) fn sign(&self, instance: &[u8; 32], message: &[u8], time: u64) -> RequestSignature {
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&shown(&mut rand::rng(), message)[..16]);
        let key = self.public.id();
        let statement = statement(instance, &key, time, &nonce, message);
        let signature = self
            .signing
            .expanded_key()
            .sign_deterministic(&statement, CONTEXT)
            .expect("a context of less than 256 bytes");
        RequestSignature {
            key: Bytes::copy_from_slice(&key),
            time,
            nonce: Bytes::copy_from_slice(&nonce),
            signature: Bytes::copy_from_slice(&signature.encode()),
        }
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// The public half of a [`ClientKey`], which a server lists.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientPublicKey {
    bytes: Vec<u8>,
}

impl ClientPublicKey {
    /// Reads a key's FIPS 204 encoding.
    ///
    /// # Errors
    /// If it is not 1,952 bytes long.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != MlDsa65::PUBLIC_KEY_LEN {
            return Err(Error::KeyLength {
                what: "public key",
                found: bytes.len(),
                expected: MlDsa65::PUBLIC_KEY_LEN,
            });
        }
        Ok(Self {
            bytes: bytes.to_vec(),
        })
    }

    /// The key's FIPS 204 encoding, 1,952 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key's name: its BLAKE3 digest.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        *blake3::hash(&self.bytes).as_bytes()
    }
}

impl fmt::Debug for ClientPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = blake3::hash(&self.bytes).to_hex();
        f.debug_tuple("ClientPublicKey")
            .field(&id.as_str())
            .finish()
    }
}

/// 32 random bytes to be shown, drawn `about` something: a hash and not the generator's own. Where a generator
/// goes on twice from one state (a `fork`, a restored machine) the same bytes may key a secret query.
pub(crate) fn shown<R: CryptoRng + ?Sized>(rng: &mut R, about: &[u8]) -> [u8; 32] {
    let mut key = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *key);
    *blake3::keyed_hash(&key, about).as_bytes()
}

/// The bytes that are signed.
fn statement(
    instance: &[u8; 32],
    key: &[u8; 32],
    time: u64,
    nonce: &[u8; 16],
    message: &[u8],
) -> [u8; STATEMENT_LEN] {
    let digest = blake3::hash(message);
    let mut statement = [0; STATEMENT_LEN];
    let parts: [&[u8]; 5] = [instance, key, &time.to_le_bytes(), nonce, digest.as_bytes()];
    let mut rest = &mut statement[..];
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    statement
}

/// Signs that the owner wants this step of this run of the server, now.
pub(crate) fn sign_change(
    keys: &OwnerKeys,
    instance: &[u8; 32],
    step: &[u8],
    time: u64,
) -> RequestSignature {
    let mut nonce = [0; 16];
    nonce.copy_from_slice(&shown(&mut rand::rng(), step)[..16]);
    let key = *blake3::hash(&keys.public().to_bytes()).as_bytes();
    let signature = keys.sign_change(&statement(instance, &key, time, &nonce, step));
    RequestSignature {
        key: Bytes::copy_from_slice(&key),
        time,
        nonce: Bytes::copy_from_slice(&nonce),
        signature: signature.into(),
    }
}

/// A signed request whose parts have their lengths; whether the signature is good is not known.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) key: [u8; 32],
    pub(crate) time: u64,
    pub(crate) nonce: [u8; 16],
    pub(crate) statement: [u8; STATEMENT_LEN],
    pub(crate) signature: Bytes,
}

impl Signed {
    /// Reads the signature of a request to this run of the server.
    pub(crate) fn read(
        instance: &[u8; 32],
        message: &[u8],
        signature: Option<RequestSignature>,
    ) -> Result<Self, Refusal> {
        Self::of_len(MlDsa65::SIGNATURE_LEN, instance, message, signature)
    }

    /// Reads the signature of an owner's step of a change.
    pub(crate) fn of_owner(
        instance: &[u8; 32],
        step: &[u8],
        signature: Option<RequestSignature>,
    ) -> Result<Self, Refusal> {
        Self::of_len(MlDsa87::SIGNATURE_LEN, instance, step, signature)
    }

    fn of_len(
        len: usize,
        instance: &[u8; 32],
        message: &[u8],
        signature: Option<RequestSignature>,
    ) -> Result<Self, Refusal> {
        let RequestSignature {
            key,
            time,
            nonce,
            signature,
        } = signature.ok_or(Refusal::Unsigned)?;
        let key: [u8; 32] = exact(&key)?;
        let nonce: [u8; 16] = exact(&nonce)?;
        if signature.len() != len {
            return Err(Refusal::Malformed);
        }
        Ok(Self {
            key,
            time,
            nonce,
            statement: statement(instance, &key, time, &nonce, message),
            signature,
        })
    }
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Refusal> {
    bytes.try_into().map_err(|_| Refusal::Malformed)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn a_key_is_its_seed_and_prints_nothing_secret() {
        let key = ClientKey::generate(&mut StdRng::seed_from_u64(1));
        let again = ClientKey::from_seed(&key.seed());
        assert_eq!(key.public(), again.public());
        assert_eq!(
            &ClientPublicKey::from_bytes(key.public().to_bytes()).unwrap(),
            key.public()
        );
        assert!(ClientPublicKey::from_bytes(&[0; 1951]).is_err());
        let debug = format!("{key:?}");
        assert!(debug.contains(".."), "{debug}");
        let seed: String = key
            .seed()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(!debug.contains(&seed));
    }

    #[test]
    fn a_generator_is_not_shown() {
        let rng = || StdRng::seed_from_u64(1);
        let mut bytes = [0; 32];
        rng().fill_bytes(&mut bytes);
        assert_ne!(shown(&mut rng(), b"message"), bytes);
        assert_ne!(shown(&mut rng(), b"message"), shown(&mut rng(), b"other"));
    }

    #[test]
    fn every_signature_has_the_same_size() {
        let key = ClientKey::from_seed(&[3; 32]);
        for (message, time) in [(&b""[..], 1), (&[0; 5000], u64::MAX), (b"x", 1 << 40)] {
            let signature = key.sign(&[0; 32], message, time);
            // In a request it has, like every field, its tag and its length before it.
            assert_eq!(signature.encoded_len() + 3, ADDED_LEN);
        }
    }

    #[test]
    fn a_statement_names_every_part() {
        let base = statement(&[1; 32], &[2; 32], 3, &[4; 16], b"5");
        let others = [
            statement(&[0; 32], &[2; 32], 3, &[4; 16], b"5"),
            statement(&[1; 32], &[0; 32], 3, &[4; 16], b"5"),
            statement(&[1; 32], &[2; 32], 0, &[4; 16], b"5"),
            statement(&[1; 32], &[2; 32], 3, &[0; 16], b"5"),
            statement(&[1; 32], &[2; 32], 3, &[4; 16], b""),
        ];
        assert!(others.iter().all(|other| *other != base));
    }
}
