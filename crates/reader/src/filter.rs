//! Conditions on attributes: which records a search may find. The client evaluates them; the server does not see them.
//!
//! ```text
//! condition:  condition "or" condition | condition "and" condition | "not" condition | "(" condition ")" | test
//! test:       name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//!             | name ["not"] "in" "(" value { "," value } ")" | name "is" ["not"] "null"
//!             | name ["not"] "between" value "and" value | name ["not"] "like" text | name ["not"] "has" value
//! value:      number | 'text' | "text" | true | false
//! ```
//!
//! `not` binds strongest, `or` weakest. A name is letters, digits, `_` and `.`, or anything between backquotes. Conditions are
//! true, false or unknown, as in SQL (Kleene's logic), and a record passes if its condition is true. A test of a value that a
//! record lacks is unknown, even `!=` and `not in`. Only `is null` and `is not null` are always known. `not` of unknown is
//! unknown, `and` with false is false, and `or` with true is true.
//!
//! In the text after `like`, `%` stands for any characters and `_` for one. A list is a text with JSON. `has`, `=`,
//! `in` and `like` are true for a list if they are true for one of its members. Only `has` looks for members that are
//! not texts. A text that is not a list counts as a list with itself as member. Two texts that are dates or instants by
//! ISO 8601 are compared as times. A time without a zone counts as UTC. If a column has no other texts, other values are
//! refused, except a year or a month after `<` or `>=`.

use std::cmp::Ordering;
use std::slice;

use sordino_index::{Error, FilterFault};
use sordino_vault::attributes::Attributes;
use sordino_vectors::column::Column;

mod instant;
mod parse;
mod texts;
mod value;

use value::{Value, fits, whole_and_float};

/// A condition on the attributes of records.
///
/// ```
/// use sordino_reader::Filter;
///
/// let filter = Filter::parse(r#"year >= 2020 and (lang in ("en", "de") or not draft = true)"#)?;
/// assert_eq!(filter.to_string(), r#"year >= 2020 and (lang in ("en", "de") or not draft = true)"#);
/// assert!(Filter::parse("year >=").is_err());
/// # Ok::<(), sordino_reader::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    text: Box<str>,
    condition: Condition,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Is(Box<str>, Relation, Value),
    In(Box<str>, Vec<Value>),
    /// The attribute fits a pattern.
    Like(Box<str>, Value),
    /// The attribute, which is a list in JSON, has a member.
    Has(Box<str>, Value),
    Null(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Relation {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }
}

impl Filter {
    /// Reads a condition, of at most 64 KiB.
    ///
    /// # Errors
    /// [`FilterFault::Text`] with the position of the first fault.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Ok(Self {
            text: text.into(),
            condition: parse::condition(text)?,
        })
    }

    /// For each record of each segment, whether it passes. `segments` has the attributes of the segments.
    ///
    /// # Errors
    /// [`FilterFault::Column`] for a name that no segment has. [`FilterFault::Value`] or [`FilterFault::Date`] for a value that
    /// cannot be compared with its column's.
    pub(crate) fn passing<'a>(
        &self,
        segments: impl Iterator<Item = &'a Attributes> + Clone,
    ) -> Result<Vec<Vec<bool>>, Error> {
        self.condition.check(&segments)?;
        Ok(self.passing_of_visible(segments))
    }

    /// Like [`passing`](Self::passing), for segments that may be hidden. If no segment has a name, no record has a value for it.
    /// If a value has another type, no record equals it.
    pub(crate) fn passing_of_visible<'a>(
        &self,
        segments: impl Iterator<Item = &'a Attributes>,
    ) -> Vec<Vec<bool>> {
        let passing = |rows| {
            let truths = self.condition.truths(rows).into_iter();
            truths.map(|truth| truth == Some(true)).collect()
        };
        segments.map(passing).collect()
    }
}

