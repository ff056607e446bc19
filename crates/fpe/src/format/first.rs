//! Texts that begin with no zero, for programs that take them for numbers.

use super::{Format, Shape, push};
use crate::Alphabet;
use alloc::string::String;

impl Format {
    /// The first symbol of a text is not `0`, before and after. So a program that takes the text for a number keeps all
    /// of its digits. A text that begins with `0` is refused.
    ///
    /// Only a [`Format::text`] of an alphabet with `0` has this option, where no first symbols are kept: [`Format::cipher`] refuses
    /// any other format with it. Numbers have at most 38 digits then.
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
