//! Decompresses payloads that the owner compressed by zstd (RFC 8878), with a dictionary or without.
//!
//! A compressed payload is a frame without its first four bytes, which all frames share. If the payload was cut short,
//! only its complete blocks are read.

use ruzstd::decoding::Dictionary;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use sordino_index::Error;
use sordino_index::payload::MOST_PAYLOAD;

/// The first bytes of a frame (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The bytes of a block's head. Its last bit is set in the last block, the next two bits are the block's kind, and the
/// others its size.
const BLOCK_HEAD: usize = 3;

/// An empty block of plain bytes, the last one of its frame.
const LAST_BLOCK: [u8; BLOCK_HEAD] = [1, 0, 0];

/// A decoder of the payloads under one content key.
pub struct Decompressor {
    decoder: FrameDecoder,
    /// The number of the dictionary, if there is one.
    dictionary: Option<u32>,
}

impl Decompressor {
    /// A decoder with this dictionary, or without one if it is empty.
    ///
    /// # Errors
    /// [`Error`] if these bytes are not a dictionary.
    pub fn new(dictionary: &[u8]) -> Result<Self, Error> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_PAYLOAD.next_power_of_two() as u64);
        let mut number = None;
        if !dictionary.is_empty() {
            let malformed = |why: String| Error::Malformed {
                what: "dictionary of payloads",
                why,
            };
            let read = Dictionary::decode_dict(dictionary);
            let read = read.map_err(|error| malformed(error.to_string()))?;
            number = Some(read.id);
            let added = decoder.add_dict(read);
            added.map_err(|error| malformed(error.to_string()))?;
        }
        Ok(Self {
            decoder,
            dictionary: number,
        })
    }

    /// The payload in these bytes. If the bytes end early, only the complete blocks are read. `None` if an owner's
    /// compression never gives such bytes, or the payload is longer than [`MOST_PAYLOAD`].
    #[must_use]
    pub fn read(&mut self, bytes: &[u8], truncated: bool) -> Option<Vec<u8>> {
        let mut frame = [&MAGIC[..], bytes].concat();
        if truncated {
            let whole = whole_blocks(&frame)?;
            frame.truncate(whole);
            frame.extend(LAST_BLOCK);
        }
        let mut rest = &frame[..];
        self.decoder.reset(&mut rest).ok()?;
        if let Some(number) = self.dictionary {
            self.decoder.force_dict(number).ok()?;
        }
        // One byte above the limit shows that the payload is longer.
        let most = BlockDecodingStrategy::UptoBytes(MOST_PAYLOAD + 1);
        let finished = self.decoder.decode_blocks(&mut rest, most).ok()?;
        let whole = finished && rest.is_empty();
        let read = self.decoder.collect().unwrap_or_default();
        (whole && read.len() <= MOST_PAYLOAD).then_some(read)
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor")
            .field("dictionary", &self.dictionary)
            .finish_non_exhaustive()
    }
}

/// The bytes of a frame up to the end of its last whole block.
fn whole_blocks(frame: &[u8]) -> Option<usize> {
    let mut at = header_len(frame)?;
    while let Some(&[a, b, c]) = frame.get(at..at + BLOCK_HEAD) {
        let head = u32::from_le_bytes([a, b, c, 0]);
        let size = usize::try_from(head >> 3).ok()?;
        // A run of one byte (kind 1) is that byte.
        let stored = if head >> 1 & 3 == 1 { 1 } else { size };
        let next = at + BLOCK_HEAD + stored;
        // The last block of all is complete if only padding was cut off.
        if next > frame.len() || head & 1 == 1 {
            break;
        }
        at = next;
    }
    Some(at)
}

