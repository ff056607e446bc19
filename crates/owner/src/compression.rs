//! Payloads, compressed one by one by zstd, so that each can be fetched alone.
//!
//! Short texts hardly compress by themselves: a dictionary, trained on some of them, has what they share. Readers
//! download it once, with the list of the records in each page.

use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::payload::MOST_DICTIONARY;
use zstd::bulk::Compressor;
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

/// The first bytes of every frame, which are left out.
const MAGIC_LEN: usize = 4;

/// Payloads that a dictionary is trained on, at most.
const SAMPLES: usize = 20_000;

/// The part of all payloads that a dictionary may have: it is downloaded by every reader.
const PART: usize = 64;

/// Bytes of a dictionary at least: a shorter one saves nothing.
const LEAST_DICTIONARY: usize = 1 << 10;

/// Payloads whose frames are compressed apart, to find out whether that saves anything.
const TRIED: usize = 1000;

/// Bytes of the first block of a long payload, and of the longest; each block has twice the bytes of the one before. A
/// payload that is cut short can be read up to the end of a block. At least a third of what was fetched is read, half
/// on average.
const BLOCKS: (usize, usize) = (128, 4096);

/// Bytes of a payload that has several blocks, at least, and of one that always has.
const LONG: (usize, usize) = (512, 4096);

/// Bytes that an encoder of the highest level takes, about.
const ENCODER: u64 = 8 << 20;

/// The compression of the payloads under one content key.
pub(crate) struct Compression {
    /// A dictionary of zstd; empty if there is no dictionary.
    pub(crate) dictionary: Vec<u8>,
    /// `None` where payloads do not shrink.
    level: Option<i32>,
    /// Bytes of a payload of one block, at most. Blocks cost some bytes: payloads that pages are made for have one.
    short: usize,
}

impl Compression {
    /// The compression of these payloads.
    ///
    /// # Errors
    /// If memory is refused.
    pub(crate) fn new(payloads: &[&[u8]]) -> Result<Self, Error> {
        let total: usize = payloads.iter().map(|payload| payload.len()).sum();
        // More time for each byte where there are few.
        let level = match total {
            0..=0x3ff_ffff => 19,
            0x400_0000..=0xfff_ffff => 12,
            _ => 6,
        };
        let step = payloads.len().div_ceil(SAMPLES).max(1);
        let samples: Vec<&[u8]> = payloads.iter().step_by(step).copied().collect();
        let short = short(&samples);
        let most = (total / PART).min(MOST_DICTIONARY);
        let mut dictionary = Vec::new();
        if most >= LEAST_DICTIONARY {
            // Payloads that have nothing in common have no dictionary.
            dictionary = zstd::dict::from_samples(&samples, most).unwrap_or_default();
        }
        let with = Self {
            dictionary,
            level: Some(level),
            short,
        };
        let step = payloads.len().div_ceil(TRIED).max(1);
        let tried: Vec<&[u8]> = payloads.iter().step_by(step).copied().collect();
        let plain: usize = tried.iter().map(|payload| payload.len()).sum();
        let saved = |compression: &Self| -> Result<usize, Error> {
            let len = |plain: &[u8], frame: Option<&[u8]>| frame.unwrap_or(plain).len();
            let found = compression.compress(tried.clone(), |plain| plain, len)?;
            let found: usize = found.into_iter().sum();
            // All payloads together would save so much, less the dictionary.
            let all = (plain - found).saturating_mul(total) / plain.max(1);
            Ok(all.saturating_sub(compression.dictionary.len()))
        };
        let without = Self {
            dictionary: Vec::new(),
            level: Some(level),
            short,
        };
        let (by_both, by_one) = (saved(&with)?, saved(&without)?);
        let (best, saved) = match by_both > by_one {
            true => (with, by_both),
            false => (without, by_one),
        };
        // A twentieth is not worth the time of readers.
        if saved < total.div_ceil(20) {
            return Ok(Self::none());
        }
        Ok(best)
    }

    /// No compression.
    pub(crate) fn none() -> Self {
        Self {
            dictionary: Vec::new(),
            level: None,
            short: 0,
        }
    }

