//! A value has one ciphertext, however it is written. Older data, whose ciphertexts depend on the spelling, can be
//! decrypted.

use proptest::{prelude::*, sample::Index};
use sordino_fpe::{Alphabet, Check, Error, Format, FormatCipher, Segment};

use crate::key::aes;

/// A format by its name, or one of this file's formats.
fn format(name: &str) -> Format {
    match name {
        "own" => Format::text("own", Alphabet::DECIMAL, "/.-").keep(1, 1),
        "checked" => Format::text("checked", Alphabet::DECIMAL, "-").check(Check::Luhn),
        "plates" => Format::pattern(
            "plates",
            vec![
                Segment::Keep(Alphabet::UPPER, 2),
                Segment::Literal(" ".into()),
                Segment::Encrypt(Alphabet::DECIMAL, 4),
                Segment::Literal("-".into()),
                Segment::Encrypt(Alphabet::UPPER, 2),
            ],
        ),
        name => name.parse().unwrap(),
    }
}

fn cipher(name: &str) -> FormatCipher {
    format(name).cipher(&aes(&[7; 32])).unwrap()
}

/// `body`, followed by its check.
fn checked(check: Check, body: &str) -> String {
    format!("{body}{}", check.compute(body.chars()).unwrap())
}

/// A format whose separators may stand anywhere, a value without separators, and the separators.
fn anywhere() -> impl Strategy<Value = (&'static str, String, &'static str)> {
    prop_oneof![
        "[0-9]{16,19}".prop_map(|value| ("pan", value, " -")),
        "[0-9]{15,18}".prop_map(|body| ("pan-luhn", checked(Check::Luhn, &body), " -")),
        "[0-9]{11,15}".prop_map(|value| ("phone:3", value, " +-.()/")),
        "[0-9]{15}".prop_map(|body| ("orcid", checked(Check::Mod11_2, &body), "-")),
        "[0-9]{8,12}".prop_map(|value| ("own", value, "/.-")),
        "[0-9]{7,12}".prop_map(|body| ("checked", checked(Check::Luhn, &body), "-")),
    ]
}

/// `value` with separators before, within and after it.
fn spelled(value: &str, separators: &str, places: &[(Index, Index)]) -> String {
    let separators: Vec<char> = separators.chars().collect();
    let mut text: Vec<char> = value.chars().collect();
    for (place, separator) in places {
        text.insert(place.index(text.len() + 1), *separator.get(&separators));
    }
    text.into_iter().collect()
}

fn without(text: &str, separators: &str) -> String {
    text.replace(|c| separators.contains(c), "")
}

