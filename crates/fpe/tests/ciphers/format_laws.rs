//! Random formats, and small formats with all their texts. A format is refused, or encryption
//! permutes its texts and decryption inverts it.

use proptest::{
    prelude::*,
    sample::{select, subsequence},
    test_runner::TestRunner,
};
use sordino_fpe::{Alphabet, Check, Error, Format, FormatCipher, Segment, SymbolSet};
use std::{cell::Cell, collections::BTreeSet};

use crate::key::aes;

const CHECKS: [Check; 7] = [
    Check::Luhn,
    Check::Mod11_2,
    Check::Mod37_2,
    Check::Mod97_10,
    Check::Mod11_10,
    Check::Mod27_26,
    Check::Mod37_36,
];

/// The symbols from which all sets are made: the symbols of every check, and further symbols.
const POOL: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*- ./xyz水";

/// A format's parts: alphabet, passing characters, check, kept prefix and suffix.
#[derive(Clone, Debug)]
struct Parts {
    alphabet: Vec<char>,
    pass: Vec<char>,
    check: Option<Check>,
    keep: (usize, usize),
}

impl Parts {
    fn format(&self) -> Format {
        let alphabet = Alphabet::new(&String::from_iter(&self.alphabet)).unwrap();
        let pass = String::from_iter(&self.pass);
        let format = Format::text("parts", alphabet, &pass).keep(self.keep.0, self.keep.1);
        let format = format.allow_small_domain();
        match self.check {
            None => format,
            Some(check) => format.check(check),
        }
    }

    /// Symbols, then their check if they have one, with passing characters between.
    fn text(
        &self,
        symbols: &[prop::sample::Index],
        gaps: &[Option<prop::sample::Index>],
    ) -> String {
        let mut text: Vec<char> = symbols.iter().map(|i| *i.get(&self.alphabet)).collect();
        if let Some(check) = self.check {
            let check = check.compute(text.iter().copied());
            text.extend(check.iter().flat_map(|symbols| symbols.iter()));
        }
        let mut out = String::new();
        for (i, gap) in gaps.iter().enumerate() {
            out.extend(text.get(i));
            if !self.pass.is_empty() {
                out.extend(gap.map(|gap| gap.get(&self.pass)));
            }
        }
        out
    }

    /// True if the texts with this number of symbols, without the check, have at least a hundred
    /// values.
    fn is_long_enough(&self, symbols: usize) -> bool {
        let encrypted = symbols.saturating_sub(self.keep.0 + self.keep.1);
        let values = (0..encrypted).fold(1, |n: usize, _| n.saturating_mul(self.alphabet.len()));
        encrypted >= 2 && values >= 100
    }
}

fn parts() -> impl Strategy<Value = Parts> {
    let pool: Vec<char> = POOL.chars().collect();
    let digits: Vec<char> = pool[..10].to_vec();
    let alphabet = prop_oneof![
        3 => Just(digits.clone()),
        1 => Just(pool[10..36].to_vec()),
        1 => Just(pool[..36].to_vec()),
        1 => subsequence(digits, 2..10),
        2 => subsequence(pool.clone(), 2..30),
    ];
    let check = prop_oneof![1 => Just(None), 3 => select(&CHECKS[..]).prop_map(Some)];
    let pass = prop_oneof![
        subsequence(pool[36..].to_vec(), 0..4),
        subsequence(pool, 0..4),
    ];
    (alphabet.prop_shuffle(), pass, check, (0usize..3, 0usize..3)).prop_map(
        |(alphabet, pass, check, keep)| Parts {
            alphabet,
            pass,
            check,
            keep,
        },
    )
}

/// Checks that decryption inverts encryption of `text`, and encryption inverts decryption, if the
/// format accepts `text`. Returns the error of encryption.
fn inverts(cipher: &FormatCipher, tweak: &[u8], text: &str) -> Result<(), Error> {
    if let Ok(shown) = cipher.decrypt(tweak, text) {
        let again = cipher.encrypt(tweak, &shown);
        assert_eq!(again.as_deref(), Ok(text), "{shown} decrypted from {text}");
    }
    let hidden = cipher.encrypt(tweak, text)?;
    let shown = cipher.decrypt(tweak, &hidden);
    assert_eq!(shown.as_deref(), Ok(text), "{hidden} encrypted from {text}");
    Ok(())
}

