//! Formats by their names.

use sordino_fpe::{AesKey, Error, Format};

fn aes() -> AesKey {
    crate::key::aes(&[7; 32])
}

fn named(name: &str) -> Format {
    name.parse().unwrap()
}

/// Encrypts a value, checks that decryption returns it, and returns the ciphertext.
fn hidden(format: Format, value: &str) -> String {
    let cipher = format.cipher(&aes()).unwrap();
    let hidden = cipher.encrypt(b"t", value).unwrap();
    assert_eq!(cipher.decrypt(b"t", &hidden).unwrap(), value);
    hidden
}

fn refused(format: Format, value: &str) -> Error {
    let cipher = format.cipher(&aes()).unwrap();
    cipher.encrypt(b"t", value).unwrap_err()
}

#[test]
fn cards_keep_as_many_digits_as_the_name_says() {
    assert_eq!(named("pan:6,4"), Format::pan());
    let issuer_of_eight = hidden(named("pan:8,4").allow_small_domain(), "4111 1111 1111 1111");
    assert!(issuer_of_eight.starts_with("4111 1111 ") && issuer_of_eight.ends_with(" 1111"));
    for (kept, card) in [
        ("pan:6,4", "378282246310005"),
        ("pan:8,4", "4111111111111111"),
    ] {
        let error = refused(named(kept), card).to_string();
        assert!(error.contains("--allow-small-domain"), "{error}");
        assert!(hidden(named(kept).allow_small_domain(), card) != card);
    }
    let all = refused(named("pan"), "378282246310005");
    assert!(
        matches!(
            all,
            Error::FewSymbols {
                found: 15,
                encrypted: 5,
                min: 16,
                ..
            }
        ),
        "{all}"
    );
    // One digit has too few values, even for small domains.
    assert!(matches!(
        refused(named("pan"), "41111111111"),
        Error::Length { .. }
    ));
    for wrong in [
        "pan:",
        "pan:6",
        "pan:6,",
        "pan:13,4",
        "pan:-1,4",
        "pan:6,4,2",
    ] {
        assert!(wrong.parse::<Format>().is_err(), "{wrong}");
    }
}

#[test]
fn years_are_ranges_of_dates() {
    let (years, days) = (
        named("date:1900..2099"),
        named("date:1900-01-01..2099-12-31"),
    );
    assert_eq!(years, days);
    let error = years.clone().cipher(&aes()).unwrap_err();
    let found = 73_049;
    assert!(
        matches!(error, Error::Domain { found: it, .. } if it == found),
        "{error}"
    );
    assert!(
        error.to_string().contains("--allow-small-domain"),
        "{error}"
    );
    let day = hidden(years.allow_small_domain(), "1984-02-29");
    let year: u32 = day[..4].parse().unwrap();
    assert!((1900..2100).contains(&year), "{day}");
    assert!(
        "date:1900..".parse::<Format>().is_err() && "date:2099..1900".parse::<Format>().is_err()
    );
}

#[test]
fn addresses_in_small_letters_stay_so() {
    for address in ["john.doe@example.com", "a1b2@x.org"] {
        let hidden = hidden(named("email-lower"), address);
        assert_eq!(hidden, hidden.to_lowercase());
    }
    assert_eq!(
        refused(named("email-lower"), "John@example.com"),
        Error::Symbol { index: 0 }
    );
}

#[test]
fn patterns_are_written_in_one_line() {
    let format = named("pattern:AB-{keep upper:2}-{digits:6}");
    let text = hidden(format, "AB-XY-123456");
    assert!(
        text.starts_with("AB-XY-") && text != "AB-XY-123456",
        "{text}"
    );
    for wrong in [
        "pattern:",
        "pattern:AB",
        "pattern:{digits}",
        "pattern:{digits:0}",
        "pattern:{digits:9999999999999}",
        "pattern:{digits:6",
        "pattern:digits:6}",
        "pattern:{symbols:6}",
        "pattern:{keep digits:6}",
    ] {
        let made = wrong
            .parse::<Format>()
            .and_then(|format| format.cipher(&aes()));
        assert!(matches!(made, Err(Error::Format { .. })), "{wrong}");
    }
}

#[test]
fn numbers_keep_all_of_their_digits() {
    for number in ["1000000", "123456789", "9999999999999999"] {
        let hidden = hidden(named("digits").first_nonzero(), number);
        assert!(
            !hidden.starts_with('0') && hidden.len() == number.len(),
            "{hidden}"
        );
    }
    let cards = hidden(named("pan:0,4").first_nonzero(), "4111 1111 1111 1111");
    assert!(!cards.starts_with('0') && cards.ends_with(" 1111"));
    assert_eq!(
        refused(named("digits").first_nonzero(), "0123456"),
        Error::Symbol { index: 0 }
    );
    for without in ["pan", "lower", "date", "uuid", "email"] {
        let error = named(without).first_nonzero().cipher(&aes()).unwrap_err();
        assert!(
            matches!(
                error,
                Error::FormatOption {
                    option: "first_nonzero",
                    ..
                }
            ),
            "{without}: {error}"
        );
    }
}

/// Encrypts all values of a small domain. The result is a permutation of them, without a zero at
/// the front.
#[test]
fn without_a_zero_in_front_every_number_comes_once() {
    let cipher = named("digits")
        .first_nonzero()
        .allow_small_domain()
        .cipher(&aes())
        .unwrap();
    let hidden = (100..1000).map(|n| {
        cipher
            .encrypt(b"", &n.to_string())
            .unwrap()
            .parse()
            .unwrap()
    });
    let mut hidden: Vec<u32> = hidden.collect();
    hidden.sort_unstable();
    assert_eq!(hidden, (100..1000).collect::<Vec<u32>>());
}

#[test]
fn a_name_that_is_none_is_answered_with_those_that_are() {
    let error = "credit-card".parse::<Format>().unwrap_err().to_string();
    for name in [
        "pan:FIRST,LAST",
        "phone:KEPT",
        "email-lower",
        "pattern:TEXT",
    ] {
        assert!(error.contains(name), "{error}");
    }
    let error = "phone".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("phone:4"), "{error}");
}
