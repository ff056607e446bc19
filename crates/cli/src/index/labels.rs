//! Records of an exported file that have labels: a change for each label.

use super::input::{Input, Layout};
use crate::{Error, Output};
use rand::rngs::StdRng;
use sordino_search::{Added, Disk, Error as Search, Store, check_label, vectors};
use std::path::Path;

/// A file whose records have labels, and the index to which they are added.
pub(super) struct Labelled<'a> {
    pub(super) input: &'a Input,
    pub(super) layout: &'a Layout,
    pub(super) index: &'a Path,
}

impl Labelled<'_> {
    /// Refuses labels if the mode has none, or if readers have no keys of their `own`. `otherwise` says what to do then.
    pub(super) fn check(&self, mode: &str, own: bool, otherwise: &str) -> Result<(), Error> {
        let named = Error::index(&self.input.file);
        let mut labels = self.layout.labels().keys().flatten();
        labels
            .try_for_each(|label| check_label(label))
            .map_err(named)?;
        let refused = |why: String| {
            let file = self.input.file.display();
            let labels = self.names();
            Err(Error::Arguments(format!(
                "{file}: its records have labels ({labels}), {why}"
            )))
        };
        let index = self.index.display();
        if !own {
            return refused(format!(
                "and {index} no readers of its own, so that all readers could read them: {otherwise}"
            ));
        }
        if !["masked", "local"].contains(&mode) {
            return refused(format!(
                "and {index} is of {mode} mode, which has none: masked and local mode have"
            ));
        }
        Ok(())
    }

    /// Refuses a file from which no index can be built, because all of its records have labels.
    pub(super) fn check_first(&self) -> Result<(), Error> {
        if self.layout.labels().contains_key(&None) {
            return Ok(());
        }
        let file = self.input.file.display();
        let why = "all of its records have labels: a new index needs at least one record that all readers may read";
        Err(Error::Arguments(format!("{file}: {why}")))
    }

    /// Reports, before the first change, that there will be several.
    pub(super) fn announce(&self, output: Output) {
        output.note(&format!(
            "{}: {} changes, one for the records of each label and one for those without; if one fails, those before it stay",
            self.index.display(),
            self.layout.labels().len()
        ));
    }

    /// Adds the records with labels to a store of the records without one.
    pub(super) fn add_rest<D: Disk>(
        &self,
        store: &mut Store<D>,
        rng: &mut StdRng,
    ) -> Result<(), Error> {
        let replaced = self.add(store, rng, false)?.replaced;
        if replaced == 0 {
            return Ok(());
        }
        let file = self.input.file.display();
        Err(Error::Arguments(format!(
            "{file}: the ids of {replaced} of its records occur twice, with several labels or with and without one. The \
             index holds the record that was added last; the records before it can be read until the index is compacted"
        )))
    }

    /// Adds records to a store: if `all` are wanted, first the records without a label, then the records of each
    /// label.
    pub(super) fn add<D: Disk>(
        &self,
        store: &mut Store<D>,
        rng: &mut StdRng,
        all: bool,
    ) -> Result<Added, Error> {
        let mut sum = Added::none(store.version());
        // Records without a label come first.
        let labels = self.layout.labels().iter();
        let labels = labels.map(|(label, count)| (label.as_deref(), *count));
        for (label, count) in labels.filter(|(label, _)| all || label.is_some()) {
            let records = self.input.records(self.layout.clone(), label)?;
            let added = store.add_labelled(rng, label, records, &mut |_| ());
            let added = added.map_err(|error| self.named(label, error))?;
            if added.records as u64 != count {
                let (file, found) = (self.input.file.display(), added.records);
                return Err(Error::Arguments(format!(
                    "{file}: {found} records of label {}, where there were {count}: it changes while it is read",
                    label.unwrap_or("none")
                )));
            }
            sum.and(&added);
        }
        Ok(sum)
    }

    /// Adds the place to an error about the records of one label, which are counted from the first
    /// of them.
    fn named(&self, label: Option<&str>, error: Search) -> Error {
        use vectors::Error as Vectors;
        match error {
            // These are rows of the file, because the error occurs while it is read.
            Search::Vectors(Vectors::Value { .. }) => self.input.named(self.index)(error),
            Search::Vectors(error) => {
                let of =
                    label.map_or_else(|| "no label".to_owned(), |label| format!("label {label}"));
                let file = self.input.file.display();
                Error::Arguments(format!("{file}: among its records of {of}: {error}"))
            }
            error => self.input.named(self.index)(error),
        }
    }

    /// Some of the labels, for a message.
    fn names(&self) -> String {
        let names: Vec<&str> = self
            .layout
            .labels()
            .keys()
            .flatten()
            .map(String::as_str)
            .collect();
        match names.get(..3) {
            Some(first) if names.len() > 3 => {
                format!("{} and {} more", first.join(", "), names.len() - 3)
            }
            _ => names.join(", "),
        }
    }
}
