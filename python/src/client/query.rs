//! Questions for several vectors, which ask for the same of each.

use sordino_search::{Error, Filter, Question};

/// The conditions of a search on its results. The client applies them, and no message shows them.
#[derive(Default)]
pub(super) struct Asked {
    filter: Option<Filter>,
    threshold: Option<f32>,
}

impl Asked {
    pub(super) fn new(filter: Option<&str>, threshold: Option<f32>) -> Result<Self, Error> {
        Ok(Self {
            filter: filter.map(Filter::parse).transpose()?,
            threshold,
        })
    }

    /// The question for a vector.
    pub(super) fn of<'a>(&'a self, vector: &'a [f32]) -> Question<'a> {
        let mut question = Question::new(vector);
        question.filter = self.filter.as_ref();
        question.threshold = self.threshold;
        question
    }
}
