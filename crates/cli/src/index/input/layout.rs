//! The columns and members that records are read from.

use crate::index::values::{Attribute, Payloads};
use sordino_search::IdKind;
use sordino_search::vectors::ColumnNames;
use std::collections::BTreeMap;

/// The column and the member of a record's label.
pub(in crate::index) const LABEL: &str = "label";

/// The labels of a file's records, `None` for records without one, each with the number of its
/// records.
pub(in crate::index) type Labels = BTreeMap<Option<String>, u64>;

/// The places in a file from which values are read.
#[derive(Clone)]
pub(in crate::index) struct Layout {
    pub(super) names: ColumnNames,
    pub(super) payloads: Payloads,
    pub(super) attributes: Vec<Attribute>,
    /// Empty if no record has a label.
    labels: Labels,
    /// True for a table whose columns are found by their usual names if no option names them.
    guessed: bool,
    /// True if the column of ids was found by its usual name.
    guessed_ids: bool,
    /// True if the column of payloads was found by its usual name.
    guessed_payloads: bool,
    /// The columns that could be the payloads, if none is used because there are several.
    unclear_payloads: Vec<String>,
    /// Columns whose names differ from a used column's only in capitals.
    passed_over: Vec<String>,
}

impl Layout {
    pub(super) fn new(
        mut names: ColumnNames,
        payloads: Payloads,
        attributes: Vec<Attribute>,
        mut labels: Labels,
    ) -> Self {
        match labels.keys().any(Option::is_some) {
            true => names.values.push(LABEL.to_owned()),
            false => labels.clear(),
        }
        Self {
            names,
            payloads,
            attributes,
            labels,
            guessed: false,
            guessed_ids: false,
            guessed_payloads: false,
            unclear_payloads: Vec::new(),
            passed_over: Vec::new(),
        }
    }

    /// From now on each JSON record must have its payload, which may be null.
    pub(in crate::index) fn require_payloads(&mut self) {
        if let Payloads::Columns(columns) = &self.payloads {
            self.names.required.clone_from(columns);
        }
    }

    /// The same layout with columns found by their usual names: the ids if wanted, and the payloads. Unclear columns are not
    /// used.
    pub(super) fn guessed(
        self,
        guessed_ids: bool,
        guessed_payloads: bool,
        unclear_payloads: Vec<String>,
    ) -> Self {
        Self {
            guessed: true,
            guessed_ids,
            guessed_payloads,
            unclear_payloads,
            ..self
        }
    }

    /// The same layout, which also records columns whose names differ from a used column's only in
    /// capitals.
    pub(super) fn passing_over(self, passed_over: Vec<String>) -> Self {
        Self {
            passed_over,
            ..self
        }
    }

    /// Removes payloads that no option named, because the index's records have none.
    pub(in crate::index) fn leave_guessed_payloads(&mut self) {
        self.unclear_payloads.clear();
        if self.guessed_payloads {
            let payloads = self.payloads.columns().len();
            self.names.values.drain(..payloads);
            self.payloads = Payloads::Columns(Vec::new());
        }
    }

    /// The column of ids, if it was found by its name.
    pub(in crate::index) fn guessed_ids(&self) -> Option<&str> {
        self.names.ids.as_deref().filter(|_| self.guessed_ids)
    }

    pub(in crate::index) fn id_column(&self) -> Option<&str> {
        self.names.ids.as_deref()
    }

    /// True if the records have ids in a column.
    pub(in crate::index) fn has_id_column(&self) -> bool {
        self.names.ids.is_some()
    }

    /// Describes the columns that were found by their names, with the kind of their ids. `otherwise` says where ids come
    /// from if not from a column.
    pub(in crate::index) fn taken(&self, kind: IdKind, otherwise: String) -> Option<String> {
        if !self.guessed {
            return None;
        }
        let ids = match &self.names.ids {
            Some(name) => format!("ids ({}) from column {name}", kind.name()),
            None => otherwise,
        };
        let passed_over = match &self.passed_over[..] {
            [] => String::new(),
            names => format!(", nothing from {}", names.join(" and ")),
        };
        let vectors = self.names.vectors.iter();
        let vectors = vectors.map(|name| format!(", vectors from {name}"));
        let payloads: Vec<String> = self.payloads.columns().collect();
        let payloads = match (&payloads[..], &self.unclear_payloads[..]) {
            ([], []) => ", no payloads".to_owned(),
            ([], unclear) => format!(
                ", no payloads, because {} could be them: name what is meant with --payload-column",
                unclear.join(" and ")
            ),
            (payloads, _) => format!(", payloads from {}", payloads.join(", ")),
        };
        let vectors: String = vectors.collect();
        Some(format!(
            "{ids}{vectors}{payloads}{passed_over} (--no-guess takes only what is named)"
        ))
    }

    /// True if payloads are read.
    pub(in crate::index) fn has_payloads(&self) -> bool {
        self.payloads.columns().len() > 0
    }

    /// True if this attribute is read.
    pub(in crate::index) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.iter().any(|it| it.name == name)
    }

    /// The labels of the records, with an entry for records without one. Empty if no record has a
    /// label.
    pub(in crate::index) fn labels(&self) -> &Labels {
        &self.labels
    }
}
