//! Files that `sordino index export` wrote.

use super::Layout;
use super::layout::{LABEL, Labels};
use crate::Error;
use crate::index::values::{Attribute, Payloads};
use sordino_search::vectors::{self, ColumnNames, Format, Reader};
use sordino_search::{Column, ColumnKind, IdKind};
use std::collections::BTreeMap;
use std::path::Path;

/// The members and columns of an exported record.
pub(in crate::index) const ID: &str = "id";
pub(in crate::index) const PAYLOAD: &str = "payload";
pub(in crate::index) const VECTOR: &str = "vector";
pub(super) const PAYLOAD_FORM: &str = "payload_form";
pub(super) const ATTRIBUTES: &str = "attributes";

/// The largest number of different labels in a file, because an index has no more keys.
const MAX_LABELS: usize = 512;

/// The name of an attribute's column in a table. It differs from the attribute's name if that could be taken
/// for another column.
pub(in crate::index) fn column_of(attribute: &str) -> String {
    match attribute {
        ID | PAYLOAD | LABEL | VECTOR => nested(attribute),
        other if stripped(other).is_some() => nested(attribute),
        other => other.to_owned(),
    }
}

fn nested(attribute: &str) -> String {
    format!("{ATTRIBUTES}.{attribute}")
}

fn stripped(column: &str) -> Option<&str> {
    column.strip_prefix(ATTRIBUTES)?.strip_prefix('.')
}

/// The layout of an exported file, which includes everything in it. Ids have this kind, or, if `kind` is `None`, the kind
/// that they look like.
pub(super) fn layout(path: &Path, kind: Option<IdKind>) -> Result<Layout, Error> {
    match Format::of(path).map_err(Error::vectors(path))? {
        Format::Parquet => table(path, kind),
        Format::Jsonl => lines(path, kind),
        _ => Err(Error::Columns {
            path: path.to_owned(),
            why: "`index export` writes .jsonl and .parquet".to_owned(),
        }),
    }
}

fn table(path: &Path, kind: Option<IdKind>) -> Result<Layout, Error> {
    let named = Error::vectors(path);
    let columns = Reader::parquet_columns(path).map_err(named)?;
    for expected in [ID, VECTOR] {
        if !columns.iter().any(|name| name == expected) {
            return Err(none(path, &format!("no column {expected}")));
        }
    }
    let has_payloads = columns.iter().any(|name| name == PAYLOAD);
    let mut labels = Labels::new();
    if columns.iter().any(|name| name == LABEL) {
        labels = counted(path)?;
    }
    let others = columns
        .into_iter()
        .filter(|name| ![ID, PAYLOAD, LABEL, VECTOR].contains(&&**name));
    let mut values: Vec<String> = others.collect();
    let attributes = values
        .iter()
        .map(|column| Attribute::new(stripped(column).unwrap_or(column), None));
    let attributes = attributes.collect();
    let payloads = match has_payloads {
        true => Payloads::Columns(vec![PAYLOAD.to_owned()]),
        false => Payloads::Columns(Vec::new()),
    };
    values.splice(0..0, payloads.columns());
    Ok(Layout::new(
        names(kind, values),
        payloads,
        attributes,
        labels,
    ))
}

/// The labels of a table, for which the table is read once.
fn counted(path: &Path) -> Result<Labels, Error> {
    let wanted = ColumnNames {
        vectors: Some(VECTOR.to_owned()),
        values: vec![LABEL.to_owned()],
        ..ColumnNames::default()
    };
    let mut labels = Labels::new();
    for chunk in Reader::open_columns(path, &wanted).map_err(Error::vectors(path))? {
        for column in chunk.map_err(Error::vectors(path))?.values {
            count(path, &column, &mut labels)?;
        }
    }
    Ok(labels)
}

fn count(path: &Path, column: &Column, labels: &mut Labels) -> Result<(), Error> {
    let odd = |why: &str| Error::Columns {
        path: path.to_owned(),
        why: format!("column {LABEL}: {why}"),
    };
    for label in labels_of(column).ok_or_else(|| odd("expected texts"))? {
        *labels.entry(label).or_default() += 1;
        if labels.len() > MAX_LABELS {
            return Err(odd("more than 512 different ones, which no index has"));
        }
    }
    Ok(())
}

/// The labels of a column's rows. `None` if the column has other values.
pub(super) fn labels_of(column: &Column) -> Option<Vec<Option<String>>> {
    let text = |text: &str| Some(text.to_owned());
    let label = |json: &str| serde_json::from_str::<Option<String>>(json).ok();
    match column {
        Column::Text(texts) => Some(texts.iter().map(|it| text(it.as_deref()?)).collect()),
        Column::Json(texts) => {
            let labels = texts
                .iter()
                .map(|it| it.as_deref().map_or(Some(None), label));
            labels.collect()
        }
        _ => None,
    }
}

