//! Formats: the characters they keep, recompute and bind, and what they refuse.

use proptest::prelude::*;
use sordino_fpe::{Alphabet, Check, Error, Format, Segment};

use crate::key::aes;

fn plates() -> Format {
    Format::pattern(
        "plates",
        vec![
            Segment::Keep(Alphabet::UPPER, 2),
            Segment::Literal(" ".into()),
            Segment::Encrypt(Alphabet::DECIMAL, 4),
            Segment::Literal("-".into()),
            Segment::Encrypt(Alphabet::UPPER, 2),
        ],
    )
}

/// A format and a text in that format.
fn case() -> impl Strategy<Value = (Format, String)> {
    prop_oneof![
        "[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4,8}[ -]?[0-9]{4}".prop_map(|text| (Format::pan(), text)),
        "[0-9]{15,18}".prop_map(|body| {
            let check = Check::Luhn.compute(body.chars()).unwrap()[0];
            (Format::pan_luhn(), format!("{body}{check}"))
        }),
        "[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}".prop_map(|body| {
            let check = Check::Mod11_2
                .compute(body.chars().filter(|&c| c != '-'))
                .unwrap()[0];
            ("orcid".parse().unwrap(), format!("{body}{check}"))
        }),
        (1u32..900, 1u32..100, 1u32..10_000, any::<bool>()).prop_map(
            |(area, group, serial, hyphens)| {
                let (area, dash) = (
                    if area == 666 { 667 } else { area },
                    if hyphens { "-" } else { "" },
                );
                (
                    Format::ssn(),
                    format!("{area:03}{dash}{group:02}{dash}{serial:04}"),
                )
            }
        ),
        "\\+[0-9]{1,3} \\([0-9]{3}\\) [0-9]{3}-[0-9]{4}".prop_map(|text| (Format::phone(3), text)),
        (1u32..10_000, 1u32..13, 1u32..29)
            .prop_map(|(y, m, d)| (Format::date(), format!("{y:04}-{m:02}-{d:02}"))),
        (1950u32..2020, 1u32..13, 1u32..29).prop_map(|(y, m, d)| {
            let range = Format::date_range("1950-01-01", "2019-12-31").unwrap();
            (range.allow_small_domain(), format!("{y:04}-{m:02}-{d:02}"))
        }),
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
            .prop_map(|text| (Format::uuid(), text)),
        "[a-zA-Z0-9]{3}[._+-]{0,2}[a-zA-Z0-9]{1,12}@[a-z]{1,9}\\.(com|org)"
            .prop_map(|text| (Format::email(), text)),
        "[A-Z]{2} [0-9]{4}-[A-Z]{2}".prop_map(|text| (plates(), text)),
        "[a-z]{5,40}".prop_map(|text| ("lower".parse().unwrap(), text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn decryption_inverts_and_the_format_stays(
        (format, text) in case(),
        key: [u8; 16],
        tweak in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let cipher = format.cipher(&aes(&key)).unwrap();
        let hidden = cipher.encrypt(&tweak, &text).unwrap();
        prop_assert_eq!(cipher.decrypt(&tweak, &hidden).unwrap(), text.clone());
        prop_assert_eq!(hidden.chars().count(), text.chars().count());
        // The ciphertext has the format, so it can be encrypted again.
        prop_assert!(cipher.encrypt(&tweak, &hidden).is_ok());
        for (a, b) in text.chars().zip(hidden.chars()) {
            prop_assert_eq!(a.is_alphanumeric(), b.is_alphanumeric());
            if !a.is_alphanumeric() {
                prop_assert_eq!(a, b);
            }
        }
    }

    #[test]
    fn no_text_panics(name in "(pan|pan-luhn|ssn|phone:3|date|uuid|email|orcid|digits|printable|\\PC{0,20})", text in "\\PC{0,40}") {
        if let Ok(format) = name.parse::<Format>() {
            let cipher = format.cipher(&aes(&[0; 16])).unwrap();
            if let Ok(hidden) = cipher.encrypt(b"", &text) {
                prop_assert_eq!(cipher.decrypt(b"", &hidden).unwrap(), text);
            }
        }
    }
}

#[test]
fn what_is_to_be_kept_is_kept() {
    let key = [9; 32];
    let pan = Format::pan().cipher(&aes(&key)).unwrap();
    let hidden = pan.encrypt(b"", "4012-8888-8888-1881").unwrap();
    assert!(hidden.starts_with("4012-88") && hidden.ends_with("-1881"));
    let luhn = Format::pan_luhn().cipher(&aes(&key)).unwrap();
    let hidden = luhn.encrypt(b"", "4012888888881881").unwrap();
    assert!(hidden.starts_with("401288") && Check::Luhn.verify(&hidden));
    let uuid = Format::uuid().cipher(&aes(&key)).unwrap();
    let hidden = uuid
        .encrypt(b"", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6")
        .unwrap();
    assert_eq!((&hidden[14..15], &hidden[19..20]), ("4", "a"));
    let email = Format::email().cipher(&aes(&key)).unwrap();
    let hidden = email.encrypt(b"", "jane.doe+news@mail.example").unwrap();
    assert!(hidden.ends_with("@mail.example") && &hidden[4..5] == "." && &hidden[8..9] == "+");
}

/// The same encrypted digits give other digits if anything else in the value changes.
#[test]
fn everything_kept_is_bound() {
    let key = [9; 16];
    let middle = |format: Format, tweak: &[u8], text: &str| -> String {
        let hidden = format
            .cipher(&aes(&key))
            .unwrap()
            .encrypt(tweak, text)
            .unwrap();
        let digits: String = hidden.chars().filter(char::is_ascii_digit).collect();
        digits[6..12].into()
    };
    let text = "4111111111111111";
    let base = middle(Format::pan(), b"", text);
    for other in [
        middle(Format::pan(), b"", "4111121111111111"),
        middle(Format::pan(), b"", "4111111111111112"),
        middle(Format::pan().bind_spelling(), b"", "4111 1111 1111 1111"),
        middle(Format::pan(), b"\0", text),
        middle(
            Format::text("other", Alphabet::DECIMAL, " -").keep(6, 4),
            b"",
            text,
        ),
        middle(
            Format::text("pan", Alphabet::DECIMAL, " -")
                .keep(6, 4)
                .keep(6, 4),
            b"",
            text,
        ),
    ] {
        assert_ne!(base, other);
    }
    assert_eq!(
        base,
        middle(
            Format::text("pan", Alphabet::DECIMAL, " -").keep(6, 4),
            b"",
            text
        )
    );
}

#[test]
fn refusals() {
    let key = [0; 16];
    let error = |format: Format, text: &str| {
        format
            .cipher(&aes(&key))
            .unwrap()
            .encrypt(b"", text)
            .unwrap_err()
    };
    assert_eq!(
        error(Format::pan(), "4111x11111111111"),
        Error::Symbol { index: 4 }
    );
    // Five digits between the kept ones have a hundred thousand values.
    assert!(matches!(
        error(Format::pan(), "378282246310005"),
        Error::FewSymbols {
            found: 15,
            encrypted: 5,
            min: 16,
            small: true,
            ..
        }
    ));
    // The message counts kept digits, but no spaces.
    let said = error(Format::pan(), "3782 822463 10005").to_string();
    assert!(
        said.starts_with("input of 15 symbols, of which 5 are encrypted: expected 16 symbols"),
        "{said}"
    );
    let said = error(Format::pan_luhn(), "378282248").to_string();
    assert!(
        said.starts_with("input of 9 symbols, of which 2 are encrypted: expected 13 symbols"),
        "{said}"
    );
    assert!(
        Format::pan()
            .allow_small_domain()
            .cipher(&aes(&key))
            .unwrap()
            .encrypt(b"", "378282246310005")
            .is_ok()
    );
    assert!(matches!(
        error(Format::pan(), "411111"),
        Error::Length { found: 6, .. }
    ));
    assert!(matches!(
        error(Format::pan(), ""),
        Error::Length { found: 0, .. }
    ));
    assert_eq!(
        error(Format::pan_luhn(), "4111111111111112"),
        Error::CheckDigit
    );
    for (text, index) in [
        ("000-12-3456", 0),
        ("666-12-3456", 0),
        ("900-12-3456", 0),
        ("123-00-3456", 4),
        ("123-45-0000", 7),
        ("123450000", 5),
        ("123-456789", 3),
        ("123-45-678", 3),
        ("12345678", 8),
        ("1234567890", 9),
        ("123.45.6789", 3),
        ("123-45 6789", 6),
        ("12 345 6789", 2),
        ("12\u{e9}456789", 2),
        ("", 0),
    ] {
        assert_eq!(
            error(Format::ssn(), text),
            Error::Symbol { index },
            "{text}"
        );
    }
    assert_eq!(
        error(Format::date(), "2001-02-29"),
        Error::Symbol { index: 8 }
    );
    let range = Format::date_range("2000-01-01", "2000-12-31").unwrap();
    assert!(matches!(
        range.clone().cipher(&aes(&key)),
        Err(Error::Domain { found: 366, .. })
    ));
    assert_eq!(
        error(range.allow_small_domain(), "2001-01-01"),
        Error::OutOfRange
    );
    assert!(Format::date_range("2000-01-02", "2000-01-01").is_err());
    assert_eq!(
        error(Format::uuid(), "f81d4fae-7dec-11d0-a765-00a0c91e6bf"),
        Error::Symbol { index: 35 }
    );
    assert_eq!(
        error(Format::uuid(), "F81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        Error::Symbol { index: 0 }
    );
    assert_eq!(error(Format::email(), "nobody"), Error::Symbol { index: 6 });
    for text in ["abcd@", "abcd@ ", "a@bcd@"] {
        let index = text.trim_end().len();
        assert_eq!(
            error(Format::email(), text),
            Error::Symbol { index },
            "{text}"
        );
    }
    assert!(matches!(
        error(Format::email(), "ab@x.org"),
        Error::FewSymbols {
            found: 2,
            encrypted: 2,
            min: 4,
            small: true,
            ..
        }
    ));
    // Each hint is about its own format.
    for (format, value, hint, small) in [
        (Format::pan(), "378282246310005", "pan:4,4", true),
        (Format::phone(8), "+1 415 555 0123", "phone:KEPT", true),
        (
            Format::email(),
            "ann@b.de",
            "letters or digits before the @",
            true,
        ),
        // No option makes a ciphertext of one letter.
        (
            Format::email_lower(),
            "x@y.de",
            "letters or digits before the @",
            false,
        ),
    ] {
        let error = error(format, value).to_string();
        assert!(error.contains(hint), "{error}");
        assert_eq!(error.contains("allow_small_domain"), small, "{error}");
        let cards = error.contains("cards");
        assert_eq!(cards, hint == "pan:4,4", "{error}");
    }
    assert!(matches!(
        error(Format::phone(20), "+1 415 555 0123"),
        Error::Length { .. }
    ));
    assert!("phone".parse::<Format>().is_err());
    assert!("phone:x".parse::<Format>().is_err());
    assert!("date:2000-01-01".parse::<Format>().is_err());
    assert!("alphabet:aa".parse::<Format>().is_err());
    // More than 2^128 values, with a mixed radix.
    let wide = Format::pattern(
        "wide",
        vec![
            Segment::Encrypt(Alphabet::DECIMAL, 30),
            Segment::Encrypt(Alphabet::UPPER, 10),
        ],
    );
    assert!(matches!(
        error(wide, "123456789012345678901234567890ABCDEFGHIJ"),
        Error::Domain { .. }
    ));
}

/// Separators follow the check. The plaintext comes back whether the hidden check is a digit or, in one of eleven
/// cases, `X`.
#[test]
fn a_check_may_be_followed_by_passed_characters() {
    let cipher = "orcid"
        .parse::<Format>()
        .unwrap()
        .cipher(&aes(&[7; 32]))
        .unwrap();
    let mut own_symbols = 0;
    for number in 0..200u64 {
        let body = format!("{:015}", number * 7_654_321_001 % 1_000_000_000_000_000);
        let check = Check::Mod11_2.compute(body.chars()).unwrap()[0];
        for text in [
            format!("{body}{check}"),
            format!("{body}{check}--"),
            format!("{body}-{check}-"),
        ] {
            let hidden = cipher.encrypt(b"", &text).unwrap();
            assert_eq!(cipher.decrypt(b"", &hidden).as_deref(), Ok(&*text));
            own_symbols += usize::from(hidden.contains('X'));
        }
    }
    assert!(own_symbols > 20, "{own_symbols}");
}
