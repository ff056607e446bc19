//! The client's end of a login.

use std::fmt;
use std::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

use bytes::Bytes;
use ml_kem::kem::{Encapsulate, Key};
use ml_kem::{EncapsulationKey, MlKem768};
use rand::SeedableRng;
use rand::rngs::StdRng;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
use web_time::Instant;
use zeroize::Zeroize;

use crate::login::{KEM_KEY_LEN, RequestKey, transcript};
use crate::schema::{LoginRequest, RequestTag};
use crate::signature::shown;
use crate::{ClientKey, Error};

/// A run of the server. If the server has several indexes, also the requested index.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) name: [u8; 32],
    /// The KEM key of this run, if clients can log in.
    pub(crate) kem_key: Bytes,
}

/// A login, with which requests are tagged.
pub(crate) struct Login {
    id: u64,
    key: RequestKey,
    /// The number of the next request. It begins at 1, so that every tag has the same size on the wire.
    next: u64,
    until: Instant,
}

/// A login for which the server's answer is pending.
pub(crate) struct Half {
    key: RequestKey,
}

impl Login {
    /// Asks to log in at this run of the server, whose KEM key is `kem_key`.
    ///
    /// # Errors
    /// [`Error::Reply`] if the server's KEM key is damaged.
    pub(crate) fn ask(
        key: &ClientKey,
        token: &[u8],
        instance: &[u8; 32],
        kem_key: &[u8],
        time: u64,
    ) -> Result<(LoginRequest, Half), Error> {
        let found = kem_key.len();
        let wrong = || {
            Error::Reply(format!(
                "a KEM key of {found} bytes: expected {KEM_KEY_LEN}"
            ))
        };
        let encoded = Key::<EncapsulationKey<MlKem768>>::try_from(kem_key).map_err(|_| wrong())?;
        let encapsulation = EncapsulationKey::<MlKem768>::new(&encoded);
        let encapsulation = encapsulation
            .map_err(|_| Error::Reply("a KEM key that is out of its range".to_owned()))?;
        // The server decapsulates this randomness and so learns it. It is therefore a hash, not the
        // generator's own output.
        let mut seed = shown(&mut rand::rng(), kem_key);
        let mut rng = StdRng::from_seed(seed);
        seed.zeroize();
        let (ciphertext, mut secret) = encapsulation.encapsulate_with_rng(&mut rng);
        let transcript = transcript(kem_key, &ciphertext, token);
        let (signature, statement) = key.sign_login(instance, &transcript, time);
        let half = Half {
            key: RequestKey::new(&secret, &statement),
        };
        secret.zeroize();
        let request = LoginRequest {
            ciphertext: Bytes::copy_from_slice(&ciphertext),
            signature: Some(signature),
            token: Bytes::copy_from_slice(token),
        };
        Ok((request, half))
    }

    /// True if the login must not be used again, because the server forgets it soon or already has.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// The tag of the next request.
    pub(crate) fn tag(&mut self, message: &[u8]) -> RequestTag {
        let number = self.next;
        self.next += 1;
        let tag = self.key.tag(number, message);
        RequestTag {
            login: self.id,
            number,
            tag: Bytes::copy_from_slice(tag.as_bytes()),
        }
    }
}

impl Half {
    /// The login with the name and the lifetime that the server gave.
    pub(crate) fn begun(self, id: u64, lifetime: Duration) -> Login {
        // The last quarter of the lifetime is for requests that are on their way.
        let time = lifetime * 3 / 4;
        Login {
            id,
            key: self.key,
            next: 1,
            until: Instant::now() + time,
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}