impl std::fmt::Display for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    /// Refuses names that no segment has, and values whose type is not their column's.
    fn check<'a>(
        &self,
        segments: &(impl Iterator<Item = &'a Attributes> + Clone),
    ) -> Result<(), Error> {
        let (name, relation, values) = match self {
            Self::All(all) | Self::Any(all) => {
                return all.iter().try_for_each(|one| one.check(segments));
            }
            Self::Not(one) => return one.check(segments),
            Self::Is(name, relation, value) => (name, Some(*relation), slice::from_ref(value)),
            Self::Like(name, _) | Self::Has(name, _) => (name, None, &[][..]),
            Self::In(name, values) => (name, Some(Relation::Equal), &values[..]),
            Self::Null(name) => (name, None, &[][..]),
        };
        let mut columns = segments.clone().filter_map(|rows| rows.column(name));
        let mut wrong = columns.clone().flat_map(|column| {
            let wrong = values.iter().filter(|value| !fits(column, value));
            wrong.map(move |value| (column, value))
        });
        if let Some(fault) = texts::odd_date(name, columns.clone(), relation, values) {
            return Err(fault.into());
        }
        if let Some((column, value)) = wrong.next() {
            let fault = FilterFault::Value {
                name: parse::shown(name),
                found: value.kind().name(),
                expected: column.kind().name(),
            };
            return Err(fault.into());
        }
        let operator = match self {
            Self::Like(_, value) => Some(("like", value)),
            Self::Has(_, value) => Some(("has", value)),
            _ => None,
        };
        if let Some(fault) = operator.and_then(|one| texts::misfit(name, columns.clone(), one)) {
            return Err(fault.into());
        }
        if columns.next().is_some() {
            return Ok(());
        }
        let known = segments.clone().flat_map(Attributes::columns);
        let mut known: Vec<String> = known
            .map(|(name, column)| format!("{name} ({})", column.kind().name()))
            .collect();
        known.sort_unstable();
        known.dedup();
        let fault = FilterFault::Column {
            name: parse::shown(name),
            known: match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            },
        };
        Err(fault.into())
    }

    /// For each row, whether the condition is true, if that is known.
    fn truths(&self, rows: &Attributes) -> Vec<Option<bool>> {
        let joined = |all: &[Self], one: fn(Option<bool>, Option<bool>) -> Option<bool>| {
            let mut parts = all.iter().map(|part| part.truths(rows));
            let first = parts.next().unwrap_or_default();
            parts.fold(first, |mut truths, part| {
                truths
                    .iter_mut()
                    .zip(part)
                    .for_each(|(a, b)| *a = one(*a, b));
                truths
            })
        };
        match self {
            Self::All(all) => joined(all, |a, b| not(either(not(a), not(b)))),
            Self::Any(all) => joined(all, either),
            Self::Not(one) => one.truths(rows).into_iter().map(not).collect(),
            Self::Is(name, relation, value) => compared(rows, name, value, *relation),
            Self::In(name, values) => {
                let mut truths = vec![Some(false); rows.rows()];
                for value in values {
                    let equal = compared(rows, name, value, Relation::Equal);
                    truths
                        .iter_mut()
                        .zip(equal)
                        .for_each(|(a, b)| *a = either(*a, b));
                }
                truths
            }
            Self::Like(name, pattern) => of_texts(rows, name, |text| match pattern {
                Value::Text(pattern) => Some(texts::any(text, |it| texts::is_like(it, pattern))),
                _ => None,
            }),
            Self::Has(name, value) => of_texts(rows, name, |list| Some(texts::has(list, value))),
            Self::Null(name) => rows.column(name).map_or_else(
                || vec![Some(true); rows.rows()],
                |column| match column {
                    Column::Int(values) => missing(values),
                    Column::Float(values) => missing(values),
                    Column::Bool(values) => missing(values),
                    Column::Text(values) => missing(values),
                    Column::Bytes(values) => missing(values),
                    Column::Json(values) => missing(values),
                },
            ),
        }
    }
}

