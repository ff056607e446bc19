//! A request that a server received.

use super::{Message, message_len};
use crate::Error;

/// A message that came to a server. Its head is read when this is made, and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<B> {
    kind: Message,
    bytes: B,
}

impl<B: AsRef<[u8]>> Request<B> {
    /// Reads the head. The function accepts replies, too. The server refuses replies by their kind.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the form is wrong; [`Error::FormatVersion`] if the format's version is not supported.
    pub fn read(bytes: B) -> Result<Self, Error> {
        let (kind, _) = Message::read(bytes.as_ref())?;
        Ok(Self { kind, bytes })
    }

    /// The kind of the message.
    #[must_use]
    pub fn kind(&self) -> Message {
        self.kind
    }

    /// The bytes after the head.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes.as_ref()[message_len(0)..]
    }

    /// The same request, borrowing its bytes.
    #[must_use]
    pub fn borrowed(&self) -> Request<&[u8]> {
        Request {
            kind: self.kind,
            bytes: self.bytes.as_ref(),
        }
    }

    /// The whole message.
    #[must_use]
    pub fn into_bytes(self) -> B {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_message() {
        let bytes = Message::Fetch.with(b"body");
        let request = Request::read(&bytes[..]).unwrap();
        assert_eq!(
            (request.kind(), request.body()),
            (Message::Fetch, &b"body"[..])
        );
        assert_eq!(request.borrowed(), request);
        assert_eq!(request.into_bytes(), bytes);
        for len in 0..bytes.len() {
            assert!(Request::read(&bytes[..len]).is_err(), "length {len}");
        }
    }
}
