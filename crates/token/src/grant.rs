//! The grant of a verified token.

use crate::action::Action;
use crate::claims::Claims;
use crate::error::Error;
use crate::key::PublicKey;

/// The grant of a token whose signatures, times, audience and issuer were verified.
///
/// It does not say who presented the token. The service must check that the presenter has the key of [`holder`](Self::holder),
/// for instance by a signed login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) issuer: [u8; 32],
    /// The claims of each block, at least one.
    pub(crate) blocks: Vec<Claims>,
    /// Seconds by which the clocks of issuer and verifier may differ.
    pub(crate) leeway: u64,
}

impl Grant {
    /// The claims of the last block, which are all that the token grants.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        // A token has at least one block, and a grant is made from a token.
        &self.blocks[self.blocks.len() - 1]
    }

    /// The key that the asking client must prove to have.
    #[must_use]
    pub fn holder(&self) -> &PublicKey {
        &self.claims().holder
    }

    /// The name of the issuer's key.
    #[must_use]
    pub fn issuer(&self) -> &[u8; 32] {
        &self.issuer
    }

    /// The names of all holders with their requests a minute, beginning with the issuer's first client. A request counts for
    /// every one of them. So a holder who hands out parts of its token does not get more requests.
    pub fn rates(&self) -> impl Iterator<Item = ([u8; 32], u32)> + '_ {
        let blocks = self.blocks.iter();
        blocks.map(|claims| (claims.holder.id(), claims.rate))
    }

    /// Checks that a key is the holder's.
    ///
    /// # Errors
    /// [`Error::Key`] if the key is not the holder's.
    pub fn check_key(&self, key: &PublicKey) -> Result<(), Error> {
        match key == self.holder() {
            true => Ok(()),
            false => Err(Error::Key),
        }
    }

    /// Checks that the token names an index and is valid now. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// - [`Error::NotYetValid`] if the token is not valid yet
    /// - [`Error::Expired`] if it has expired
    /// - [`Error::Index`] if it does not name the index
    pub fn check_index(&self, index: &[u8; 16], now: u64) -> Result<(), Error> {
        let claims = self.claims();
        check_time(claims, now, self.leeway)?;
        match claims.indexes.binary_search(index) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Index),
        }
    }

    /// Checks that the token allows a request. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// - [`Error::NotYetValid`] if the token is not valid yet
    /// - [`Error::Expired`] if it has expired
    /// - [`Error::Index`] if it does not name the index
    /// - [`Error::Action`] if it does not allow the action
    pub fn check(&self, index: &[u8; 16], action: Action, now: u64) -> Result<(), Error> {
        self.check_index(index, now)?;
        if !self.claims().actions.has(action) {
            let action = action.name();
            return Err(Error::Action { action });
        }
        Ok(())
    }
}

/// Checks that claims are valid now, by clocks that may differ by `leeway` seconds.
pub(crate) fn check_time(claims: &Claims, now: u64, leeway: u64) -> Result<(), Error> {
    let (not_before, expiry) = (claims.not_before, claims.expiry);
    if now.saturating_add(leeway) < not_before {
        return Err(Error::NotYetValid { not_before, now });
    }
    if now >= expiry.saturating_add(leeway) {
        return Err(Error::Expired { expiry, now });
    }
    Ok(())
}
