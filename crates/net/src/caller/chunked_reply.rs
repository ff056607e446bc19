//! Collects the chunks of a reply at the client.

use prost::Message;

use crate::Error;
use crate::protocol::CHUNK;
use crate::schema::CallReply;

/// The chunks of a reply that have arrived.
pub(crate) struct ChunkedReply {
    limit: usize,
    /// The length of the whole reply, from its first chunk.
    length: Option<usize>,
    bytes: Vec<u8>,
    down: u64,
}

impl ChunkedReply {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            length: None,
            bytes: Vec::new(),
            down: 0,
        }
    }

    /// Adds the next chunk, if an honest server would send it. Memory grows with the bytes that arrived, not with
    /// the announced length.
    pub(crate) fn push(&mut self, next: &CallReply) -> Result<(), Error> {
        let announced = usize::try_from(next.length).unwrap_or(usize::MAX);
        let length = *self.length.get_or_insert(announced);
        if announced != length || length > self.limit {
            let limit = self.limit;
            return Err(Error::Reply(format!(
                "{announced} bytes announced, expected at most {limit}"
            )));
        }
        let expected = CHUNK.min(length - self.bytes.len());
        if next.chunk.len() != expected || expected == 0 {
            let found = next.chunk.len();
            return Err(Error::Reply(format!(
                "a chunk of {found} bytes, expected {expected}"
            )));
        }
        self.bytes.extend_from_slice(&next.chunk);
        self.down += next.encoded_len() as u64;
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(Vec<u8>, u64), Error> {
        let found = self.bytes.len();
        match self.length {
            Some(length) if length == found => Ok((self.bytes, self.down)),
            _ => Err(Error::Reply(format!("it ends after {found} bytes"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn reply(length: usize, chunk: usize) -> CallReply {
        CallReply {
            length: length as u64,
            chunk: Bytes::from(vec![7; chunk]),
        }
    }

    #[test]
    fn only_an_honest_sequence_of_chunks_is_taken() {
        let collect = |limit: usize, chunks: &[(usize, usize)]| {
            let mut collected = ChunkedReply::new(limit);
            for &(length, chunk) in chunks {
                collected.push(&reply(length, chunk))?;
                assert!(collected.bytes.len() <= limit);
            }
            collected.finish().map(|(bytes, _)| bytes.len())
        };
        let (whole, last) = (2 * CHUNK + 5, (2 * CHUNK + 5, 5));
        let full = (whole, CHUNK);
        assert_eq!(collect(whole, &[full, full, last]).unwrap(), whole);
        assert_eq!(collect(10, &[(3, 3)]).unwrap(), 3);
        let wrong: [(usize, &[(usize, usize)]); 10] = [
            (whole, &[]),
            (whole, &[full, full]),
            (whole, &[full, full, last, last]),
            (whole, &[full, full, (whole, 6)]),
            (whole, &[full, full, (whole, 4), (whole, 1)]),
            (whole, &[full, (whole, 1)]),
            (whole, &[full, (whole + 1, CHUNK)]),
            (whole - 1, &[full, full, last]),
            (10, &[(usize::MAX, CHUNK)]),
            (10, &[(0, 0)]),
        ];
        for (limit, chunks) in wrong {
            assert!(collect(limit, chunks).is_err(), "{limit} {chunks:?}");
        }
    }
}
