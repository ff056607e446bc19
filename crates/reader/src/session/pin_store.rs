//! The memory of versions between sessions.

use sordino_index::{Error, Pin};

/// The newest version that was seen, kept where the next session finds it, so that a server cannot go back.
///
/// Several sessions may share it.
pub trait PinStore: Send {
    /// The newest version that was seen; `None` at the first time.
    fn newest(&self) -> Option<Pin>;

    /// Keeps `new`, which follows from what [`newest`](Self::newest) gave, unless a newer one is kept by now.
    ///
    /// Where another session has kept a version meanwhile, `check` refuses it unless both are of one history. It asks the
    /// server, so nothing that others wait for is held while it runs.
    ///
    /// # Errors
    /// [`Error::OtherIndex`], [`Error::Fork`], the errors of `check`, and [`Error::File`].
    fn remember(
        &mut self,
        new: Pin,
        check: &mut dyn FnMut(&Pin) -> Result<(), Error>,
    ) -> Result<(), Error>;
}

/// The memory of a caller who keeps [`Client::pin`](crate::Client::pin) without help: a version, or nothing.
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
