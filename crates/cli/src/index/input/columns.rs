//! The columns of a table that give records their ids, vectors, payloads or attributes.

use clap::Args;
use sordino_search::vectors::{ColumnNames, FileOptions};

use super::layout::{Labels, Layout};
use crate::Error;
use crate::index::list::List;
use crate::index::values::{Attribute, Payloads};
use crate::usual_columns::UsualColumns;
use std::path::Path;

/// The columns of ids, payloads and attributes.
#[derive(Args, Clone, Debug)]
pub(in crate::index) struct Columns {
    /// The column of a table that holds record ids.
    #[arg(long = "id-column", id = "id_column", value_name = "NAME")]
    pub(in crate::index) id: Option<String>,
    /// Columns that make up each record's payload, separated by commas. One column of text or bytes is the payload
    /// itself; one of another type becomes JSON; several become a JSON object.
    #[arg(long = "payload-column", id = "payload_column", value_name = "NAMES")]
    payload: Vec<List<String>>,
    /// Columns that searches can filter by, separated by commas: whole numbers, numbers, truth values or texts. The
    /// server cannot read them. NAME:int, NAME:float, NAME:bool or NAME:text gives a type to texts, as in CSV, and to
    /// members of JSON. Numbers and truth values of JSON need a type.
    #[arg(long, value_name = "NAMES")]
    attribute: Vec<List<Attribute>>,
    /// Use only columns that are named. By default, ids come from the only column `id`. Vectors come from the only
    /// one of `vector`, `embedding` and `embeddings`, and payloads from the only one of `text`, `content` and
    /// `document`. Capitals do not matter, but a name in small letters is taken before others. `index update` does this
    /// for ids alone.
    #[arg(long)]
    no_guess: bool,
}

impl Columns {
    /// Determines the layout of a file. `names` gives the columns of the vectors. Ids come from a column, unless they
    /// are in another file.
    pub(super) fn layout(
        &self,
        names: ColumnNames,
        file: &Path,
        options: &FileOptions,
        ids_elsewhere: bool,
    ) -> Result<Layout, Error> {
        let attributes: Vec<Attribute> = List::all(&self.attribute).cloned().collect();
        let mut payload: Vec<String> = List::all(&self.payload).cloned().collect();
        let twice = |name: &String| payload.iter().filter(|it| *it == name).count() > 1;
        if let Some(name) = payload.iter().find(|name| twice(name)) {
            let why = format!("--payload-column names {name} twice");
            return Err(Error::Arguments(why));
        }
        // An update changes only what the options name.
        let guesses_values = !names.vectorless;
        let looks_for_ids = !self.no_guess && self.id.is_none() && !ids_elsewhere;
        let looks_for_values = !self.no_guess && guesses_values && self.payload.is_empty();
        if (looks_for_ids || looks_for_values) && UsualColumns::are_unseen(file, options) {
            let missing = match (looks_for_ids, looks_for_values) {
                (true, true) => "--id-column and --payload-column",
                (true, false) => "--id-column",
                _ => "--payload-column",
            };
            return Err(Error::Arguments(format!(
                "{}: the columns of a pipe are not known before it is read: say {missing}, or --no-guess and --vector-column to \
                 take no column that is not named",
                file.display()
            )));
        }
        let usual = match self.no_guess {
            true => None,
            false => UsualColumns::of(file, options).map_err(Error::vectors(file))?,
        };
        let (mut ids, mut vectors) = (self.id.clone(), names.vectors.clone());
        let (mut unclear, mut absent, mut passed_over) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(usual) = &usual {
            let mut taken = Vec::new();
            if guesses_values && vectors.is_none() {
                vectors = usual.vectors()?;
                taken.extend(vectors.clone());
            }
            if looks_for_ids {
                ids = usual.ids()?;
                taken.extend(ids.clone());
            }
            if looks_for_values {
                let texts = usual.texts()?;
                payload.extend(texts.clone());
                taken.extend(texts);
                unclear = usual.several_texts();
            }
            absent = usual.absent(looks_for_ids, looks_for_values);
            passed_over = usual.passed_over(taken.iter());
        }
        let values = attributes.iter().map(|it| it.name.clone());
        let names = ColumnNames {
            ids,
            vectors,
            values: payload.iter().cloned().chain(values).collect(),
            absent,
            ..names
        };
        let payloads = Payloads::Columns(payload);
        let layout = Layout::new(names, payloads, attributes, Labels::new());
        Ok(match usual {
            Some(_) => layout
                .guessed(self.id.is_none(), self.payload.is_empty(), unclear)
                .passing_over(passed_over),
            None => layout,
        })
    }

    /// True if a column other than the ids is named.
    pub(in crate::index) fn has_values(&self) -> bool {
        !self.payload.is_empty() || !self.attribute.is_empty()
    }
}
