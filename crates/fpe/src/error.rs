//! Reasons to refuse a call. No message holds a plaintext, a ciphertext or a key. Messages about formats show only
//! symbols of the format.

/// The reason why a key, a parameter or an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key does not have the requested AES size.
    #[error("key of {found} bytes: expected {expected}")]
    KeyLength {
        /// The number of bytes given.
        found: usize,
        /// The size in bytes of a key of the requested size.
        expected: usize,
    },
    /// The radix is outside the range of the algorithm.
    #[error("radix {found}: expected {min} to {max}")]
    Radix {
        /// The radix given.
        found: u32,
        /// The smallest radix of the algorithm.
        min: u32,
        /// The largest radix of the algorithm.
        max: u32,
    },
    /// The numeral string or the text is too short or too long for the algorithm, the radix and the format.
    #[error("input of {found} symbols: expected {}", Lengths(*min, *max))]
    Length {
        /// The number of symbols given, including those that a format keeps.
        found: usize,
        /// The smallest number of symbols allowed.
        min: usize,
        /// The largest number of symbols allowed.
        max: usize,
    },
    /// So few symbols of a text are encrypted that an attacker can try all values.
    #[error(
        "input of {found} symbols, of which {encrypted} are encrypted: expected {min} symbols{hint}{}",
        if *small { SMALL } else { "" }
    )]
    FewSymbols {
        /// The number of symbols given, including those that a format keeps.
        found: usize,
        /// The number of symbols that are encrypted.
        encrypted: usize,
        /// The smallest number of symbols, including those that a format keeps.
        min: usize,
        /// A text that says which symbols the format counts, or which format serves shorter values.
        hint: &'static str,
        /// True if `allow_small_domain` would accept the input.
        small: bool,
    },
    /// A numeral is not below the radix.
    #[error("numeral {index} is not below the radix")]
    Numeral {
        /// Position of the first such numeral.
        index: usize,
    },
    /// A symbol is not in the alphabet, or the format does not allow it at this position.
    #[error("symbol {index}, counted from 0, does not belong to the alphabet or format")]
    Symbol {
        /// Position of the first such symbol.
        index: usize,
    },
    /// The tweak is longer than the algorithm allows, or does not have the fixed length.
    #[error("tweak of {found} bytes: expected {expected}")]
    TweakLength {
        /// The number of bytes given.
        found: usize,
        /// The number of bytes expected.
        expected: usize,
    },
    /// The integer is outside the range of the cipher.
    #[error("integer outside the range of the cipher")]
    OutOfRange,
    /// The algorithm cannot permute the range, the product of a format's segments, or the list of bases.
    #[error("domain of {found} values: expected {min} to {max}{}", small(*found, *min))]
    Domain {
        /// The number of values in the domain, or the largest integer if there are more.
        found: u128,
        /// The smallest number of values.
        min: u128,
        /// The largest number of values.
        max: u128,
    },
    /// An alphabet has too few or too many symbols.
    #[error("alphabet of {found} symbols: expected 2 to 65536")]
    AlphabetLength {
        /// The number of symbols given.
        found: usize,
    },
    /// An alphabet has a symbol twice.
    #[error("symbol {index} of the alphabet occurs before")]
    AlphabetDuplicate {
        /// Position of the second occurrence.
        index: usize,
    },
    /// The alphabet has symbols outside ASCII, but the symbols must be bytes.
    #[error("the alphabet is not of ASCII")]
    Alphabet,
    /// Riffpe's label width is zero or above the limit.
    #[error("{found} bytes per value: expected 1 to {max}")]
    BytesPerValue {
        /// The width given.
        found: usize,
        /// The largest width.
        max: usize,
    },
    /// The batch is not a whole number of records, or does not have one tweak per record.
    #[error("{found} items in the batch: expected {expected}")]
    Batch {
        /// The number of items given.
        found: usize,
        /// The number of items expected.
        expected: usize,
    },
    /// A check digit does not match.
    #[error("the check digit does not match")]
    CheckDigit,
    /// A format is not well formed.
    #[error("format: {what}")]
    Format {
        /// The reason.
        what: &'static str,
    },
    /// A symbol is in two sets of a format that must be disjoint. In a ciphertext, decryption could not tell to which
    /// set the symbol belongs.
    #[error("format: symbol {symbol:?} is in {first} and in {second}")]
    FormatOverlap {
        /// The first such symbol.
        symbol: char,
        /// The first of the two sets.
        first: SymbolSet,
        /// The second set.
        second: SymbolSet,
    },
    /// The check of a format is not defined for a symbol of its alphabet.
    #[error("format: the check does not cover symbol {symbol:?} of the alphabet")]
    FormatUncovered {
        /// The first such symbol.
        symbol: char,
    },
    /// The caller set an option that this kind of format does not have.
    #[error("format: {format} has no option `{option}`")]
    FormatOption {
        /// The name of the option's method.
        option: &'static str,
        /// The kind of format.
        format: &'static str,
    },
}

/// The option for small domains, and its price.
const SMALL: &str =
    ", or `allow_small_domain` (--allow-small-domain), by which values can be found by trying";

/// What to do about a domain that is small: the hint depends on whether the option would help.
fn small(found: u128, min: u128) -> &'static str {
    // The bounds of FF1 and FF3, without and with the option.
    match min == 1_000_000 && (100..min).contains(&found) {
        true => SMALL,
        false => "",
    }
}

/// Displays the two lengths in words. It leaves out a bound that no input reaches, because that would hide the other
/// bound.
struct Lengths(usize, usize);

impl core::fmt::Display for Lengths {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(min, max) = self;
        match *max < 1 << 24 {
            true => write!(f, "{min} to {max}"),
            false => write!(f, "at least {min}"),
        }
    }
}

/// A set of symbols in a [`crate::Format::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SymbolSet {
    /// The alphabet of the encrypted symbols.
    Alphabet,
    /// The characters that stay in their positions.
    Pass,
    /// The symbols that can end a check.
    Check,
}

impl core::fmt::Display for SymbolSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Alphabet => "the alphabet",
            Self::Pass => "the characters that pass",
            Self::Check => "the symbols of the check",
        })
    }
}
