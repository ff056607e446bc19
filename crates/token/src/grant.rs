//! The grant of a verified token.

use crate::action::Action;
use crate::claims::Claims;
use crate::error::Error;
use crate::key::PublicKey;

/// The grant of a token whose signatures, times, audience and issuer are right.
///
/// It does not say who presented the token. The presenter must be shown to hold the key of [`holder`](Self::holder),
/// for instance by a signed login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) issuer: [u8; 32],
    /// One for each block, and one at least.
    pub(crate) blocks: Vec<Claims>,
    /// Seconds by which the clocks of issuer and verifier may differ.
    pub(crate) leeway: u64,
}

impl Grant {
    /// The claims of the last block: all that is granted.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        // A token has a block, and a grant is made from a token.
        &self.blocks[self.blocks.len() - 1]
    }

    /// The key that must be shown to be the asker's.
    #[must_use]
    pub fn holder(&self) -> &PublicKey {
        &self.claims().holder
    }

    /// The name of the issuer's key.
    #[must_use]
    pub fn issuer(&self) -> &[u8; 32] {
        &self.issuer
    }

    /// The names of all holders, the issuer's first client first, and the requests a minute of each. A request counts against every
    /// one of them, so that a holder who hands out parts of its token gets no more requests by it.
    pub fn rates(&self) -> impl Iterator<Item = ([u8; 32], u32)> + '_ {
        let blocks = self.blocks.iter();
        blocks.map(|claims| (claims.holder.id(), claims.rate))
    }

    /// Refuses a key that is not the holder's.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn check_key(&self, key: &PublicKey) -> Result<(), Error> {
        match key == self.holder() {
            true => Ok(()),
            false => Err(Error::Key),
        }
    }

    /// Refuses an index that is not named, or at another time. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotYetValid`], [`Error::Expired`], [`Error::Index`].
    pub fn check_index(&self, index: &[u8; 16], now: u64) -> Result<(), Error> {
        let claims = self.claims();
        check_time(claims, now, self.leeway)?;
        match claims.indexes.binary_search(index) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Index),
        }
    }

    /// Refuses a request that is not granted. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::NotYetValid`], [`Error::Expired`], [`Error::Index`], [`Error::Action`].
    pub fn check(&self, index: &[u8; 16], action: Action, now: u64) -> Result<(), Error> {
        self.check_index(index, now)?;
        if !self.claims().actions.has(action) {
            let action = action.name();
            return Err(Error::Action { action });
        }
        Ok(())
    }
}

/// Refuses claims whose time is not now, by clocks that may differ by `leeway` seconds.
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