/// Bytes before the first block (RFC 8878, 3.1.1.1).
fn header_len(frame: &[u8]) -> Option<usize> {
    let descriptor = *frame.get(MAGIC.len())?;
    let single_segment = descriptor >> 5 & 1;
    let window = usize::from(single_segment == 0);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = match descriptor >> 6 {
        0 => usize::from(single_segment),
        more => 1 << more,
    };
    let len = MAGIC.len() + 1 + window + dictionary + size;
    (len <= frame.len()).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(len: usize) -> Vec<u8> {
        let line = |at: usize| format!("line {at}, {} of {}\n", at * 31 % 97, at * at % 1009);
        let all: String = (0..len).map(line).collect();
        all.as_bytes()[..len].to_vec()
    }

    /// A frame of blocks of 1,000 bytes, like those that the owner writes for long payloads.
    fn flushed(plain: &[u8], dictionary: &[u8]) -> Vec<u8> {
        let mut encoder =
            zstd::stream::write::Encoder::with_dictionary(Vec::new(), 9, dictionary).unwrap();
        encoder.include_dictid(false).unwrap();
        encoder.window_log(20).unwrap();
        for piece in plain.chunks(1000) {
            encoder.write_all(piece).unwrap();
            encoder.flush().unwrap();
        }
        encoder.finish().unwrap()[MAGIC.len()..].to_vec()
    }

    #[test]
    fn what_the_reference_encoder_writes_is_read() {
        let samples: Vec<Vec<u8>> = (1..400).map(|at| text(60 + at)).collect();
        let dictionary = zstd::dict::from_samples(&samples, 4096).unwrap();
        for dictionary in [&[][..], &dictionary] {
            let mut decompressor = Decompressor::new(dictionary).unwrap();
            let mut encoder = zstd::bulk::Compressor::with_dictionary(19, dictionary).unwrap();
            encoder.include_dictid(false).unwrap();
            for len in [0, 1, 50, 300, 5000, 200_000, MOST_PAYLOAD] {
                let plain = text(len);
                let frame = encoder.compress(&plain).unwrap();
                for frame in [&frame[MAGIC.len()..], &flushed(&plain, dictionary)] {
                    assert_eq!(
                        decompressor.read(frame, false),
                        Some(plain.clone()),
                        "{len}"
                    );
                }
            }
            let longer = encoder.compress(&text(MOST_PAYLOAD + 1)).unwrap();
            assert_eq!(decompressor.read(&longer[MAGIC.len()..], false), None);
        }
        assert!(Decompressor::new(&[1; 100]).is_err());
    }

    #[test]
    fn a_long_payload_is_read_as_far_as_it_goes() {
        let plain = text(20_000);
        let frame = flushed(&plain, &[]);
        let mut decompressor = Decompressor::new(&[]).unwrap();
        let mut before = 0;
        for len in 0..frame.len() {
            let read = decompressor.read(&frame[..len], true).unwrap_or_default();
            assert!(
                plain.starts_with(&read) && read.len() >= before && read.len().is_multiple_of(1000),
                "{len}"
            );
            before = read.len();
        }
        assert!(before >= 19_000, "{before}");
    }

    /// A shortened dictionary is refused. A dictionary with a wrong bit is refused, or gives other payloads.
    #[test]
    fn a_damaged_dictionary_is_refused_or_reads_other_payloads() {
        let samples: Vec<Vec<u8>> = (1..400).map(|at| text(60 + at)).collect();
        let dictionary = zstd::dict::from_samples(&samples, 1024).unwrap();
        let plain = text(400);
        let frame = flushed(&plain, &dictionary);
        let mut refused = 0;
        for at in (0..dictionary.len() * 8).step_by(5) {
            let mut damaged = dictionary.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            match Decompressor::new(&damaged) {
                Ok(mut decompressor) => {
                    let read = decompressor.read(&frame, false);
                    assert!(read.is_none_or(|read| read.len() <= MOST_PAYLOAD));
                }
                Err(error) => {
                    assert!(matches!(error, Error::Malformed { .. }), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0);
        for len in 1..8 {
            assert!(Decompressor::new(&dictionary[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn no_bytes_panic_and_none_are_read_beyond_the_longest() {
        let frame = flushed(&text(5000), &[]);
        let mut decompressor = Decompressor::new(&[]).unwrap();
        for at in 0..frame.len() * 8 {
            let mut frame = frame.clone();
            frame[at / 8] ^= 1 << (at % 8);
            for truncated in [false, true] {
                let read = decompressor.read(&frame, truncated);
                assert!(read.is_none_or(|read| read.len() <= MOST_PAYLOAD));
            }
        }
        // The decoder still works as before.
        assert_eq!(
            decompressor.read(&flushed(b"text", &[]), false),
            Some(b"text".to_vec())
        );
    }
}
