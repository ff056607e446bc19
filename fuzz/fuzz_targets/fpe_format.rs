//! The name of a format, and a text of the format. The target must not panic, and decryption
//! returns the encrypted text.
#![no_main]

use sordino_fpe::{AesKey, Format};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((name, text)) = text.split_once('\n') else {
        return;
    };
    let Ok(cipher) = name
        .parse::<Format>()
        .and_then(|format| format.cipher(&AesKey::new_256(&[7; 32])))
    else {
        return;
    };
    if let Ok(hidden) = cipher.encrypt(b"tweak", text) {
        let shown = cipher.decrypt(b"tweak", &hidden);
        assert_eq!(shown.as_deref(), Ok(text));
    }
});
