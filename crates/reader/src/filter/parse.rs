//! Reads conditions.

use sordino_index::{Error, FilterFault};

use super::{Condition, Relation, Value};

/// The largest number of bytes of a text.
const MAX_LEN: usize = 1 << 16;

/// The largest number of levels of nested conditions.
const MAX_DEPTH: usize = 64;

/// The condition in `text`. The text must contain nothing else.
pub(super) fn condition(text: &str) -> Result<Condition, Error> {
    let mut reader = Reader { text, rest: text };
    if text.len() > MAX_LEN {
        return Err(reader.fault("longer than 65536 bytes"));
    }
    let condition = reader.any(0)?;
    reader.space();
    if !reader.rest.is_empty() {
        return Err(reader.fault("expected and, or, or the end"));
    }
    Ok(condition)
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// An error about the next character.
    fn fault(&self, why: impl Into<String>) -> Error {
        let before = &self.text[..self.text.len() - self.rest.len()];
        let fault = FilterFault::Text {
            at: before.chars().count() + 1,
            why: why.into(),
        };
        fault.into()
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes this character sequence, if it is next.
    fn sign(&mut self, sign: &str) -> bool {
        self.space();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// The letters, digits, `_` and `.` that come next.
    fn peek(&self) -> &'a str {
        let rest = self.rest.trim_start();
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Takes this word, if it is next, in upper or lower case.
    fn word(&mut self, word: &str) -> bool {
        let found = self.peek().eq_ignore_ascii_case(word);
        if found {
            self.space();
            self.rest = &self.rest[word.len()..];
        }
        found
    }

    fn any(&mut self, depth: usize) -> Result<Condition, Error> {
        let mut all = vec![self.all(depth)?];
        while self.word("or") {
            all.push(self.all(depth)?);
        }
        Ok(joined(all, Condition::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, Error> {
        let mut all = vec![self.one(depth)?];
        while self.word("and") {
            all.push(self.one(depth)?);
        }
        Ok(joined(all, Condition::All))
    }

    fn one(&mut self, depth: usize) -> Result<Condition, Error> {
        self.space();
        if depth == MAX_DEPTH {
            return Err(self.fault("more than 64 conditions within one another"));
        }
        if self.word("not") {
            return Ok(Condition::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.sign("(") {
            let condition = self.any(depth + 1)?;
            return self.closed(condition);
        }
        self.test()
    }

    fn test(&mut self) -> Result<Condition, Error> {
        let name = self.name()?;
        let hint = self.rest_of_name();
        if self.word("is") {
            let not = self.word("not");
            if !self.word("null") {
                self.space();
                return Err(self.fault("expected null"));
            }
            return Ok(negated(not, Condition::Null(name)));
        }
        let not = self.word("not");
        if self.word("in") {
            if !self.sign("(") {
                self.space();
                return Err(self.fault("expected ("));
            }
            let mut values = vec![self.value()?];
            while self.sign(",") {
                values.push(self.value()?);
            }
            let condition = self.closed(Condition::In(name, values))?;
            return Ok(negated(not, condition));
        }
        if self.word("between") {
            let from = self.value()?;
            if !self.word("and") {
                self.space();
                return Err(self.fault("expected and"));
            }
            let to = self.value()?;
            let from = Condition::Is(name.clone(), Relation::GreaterEqual, from);
            let to = Condition::Is(name, Relation::LessEqual, to);
            return Ok(negated(not, Condition::All(vec![from, to])));
        }
        if self.word("like") {
            self.space();
            if !self.rest.starts_with(['"', '\'']) {
                return Err(self.fault("expected a text in quotes"));
            }
            let pattern = self.value()?;
            return Ok(negated(not, Condition::Like(name, pattern)));
        }
        if self.word("has") {
            let member = self.value()?;
            return Ok(negated(not, Condition::Has(name, member)));
        }
        match self.relation() {
            Some(_) if not => (),
            Some(relation) => return Ok(Condition::Is(name, relation, self.value()?)),
            None => (),
        }
        Err(self.fault(format!(
            "expected =, !=, <, <=, >, >=, in, between, like, has or is after {}{hint}",
            shown(&name)
        )))
    }

    fn relation(&mut self) -> Option<Relation> {
        let relations = [
            ("==", Relation::Equal),
            ("=", Relation::Equal),
            ("!=", Relation::Unequal),
            ("<>", Relation::Unequal),
            ("<=", Relation::LessEqual),
            ("<", Relation::Less),
            (">=", Relation::GreaterEqual),
            (">", Relation::Greater),
        ];
        let found = relations.iter().find(|(sign, _)| self.sign(sign));
        found.map(|(_, relation)| *relation)
    }

    /// A hint for a text after a name, if this text may belong to the name.
    fn rest_of_name(&self) -> &'static str {
        let ends = |c: char| c.is_whitespace() || c == '(' || c == ')';
        match self.rest.is_empty() || self.rest.starts_with(ends) {
            true if self
                .rest
                .trim_start()
                .starts_with(|c: char| c.is_alphabetic()) =>
            {
                "; a name with spaces stands in backquotes, such as `my column`"
            }
            true => "",
            false => {
                "; a name of other signs than letters, digits, _ and . stands in backquotes, such as `dc:title`"
            }
        }
    }

    fn closed(&mut self, condition: Condition) -> Result<Condition, Error> {
        if self.sign(")") {
            return Ok(condition);
        }
        Err(self.fault("expected )"))
    }

    fn name(&mut self) -> Result<Box<str>, Error> {
        if self.sign("`") {
            let (name, after) = self
                .rest
                .split_once('`')
                .ok_or_else(|| self.fault("a name without its closing backquote"))?;
            self.rest = after;
            return Ok(name.into());
        }
        self.space();
        let name = self.peek();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let hint = match self.rest.starts_with(['"', '\'']) || !name.is_empty() {
                true => {
                    ": a name of other signs than letters, digits, _ and . stands in backquotes, such as `dc:title`"
                }
                false => "",
            };
            return Err(self.fault(format!("expected a condition, such as year >= 2020{hint}")));
        }
        self.rest = &self.rest[name.len()..];
        Ok(name.into())
    }

    fn value(&mut self) -> Result<Value, Error> {
        self.space();
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            return self.quoted(quote);
        }
        if self.word("true") {
            return Ok(Value::Bool(true));
        }
        if self.word("false") {
            return Ok(Value::Bool(false));
        }
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let number = &self.rest[..end];
        let digits = number.strip_prefix('-').unwrap_or(number);
        let value = if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let whole = number.parse().map(Value::Int);
            whole.map_err(|_| self.fault("a whole number beyond 64 bits"))?
        } else {
            // Words that Rust reads as numbers, such as inf, are not numbers here.
            let float = number.parse().ok().filter(|x: &f64| x.is_finite());
            float.map(Value::Float).ok_or_else(|| {
                self.fault(match number.to_ascii_lowercase().as_str() {
                    "null" | "none" => {
                        "for a missing value write `is null` or `is not null`, without = or !="
                    }
                    _ => "expected a number, a text in quotes, true or false",
                })
            })?
        };
        self.rest = &self.rest[end..];
        Ok(value)
    }

    /// A text up to the next quote of its kind. Two quotes stand for one.
    fn quoted(&mut self, quote: char) -> Result<Value, Error> {
        let mut text = String::new();
        let mut rest = &self.rest[quote.len_utf8()..];
        loop {
            let Some((part, after)) = rest.split_once(quote) else {
                return Err(self.fault("a text without its closing quote"));
            };
            text.push_str(part);
            let Some(more) = after.strip_prefix(quote) else {
                self.rest = after;
                return Ok(Value::Text(text.into()));
            };
            text.push(quote);
            rest = more;
        }
    }
}

/// A name as messages show it, shortened if it is long.
pub(super) fn shown(name: &str) -> String {
    const MOST: usize = 60;
    let mut shown: String = name.chars().take(MOST).collect();
    if shown.len() < name.len() {
        shown += "...";
    }
    shown
}

fn joined(mut all: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        last => {
            all.extend(last);
            join(all)
        }
    }
}

fn negated(not: bool, condition: Condition) -> Condition {
    match not {
        true => Condition::Not(Box::new(condition)),
        false => condition,
    }
}