/// A format whose separators have fixed places, a value with a mark at each place, and the separators that may
/// stand there.
fn in_place() -> impl Strategy<Value = (&'static str, String, &'static [&'static str])> {
    prop_oneof![
        (1u32..666, 1u32..100, 1u32..10_000).prop_map(|(area, group, serial)| {
            let value = format!("{area:03}|{group:02}|{serial:04}");
            ("ssn", value, &["", "-", " "][..])
        }),
        (1u32..10_000, 1u32..13, 1u32..29).prop_map(|(y, m, d)| {
            let value = format!("{y:04}|{m:02}|{d:02}");
            ("date", value, &["", "-", "/", "."][..])
        }),
        "[0-9a-f]{8}\\|[0-9a-f]{4}\\|4[0-9a-f]{3}\\|a[0-9a-f]{3}\\|[0-9a-f]{12}"
            .prop_map(|value| ("uuid", value, &["", "-"][..])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn separators_anywhere_do_not_count(
        (name, value, separators) in anywhere(),
        places in prop::collection::vec(any::<(Index, Index)>(), 0..8),
        others in prop::collection::vec(any::<(Index, Index)>(), 0..8),
        tweak in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let cipher = cipher(name);
        let text = spelled(&value, separators, &places);
        let hidden = cipher.encrypt(&tweak, &text).unwrap();
        prop_assert_eq!(cipher.decrypt(&tweak, &hidden).unwrap(), text.clone());
        // Each separator is still at its place.
        let at = |text: &str| -> Vec<(usize, char)> {
            text.chars().enumerate().filter(|(_, c)| separators.contains(*c)).collect()
        };
        prop_assert_eq!(at(&hidden), at(&text));
        // The ciphertext is the bare value's, with separators. A ciphertext that was rewritten with
        // other separators decrypts to the same value.
        let bare = cipher.encrypt(&tweak, &value).unwrap();
        prop_assert_eq!(&without(&hidden, separators), &bare);
        let other = cipher.decrypt(&tweak, &spelled(&bare, separators, &others)).unwrap();
        prop_assert_eq!(other, spelled(&value, separators, &others));
    }

    #[test]
    fn separators_in_place_do_not_count((name, value, separators) in in_place()) {
        let cipher = cipher(name);
        let bare = cipher.encrypt(b"", &value.replace('|', "")).unwrap();
        for separator in separators {
            let text = value.replace('|', separator);
            let hidden = cipher.encrypt(b"", &text).unwrap();
            prop_assert_eq!(hidden.replace(['-', '/', '.', ' '], ""), bare.clone());
            prop_assert_eq!(hidden.matches(separator).count(), text.matches(separator).count());
            prop_assert_eq!(cipher.decrypt(b"", &hidden).unwrap(), text);
        }
    }

    #[test]
    fn capitals_and_white_space_of_a_domain_do_not_count(
        local in "[a-zA-Z0-9]{3}[._+-]{0,2}[a-zA-Z0-9]{1,12}",
        domain in "[a-zA-Zäß]{1,9}\\.(com|ORG|Example)",
        end in "[ \t]{0,2}",
    ) {
        let cipher = cipher("email");
        let text = format!("{local}@{domain}{end}");
        let hidden = cipher.encrypt(b"", &text).unwrap();
        prop_assert_eq!(cipher.decrypt(b"", &hidden).unwrap(), text.clone());
        let (hidden_local, hidden_domain) = hidden.split_once('@').unwrap();
        prop_assert_eq!(hidden_domain, format!("{domain}{end}"));
        for domain in [domain.to_lowercase(), domain.to_ascii_uppercase()] {
            let changed = format!("{hidden_local}@{domain}");
            prop_assert_eq!(cipher.decrypt(b"", &changed).unwrap(), format!("{local}@{domain}"));
        }
    }
}

/// Old ciphertexts that depend on the spelling, and their plaintexts.
const BOUND: [(&str, &str, &str); 13] = [
    ("pan", "4111 1111 1111 1111", "4111 1191 5696 1111"),
    ("pan", "4111-1111-1111-1111", "4111-1188-8364-1111"),
    ("pan", " 4111111111111111 ", " 4111113703541111 "),
    ("pan-luhn", "4111 1111 1111 1111", "4111 1147 2177 0144"),
    ("phone:3", "+1 (415) 555-0123", "+1 (419) 538-6463"),
    ("phone:3", "1.415.555.0123", "1.410.433.5441"),
    (
        "email",
        "jane.doe+news@Mail.Example",
        "FTPA.IYT+4BJC@Mail.Example",
    ),
    ("orcid", "0000-0002-1694-233X", "0251-9459-1698-3902"),
    ("own", "12/34.56-78", "12/94.75-28"),
    ("checked", "1234-5674", "6536-4895"),
    // In these three formats, the spelling is not bound.
    ("ssn", "123-45-6789", "824-99-5834"),
    ("plates", "MA 1234-XY", "MA 3409-EP"),
    (
        "uuid",
        "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
        "564d791a-135a-4013-a570-137a3b462279",
    ),
];

/// Ciphertexts that are equal with and without a bound spelling.
const PLAIN: [(&str, &str, &str); 13] = [
    ("pan", "4111111111111111", "4111110627091111"),
    ("pan-luhn", "4111111111111111", "4111110411482057"),
    ("phone:3", "14155550123", "14128175217"),
    ("ssn", "123456789", "824995834"),
    ("ssn", "123-45-6789", "824-99-5834"),
    ("date", "2001-02-28", "1232-10-23"),
    (
        "uuid",
        "f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
        "564d791a-135a-4013-a570-137a3b462279",
    ),
    (
        "email",
        "jane.doe+news@mail.example",
        "JXS9.7qx+TjbJ@mail.example",
    ),
    (
        "email",
        "janedoenews@mail.example",
        "cIiMGr8flPC@mail.example",
    ),
    ("orcid", "000000021694233X", "4465550403538172"),
    ("digits", "31415926535", "12023025608"),
    ("own", "12345678", "10412398"),
    ("checked", "12345674", "11961521"),
];

#[test]
fn old_data_are_read_with_the_spelling_bound() {
    let bound = |name| format(name).bind_spelling().cipher(&aes(&[7; 32])).unwrap();
    for (name, text, hidden) in BOUND.into_iter().chain(PLAIN) {
        let cipher = bound(name);
        assert_eq!(cipher.encrypt(b"shop", text).unwrap(), hidden, "{name}");
        assert_eq!(cipher.decrypt(b"shop", hidden).unwrap(), text, "{name}");
    }
    for (name, text, hidden) in PLAIN {
        assert_eq!(cipher(name).encrypt(b"shop", text).unwrap(), hidden);
    }
    for (name, text, hidden) in &BOUND[..10] {
        assert_ne!(cipher(name).encrypt(b"shop", text).unwrap(), *hidden);
    }
}

/// A pattern's text has all its separators or none. Any other text is refused with the position of the
/// fault.
#[test]
fn patterns_have_all_separators_or_none() {
    let plates = cipher("plates");
    assert_eq!(plates.encrypt(b"shop", "MA1234XY").unwrap(), "MA3409EP");
    assert_eq!(plates.decrypt(b"shop", "MA3409EP").unwrap(), "MA1234XY");
    let uuid = cipher("uuid");
    let bare = uuid.encrypt(b"shop", "f81d4fae7dec41d0a76500a0c91e6bf6");
    assert_eq!(bare.unwrap(), "564d791a135a4013a570137a3b462279");
    for (cipher, text, index) in [
        (&plates, "MA1234-XY", 2),
        (&plates, "MA 1234XY", 7),
        (&plates, "MA12x4XY", 4),
        (&plates, "MA1234Xy", 7),
        (&plates, "MA1234XYZ", 2),
        // Capitals are refused: a ciphertext without letters could not keep them.
        (&uuid, "F81d4fae-7dec-41d0-a765-00a0c91e6bf6", 0),
        (&uuid, "f81d4fae7dec41d0a76500a0c91E6bf6", 27),
        (&uuid, "{f81d4fae-7dec-41d0-a765-00a0c91e6bf6}", 0),
    ] {
        assert_eq!(
            cipher.encrypt(b"", text),
            Err(Error::Symbol { index }),
            "{text}"
        );
    }
    // The letters of a literal are no separators.
    let letters = Format::pattern(
        "letters",
        vec![
            Segment::Literal("N-".into()),
            Segment::Encrypt(Alphabet::DECIMAL, 8),
        ],
    );
    let cipher = letters.cipher(&aes(&[7; 32])).unwrap();
    assert!(cipher.encrypt(b"", "N-12345678").is_ok());
    let error = cipher.encrypt(b"", "12345678");
    assert_eq!(error, Err(Error::Symbol { index: 0 }));
}

/// Characters that belong to the value are bound.
#[test]
fn punctuation_of_a_mailbox_counts() {
    let email = cipher("email");
    let dotted = email.encrypt(b"", "jane.doe@mail.example").unwrap();
    let plain = email.encrypt(b"", "janedoe@mail.example").unwrap();
    let other = email.encrypt(b"", "jane.doe@mail.test").unwrap();
    assert_ne!(dotted.replacen('.', "", 1), plain);
    assert_ne!(
        dotted.split_once('@').unwrap().0,
        other.split_once('@').unwrap().0
    );
}
