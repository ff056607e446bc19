//! Requests of one login without a network, with which a bench measures the cost of a tag.

use rand_core::CryptoRng;

use crate::client::Login;
use crate::schema::RequestTag;
use crate::server::{Entrant, Logins, Signed, rate};
use crate::{ClientKey, Error};

/// A client that has logged in, and the server that it has logged in at.
#[derive(Debug)]
pub struct Rehearsal {
    instance: [u8; 32],
    logins: Logins,
    login: Login,
}

impl Rehearsal {
    /// Logs a new client in.
    ///
    /// # Errors
    /// The errors of a login whose two ends are both from this crate.
    pub fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let (key, logins) = (ClientKey::generate(rng), Logins::new(rng));
        let instance = crate::signature::shown(rng, b"instance");
        let time = crate::signature::now();
        let (request, half) = Login::ask(&key, b"", &instance, logins.kem_key(), time)?;
        let signed = Signed::of_login(&instance, logins.kem_key(), &request);
        let signed = signed.map_err(Error::Refused)?;
        let entrant = Entrant::listed(0, rate(1e9));
        let opened = logins.open(entrant, &signed, &request.ciphertext);
        let (id, lifetime) = opened.map_err(Error::Refused)?;
        Ok(Self {
            instance,
            logins,
            login: half.begun(id, lifetime),
        })
    }

    /// The client's part of a request.
    pub fn tag(&mut self, message: &[u8]) -> RequestTag {
        self.login.tag(message)
    }

    /// The server's part: true if the request is to be answered.
    #[must_use]
    pub fn check(&self, tag: &RequestTag, message: &[u8]) -> bool {
        self.logins.check(&self.instance, tag, message).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_accepted_once() {
        let mut both = Rehearsal::new(&mut rand::rng()).unwrap();
        let tag = both.tag(b"message");
        assert!(!both.check(&tag, b"massage") && both.check(&tag, b"message"));
        assert!(!both.check(&tag, b"message"));
    }
}
