//! Recognises dialects of CSV that are not supported: other delimiters, Excel's first line, and the escapes of databases.

use csv::StringRecord;

use crate::Error;
use crate::format::{cut, named};
use crate::numbers::{is_list, parse};
use crate::text::fault;

/// The characters that may separate fields, with their names as an option.
const SIGNS: [(char, &str); 4] = [
    ('\t', "tab"),
    (';', "semicolon"),
    ('|', "pipe"),
    (',', "comma"),
];

/// The fault of a field in the default form of Postgres's `COPY`.
const ESCAPED: &str = "a backslash as in the text form of Postgres' COPY and of MySQL, where it begins an escape and \\N is no value. \
    Write CSV instead: COPY ... TO ... WITH (FORMAT csv, HEADER). Where backslashes stand for themselves, say so by naming the \
    delimiter (on the command line --delimiter tab)";

/// Refuses a first line that is not a header.
pub(super) fn check_head(head: &StringRecord) -> Result<(), Error> {
    if let Some(sign) = head.get(0).and_then(|first| first.strip_prefix("sep=")) {
        let known = SIGNS.iter().find(|(known, _)| sign.starts_with(*known));
        let name = match (known, head.len()) {
            (Some((_, name)), _) => *name,
            // A tab is white space, which was removed from the names.
            (None, 1) => "tab",
            // This character already ended the field, so the user needs no option for it.
            (None, _) => "SIGN",
        };
        let why = format!(
            "Excel's line sep=, which names the sign between fields, where the names of columns are expected: remove it, with \
             `sed -i 1d FILE`, and name the sign if it is no comma (on the command line --delimiter {name})"
        );
        return Err(fault(1, why));
    }
    if !head.is_empty() && head.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        let why = "numbers, where the names of columns are expected; a vector is one field, \"[0.1, 0.2]\", under such a \
                   name. Convert an array of numbers alone, with `python3 -c \"import numpy; numpy.save('base.npy', numpy.loadtxt('FILE', \
                   delimiter=','))\"`";
        return Err(fault(1, why.to_owned()));
    }
    if head.iter().any(is_list) {
        let why = "a list of numbers, where the names of columns are expected: begin the file with a line of names, such as \
                   id,vector,text (pandas writes it unless header=False, and PostgreSQL with CSV HEADER)";
        return Err(fault(1, why.to_owned()));
    }
    Ok(())
}

/// The advice if the only name contains a character that may separate several. It does not quote the name, which may be numbers.
pub(super) fn other_delimiter(head: &StringRecord) -> Option<String> {
    let name = head.get(0).filter(|_| head.len() == 1)?;
    let (_, sign) = SIGNS.iter().find(|(sign, _)| name.contains(*sign))?;
    Some(format!(
        "one column: if there is a {sign} between fields, name it (on the command line --delimiter {sign})"
    ))
}

/// The names of columns, for a message. Numbers with a fraction are not shown, since they may be a query in a file without a
/// header. For a single column, it adds advice about the delimiter.
pub(super) fn listed(head: &StringRecord) -> String {
    let secret = |name: &str| name.contains('.') && parse(name).is_ok();
    let names = cut(head.iter().map(|name| match secret(name) {
        true => "(numbers)".to_owned(),
        false => named(name),
    }));
    match other_delimiter(head) {
        Some(hint) => format!("{names:?}, {hint}"),
        None if head.iter().any(str::is_empty) => {
            format!(
                "{names}; pandas writes its index under the name \"\" (on the command line --id-column '')"
            )
        }
        None => names,
    }
}

/// Whether a file's backslashes may be escapes. The caller may have declared that they are not.
pub(in crate::text) enum Escapes {
    /// No backslash so far has shown whether the file has escapes.
    Possible,
    /// The backslashes are ordinary characters.
    None,
}

impl Escapes {
    /// Refuses a field whose backslashes may begin escapes. `COPY` writes each backslash of the data as two. So if one
    /// backslash begins no escape, the file has no escapes.
    pub(super) fn check<'a>(
        &mut self,
        mut fields: impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<(), (usize, &'static str)> {
        if matches!(self, Self::None) {
            return Ok(());
        }
        let Some((at, field)) = fields.find(|(_, field)| field.contains('\\')) else {
            return Ok(());
        };
        if field == "\\N" || is_escaped(field) {
            return Err((at, ESCAPED));
        }
        *self = Self::None;
        Ok(())
    }
}

/// True if each backslash begins an escape that `COPY` writes.
fn is_escaped(field: &str) -> bool {
    let mut signs = field.chars();
    while let Some(sign) = signs.next() {
        let begins = sign == '\\';
        if begins && !signs.next().is_some_and(|next| "\\bfnrtv".contains(next)) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_told_from_backslashes() {
        for text in [r"a\tb", r"\\", r"C:\temp\new", r"x\\d"] {
            assert!(is_escaped(text), "{text}");
        }
        for text in [r"C:\docs", r"a\", r"\d+\n", r"\N and more"] {
            assert!(!is_escaped(text), "{text}");
        }
        let mut escapes = Escapes::Possible;
        assert!(
            escapes
                .check([(0, "plain"), (1, r"\N")].into_iter())
                .is_err()
        );
        assert!(escapes.check([(0, r"\d+")].into_iter()).is_ok());
        assert!(escapes.check([(1, r"\N")].into_iter()).is_ok());
    }
}
