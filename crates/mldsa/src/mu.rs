//! The message representative of a message that arrives in pieces.

use crate::error::Error;
use crate::keccak::portable::permute;
use crate::key::ExpandedKey;
use crate::message::{check_context, prefix};
use crate::params::Params;

/// The number of bytes per block of SHAKE256.
const RATE: usize = crate::sponge::RATE_256 as usize;

/// Computes mu (FIPS 204, Algorithm 8, step 7) of a pure message that arrives in pieces, for
/// [`Message::Mu`](crate::Message::Mu).
#[derive(Clone, Debug)]
pub struct Mu {
    state: [u64; 25],
    /// The number of bytes absorbed since the last permutation.
    filled: usize,
}

impl Mu {
    /// Starts a message to be verified with `key`.
    ///
    /// # Errors
    /// [`Error::ContextLength`] if the context is longer than 255 bytes.
    pub fn new<P: Params>(key: &ExpandedKey<P>, context: &[u8]) -> Result<Self, Error> {
        check_context(context)?;
        let mut mu = Self::internal(key);
        mu.update(&prefix(0, context)[..2]);
        mu.update(context);
        Ok(mu)
    }

    /// Starts a formatted message M', to be verified with `key`. It is the input of Algorithm 8
    /// (`ML-DSA.Verify_internal`), to which Algorithms 3 and 5 have added a domain and a context. ACVP's vectors of
    /// the internal interface, and protocols that format messages themselves, start here.
    ///
    /// # Security
    /// The caller is responsible for the formatting. Suppose that an attacker can make a signer of pure messages sign
    /// a certain M'. Then a signature on that M' does not prove anything else.
    #[must_use]
    pub fn internal<P: Params>(key: &ExpandedKey<P>) -> Self {
        let mut mu = Self {
            state: [0; 25],
            filled: 0,
        };
        mu.update(key.tr());
        mu
    }

    /// Appends to the message.
    pub fn update(&mut self, message: &[u8]) {
        for &byte in message {
            self.absorb(byte);
            self.filled += 1;
            if self.filled == RATE {
                permute(&mut self.state);
                self.filled = 0;
            }
        }
    }

    /// Ends the message.
    #[must_use]
    pub fn finish(mut self) -> [u8; 64] {
        self.absorb(0x1F);
        self.filled = RATE - 1;
        self.absorb(0x80);
        permute(&mut self.state);
        let mut mu = [0; 64];
        for (bytes, word) in mu.as_chunks_mut::<8>().0.iter_mut().zip(self.state) {
            *bytes = word.to_le_bytes();
        }
        mu
    }

    fn absorb(&mut self, byte: u8) {
        self.state[self.filled >> 3] ^= u64::from(byte) << (8 * (self.filled & 7));
    }
}
