//! SHAKE128 and SHAKE256 (FIPS 202) of many inputs at the same time, one per lane.
//!
//! A lane whose input is finished takes the next one at the next permutation, whatever its length and rate. So lanes
//! are idle only when the queue is empty.

use crate::keccak::{Blocks, LANES, Lanes, Mask};
use crate::kernels::Kernels;

/// The number of bytes per block of SHAKE128.
pub(crate) const RATE_128: u8 = 168;
/// The number of bytes per block of SHAKE256.
pub(crate) const RATE_256: u8 = 136;

/// The input of one sponge: the concatenation of `first`, `own`, `then` and `parts`.
///
/// The size stays below 128 bytes, since lanes move it and the compiler calls `memcpy` for larger types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub(crate) first: &'a [u8],
    pub(crate) then: [&'a [u8]; 2],
    pub(crate) parts: &'a [&'a [u8]],
    /// Up to 34 bytes that are stored here, and their number.
    pub(crate) own: ([u8; 34], u8),
    /// [`RATE_128`] or [`RATE_256`].
    pub(crate) rate: u8,
}

impl<'a> Input<'a> {
    /// The input for hashing one slice with SHAKE256.
    pub(crate) fn shake256(first: &'a [u8]) -> Self {
        Self {
            first,
            then: [&[]; 2],
            parts: &[],
            own: ([0; 34], 0),
            rate: RATE_256,
        }
    }

    fn segment(&self, index: usize) -> Option<&[u8]> {
        match index {
            0 => Some(self.first),
            1 => Some(&self.own.0[..usize::from(self.own.1)]),
            2..4 => Some(self.then[index - 2]),
            _ => self.parts.get(index - 4).copied(),
        }
    }
}

/// Says whether a job needs another block of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The job needs the next block.
    More,
    /// The job is finished, and its lane is free.
    Done,
}

/// Gives each job its input, and receives the job's output.
pub(crate) trait Tasks<'a> {
    /// The input of a job, which will be hashed in `lane`, or `None` if the job hashes nothing.
    fn input(&mut self, job: usize, lane: usize) -> Option<Input<'a>>;

    /// Receives the next `rate` bytes of a job's output.
    fn output(&mut self, job: usize, lane: usize, block: &[u8]) -> Output;
}

/// Hashes jobs `0..jobs`, and starts them in this order.
pub(crate) fn run<'a>(
    kernels: Kernels,
    lanes: &mut Lanes,
    jobs: usize,
    tasks: &mut impl Tasks<'a>,
) {
    let mut next = 0..jobs;
    let mut states: [State<'a>; LANES] = [const { State::Idle }; LANES];
    let mut blocks = Blocks([[0; 192]; LANES]);
    loop {
        if states
            .iter()
            .any(|state| matches!(state, State::Squeezing(..)))
        {
            kernels.blocks(lanes, &mut blocks);
        }
        let mut mask = 0;
        for (lane, state) in states.iter_mut().enumerate() {
            if state.advance(lanes, &blocks, lane, &mut next, tasks) {
                mask |= 1 << lane;
            }
        }
        if mask == 0 {
            return;
        }
        kernels.permute(lanes, Mask(mask));
    }
}

enum State<'a> {
    Idle,
    Absorbing(usize, Reader<'a>),
    Squeezing(usize, u8),
}

impl<'a> State<'a> {
    /// Does a lane's work between two permutations. Returns false if the lane has no more work.
    fn advance(
        &mut self,
        lanes: &mut Lanes,
        blocks: &Blocks,
        lane: usize,
        next: &mut impl Iterator<Item = usize>,
        tasks: &mut impl Tasks<'a>,
    ) -> bool {
        loop {
            match self {
                Self::Idle => {
                    let Some(job) = next.next() else { return false };
                    if let Some(input) = tasks.input(job, lane) {
                        lanes.0.iter_mut().for_each(|word| word[lane] = 0);
                        *self = Self::Absorbing(
                            job,
                            Reader {
                                input,
                                segment: 0,
                                offset: 0,
                            },
                        );
                    }
                }
                Self::Absorbing(job, reader) => {
                    if reader.absorb(lanes, lane) {
                        *self = Self::Squeezing(*job, reader.input.rate);
                    }
                    return true;
                }
                Self::Squeezing(job, rate) => {
                    match tasks.output(*job, lane, &blocks.0[lane][..usize::from(*rate)]) {
                        Output::More => return true,
                        Output::Done => *self = Self::Idle,
                    }
                }
            }
        }
    }
}

/// The part of an input that is still to be absorbed.
struct Reader<'a> {
    input: Input<'a>,
    segment: usize,
    offset: usize,
}

impl Reader<'_> {
    /// Absorbs one block. Returns true if it was the last, which carries the padding.
    fn absorb(&mut self, lanes: &mut Lanes, lane: usize) -> bool {
        let rate = usize::from(self.input.rate);
        let mut block = [0; RATE_128 as usize];
        let mut len = 0;
        while let Some(segment) = self.input.segment(self.segment) {
            let rest = &segment[self.offset..];
            if len == 0 && rest.len() >= rate {
                absorb_words(lanes, lane, &rest[..rate]);
                self.offset += rate;
                return false;
            }
            let take = rest.len().min(rate - len);
            block[len..len + take].copy_from_slice(&rest[..take]);
            len += take;
            if take < rest.len() {
                self.offset += take;
                break;
            }
            self.segment += 1;
            self.offset = 0;
        }
        let last = len < rate;
        if last {
            // FIPS 202, section 6.2: the suffix 1111 of the XOFs, then pad10*1
            block[len] = 0x1F;
            block[rate - 1] |= 0x80;
        }
        absorb_words(lanes, lane, &block[..rate]);
        last
    }
}

fn absorb_words(lanes: &mut Lanes, lane: usize, block: &[u8]) {
    for (word, bytes) in lanes.0.iter_mut().zip(block.as_chunks::<8>().0) {
        word[lane] ^= u64::from_le_bytes(*bytes);
    }
}