fn not(a: Option<bool>) -> Option<bool> {
    a.map(|a| !a)
}

/// `a or b`: true if one is true, false if both are false, else unknown.
fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), b) => b,
        (None, _) => None,
    }
}

fn missing<T>(values: &[Option<T>]) -> Vec<Option<bool>> {
    values.iter().map(|value| Some(value.is_none())).collect()
}

/// For each row, whether its text passes. Unknown if it has no text.
fn of_texts(
    rows: &Attributes,
    name: &str,
    passes: impl Fn(&str) -> Option<bool>,
) -> Vec<Option<bool>> {
    match rows.column(name) {
        Some(Column::Text(values)) => {
            let passes = |value: &Option<Box<str>>| value.as_deref().and_then(&passes);
            values.iter().map(passes).collect()
        }
        _ => vec![None; rows.rows()],
    }
}

/// For each row, whether its value has this relation to `value`. Unknown without a value, or with one that cannot be compared.
fn compared(rows: &Attributes, name: &str, value: &Value, relation: Relation) -> Vec<Option<bool>> {
    let Some(column) = rows.column(name) else {
        return vec![None; rows.rows()];
    };
    match (column, value) {
        (Column::Int(values), Value::Int(value)) => each(values, |x| Some(x.cmp(value)), relation),
        (Column::Int(values), Value::Float(value)) => {
            each(values, |x| whole_and_float(*x, *value), relation)
        }
        (Column::Float(values), Value::Int(value)) => {
            let order = |x: &f64| whole_and_float(*value, *x).map(Ordering::reverse);
            each(values, order, relation)
        }
        (Column::Float(values), Value::Float(value)) => {
            each(values, |x| x.partial_cmp(value), relation)
        }
        (Column::Bool(values), Value::Bool(value)) => {
            each(values, |x| Some(x.cmp(value)), relation)
        }
        (Column::Text(values), Value::Text(value)) => {
            let holds = texts::compared(value, relation);
            values.iter().map(|x| x.as_deref().map(&holds)).collect()
        }
        _ => vec![None; rows.rows()],
    }
}

