//! RustCrypto's `signature` traits, for pure messages with an empty context. Their error gives no reason;
//! [`ExpandedKey::verify`] does.

use alloc::boxed::Box;

use signature::{Error, MultipartVerifier, SignatureEncoding, Verifier};

use crate::key::ExpandedKey;
use crate::message::Message;
use crate::params::Params;
use crate::signature::Signature;

impl<P: Params> SignatureEncoding for Signature<P> {
    type Repr = Box<[u8]>;
}

impl<P: Params> Verifier<Signature<P>> for ExpandedKey<P> {
    fn verify(&self, message: &[u8], signature: &Signature<P>) -> Result<(), Error> {
        self.multipart_verify(&[message], signature)
    }
}

impl<P: Params> MultipartVerifier<Signature<P>> for ExpandedKey<P> {
    fn multipart_verify(&self, parts: &[&[u8]], signature: &Signature<P>) -> Result<(), Error> {
        let message = Message::Parts {
            parts,
            context: &[],
        };
        Self::verify(self, message, signature.as_bytes()).map_err(|_| Error::new())
    }
}

/// The hasher computes mu, so it must be SHAKE256. It has absorbed tr and the empty context when the
/// closure gets it.
#[cfg(feature = "digest")]
impl<P: Params> signature::DigestVerifier<shake::Shake256, Signature<P>> for ExpandedKey<P> {
    fn verify_digest<F: Fn(&mut shake::Shake256) -> Result<(), Error>>(
        &self,
        absorb: F,
        signature: &Signature<P>,
    ) -> Result<(), Error> {
        use signature::digest::{ExtendableOutput, Update};

        let mut hasher = shake::Shake256::default();
        hasher.update(self.tr());
        hasher.update(&crate::message::prefix(0, &[])[..2]);
        absorb(&mut hasher)?;
        let mut mu = [0; 64];
        hasher.finalize_xof_into(&mut mu);
        Self::verify(self, Message::Mu(&mu), signature.as_bytes()).map_err(|_| Error::new())
    }
}
