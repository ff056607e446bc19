//! Calls of constructors in policies with invalid arguments.

use crate::Error;
use crate::error::chain;
use crate::places::{Places, place};
use crate::tokens::tokens;

/// Constructors of extension types, by their names in policies.
const NAMES: [&str; 4] = ["ip", "decimal", "datetime", "duration"];

/// Refuses calls such as `ip("300.1.1.1")`. A policy with such a call fails whenever it is evaluated. It is then
/// ignored, even if it forbids.
pub(crate) fn check(text: &str) -> Result<(), Error> {
    let mut last = [(0, ""); 4];
    for (at, token) in tokens(text, 0) {
        let [(_, before), (start, name), (_, open), (_, argument)] = last;
        let call = NAMES.contains(&name) && (open, token) == ("(", ")");
        // Methods and annotations are not constructors.
        if call && argument.starts_with('"') && !matches!(before, "." | "@") {
            evaluate(text, start, at + 1)?;
        }
        last.rotate_left(1);
        last[3] = (at, token);
    }
    Ok(())
}

/// Evaluates the call between two bytes.
fn evaluate(text: &str, start: usize, end: usize) -> Result<(), Error> {
    let call = &text[start..end];
    let reason = match call.parse::<cedar_policy::RestrictedExpression>() {
        Err(error) => chain(&error),
        Ok(value) => match cedar_policy::Context::from_pairs([(String::new(), value)]) {
            Ok(_) => return Ok(()),
            Err(error) => chain(&error),
        },
    };
    let places = Places::of(text);
    Err(Error::Invalid {
        policy: places.id(places.around(start)),
        reason: format!("{}: {call} is not a value: {reason}", place(text, start)),
    })
}
