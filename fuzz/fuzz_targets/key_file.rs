#![no_main]
//! Key files of any bytes, and files of any key with a correct check. The target must not panic. A file gives a secret
//! or a public key only of its own kind. Nothing is wrapped for a public key that belongs to no pair.
//!
//! Input: a selector, then bytes. If the selector is below 128, the bytes are a file. Otherwise they are a key of some
//! kind, and the target makes its file.

use libfuzzer_sys::fuzz_target;
use sordino_net::{KeyFile, KeyKind};
use std::fmt::Write;

/// Makes a file with a correct check, as the description of its form says.
fn file(kind: KeyKind, key: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sordino 2026 key file check");
    let digest = hasher.update(kind.name().as_bytes()).update(key).finalize();
    let mut text = format!("sordino-{}-1:", kind.name());
    for byte in key.iter().chain(&digest.as_bytes()[..8]) {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    text.push('\n');
    text
}

fn len(kind: KeyKind) -> usize {
    match kind {
        KeyKind::Owner | KeyKind::Client | KeyKind::Issuer => 32,
        KeyKind::Reader | KeyKind::ReaderPair | KeyKind::Writer => 32 + 2592,
        KeyKind::ReaderPublic => 1184 + 32,
        KeyKind::WriterPublic => 1184 + 32 + 2592,
        KeyKind::Public => 2592,
        KeyKind::ClientPublic | KeyKind::IssuerPublic => 1952,
    }
}

/// The public half of a pair keeps its bytes, and no other encoding gives the same key.
fn reader_public(read: &KeyFile, key: &[u8]) {
    let Ok(public) = read.reader_public() else {
        return;
    };
    assert_eq!(
        KeyFile::of_reader_public(&public).kind(),
        KeyKind::ReaderPublic
    );
    if read.kind() == KeyKind::ReaderPublic {
        assert_eq!(&public.as_bytes()[..], key);
        let half = &key[1184..];
        let p_minus_1 = |at| match at {
            0 => 0xec,
            31 => 0x7f,
            _ => 0xff,
        };
        let below = (0..32).rev().find(|&at| half[at] != p_minus_1(at));
        assert!(below.is_some_and(|at| half[at] < p_minus_1(at)));
        assert!(half.iter().any(|&byte| byte != 0));
    }
}

fuzz_target!(|data: &[u8]| {
    let [selector, rest @ ..] = data else {
        return;
    };
    if *selector < 128 {
        if let Ok(read) = KeyFile::parse(rest) {
            assert!(rest.starts_with(format!("sordino-{}-1:", read.kind().name()).as_bytes()));
        }
        return;
    }
    let kind = KeyKind::ALL[usize::from(selector & 127) % KeyKind::ALL.len()];
    // Shorter keys are padded with zeros, so that short inputs reach all kinds.
    let mut key = rest.to_vec();
    key.resize(len(kind), 0);
    let text = file(kind, &key);
    let read = KeyFile::parse(text.as_bytes()).expect("its check is right");
    assert_eq!(read.kind(), kind);

    let secret = |kinds: &[KeyKind]| kinds.contains(&kind);
    assert_eq!(read.owner().is_ok(), secret(&[KeyKind::Owner]));
    assert_eq!(read.client().is_ok(), secret(&[KeyKind::Client]));
    assert_eq!(read.issuer().is_ok(), secret(&[KeyKind::Issuer]));
    let readers = [
        KeyKind::Owner,
        KeyKind::Reader,
        KeyKind::ReaderPair,
        KeyKind::Writer,
    ];
    assert!(read.reader().is_err() || secret(&readers));
    assert_eq!(read.writer().is_ok(), secret(&[KeyKind::Writer]));
    if let Ok(public) = read.writer_public() {
        assert!(kind != KeyKind::WriterPublic || public.to_bytes()[..] == key[..]);
    }
    if let Ok(public) = read.public() {
        assert!(kind != KeyKind::Public || public.to_bytes()[..] == key[..]);
    }
    if let Ok(public) = read.client_public() {
        assert!(kind != KeyKind::ClientPublic || public.to_bytes()[..] == key[..]);
    }
    if let Ok(public) = read.issuer_public() {
        assert!(kind != KeyKind::IssuerPublic || public.as_bytes()[..] == key[..]);
    }
    reader_public(&read, &key);
    assert!(!format!("{read:?}").contains(&text[text.len() - 16..text.len() - 1]));
});
