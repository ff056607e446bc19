//! Ids and values of a file that no option names, or that the user probably did not mean.

use super::exported::{ATTRIBUTES, ID, PAYLOAD, PAYLOAD_FORM, VECTOR};
use super::layout::LABEL;
use super::{Input, Layout, Records};
use crate::index::ids::Ids;
use crate::{Error, Output};
use sordino_search::vectors::Reader;

impl Input {
    /// Refuses to leave out a part of an exported file, unless options name its ids or vectors.
    pub(super) fn check_all_taken(&self, reader: &Reader, layout: &Layout) -> Result<(), Error> {
        let has = |wanted: &str| reader.columns().iter().any(|name| name == wanted);
        let named = self.exported || self.ids.is_some() || self.columns.id.is_some();
        if named || self.vector_column.is_some() || !has(ID) || !has(VECTOR) {
            return Ok(());
        }
        let lost = match self.has_ids(layout) {
            false => Some(ID),
            true => {
                let others = [PAYLOAD, PAYLOAD_FORM, ATTRIBUTES, LABEL].into_iter();
                let mut others = others.filter(|name| has(name));
                others.find(|name| !layout.names.values.iter().any(|it| it == name))
            }
        };
        let Some(lost) = lost else {
            return Ok(());
        };
        Err(Error::Columns {
            path: self.file.clone(),
            why: format!(
                "it has {ID} and {VECTOR}, and {lost} would be lost. Add --exported if `sordino index export` wrote it; \
                 --id-column {ID} to take ids and everything that you name; or --vector-column {VECTOR} to leave out \
                 the rest"
            ),
        })
    }
}

impl Records<'_> {
    /// Reports the used columns. Warns of ids that the user may not mean, from a file that was written before ids had
    /// escapes.
    pub(in crate::index) fn announce(&self, layout: &Layout, output: Output) {
        let otherwise = match (&self.ids, self.first_number) {
            (Some(ids), _) => format!("ids ({}) from {}", self.kind.name(), ids.path.display()),
            (None, Some(first)) if first > 0 => format!("ids are the numbers from {first} on"),
            (None, _) => "ids from row numbers".to_owned(),
        };
        if let Some(taken) = layout.taken(self.kind, otherwise) {
            output.note(&taken);
        }
        if self.reader.reads_bytes() {
            output.note(&format!(
                "vectors of {} numbers: the bytes of their column are read as floats of 32 bits",
                self.reader.dim()
            ));
        }
        let has_ids = layout.has_id_column() || self.ids.is_some();
        if let Some(index) = self.reader.index_column().filter(|_| !has_ids) {
            output.note(&format!(
                "pandas' index is column {index}, which is not read: --id-column {index} takes ids from it"
            ));
        }
        if let Some(warning) = self.ids.as_ref().and_then(Ids::warning) {
            output.note(&warning);
        }
    }
}