/// The layout of lines of JSON, which are read once to find the types of their values.
fn lines(path: &Path, kind: Option<IdKind>) -> Result<Layout, Error> {
    if !path.metadata().map_err(Error::at(path))?.is_file() {
        return Err(Error::Columns {
            path: path.to_owned(),
            why: "it is not a file: an exported one is read twice".to_owned(),
        });
    }
    let wanted = [ID, PAYLOAD_FORM, ATTRIBUTES, LABEL].map(str::to_owned);
    let wrong = |error| match error {
        vectors::Error::Line { line, why } if why == format!("no member {VECTOR}") => {
            none(path, &format!("line {line}: {why}"))
        }
        error => Error::vectors(path)(error),
    };
    let wanted = ColumnNames {
        vectors: Some(VECTOR.to_owned()),
        values: wanted.to_vec(),
        ..ColumnNames::default()
    };
    let (mut ids, mut has_payloads, mut labels) = (Kinds::default(), false, Labels::new());
    let mut found: BTreeMap<String, Kinds> = BTreeMap::new();
    for chunk in Reader::open_columns(path, &wanted).map_err(wrong)? {
        let chunk = chunk.map_err(wrong)?;
        let [of_ids, forms, attributes, of_label] = &chunk.values[..] else {
            continue;
        };
        count(path, of_label, &mut labels)?;
        json(of_ids).iter().flatten().for_each(|id| ids.see(id));
        has_payloads |= json(forms).iter().flatten().next().is_some();
        let objects = json(attributes).iter().zip(chunk.lines.iter().flatten());
        for (object, line) in objects {
            let wrong = |why: String| Error::Columns {
                path: path.to_owned(),
                why: format!("line {line}: {why}"),
            };
            let Some(object) = object else { continue };
            let members = vectors::json::members(object.as_bytes());
            let members =
                members.map_err(|_| wrong(format!("member {ATTRIBUTES} is not an object")))?;
            for (name, value) in members {
                let kinds = found.entry(name.clone()).or_default();
                kinds.see(value.get());
                if kinds.kind().is_none() {
                    return Err(wrong(format!(
                        "attribute {name} has values of different types, this one and earlier ones: expected one type"
                    )));
                }
            }
        }
    }
    let mut values = Vec::new();
    let mut attributes = Vec::new();
    for (name, kinds) in found {
        values.push(nested(&name));
        attributes.push(Attribute::new(&name, kinds.kind()));
    }
    let payloads = match has_payloads {
        true => Payloads::Exported([PAYLOAD, PAYLOAD_FORM].map(str::to_owned)),
        false => Payloads::Columns(Vec::new()),
    };
    values.splice(0..0, payloads.columns());
    let names = names(kind.or(Some(ids.ids())), values);
    Ok(Layout::new(names, payloads, attributes, labels))
}

fn names(id_kind: Option<IdKind>, values: Vec<String>) -> ColumnNames {
    ColumnNames {
        vectorless: false,
        vectors: Some(VECTOR.to_owned()),
        ids: Some(ID.to_owned()),
        id_kind,
        values,
        ..ColumnNames::default()
    }
}

fn none(path: &Path, why: &str) -> Error {
    Error::Columns {
        path: path.to_owned(),
        why: format!("{why}: `index export --vectors` writes a file with all of them"),
    }
}

/// A member of each line, as it is written.
fn json(column: &Column) -> &[Option<Box<str>>] {
    match column {
        Column::Json(texts) => texts,
        _ => &[],
    }
}

/// The types of JSON values that were seen.
#[derive(Default)]
struct Kinds {
    whole: bool,
    broken: bool,
    truth: bool,
    text: bool,
    /// A text that is not a UUID in the usual form.
    other: bool,
}

impl Kinds {
    fn see(&mut self, value: &str) {
        match value.as_bytes().first() {
            Some(b'"') => {
                self.text = true;
                let text: String = serde_json::from_str(value).unwrap_or_default();
                let id = IdKind::Uuid.parse(&text);
                self.other |= !id.is_ok_and(|id| id.to_string() == text);
            }
            Some(b't' | b'f') => self.truth = true,
            Some(b'n') | None => (),
            Some(_) if value.contains(['.', 'e', 'E']) => self.broken = true,
            Some(_) => self.whole = true,
        }
    }

    /// The type that fits all values. It is text if there are no values.
    fn kind(&self) -> Option<ColumnKind> {
        match (self.whole | self.broken, self.truth, self.text) {
            (true, false, false) if self.broken => Some(ColumnKind::Float),
            (true, false, false) => Some(ColumnKind::Int),
            (false, true, false) => Some(ColumnKind::Bool),
            (false, false, _) => Some(ColumnKind::Text),
            _ => None,
        }
    }

    fn ids(&self) -> IdKind {
        match (self.text, self.other) {
            (false, _) => IdKind::Number,
            (true, false) => IdKind::Uuid,
            (true, true) => IdKind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(values: &[&str]) -> Kinds {
        let mut kinds = Kinds::default();
        values.iter().for_each(|value| kinds.see(value));
        kinds
    }

    #[test]
    fn values_say_their_type() {
        for (values, kind) in [
            (&["null", "7", "-1"][..], Some(ColumnKind::Int)),
            (&["7", "7.0"], Some(ColumnKind::Float)),
            (&["1e300"], Some(ColumnKind::Float)),
            (&["true", "null"], Some(ColumnKind::Bool)),
            (&["\"7\"", "\"\""], Some(ColumnKind::Text)),
            (&["null"], Some(ColumnKind::Text)),
            (&["7", "\"7\""], None),
            (&["true", "1"], None),
        ] {
            assert_eq!(kinds(values).kind(), kind, "{values:?}");
        }
        assert_eq!(kinds(&["7"]).ids(), IdKind::Number);
        let uuid = "\"67e55044-10b1-426f-9247-bb680e5fe0c8\"";
        assert_eq!(kinds(&[uuid]).ids(), IdKind::Uuid);
        assert_eq!(kinds(&[&uuid.to_uppercase()]).ids(), IdKind::Text);
        assert_eq!(kinds(&[uuid, "\"a\""]).ids(), IdKind::Text);
    }

    #[test]
    fn columns_of_attributes_are_told_from_the_others() {
        for name in [
            "year",
            "id",
            "payload",
            "label",
            "vector",
            "attributes.id",
            "attributes",
        ] {
            let column = column_of(name);
            assert!(![ID, PAYLOAD, LABEL, VECTOR].contains(&&*column));
            assert_eq!(stripped(&column).unwrap_or(&column), name);
        }
    }
}
