//! One interface for the forward AES block (FIPS 197).
//!
//! Only the forward direction is provided, since counter modes and Feistel ciphers need no other. A
//! computation over blocks is an [`Operation`]. [`Key::run`](crate::Key::run) chooses the backend once and
//! runs the whole operation with it, so that the block is inlined into the operation's own loop.

/// The number of blocks that [`Aes::encrypt8`] encrypts: enough to hide the latency of one block behind the
/// others.
pub const LANES: usize = 8;

/// AES under one key. A block is stored in the type of register that the backend uses. As an integer it is
/// big-endian, as everywhere in SP 800-38G.
pub trait Aes: Copy {
    /// A block of 16 bytes.
    type Block: Copy;

    /// The block whose bytes are `x`, most significant first.
    fn load(self, x: u128) -> Self::Block;
    /// The integer whose bytes, most significant first, are the block.
    fn store(self, x: Self::Block) -> u128;
    /// The first eight bytes of the block as an integer.
    fn high(self, x: Self::Block) -> u64;
    /// `x ^ y`.
    fn xor(self, x: Self::Block, y: Self::Block) -> Self::Block;
    /// `x` with the integer `low` XORed into its last eight bytes.
    fn xor_low(self, x: Self::Block, low: u64) -> Self::Block;
    /// The integer whose bytes, least significant first, are the block.
    #[inline(always)]
    fn store_le(self, x: Self::Block) -> u128 {
        self.store(x).swap_bytes()
    }
    /// `x` with the integer `first`, least significant byte first, XORed into its first eight bytes.
    #[inline(always)]
    fn xor_first_le(self, x: Self::Block, first: u64) -> Self::Block {
        self.xor(x, self.load(u128::from(first.swap_bytes()) << 64))
    }
    /// Encrypts a block.
    fn encrypt(self, x: Self::Block) -> Self::Block;
    /// Adds the first round key, on backends where this is a separate step that can run before the block is
    /// complete. A second call undoes it.
    #[inline(always)]
    fn whiten(self, x: Self::Block) -> Self::Block {
        x
    }
    /// `encrypt(whiten(x))`.
    #[inline(always)]
    fn encrypt_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// `whiten(encrypt(whiten(x)))`: the next block of a chain.
    #[inline(always)]
    fn next_whitened(self, x: Self::Block) -> Self::Block {
        self.encrypt(x)
    }
    /// Encrypts eight blocks.
    fn encrypt8(self, x: [Self::Block; LANES]) -> [Self::Block; LANES];
}

/// A computation that uses AES. Mark `run` as `#[inline(always)]`, so that it becomes part of a function
/// compiled for the instructions of `A`.
pub trait Operation {
    /// The result.
    type Output;
    /// Computes the result.
    fn run<A: Aes>(self, aes: A) -> Self::Output;
}
