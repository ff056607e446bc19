//! The interface of every cipher of this crate: numerals in place.

use crate::Error;

/// A cipher over strings of numerals, most significant first.
///
/// ```
/// use sordino_fpe::{Error, Ff1, Fpe};
///
/// fn rewrap(old: &impl Fpe, new: &impl Fpe, x: &mut [u16]) -> Result<(), Error> {
///     old.decrypt_numerals(b"", x)?;
///     new.encrypt_numerals(b"", x)
/// }
///
/// let (old, new) = (Ff1::new(&[1; 16], 10)?, Ff1::new(&[2; 32], 10)?);
/// let mut x = [0; 8];
/// rewrap(&old, &new, &mut x)?;
/// rewrap(&new, &old, &mut x)?;
/// assert_eq!(x, [0; 8]);
/// # Ok::<(), Error>(())
/// ```
pub trait Fpe {
    /// Encrypts `x` in place. On an error `x` is unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`], [`Error::TweakLength`].
    fn encrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error>;

    /// Decrypts `x` in place. On an error `x` is unchanged.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Numeral`], [`Error::TweakLength`].
    fn decrypt_numerals(&self, tweak: &[u8], x: &mut [u16]) -> Result<(), Error>;
}

/// That every numeral is below `radix`. Only a refused string is searched for the position.
pub(crate) fn check(x: &[u16], radix: u32) -> Result<(), Error> {
    let bad = x
        .iter()
        .fold(false, |bad, &x| bad | (u32::from(x) >= radix));
    if bad {
        let index = x.iter().position(|&x| u32::from(x) >= radix);
        return Err(Error::Numeral {
            index: index.unwrap_or_default(),
        });
    }
    Ok(())
}
