//! Symbols and the numerals they stand for.

use crate::Error;
use alloc::{borrow::Cow, vec::Vec};
use core::fmt::{self, Write};

/// Consecutive code points that stand for consecutive numerals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    numeral: u32,
    len: u32,
}

/// Up to this number of runs, a look-up visits every run for each symbol.
const SCAN: usize = 64;

/// An ordered set of 2 to 65,536 symbols; the position of a symbol is its numeral.
///
/// # Security
/// An alphabet of at most 64 runs of consecutive code points is translated by arithmetic on all its runs. No branch and
/// no address then depends on the symbol. This holds for every preset, and for every alphabet of at most 64 symbols.
/// Larger irregular alphabets are searched, and time and memory access then reveal the symbols.
///
/// ```
/// use sordino_fpe::{AesKey, Alphabet, Ff1, NumeralCipher};
///
/// let digits = Alphabet::new("〇一二三四五六七八九")?;
/// let ff1 = Ff1::new(&AesKey::new_256(&[7; 32]), digits.radix())?;
/// let hidden = ff1.encrypt_str(&digits, b"", "一九八四〇六")?;
/// assert_eq!(ff1.decrypt_str(&digits, b"", &hidden)?, "一九八四〇六");
/// # Ok::<(), sordino_fpe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alphabet {
    /// The runs, sorted by code point.
    runs: Cow<'static, [Run]>,
    /// The symbols by numeral, or an empty table if look-ups scan the runs.
    table: Vec<char>,
    radix: u32,
}

/// Defines a preset: runs of ASCII, in the order of their numerals.
macro_rules! preset {
    ($(#[$doc:meta])* $name:ident = $radix:literal: $($first:literal $numeral:literal $len:literal),+) => {
        $(#[$doc])*
        pub const $name: Self = Self {
            runs: Cow::Borrowed(&[$(Run { first: $first as u32, numeral: $numeral, len: $len }),+]),
            table: Vec::new(),
            radix: $radix,
        };
    };
}

impl Alphabet {
    preset!(
        /// `0` to `9`.
        DECIMAL = 10: '0' 0 10
    );
    preset!(
        /// `0` to `9`, then `a` to `f`.
        HEX = 16: '0' 0 10, 'a' 10 6
    );
    preset!(
        /// `a` to `z`.
        LOWER = 26: 'a' 0 26
    );
    preset!(
        /// `A` to `Z`.
        UPPER = 26: 'A' 0 26
    );
    preset!(
        /// `0` to `9`, then `a` to `z`: the alphabet of NIST's samples of radix 36.
        LOWER_ALPHANUMERIC = 36: '0' 0 10, 'a' 10 26
    );
    preset!(
        /// `0` to `9`, then `A` to `Z`.
        UPPER_ALPHANUMERIC = 36: '0' 0 10, 'A' 10 26
    );
    preset!(
        /// `0` to `9`, then `A` to `Z`, then `a` to `z`.
        ALPHANUMERIC = 62: '0' 0 10, 'A' 10 26, 'a' 36 26
    );
    preset!(
        /// The 95 printable characters of ASCII, by code point.
        PRINTABLE = 95: ' ' 0 95
    );

    /// The alphabet of these symbols, in this order.
    ///
    /// # Errors
    /// [`Error::AlphabetLength`] if there are too few or too many symbols; [`Error::AlphabetDuplicate`] if a symbol
    /// occurs twice.
    pub fn new(symbols: &str) -> Result<Self, Error> {
        let symbols: Vec<char> = symbols.chars().collect();
        let radix = match u32::try_from(symbols.len()) {
            Ok(radix @ 2..=65536) => radix,
            _ => {
                return Err(Error::AlphabetLength {
                    found: symbols.len(),
                });
            }
        };
        let mut sorted: Vec<(u32, u32)> = symbols.iter().map(|&c| c.into()).zip(0..).collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        if let Some(index) = twice.map(|pair| pair[1].1).min() {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            return Err(Error::AlphabetDuplicate { index });
        }
        let mut runs: Vec<Run> = Vec::new();
        for (symbol, numeral) in sorted {
            match runs.last_mut() {
                Some(run) if run.first + run.len == symbol && run.numeral + run.len == numeral => {
                    run.len += 1;
                }
                _ => runs.push(Run {
                    first: symbol,
                    numeral,
                    len: 1,
                }),
            }
        }
        let table = if runs.len() > SCAN {
            symbols
        } else {
            Vec::new()
        };
        Ok(Self {
            runs: runs.into(),
            table,
            radix,
        })
    }

    /// The number of symbols.
    #[must_use]
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// True if this is [`Alphabet::DECIMAL`].
    pub(crate) fn is_decimal(&self) -> bool {
        self.radix == 10 && self.runs[0].first == u32::from(b'0') && self.runs.len() == 1
    }

    /// True if every symbol is ASCII.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        self.runs.iter().all(|run| run.first + run.len <= 128)
    }

    /// The numeral of a code point.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "numerals are below 65536")]
    pub(crate) fn numeral(&self, symbol: u32) -> Option<u16> {
        if self.table.is_empty() {
            let (mut numeral, mut found) = (0, 0);
            for run in self.runs.iter() {
                let offset = symbol.wrapping_sub(run.first);
                let inside = u32::from(offset < run.len).wrapping_neg();
                numeral |= (run.numeral + (offset & inside)) & inside;
                found |= inside;
            }
            return (found != 0).then_some(numeral as u16);
        }
        let after = self.runs.partition_point(|run| run.first <= symbol);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let offset = symbol - run.first;
        (offset < run.len).then_some((run.numeral + offset) as u16)
    }

    /// The code point of a numeral below the radix.
    #[inline]
    pub(crate) fn symbol(&self, numeral: u16) -> u32 {
        if let Some(&symbol) = self.table.get(usize::from(numeral)) {
            return symbol.into();
        }
        let mut symbol = 0;
        for run in self.runs.iter() {
            let offset = u32::from(numeral).wrapping_sub(run.numeral);
            let inside = u32::from(offset < run.len).wrapping_neg();
            symbol |= (run.first + (offset & inside)) & inside;
        }
        symbol
    }

    /// All symbols in the order of their numerals.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = char> {
        (0..=u16::MAX)
            .take(self.radix as usize)
            .filter_map(|numeral| char::from_u32(self.symbol(numeral)))
    }

    /// Checks that the number of symbols is the cipher's radix.
    pub(crate) fn check_radix(&self, radix: u32) -> Result<(), Error> {
        if self.radix != radix {
            return Err(Error::Radix {
                found: self.radix,
                min: radix,
                max: radix,
            });
        }
        Ok(())
    }

    /// The numerals of code points. The error has the index of the first code point that is not a symbol.
    pub(crate) fn numerals(
        &self,
        symbols: impl Iterator<Item = u32>,
        out: &mut impl Extend<u16>,
    ) -> Result<(), Error> {
        let mut bad = None;
        out.extend(symbols.enumerate().map(|(index, symbol)| {
            let numeral = self.numeral(symbol);
            if numeral.is_none() && bad.is_none() {
                bad = Some(index);
            }
            numeral.unwrap_or_default()
        }));
        bad.map_or(Ok(()), |index| Err(Error::Symbol { index }))
    }
}

