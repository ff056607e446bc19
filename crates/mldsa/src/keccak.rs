//! Keccak-f\[1600\] (FIPS 202, section 3.3) on up to eight states at once.

pub(crate) mod portable;

/// Number of states in [`Lanes`].
pub(crate) const LANES: usize = 8;

/// Eight Keccak states, word by word: `self.0[x + 5 y][lane]` is word (x, y) of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [[u64; LANES]; 25]);

/// A set of lanes, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask(pub(crate) u8);

impl Mask {
    pub(crate) fn single(self) -> Option<usize> {
        (self.0.count_ones() == 1).then(|| self.0.trailing_zeros() as usize)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..LANES).filter(move |lane| self.0 >> lane & 1 == 1)
    }
}

/// The round constants of iota.
pub(crate) const RC: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808A,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808B,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008A,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000A,
    0x0000_0000_8000_808B,
    0x8000_0000_0000_008B,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800A,
    0x8000_0000_8000_000A,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
