//! Reasons to refuse a call. No message holds a plaintext, a ciphertext or a key; messages
//! about formats name symbols of the format alone.

/// The reason why a key, a parameter or an input was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The key is not one of the AES size that was asked for.
    #[error("key of {found} bytes: expected {expected}")]
    KeyLength {
        /// Bytes given.
        found: usize,
        /// Bytes of a key of the size asked for.
        expected: usize,
    },
    /// The radix is outside the range of the algorithm.
    #[error("radix {found}: expected {min} to {max}")]
    Radix {
        /// Radix given.
        found: u32,
        /// Smallest radix of the algorithm.
        min: u32,
        /// Largest radix of the algorithm.
        max: u32,
    },
    /// The numeral string or the text is too short or too long for the algorithm, the radix and the format.
    #[error("input of {found} symbols: expected {}", Lengths(*min, *max))]
    Length {
        /// Symbols given, including the ones that a format keeps.
        found: usize,
        /// Fewest symbols allowed.
        min: usize,
        /// Most symbols allowed.
        max: usize,
    },
    /// So little of a text is encrypted that its values can be tried one by one.
    #[error(
        "input of {found} symbols, of which {encrypted} are encrypted: expected {min} symbols, or `allow_small_domain` \
         (--allow-small-domain), by which values can be found by trying"
    )]
    FewSymbols {
        /// Symbols given, including the ones that a format keeps.
        found: usize,
        /// The number of symbols that are encrypted.
        encrypted: usize,
        /// Fewest symbols without the option.
        min: usize,
    },
    /// A numeral is not below the radix.
    #[error("numeral {index} is not below the radix")]
    Numeral {
        /// Position of the first such numeral.
        index: usize,
    },
    /// A symbol is not in the alphabet, or not what the format has at this place.
    #[error("symbol {index}, counted from 0, does not belong to the alphabet or format")]
    Symbol {
        /// Position of the first such symbol.
        index: usize,
    },
    /// The tweak is longer than the algorithm allows, or not of the length it fixes.
    #[error("tweak of {found} bytes: expected {expected}")]
    TweakLength {
        /// Bytes given.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// The integer is outside the range of the cipher.
    #[error("integer outside the range of the cipher")]
    OutOfRange,
    /// The range, the product of a format's segments, or the list of bases is not one that
    /// the algorithm can permute.
    #[error("domain of {found} values: expected {min} to {max}{}", small(*found, *min))]
    Domain {
        /// Values in the domain (saturated).
        found: u128,
        /// Fewest values.
        min: u128,
        /// Most values.
        max: u128,
    },
    /// An alphabet has too few or too many symbols.
    #[error("alphabet of {found} symbols: expected 2 to 65536")]
    AlphabetLength {
        /// Symbols given.
        found: usize,
    },
    /// An alphabet has a symbol twice.
    #[error("symbol {index} of the alphabet occurs before")]
    AlphabetDuplicate {
        /// Position of the second occurrence.
        index: usize,
    },
    /// The alphabet has symbols outside ASCII, where bytes are to be its symbols.
    #[error("the alphabet is not of ASCII")]
    Alphabet,
    /// Riffpe's label width is zero or above the limit.
    #[error("{found} bytes per value: expected 1 to {max}")]
    BytesPerValue {
        /// Width given.
        found: usize,
        /// Largest width.
        max: usize,
    },
    /// The batch is not a whole number of records, or not one tweak per record was given.
    #[error("{found} items in the batch: expected {expected}")]
    Batch {
        /// Items given.
        found: usize,
        /// Items expected.
        expected: usize,
    },
    /// A check digit does not match.
    #[error("the check digit does not match")]
    CheckDigit,
    /// A format is not well formed.
    #[error("format: {what}")]
    Format {
        /// The fault.
        what: &'static str,
    },
    /// A symbol is in two sets of a format that may share none. A reader of a ciphertext could not tell for which set
    /// it stands.
    #[error("format: symbol {symbol:?} is in {first} and in {second}")]
    FormatOverlap {
        /// The first such symbol.
        symbol: char,
        /// The first of the two sets.
        first: SymbolSet,
        /// The other.
        second: SymbolSet,
    },
    /// A symbol of a format's alphabet is not one that its check is defined for.
    #[error("format: the check does not cover symbol {symbol:?} of the alphabet")]
    FormatUncovered {
        /// The first such symbol.
        symbol: char,
    },
    /// An option was set that this kind of format does not have.
    #[error("format: {format} has no option `{option}`")]
    FormatOption {
        /// The option's method.
        option: &'static str,
        /// The kind of format.
        format: &'static str,
    },
}

/// The way to a domain that is small, and not too small.
fn small(found: u128, min: u128) -> &'static str {
    // The bounds of FF1 and FF3, without the option and with it.
    match min == 1_000_000 && (100..min).contains(&found) {
        true => {
            ", or `allow_small_domain` (--allow-small-domain), by which values can be found by trying"
        }
        false => "",
    }
}

/// Lengths in words: a bound that no input reaches would only hide the other one.
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

/// A set of symbols that a [`crate::Format::text`] is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SymbolSet {
    /// The alphabet of the symbols that are encrypted.
    Alphabet,
    /// The characters that stay where they are.
    Pass,
    /// The symbols that the check may end in.
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