#[test]
fn random_formats_are_refused_or_invert() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    let index = any::<prop::sample::Index>;
    let case = (
        parts(),
        any::<[u8; 16]>(),
        prop::collection::vec(any::<u8>(), 0..9),
        prop::collection::vec(index(), 0..24),
        prop::collection::vec(prop::option::weighted(0.2, index()), 30),
        prop::collection::vec(select(POOL.chars().collect::<Vec<_>>()), 0..12),
    );
    TestRunner::new(ProptestConfig::with_cases(20_000))
        .run(&case, |(parts, key, tweak, symbols, gaps, noise)| {
            let cipher = match parts.format().cipher(&aes(&key)) {
                Ok(cipher) => cipher,
                Err(error) => {
                    refused.set(refused.get() + 1);
                    let is_contradiction = matches!(
                        error,
                        Error::FormatOverlap { .. } | Error::FormatUncovered { .. }
                    );
                    prop_assert!(is_contradiction, "{error}");
                    return Ok(());
                }
            };
            let result = inverts(&cipher, &tweak, &parts.text(&symbols, &gaps));
            prop_assert_eq!(result.is_ok(), parts.is_long_enough(symbols.len()));
            accepted.set(accepted.get() + u32::from(result.is_ok()));
            let _ = inverts(&cipher, &tweak, &String::from_iter(noise));
            Ok(())
        })
        .unwrap();
    let (refused, accepted) = (refused.get(), accepted.get());
    assert!(refused > 2000 && accepted > 2000, "{refused} {accepted}");
}

/// All texts of a format with few values. Their ciphertexts are the same set of texts.
#[test]
fn small_formats_are_permuted() {
    let chars = |symbols: &str| symbols.chars().collect::<Vec<_>>();
    let (upper, both) = (&POOL[10..36], &POOL[..36]);
    let mut texts_in_all = 0;
    for (alphabet, len, checks) in [
        (
            "0123456789",
            2,
            &[
                Check::Luhn,
                Check::Mod11_2,
                Check::Mod97_10,
                Check::Mod11_10,
            ][..],
        ),
        ("9081726354", 2, &[Check::Mod11_2, Check::Mod37_36]),
        // The check symbol of a text over `013` can be outside this alphabet.
        (
            "013",
            5,
            &[Check::Luhn, Check::Mod11_2, Check::Mod97_10, Check::Mod37_2],
        ),
        (upper, 2, &[Check::Mod27_26, Check::Mod37_2]),
        (both, 2, &[Check::Mod37_2, Check::Mod37_36]),
        ("水x-", 5, &[]),
    ] {
        for (check, keep) in std::iter::once(None)
            .chain(checks.iter().copied().map(Some))
            .flat_map(|check| {
                [
                    (check, (0, 0)),
                    (check, (1, 0)),
                    (check, (0, 1)),
                    (check, (1, 1)),
                ]
            })
        {
            let parts = Parts {
                alphabet: chars(alphabet),
                pass: chars("/."),
                check,
                keep,
            };
            let cipher = parts.format().cipher(&aes(&[7; 16])).unwrap();
            let first = parts.alphabet[1];
            let mut texts = BTreeSet::new();
            let values = parts.alphabet.len().pow(len);
            for value in 0..values {
                let mut rest = value;
                let mut text = vec![first; keep.0];
                for _ in 0..len {
                    text.push(parts.alphabet[rest % parts.alphabet.len()]);
                    rest /= parts.alphabet.len();
                }
                text.extend(vec![first; keep.1]);
                let symbols = check.map(|check| check.compute(text.iter().copied()).unwrap());
                let symbols = symbols.map_or(String::new(), |symbols| symbols.to_string());
                let text = String::from_iter(text);
                texts.insert(format!("/{text}.{symbols}/"));
            }
            let mut images = BTreeSet::new();
            for text in &texts {
                inverts(&cipher, b"tweak", text).unwrap();
                images.insert(cipher.encrypt(b"tweak", text).unwrap());
            }
            assert_eq!(images, texts, "{parts:?}");
            texts_in_all += values;
        }
    }
    assert!(texts_in_all > 20_000);
}

