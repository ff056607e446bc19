//! Tests of key files: files that are read back, damaged files, and files of other kinds.

use super::*;
use proptest::prelude::*;

fn any_key(kind: KeyKind) -> KeyFile {
    let key: Vec<u8> = (0u8..=255).cycle().take(kind.len()).collect();
    KeyFile::new(kind, &key)
}

#[test]
fn every_kind_reads_back_as_itself() {
    for kind in KeyKind::ALL {
        let file = any_key(kind);
        for end in ["", "\r\n", "\n", "\n\n", " ", "\t\r\n \n"] {
            let text = file.text().trim_end().to_owned() + end;
            assert!(text.len() < MAX_FILE);
            let read = KeyFile::parse(text.as_bytes()).unwrap();
            assert_eq!((read.kind, &read.key), (kind, &file.key));
        }
        assert_eq!(file.text().capacity(), file.text().len());
    }
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    for kind in [KeyKind::Owner, KeyKind::Public] {
        let text = any_key(kind).text();
        let text = text.trim_end().as_bytes();
        for at in (0..text.len()).step_by(if kind == KeyKind::Owner { 1 } else { 61 }) {
            for flip in [1, 0x20, 0x80] {
                let mut damaged = text.to_vec();
                damaged[at] ^= flip;
                assert!(KeyFile::parse(&damaged).is_err(), "{kind:?}, byte {at}");
            }
            assert!(KeyFile::parse(&text[..at]).is_err());
        }
    }
    // The digest at the end covers the kind of the key.
    let text = any_key(KeyKind::Owner)
        .text()
        .replace("owner-key", "client-key");
    assert!(KeyFile::parse(text.as_bytes()).is_err());
}

#[test]
fn an_older_or_newer_version_is_no_key_file() {
    let text = any_key(KeyKind::Owner).text().replace("-1:", "-2:");
    let error = KeyFile::parse(text.as_bytes()).unwrap_err();
    assert!(error.contains("this version"), "{error}");
}

#[test]
fn a_byte_order_mark_and_utf_16_are_named() {
    let text = any_key(KeyKind::Owner).text();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let wide: Vec<u8> = std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, word) in [
        (&marked[..], "byte-order mark"),
        (&wide, "UTF-16"),
        (b"\n", "empty"),
    ] {
        let why = KeyFile::parse(bytes).unwrap_err();
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn debug_prints_no_secret() {
    let debug = format!("{:?}", any_key(KeyKind::Owner));
    assert_eq!(debug, "KeyFile { kind: Owner, .. }");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0usize..7) {
        prop_assert!(KeyFile::parse(&bytes).is_err());
        let text = [KeyKind::ALL[kind].prefix().as_bytes(), &bytes].concat();
        prop_assert!(KeyFile::parse(&text).is_err());
    }
}
