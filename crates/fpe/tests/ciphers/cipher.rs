//! The ciphers of this crate on the block cipher of the crate `aes`.

use aes::cipher::KeyInit;
use sordino_fpe::{Error, Ff1, NumeralCipher};

/// FF1 with a key of 16, 24 or 32 bytes.
pub(crate) fn ff1(key: &[u8], radix: u32, small: bool) -> Result<Box<dyn NumeralCipher>, Error> {
    macro_rules! with {
        ($aes:ty) => {{
            let cipher = <$aes>::new_from_slice(key).expect("a key of that size");
            let ff1 = Ff1::with_cipher(cipher, radix)?;
            if small {
                Box::new(ff1.allow_small_domain())
            } else {
                Box::new(ff1)
            }
        }};
    }
    Ok(match key.len() {
        16 => with!(aes::Aes128),
        24 => with!(aes::Aes192),
        _ => with!(aes::Aes256),
    })
}
