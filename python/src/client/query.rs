//! Builds the questions for several vectors with the same conditions.

use sordino_search::{Error, Filter, Question};

/// The conditions of a search on its results. The client applies them, and no message to the server
/// contains them.
pub(super) struct Asked {
    k: usize,
    filter: Option<Filter>,
    threshold: Option<f32>,
}

impl Asked {
    pub(super) fn new(
        k: usize,
        filter: Option<&str>,
        threshold: Option<f32>,
    ) -> Result<Self, Error> {
        Ok(Self {
            k,
            filter: filter.map(Filter::parse).transpose()?,
            threshold,
        })
    }

    /// The question for one vector.
    pub(super) fn of<'a>(&'a self, vector: &'a [f32]) -> Question<'a> {
        let mut question = Question::new(vector);
        question.k = Some(self.k);
        question.filter = self.filter.as_ref();
        question.threshold = self.threshold;
        question
    }
}