    /// The results of `make` for each item and the frame of its payload, if that is shorter than the payload. An item that `make`
    /// drops is gone before all others are compressed.
    ///
    /// # Errors
    /// If memory is refused.
    pub(crate) fn compress<T: Send, U: Send>(
        &self,
        items: Vec<T>,
        payload: impl Fn(&T) -> &[u8] + Sync,
        make: impl Fn(T, Option<&[u8]>) -> U + Sync,
    ) -> Result<Vec<U>, Error> {
        let Some(level) = self.level else {
            return Ok(items.into_iter().map(|item| make(item, None)).collect());
        };
        let each = items
            .into_par_iter()
            .map_init(Encoders::default, |encoders, item| {
                let plain = payload(&item);
                let frame = match plain.len() > self.short {
                    false => self.encoder(level, &mut encoders.short)?.compress(plain)?,
                    true => long(self.long_encoder(level, &mut encoders.long)?, plain)?,
                };
                let shrunk = frame
                    .get(MAGIC_LEN..)
                    .filter(|frame| frame.len() < plain.len());
                Ok(make(item, shrunk))
            });
        let each: std::io::Result<Vec<_>> = each.collect();
        // The encoder refuses nothing but to go on without memory.
        each.map_err(|_| Error::Memory {
            needed: ENCODER,
            found: None,
        })
    }

    /// The encoder of short payloads, which is made once.
    fn encoder<'a, 'b>(
        &'a self,
        level: i32,
        made: &'b mut Option<Compressor<'a>>,
    ) -> std::io::Result<&'b mut Compressor<'a>> {
        Ok(match made {
            Some(encoder) => encoder,
            None => {
                let mut encoder = Compressor::with_dictionary(level, &self.dictionary)?;
                // There is one dictionary: its number would be the same in every frame.
                encoder.include_dictid(false)?;
                made.insert(encoder)
            }
        })
    }

    /// The encoder of long payloads, which is made once.
    fn long_encoder<'a>(
        &self,
        level: i32,
        made: &'a mut Option<Encoder<'static>>,
    ) -> std::io::Result<&'a mut Encoder<'static>> {
        Ok(match made {
            Some(encoder) => encoder,
            None => {
                let mut encoder = Encoder::with_dictionary(level, &self.dictionary)?;
                encoder.set_parameter(CParameter::DictIdFlag(false))?;
                encoder.set_parameter(CParameter::ContentSizeFlag(false))?;
                encoder.set_parameter(CParameter::WindowLog(20))?;
                made.insert(encoder)
            }
        })
    }
}

/// The encoders of a thread: making one takes longer than a frame.
#[derive(Default)]
struct Encoders<'a> {
    short: Option<Compressor<'a>>,
    long: Option<Encoder<'static>>,
}

/// A frame of several blocks.
fn long(encoder: &mut Encoder<'_>, plain: &[u8]) -> std::io::Result<Vec<u8>> {
    encoder.reinit()?;
    encoder.set_pledged_src_size(Some(plain.len() as u64))?;
    let (mut len, longest) = BLOCKS;
    // A block that does not shrink has a head, and the frame some bytes before and after all.
    let mut frame = vec![0; plain.len() + plain.len() / BLOCKS.0 * 8 + 128];
    let mut out = OutBuffer::around(&mut frame);
    let mut rest = plain;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(len.min(rest.len()));
        let mut input = InBuffer::around(piece);
        while input.pos() < piece.len() {
            encoder.run(&mut input, &mut out)?;
        }
        while encoder.flush(&mut out)? > 0 {
            check_room(&out)?;
        }
        rest = after;
        len = longest.min(2 * len);
    }
    while encoder.finish(&mut out, true)? > 0 {
        check_room(&out)?;
    }
    let len = out.pos();
    frame.truncate(len);
    Ok(frame)
}

/// Refuses to go on where no byte is left.
fn check_room(out: &OutBuffer<'_, Vec<u8>>) -> std::io::Result<()> {
    match out.pos() < out.capacity() {
        true => Ok(()),
        false => Err(std::io::ErrorKind::WriteZero.into()),
    }
}

