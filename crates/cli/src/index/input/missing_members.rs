//! Members of JSON lines that no record has.

use crate::Output;
use sordino_search::Column;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// The requested members of JSON lines that no record has had so far.
#[derive(Clone, Default)]
pub(in crate::index) struct Unseen(Rc<RefCell<Vec<String>>>);

impl Unseen {
    pub(super) fn of(asked: Vec<String>) -> Self {
        Self(Rc::new(RefCell::new(asked)))
    }

    /// Removes a member for which a record has a value.
    pub(super) fn saw(&self, name: &str, column: &Column) {
        let is_there = match column {
            Column::Json(values) => values.iter().any(Option::is_some),
            _ => true,
        };
        if is_there {
            self.0.borrow_mut().retain(|unseen| unseen != name);
        }
    }

    /// Warns of the remaining members, because each may be a mistake in a name.
    pub(in crate::index) fn say(&self, file: &Path, output: Output) {
        for name in self.0.borrow().iter() {
            let file = file.display();
            output.note(&format!("warning: {file}: no record has a member {name}"));
        }
    }
}
