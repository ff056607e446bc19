//! The statement that a client or an owner signs for a login or a change.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::{SystemTime, UNIX_EPOCH};

use rand_core::CryptoRng;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
use web_time::{SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

use crate::IndexName;

/// instance | key | time | nonce | digest of the message
pub(crate) const STATEMENT_LEN: usize = 32 + 32 + 8 + 16 + 32;

/// The bytes that are signed.
pub(crate) fn statement(
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

/// The instance for which logins and changes of this index are signed: the server's run and, if there are several
/// indexes, the index's name. So a signature or a login for one index is useless at another.
pub(crate) fn instance_for(run: &[u8; 32], index: Option<&IndexName>) -> [u8; 32] {
    index.map_or(*run, |name| {
        *blake3::keyed_hash(run, name.as_str().as_bytes()).as_bytes()
    })
}

/// 32 random bytes that others may see, made for the purpose `about`. They are a hash, not the generator's own
/// bytes. If a generator repeats a state (after a `fork`, or on a restored machine), the same bytes may be the key
/// of a secret query.
pub(crate) fn shown<R: CryptoRng + ?Sized>(rng: &mut R, about: &[u8]) -> [u8; 32] {
    let mut key = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *key);
    *blake3::keyed_hash(&key, about).as_bytes()
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
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn a_generator_is_not_shown() {
        let rng = || StdRng::seed_from_u64(1);
        let mut bytes = [0; 32];
        rng().fill_bytes(&mut bytes);
        assert_ne!(shown(&mut rng(), b"message"), bytes);
        assert_ne!(shown(&mut rng(), b"message"), shown(&mut rng(), b"other"));
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