/// Displays the symbols in the order of their numerals.
impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.symbols().try_for_each(|symbol| f.write_char(symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_what_their_symbols_make() {
        let lower: String = ('a'..='z').collect();
        let upper = lower.to_uppercase();
        let printable: String = (' '..='~').collect();
        let digits = "0123456789";
        for (preset, symbols) in [
            (Alphabet::DECIMAL, digits.into()),
            (Alphabet::HEX, std::format!("{digits}abcdef")),
            (Alphabet::LOWER, lower.clone()),
            (Alphabet::UPPER, upper.clone()),
            (
                Alphabet::LOWER_ALPHANUMERIC,
                std::format!("{digits}{lower}"),
            ),
            (
                Alphabet::UPPER_ALPHANUMERIC,
                std::format!("{digits}{upper}"),
            ),
            (
                Alphabet::ALPHANUMERIC,
                std::format!("{digits}{upper}{lower}"),
            ),
            (Alphabet::PRINTABLE, printable),
        ] {
            let alphabet = Alphabet::new(&symbols).unwrap();
            assert_eq!(preset, alphabet);
            assert_eq!(preset.to_string(), symbols);
            assert_eq!(alphabet.is_decimal(), symbols == digits);
        }
    }

    #[test]
    fn symbols_and_numerals_are_inverse_in_both_forms() {
        let every = |step: usize| -> String {
            ('\u{21}'..='\u{20000}').step_by(step).take(65536).collect()
        };
        let mut shuffled: Vec<char> = ('!'..='~').collect();
        shuffled.sort_by_key(|&c| u32::from(c) * 37 % 101);
        for symbols in [
            every(1),
            every(2),
            shuffled.into_iter().collect(),
            "ab".into(),
        ] {
            let alphabet = Alphabet::new(&symbols).unwrap();
            let mut count = 0u32;
            for (i, c) in symbols.chars().enumerate() {
                let numeral = u16::try_from(i).unwrap();
                assert_eq!(alphabet.numeral(c.into()), Some(numeral));
                assert_eq!(alphabet.symbol(numeral), u32::from(c));
                count += 1;
            }
            assert_eq!(alphabet.radix(), count);
            for absent in [0, 0x20, 0x10ffff, u32::MAX, 0x7f_0000] {
                assert_eq!(alphabet.numeral(absent), None);
            }
        }
    }

    #[test]
    fn refusals() {
        assert_eq!(Alphabet::new(""), Err(Error::AlphabetLength { found: 0 }));
        assert_eq!(Alphabet::new("a"), Err(Error::AlphabetLength { found: 1 }));
        let long: String = ('\u{100}'..'\u{11000}').collect();
        let found = long.chars().count();
        assert_eq!(found, 0x10f00 - 0x800);
        assert_eq!(Alphabet::new(&long), Err(Error::AlphabetLength { found }));
        assert_eq!(
            Alphabet::new("abcbca"),
            Err(Error::AlphabetDuplicate { index: 3 })
        );
    }
}