#[test]
fn contradictions_are_refused_by_their_symbol() {
    let error = |format: Format| format.cipher(&aes(&[0; 16])).unwrap_err();
    let digits = |pass: &str| Format::text("f", Alphabet::DECIMAL, pass);
    let overlap = |symbol, first| Error::FormatOverlap {
        symbol,
        first,
        second: SymbolSet::Pass,
    };
    for (format, expected) in [
        (
            digits("X-").check(Check::Mod11_2),
            overlap('X', SymbolSet::Check),
        ),
        (digits("-5"), overlap('5', SymbolSet::Alphabet)),
        (
            digits("*").check(Check::Mod37_2),
            overlap('*', SymbolSet::Check),
        ),
        // The check may be a digit that the alphabet lacks.
        (
            Format::text("f", Alphabet::new("01").unwrap(), "7").check(Check::Luhn),
            overlap('7', SymbolSet::Check),
        ),
        (
            Format::text("f", Alphabet::UPPER_ALPHANUMERIC, "").check(Check::Mod11_2),
            Error::FormatUncovered { symbol: 'A' },
        ),
        (
            Format::text("f", Alphabet::new("01*").unwrap(), "").check(Check::Mod37_2),
            Error::FormatUncovered { symbol: '*' },
        ),
        (
            Format::text("f", Alphabet::new("12X").unwrap(), "").check(Check::Mod11_2),
            Error::FormatUncovered { symbol: 'X' },
        ),
        (
            Format::email().check(Check::Luhn),
            Error::FormatUncovered { symbol: 'A' },
        ),
    ] {
        assert_eq!(error(format), expected);
    }
    let text = error(digits("X-").check(Check::Mod11_2)).to_string();
    let expected =
        "format: symbol 'X' is in the symbols of the check and in the characters that pass";
    assert_eq!(text, expected);
    // X may pass if no check can be X.
    assert!(
        digits("X-")
            .check(Check::Luhn)
            .cipher(&aes(&[0; 16]))
            .is_ok()
    );
}

#[test]
fn options_that_a_format_does_not_have_are_refused() {
    let plates = || Format::pattern("plates", vec![Segment::Encrypt(Alphabet::DECIMAL, 7)]);
    let range = || Format::date_range("1900-01-01", "2099-12-31").unwrap();
    for (format, name) in [
        (Format::ssn(), "a social security number"),
        (Format::date(), "a date"),
        (range(), "a date"),
        (Format::uuid(), "a pattern"),
        (plates(), "a pattern"),
    ] {
        for (option, format) in [
            ("keep", format.clone().keep(0, 4)),
            ("check", format.clone().check(Check::Luhn)),
            ("keep", format.clone().allow_small_domain().keep(0, 0)),
        ] {
            let error = format.cipher(&aes(&[0; 16])).unwrap_err();
            let format = name;
            assert_eq!(error, Error::FormatOption { option, format });
            let expected = format!("format: {name} has no option `{option}`");
            assert_eq!(error.to_string(), expected);
        }
        // A short range of days has few values.
        let format = format.allow_small_domain();
        assert!(format.cipher(&aes(&[0; 16])).is_ok());
    }
    let kept = vec![
        Segment::Keep(Alphabet::DECIMAL, 7),
        Segment::Encrypt(Alphabet::DECIMAL, 0),
    ];
    for segments in [vec![], kept] {
        let error = Format::pattern("nothing", segments).cipher(&aes(&[0; 16]));
        assert!(matches!(error, Err(Error::Format { .. })));
    }
    // Presets for texts have both options.
    for format in [
        Format::pan().keep(0, 4),
        Format::phone(3).check(Check::Luhn),
        Format::email().keep(1, 0),
    ] {
        assert!(format.cipher(&aes(&[0; 16])).is_ok());
    }
}
