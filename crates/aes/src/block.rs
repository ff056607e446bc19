//! The forward block (FIPS 197) as one interface.
//!
//! The block runs in the forward direction only, which is all that counter modes and Feistel ciphers need. A
//! computation over blocks is an [`Operation`]; [`Key::run`](crate::Key::run) picks the backend once and runs
//! the whole operation with it, so that the block is inlined into the operation's own loop.

/// Blocks that [`Aes::encrypt8`] takes: enough to hide the latency of one behind the others.
pub const LANES: usize = 8;

/// AES under one key. A block is kept in the kind of register that the backend works on; as an
/// integer it is big-endian, as all of SP 800-38G is.
pub trait Aes: Copy {
    /// A block of 16 bytes.
    type Block: Copy;

    /// The block whose bytes are `x`, most significant first.
    fn load(self, x: u128) -> Self::Block;
    /// The integer whose bytes, most significant first, are the block.
    fn store(self, x: Self::Block) -> u128;
    /// The integer of the first eight bytes.
    fn high(self, x: Self::Block) -> u64;
    /// `x ^ y`.
    fn xor(self, x: Self::Block, y: Self::Block) -> Self::Block;
    /// `x` with the integer `low` added by XOR to its last eight bytes.
    fn xor_low(self, x: Self::Block, low: u64) -> Self::Block;
    /// The integer whose bytes, least significant first, are the block.
    #[inline(always)]
    fn store_le(self, x: Self::Block) -> u128 {
        self.store(x).swap_bytes()
    }
    /// `x` with the integer `first` added by XOR to its first eight bytes, least significant first.
    #[inline(always)]
    fn xor_first_le(self, x: Self::Block, first: u64) -> Self::Block {
        self.xor(x, self.load(u128::from(first.swap_bytes()) << 64))
    }
    /// The encrypted block.
    fn encrypt(self, x: Self::Block) -> Self::Block;
    /// The block with the first round key added, on backends where that is a step of its own: it can
    /// then be done before the block is complete. A second call undoes it.
    #[inline(always)]
    fn whiten(self, x: Self::Block) -> Self::Block {
        x
    }
    /// `encrypt(whiten(x))`.
    #[inline(always)]
    fn encrypt_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// `whiten(encrypt(whiten(x)))`: the next of a chain.
    #[inline(always)]
    fn next_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// The encrypted blocks.
    fn encrypt8(self, x: [Self::Block; LANES]) -> [Self::Block; LANES];
}

/// A computation that uses AES. `run` is to be `#[inline(always)]`: it becomes part of a function
/// compiled for the instructions of `A`.
pub trait Operation {
    /// The result.
    type Output;
    /// Computes it.
    fn run<A: Aes>(self, aes: A) -> Self::Output;
}
