//! Text over an alphabet from the input. The target must not panic, and decryption returns the
//! encrypted text.
#![no_main]

use sordino_fpe::{AesKey, Alphabet, Ff1, NumeralCipher};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((symbols, text)) = text.split_once('\n') else {
        return;
    };
    let Ok(alphabet) = Alphabet::new(symbols) else {
        return;
    };
    let Ok(ff1) = Ff1::new(&AesKey::new_128(&[7; 16]), alphabet.radix()) else {
        return;
    };
    if let Ok(hidden) = ff1.encrypt_str(&alphabet, b"tweak", text) {
        let shown = ff1.decrypt_str(&alphabet, b"tweak", &hidden);
        assert_eq!(shown.as_deref(), Ok(text));
    }
});
