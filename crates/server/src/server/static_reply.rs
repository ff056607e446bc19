//! Replies that are ready and the same for every client.

use sordino_index::Bytes;
use sordino_index::wire::Message;

/// A reply that every client gets, in the pieces that the server holds. They are shared, so a reply
/// copies nothing, and it outlives the server's version.
#[derive(Clone, Debug)]
pub struct StaticReply {
    head: Vec<u8>,
    pieces: Vec<Bytes>,
}

impl StaticReply {
    pub(super) fn new(kind: Message, pieces: Vec<Bytes>) -> Self {
        let head = kind.head(pieces.iter().map(|piece| piece.len()).sum());
        Self { head, pieces }
    }

    /// The size in bytes of the whole reply.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a reply has a head")]
    pub fn len(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }

    /// At most `len` bytes of the reply, from byte `at` on.
    #[must_use]
    pub fn range(&self, at: usize, len: usize) -> Vec<u8> {
        let mut range = Vec::with_capacity(len.min(self.len().saturating_sub(at)));
        let mut skip = at;
        for piece in self.pieces() {
            let (_, rest) = piece.split_at(skip.min(piece.len()));
            range.extend_from_slice(&rest[..rest.len().min(len - range.len())]);
            skip = skip.saturating_sub(piece.len());
        }
        range
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        self.range(0, usize::MAX)
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.head[..]).chain(self.pieces.iter().map(|piece| &piece[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_of_a_reply_is_that_of_the_whole() {
        let pieces: Vec<Bytes> = [&b"some"[..], b"", b" of a", b" reply"]
            .map(|piece| piece.to_vec().into())
            .into();
        let reply = StaticReply::new(Message::Parts, pieces);
        let whole = Message::Parts.with(b"some of a reply");
        assert_eq!((reply.len(), reply.to_vec()), (whole.len(), whole.clone()));
        for at in 0..whole.len() + 2 {
            for len in 0..whole.len() + 2 {
                let end = whole.len().min(at + len);
                assert_eq!(
                    reply.range(at, len),
                    whole[at.min(end)..end],
                    "{len} bytes from {at}"
                );
            }
        }
    }
}