fn each<T>(
    values: &[Option<T>],
    order: impl Fn(&T) -> Option<Ordering>,
    relation: Relation,
) -> Vec<Option<bool>> {
    let order = |value: &Option<T>| value.as_ref().and_then(&order);
    let truth = |value| order(value).map(|order| relation.holds(order));
    values.iter().map(truth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Attributes {
        let text = |text: &str| Some(text.into());
        let columns = [
            (
                "year",
                Column::Int(vec![Some(2019), Some(2020), None, Some(-5)]),
            ),
            (
                "price",
                Column::Float(vec![Some(1.5), None, Some(2.0), Some(f64::NAN)]),
            ),
            (
                "new",
                Column::Bool(vec![Some(true), Some(false), None, Some(true)]),
            ),
            (
                "lang",
                Column::Text(vec![text("en"), text("de"), text("it's"), None]),
            ),
            (
                "tags",
                Column::Text(vec![
                    text(r#"["a", 1]"#),
                    text("[2.0, \"é\"]"),
                    text("a"),
                    None,
                ]),
            ),
            (
                "day",
                Column::Text(vec![
                    text("2025-12-31"),
                    text("2026-01-31T10:00:00Z"),
                    None,
                    None,
                ]),
            ),
        ];
        Attributes::new(4, columns.map(|(name, column)| (name.to_owned(), column))).unwrap()
    }

    fn passing(text: &str) -> Result<String, Error> {
        let rows = rows();
        let passing = Filter::parse(text)?.passing(std::iter::once(&rows))?;
        let bits = passing[0]
            .iter()
            .map(|&passes| if passes { '1' } else { '0' });
        Ok(bits.collect())
    }

    #[test]
    fn conditions_mean_what_they_say() {
        for (text, expected) in [
            ("year = 2020", "0100"),
            ("year != 2020", "1001"),
            ("year <> 2020", "1001"),
            ("year < 2019.5", "1001"),
            ("year >= -5 and year <= 2019", "1001"),
            ("not year = 2020", "1001"),
            ("not not year = 2020", "0100"),
            ("not year is null", "1101"),
            ("not year != 2020", "0100"),
            ("year is null", "0010"),
            ("year is not null", "1101"),
            ("price > 1", "1010"),
            ("price >= 2.0 or price < 1.6", "1010"),
            ("price = 2", "0010"),
            ("new = true", "1001"),
            ("new != true", "0100"),
            ("lang in ('en', \"de\")", "1100"),
            ("lang not in ('en', 'de')", "0010"),
            ("not lang in ('en', 'de')", "0010"),
            // Unknown and false is false; unknown or true is true.
            ("not (year = 2020 and new = true)", "1101"),
            ("not (year = 2020 or new = true)", "0000"),
            ("not (year = 1 and price = 9)", "1111"),
            ("not (price = 1.5 and lang = 'xx')", "1110"),
            ("year = 2020 or not price = 2", "1100"),
            ("not (year = 2019 or lang = 'en')", "0100"),
            ("not (price = 2 or year is null)", "1000"),
            // Comparing a value that is not a number is unknown, even with `!=`, but the value is not null.
            ("price != 2", "1000"),
            ("not price = 2", "1000"),
            ("price is not null", "1011"),
            ("lang = 'it''s'", "0010"),
            ("lang > 'de' AND NOT lang = 'en'", "0010"),
            ("year = 2020 or year = 2019 and lang = 'xx'", "0100"),
            ("(year = 2020 or year = 2019) and lang = 'en'", "1000"),
            ("`year` = 2020", "0100"),
            ("year==2020", "0100"),
            ("price < 1e300", "1010"),
            ("year between 2019 and 2020 and lang = 'de'", "0100"),
            ("year not between 2019 and 2020", "0001"),
            ("lang like '%e%'", "1100"),
            ("lang not like '_n'", "0110"),
            ("tags has 'a'", "1010"),
            ("tags has 2 or tags has true", "0100"),
            ("tags not has 'b'", "1110"),
            ("tags = 'a'", "1010"),
            ("tags != 'a'", "0100"),
            ("tags in ('é', 'z')", "0100"),
            ("tags not in ('a', 'z')", "0100"),
            ("tags like '_'", "1110"),
            ("tags = '[\"a\", 1]'", "1000"),
            ("day between '2026-01-01' and '2026-02-01'", "0100"),
            ("day > '2026-01-31T09:59:59.999Z'", "0100"),
            (
                "day < '2026-01-31T10:00:00.5Z' and day >= '2026-01-31T12:00+02:00'",
                "0100",
            ),
            ("day in ('2026-01-31 10:00:00.000', '2020-01-01')", "0100"),
            ("day = '2025-12-31T00:00:00Z'", "1000"),
        ] {
            assert_eq!(passing(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn dates_are_not_compared_with_other_texts() {
        let text = |text: &str| Some(Box::from(text));
        let days = ["2024-04-30", "2024-05-01T10:00Z", "2024-06-01"];
        let column = |days: &[&str]| Column::Text(days.iter().map(|day| text(day)).collect());
        let rows = |days: &[&str]| {
            let column = [("day".to_owned(), column(days))];
            Attributes::new(days.len(), column).unwrap()
        };
        let (first, second) = (rows(&days[..2]), rows(&days[2..]));
        let found = |where_: &str, segments: &[&Attributes]| {
            let filter = Filter::parse(where_).unwrap();
            let passing = filter.passing(segments.iter().copied())?;
            Ok::<_, Error>(passing.concat())
        };
        let dates = [&Attributes::none(1), &first, &second];
        for wrong in [
            "day < '2024-5-1'",
            "day >= '01.05.2024'",
            "day >= '20240501'",
            "not day = '2024-05'",
            "day != 'today'",
            "day in ('2024-05-01', '1 May 2024')",
            "day between '2024-05' and '2024-05'",
            "day > '2024'",
        ] {
            let error = found(wrong, &dates).unwrap_err().to_string();
            assert_eq!(
                error,
                "filter: attribute day holds dates or instants such as 2024-04-30, and is compared with another value: \
                 write a date as YYYY-MM-DD, in quotes",
                "{wrong}"
            );
            // If the column has a different text, the filter may mean any text.
            let other = rows(&["soon"]);
            assert!(found(wrong, &[&first, &other]).is_ok(), "{wrong}");
        }
        for (right, expected) in [
            ("day >= '2024-05-01'", [false, false, true, true]),
            (
                "day >= '2024-05' and day < '2024-06'",
                [false, false, true, false],
            ),
            (
                "day < '2025' and not day >= '2024-06'",
                [false, true, true, false],
            ),
            ("day like '2024-05%'", [false, false, true, false]),
            ("day has 'x' or day is null", [true, false, false, false]),
        ] {
            assert_eq!(found(right, &dates).unwrap(), expected, "{right}");
        }
        // No value, no dates.
        let none = [("day".to_owned(), Column::Text(vec![None]))];
        let none = Attributes::new(1, none).unwrap();
        assert_eq!(found("day = 'x'", &[&none]).unwrap(), [false]);
    }

    #[test]
    fn whole_numbers_and_others_are_compared_as_they_are() {
        let beyond = 1i64 << 53;
        for (x, y, order) in [
            (beyond + 1, 9_007_199_254_740_992.0, Ordering::Greater),
            (beyond, 9_007_199_254_740_992.0, Ordering::Equal),
            (-beyond - 1, -9_007_199_254_740_992.0, Ordering::Less),
            (i64::MAX, 9_223_372_036_854_775_808.0, Ordering::Less),
            (i64::MIN, -9_223_372_036_854_775_808.0, Ordering::Equal),
            (i64::MIN, -1e19, Ordering::Greater),
            (i64::MAX, f64::INFINITY, Ordering::Less),
            (2, 2.5, Ordering::Less),
            (3, 2.5, Ordering::Greater),
            (-2, -2.5, Ordering::Greater),
            (-3, -2.5, Ordering::Less),
            (0, -0.0, Ordering::Equal),
            (0, 0.5, Ordering::Less),
            (0, -0.5, Ordering::Greater),
        ] {
            assert_eq!(whole_and_float(x, y), Some(order), "{x} {y}");
        }
        assert_eq!(whole_and_float(0, f64::NAN), None);
    }

    #[test]
    fn a_segment_without_a_column_has_no_values_there() {
        let (with, without) = (rows(), Attributes::none(2));
        let segments = [&with, &without];
        for (text, rows) in [
            (
                "not year > 0",
                [vec![false, false, false, true], vec![false; 2]],
            ),
            (
                "year is null",
                [vec![false, false, true, false], vec![true; 2]],
            ),
        ] {
            let filter = Filter::parse(text).unwrap();
            assert_eq!(filter.passing(segments.into_iter()).unwrap(), rows);
        }
    }

    #[test]
    fn lists_of_postgres_are_named() {
        let rows = |texts: &[&str]| {
            let column = Column::Text(texts.iter().map(|&text| Some(text.into())).collect());
            Attributes::new(texts.len(), [("tags".to_owned(), column)]).unwrap()
        };
        let filter = Filter::parse("tags has 'a'").unwrap();
        let braces = rows(&["{a,\"b c\"}", "{}"]);
        let error = filter.passing([&braces].into_iter()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("texts in braces such as {a,"), "{error}");
        assert!(error.contains("to_json"), "{error}");
        // A text that is not a list has itself as its only member.
        let itself = Filter::parse("tags has '{}'").unwrap();
        let passing = itself.passing([&braces].into_iter()).unwrap();
        assert_eq!(passing, [vec![false, true]]);
        // One text of another form may be a list.
        let mixed = rows(&["{a}", "[\"a\"]"]);
        let passing = filter.passing([&mixed].into_iter()).unwrap();
        assert_eq!(passing, [vec![false, true]]);
    }

    #[test]
    fn a_name_of_other_signs_is_told_to_stand_in_backquotes() {
        for text in [
            "ts:integer = 1",
            "dc:title = 'x'",
            "\"dc:title\" = 'x'",
            "first-name = 'x'",
            "2nd = 1",
        ] {
            let error = passing(text).unwrap_err().to_string();
            assert!(
                error.contains("stands in backquotes, such as `dc:title`"),
                "{text}: {error}"
            );
        }
        for text in ["year 5", "year", "(year)", "~"] {
            let error = passing(text).unwrap_err().to_string();
            assert!(!error.contains("backquotes"), "{text}: {error}");
        }
    }

    #[test]
    fn faults_are_named_with_their_place() {
        for (text, expected) in [
            (
                "",
                "filter, character 1: expected a condition, such as year >= 2020",
            ),
            (
                "year",
                "filter, character 5: expected =, !=, <, <=, >, >=, in, between, like, has or is after year",
            ),
            (
                "year = ",
                "filter, character 8: expected a number, a text in quotes, true or false",
            ),
            (
                "year != NULL",
                "filter, character 9: for a missing value write `is null` or `is not null`, without = or !=",
            ),
            (
                "year = 2020 lang = 'x'",
                "filter, character 13: expected and, or, or the end",
            ),
            (
                "lang = 'x",
                "filter, character 8: a text without its closing quote",
            ),
            ("(year = 1", "filter, character 10: expected )"),
            ("year in 1", "filter, character 9: expected ("),
            (
                "year = 99999999999999999999",
                "filter, character 8: a whole number beyond 64 bits",
            ),
            (
                "é = 1 or ~",
                "filter, character 10: expected a condition, such as year >= 2020",
            ),
            (
                "state = 'x'",
                "filter: no attribute state: there are day (text), lang (text), new (bool), price (float), tags (text), year (int)",
            ),
            (
                "lang = 1",
                "filter: attribute lang is text, and is compared with int: put the value in quotes, or build the index with --attribute lang:int",
            ),
            (
                "year like '2%'",
                "filter: attribute year is int, and like needs text: compare the attribute by =, !=, <, <=, >, >=, in or between",
            ),
            (
                "new has true",
                "filter: attribute new is bool, and has needs text: compare the attribute by =, !=, <, <=, >, >=, in or between",
            ),
            (
                "year = '2020'",
                "filter: attribute year is int, and is compared with text: write the value without quotes",
            ),
            (
                "new = 1",
                "filter: attribute new is bool, and is compared with int: write true or false, without quotes",
            ),
            (
                "year = true",
                "filter: attribute year is int, and is compared with bool: write a number",
            ),
            (
                "lang like 2",
                "filter, character 11: expected a text in quotes",
            ),
            (
                "day >= 20260103",
                "filter: attribute day holds dates or instants such as 2025-12-31, and is compared with another value: write a date as \
                 YYYY-MM-DD, in quotes",
            ),
            ("lang between 'a' or", "filter, character 18: expected and"),
        ] {
            assert_eq!(passing(text).unwrap_err().to_string(), expected, "{text}");
        }
        let long = "é".repeat(5000);
        for text in [format!("{long} ="), format!("{long} = 1"), long] {
            assert!(passing(&text).unwrap_err().to_string().len() < 250);
        }
        let deep = "(".repeat(100_000);
        assert!(Filter::parse(&deep).is_err());
        let deep = "not ".repeat(1000) + "year = 1";
        assert!(Filter::parse(&deep).is_err());
    }
}
