//! The columns and members that records are read from.

use crate::index::values::{Attribute, Payloads};
use sordino_search::vectors::ColumnNames;
use std::collections::BTreeMap;

/// The column and the member of a record's label.
pub(in crate::index) const LABEL: &str = "label";

/// The labels of a file's records, none for those without one, each with the number of its records.
pub(in crate::index) type Labels = BTreeMap<Option<String>, u64>;

/// The places of all that is read of a file.
#[derive(Clone)]
pub(in crate::index) struct Layout {
    pub(super) names: ColumnNames,
    pub(super) payloads: Payloads,
    pub(super) attributes: Vec<Attribute>,
    /// Empty if no record has a label.
    labels: Labels,
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
        }
    }

    /// True if payloads are read.
    pub(in crate::index) fn has_payloads(&self) -> bool {
        self.payloads.columns().len() > 0
    }

    /// True if this attribute is read.
    pub(in crate::index) fn has_attribute(&self, name: &str) -> bool {
        self.attributes.iter().any(|it| it.name == name)
    }

    /// The labels of the records, those without one among them; empty if no record has a label.
    pub(in crate::index) fn labels(&self) -> &Labels {
        &self.labels
    }
}
