//! Remembers versions between sessions.

use sordino_index::{Error, Pin};

/// Stores the newest version that a client has seen, for the next session, so that a server cannot go back.
///
/// Several sessions may share it.
pub trait PinStore: Send {
    /// The newest version that was seen, or `None` for the first time.
    fn newest(&self) -> Option<Pin>;

    /// Stores `new`, which follows from the result of [`newest`](Self::newest), unless a newer one is stored by now.
    ///
    /// If another session has stored a version meanwhile, `check` refuses it unless both belong to one history. It asks
    /// the server, so hold no lock that others wait for while it runs.
    ///
    /// # Errors
    /// [`Error::OtherIndex`] if the stored version is of another index. [`Error::Fork`] if the stored version has this
    /// number and another content. [`Error::File`] if the version cannot be read or stored. The errors of `check`.
    fn remember(
        &mut self,
        new: Pin,
        check: &mut dyn FnMut(&Pin) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// A store in memory that holds a version or nothing. It is for a caller that stores
/// [`Client::pin`](crate::Client::pin) itself.
impl PinStore for Option<Pin> {
    fn newest(&self) -> Option<Pin> {
        *self
    }

    fn remember(
        &mut self,
        new: Pin,
        _: &mut dyn FnMut(&Pin) -> Result<(), Error>,
    ) -> Result<(), Error> {
        *self = Some(new);
        Ok(())
    }
}
