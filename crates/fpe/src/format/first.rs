//! Texts that do not begin with a zero, for programs that treat them as numbers.

use super::{Format, Shape, push};
use crate::Alphabet;
use alloc::string::String;

impl Format {
    /// Makes the first symbol of every plaintext and ciphertext different from `0`. So a program that treats the text as a number
    /// keeps all of its digits. A text that begins with `0` is refused.
    ///
    /// Only a [`Format::text`] whose alphabet has `0`, and that keeps no first symbols, may use this option.
    /// [`Format::cipher`] refuses other formats. With this option, a text of decimal digits has at most 38 digits.
    #[must_use]
    pub fn first_nonzero(mut self) -> Self {
        let without_zero = |alphabet: &Alphabet| {
            let symbols = alphabet.symbols();
            let symbols: String = symbols.filter(|symbol| *symbol != '0').collect();
            Alphabet::new(&symbols).ok()
        };
        let Shape::Text(text) = &mut self.shape else {
            self.misplaced = Some("first_nonzero");
            return self;
        };
        text.first = match text.alphabet.numeral('0'.into()) {
            Some(_) if text.until.is_none() => without_zero(&text.alphabet),
            _ => None,
        };
        if text.first.is_none() {
            self.misplaced = Some("first_nonzero");
        }
        push(&mut self.identity, b"first-nonzero");
        self
    }
}
