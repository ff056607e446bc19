//! Compresses payloads one by one with zstd, so that clients can fetch each alone.
//!
//! Short texts hardly compress by themselves. A dictionary, trained on some of them, holds what they share. Readers download it
//! once, with the list of the records in each page.

use rayon::prelude::*;
use sordino_index::Error;
use sordino_index::payload::MOST_DICTIONARY;
use zstd::bulk::Compressor;
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

/// The number of first bytes that are the same in every frame, and left out.
const MAGIC_LEN: usize = 4;

/// The largest number of payloads on which a dictionary is trained.
const SAMPLES: usize = 20_000;

/// A dictionary may have at most one byte for this number of bytes of payloads, since every reader downloads it.
const PART: usize = 64;

/// The smallest number of bytes of a dictionary. A shorter one saves nothing.
const LEAST_DICTIONARY: usize = 1 << 10;

/// The number of payloads that are compressed as a test, to find out whether compression saves anything.
const TRIED: usize = 1000;

/// The number of bytes of the first block of a long payload, and of the longest block. Each block has twice the bytes of the
/// block before it. A reader can use a shortened payload up to the end of its last complete block. That is at least a third
/// of the fetched bytes, and half of them on average.
const BLOCKS: (usize, usize) = (128, 4096);

/// The smallest number of bytes of a payload that may have several blocks, and of one that always has several.
const LONG: (usize, usize) = (512, 4096);

/// The approximate bytes of memory of an encoder at the highest level.
const ENCODER: u64 = 8 << 20;

/// The compression of the payloads under one content key.
pub(crate) struct Compression {
    /// A zstd dictionary, or empty.
    pub(crate) dictionary: Vec<u8>,
    /// The level, or `None` if payloads do not shrink.
    level: Option<i32>,
    /// The largest number of bytes of a payload of one block. Blocks cost some bytes, so payloads for whose length pages are
    /// made have only one.
    short: usize,
}

impl Compression {
    /// The compression of these payloads.
    ///
    /// # Errors
    /// [`Error`] if memory is refused.
    pub(crate) fn new(payloads: &[&[u8]]) -> Result<Self, Error> {
        let total: usize = payloads.iter().map(|payload| payload.len()).sum();
        // If there are few bytes, the build can spend more time on each byte.
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
            // Training fails if payloads have nothing in common. These payloads get no dictionary.
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
            // The estimated saving over all payloads, minus the bytes of the dictionary.
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
        // A saving of less than a twentieth is not worth the readers' time.
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

    /// Calls `make` for each item. `make` also gets the frame of the item's payload, if the frame is shorter than the payload.
    /// An item that `make` drops is freed before the next items are compressed.
    ///
    /// # Errors
    /// [`Error`] if memory is refused.
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
        // The encoder fails only if memory is refused.
        each.map_err(|_| Error::Memory {
            needed: ENCODER,
            found: None,
        })
    }

    /// The encoder of short payloads, which is created once.
    fn encoder<'a, 'b>(
        &'a self,
        level: i32,
        made: &'b mut Option<Compressor<'a>>,
    ) -> std::io::Result<&'b mut Compressor<'a>> {
        Ok(match made {
            Some(encoder) => encoder,
            None => {
                let mut encoder = Compressor::with_dictionary(level, &self.dictionary)?;
                // There is one dictionary, so its number would be the same in every frame.
                encoder.include_dictid(false)?;
                made.insert(encoder)
            }
        })
    }

    /// The encoder of long payloads, which is created once.
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

/// The encoders of a thread. Creating one takes longer than compressing a frame.
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
    // A block that does not shrink has a head, and a frame has some bytes before and after its blocks.
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

/// Returns an error if no space is left.
fn check_room(out: &OutBuffer<'_, Vec<u8>>) -> std::io::Result<()> {
    match out.pos() < out.capacity() {
        true => Ok(()),
        false => Err(std::io::ErrorKind::WriteZero.into()),
    }
}

/// The largest number of bytes of a payload of one block. For each record, searches fetch twice the pages of a median one,
/// so only longer payloads are ever shortened.
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

    /// Each payload in its stored form, and whether it is compressed.
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
            // A block has at most twice the bytes of the block before it. That is slightly more than the bytes of all blocks
            // before it.
            assert!(lens[0] >= BLOCKS.0, "{lens:?}");
            for pair in lens.windows(2) {
                assert!(pair[0] <= pair[1] && pair[1] <= 3 * pair[0], "{pair:?}");
            }
        }
        // If all payloads are long, no payload has several blocks, because blocks would cost bytes.
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
