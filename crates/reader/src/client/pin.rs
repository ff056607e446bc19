//! A client's pin, and the pins of other clients.

use sordino_index::{Error, Pin};

use super::Client;
use crate::history;
use crate::transport::{AsyncTransport, Transport, at_once};

impl Client {
    /// The pin to store, so that the next [`connect`](Self::connect) continues from this version.
    #[must_use]
    pub fn pin(&self) -> Pin {
        Pin::of(&self.manifest)
    }

    /// Refuses a pin that another client of this index has stored, unless the server's newest version follows from it
    /// and from this client's version. Both then belong to one history. It downloads nothing, and does not change
    /// this client.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect) with either pin.
    pub fn check_pin(&self, transport: &mut impl Transport, pin: &Pin) -> Result<(), Error> {
        at_once(self.check_pin_async(transport, pin))
    }

    /// Like [`check_pin`](Self::check_pin), over an asynchronous transport.
    ///
    /// # Errors
    /// The errors of [`check_pin`](Self::check_pin).
    pub async fn check_pin_async(
        &self,
        transport: &mut impl AsyncTransport,
        pin: &Pin,
    ) -> Result<(), Error> {
        let (newest, _) = history::offered(transport, &self.keys).await?;
        for pin in [pin, &self.pin()] {
            history::follow(pin, &newest, transport, &self.keys).await?;
        }
        Ok(())
    }
}