/// Bytes of a payload of one block, at most. For each record, searches fetch twice the pages of one of middle length,
/// so they shorten none that is not longer.
fn short(samples: &[&[u8]]) -> usize {
    let mut lens: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
    let middle = lens.len() / 2;
    let middle = match lens.is_empty() {
        true => 0,
        false => *lens.select_nth_unstable(middle).1,
    };
    middle.saturating_mul(2).clamp(LONG.0, LONG.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_vault::decompression::Decompressor;

    fn texts(n: usize) -> Vec<Vec<u8>> {
        let words = [
            "alpha", "beta", "gamma", "delta", "the", "of", "search", "vector",
        ];
        let text = |at: usize| {
            let words = (0..12).map(|i| words[(at * 7 + i * i * 3 + at / 5) % words.len()]);
            format!("{} {at}", words.collect::<Vec<_>>().join(" ")).into_bytes()
        };
        (0..n).map(text).collect()
    }

    /// Each payload as it is stored, and whether that is compressed.
    fn compressed(compression: &Compression, plain: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let make =
            |plain: &[u8], frame: Option<&[u8]>| (frame.unwrap_or(plain).to_vec(), frame.is_some());
        let found = compression.compress(plain.to_vec(), |plain| plain, make);
        found.unwrap()
    }

    #[test]
    fn a_third_at_least_of_what_is_fetched_of_a_long_text_is_read() {
        let long = |at: usize, len: usize| {
            let all = texts(len / 20 + at).concat();
            all[all.len() - len..].to_vec()
        };
        let mut all = texts(3000);
        all.extend((0..20).map(|at| long(at, 700 + 600 * at)));
        let plain: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let compression = Compression::new(&plain).unwrap();
        let found = compressed(&compression, &plain);
        let mut reader = Decompressor::new(&compression.dictionary).unwrap();
        for ((frame, compressed), plain) in found.iter().zip(&plain).skip(3000) {
            assert!(*compressed);
            assert_eq!(reader.read(frame, false).as_deref(), Some(*plain));
            let cut = (112..frame.len()).map(|page| {
                let read = reader.read(&frame[..page], true).unwrap();
                assert!(plain.starts_with(&read));
                read.len()
            });
            let lens: Vec<usize> = cut.chain([plain.len()]).collect();
            // A block has at most twice the bytes of the one before, so a little more than all before it.
            assert!(lens[0] >= BLOCKS.0, "{lens:?}");
            for pair in lens.windows(2) {
                assert!(pair[0] <= pair[1] && pair[1] <= 3 * pair[0], "{pair:?}");
            }
        }
        // Where all are long, none has blocks that cost something.
        let alike: Vec<Vec<u8>> = (0..100).map(|at| long(at, 2500)).collect();
        let alike: Vec<&[u8]> = alike.iter().map(Vec::as_slice).collect();
        assert_eq!(Compression::new(&alike).unwrap().short, 4096);
    }

    #[test]
    fn texts_shrink_with_a_dictionary_and_noise_stays_as_it_is() {
        let texts = texts(3000);
        let plain: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let compression = Compression::new(&plain).unwrap();
        assert!((LEAST_DICTIONARY..=MOST_DICTIONARY).contains(&compression.dictionary.len()));
        let found = compressed(&compression, &plain);
        let total: usize = found.iter().map(|(bytes, _)| bytes.len()).sum();
        assert!(2 * total < plain.iter().map(|it| it.len()).sum(), "{total}");
        assert!(found.iter().all(|(_, compressed)| *compressed));

        let mut state = 1u64;
        let noise: Vec<Vec<u8>> = (0..300)
            .map(|_| {
                let word = |_| {
                    state = state
                        .wrapping_mul(6364136223846793005)
                        .wrapping_add(1442695040888963407);
                    state.to_be_bytes()[0]
                };
                (0..200).map(word).collect()
            })
            .collect();
        let plain: Vec<&[u8]> = noise.iter().map(Vec::as_slice).collect();
        let compression = Compression::new(&plain).unwrap();
        assert!(compression.dictionary.is_empty());
        let found = compressed(&compression, &plain);
        assert!(
            found
                .iter()
                .zip(&noise)
                .all(|(found, plain)| *found == (plain.clone(), false))
        );
        for few in [&[][..], &[&b""[..]], &[&b"one"[..], b""]] {
            let compression = Compression::new(few).unwrap();
            assert_eq!(compressed(&compression, few).len(), few.len());
        }
    }
}
