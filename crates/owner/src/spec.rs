//! An owner's choices for an index, and the records of an index.

use sordino_index::look::SecondLook;
use sordino_index::manifest::{Checking, MAX_DIM, MAX_K, Packing, Routing};
use sordino_index::{Error, Id, IdKind};
use sordino_vault::attributes::Attributes;
use sordino_vectors::Vectors;
use sordino_vectors::metric::Metric;

use crate::plan::{Conditions, Wish, second_look};
use crate::questions;

/// The packing of additions to a routed index. They are few, and each search sends a query for them, too. In 128 dimensions
/// this query has 24 KB; with eight coordinates in a polynomial it would have 197 KB. The hint takes 152 bytes for each added
/// record instead of 20.
pub(crate) const TAIL: Packing = Packing::T64;

/// An owner's choices for a new index.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Spec {
    /// The largest number of results of a search, 1 to 1024. Messages have space for them. In sealed mode `k` is at most the
    /// initial number of records. While there are fewer records, a search returns all of them.
    pub k: usize,
    /// The kind of record ids.
    pub ids: IdKind,
    /// The measure of nearness.
    pub metric: Metric,
    /// The conditions that decide how clients fetch payloads. The builder chooses the way for which a client waits the
    /// shortest time in all of its searches.
    pub conditions: Conditions,
    /// The number of candidates that each search fetches, `k` to 64, and ranks by their exact vectors. This second look
    /// exists in masked, open and routed mode. The exact vectors lie in the pages of payloads.
    pub second_look: Option<u32>,
    /// How clients check scores. In masked and open mode it is [`Checking::Exact`] or, as in routed mode, [`Checking::Sums`].
    /// In open mode it may be [`Checking::None`]. The other modes have no scores, and ignore it. An index with readers of its
    /// own cannot have exact checks.
    pub checking: Checking,
    /// True if readers have keys of their own from the first version on. Only the owner can read the index until a reader is
    /// [granted](crate::Store::change_access) the right.
    pub own_readers: bool,
    /// Vectors of at least 50 different typical questions, in sealed and routed mode. A search then reads enough for the
    /// requested recall of vectors like the indexed ones and of questions, if the plan's limits allow this. Without questions it
    /// reads enough for the former, and questions of another kind find less. At most 500 questions are used, evenly spread.
    ///
    /// The index does not contain the questions. A compaction instead requests that vectors like the indexed ones miss
    /// at most a third of the neighbours that questions may miss.
    pub questions: Option<Vectors>,
    /// The mode.
    pub form: Form,
}

impl Spec {
    /// A spec for an index of this mode. The other choices are the [default](Self::default) ones.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self {
            form,
            ..Self::default()
        }
    }
}

sordino_index::setters! {
    Spec {
        k: usize,
        ids: IdKind,
        metric: Metric,
        conditions: Conditions,
        second_look: Option<u32>,
        checking: Checking,
        own_readers: bool,
        questions: Option<Vectors>,
        form: Form,
    }
}

impl Spec {
    /// Refuses choices that no index of `n` vectors (if known) of `dim` coordinates can have. Returns the second look.
    ///
    /// # Errors
    /// - [`Error::TooLarge`] if there are too many coordinates
    /// - [`Error::K`] if no search can have `k` results
    /// - [`Error::Candidates`] if a second look cannot have this number of candidates
    /// - [`Error::Mode`] if the mode does not support a second look, questions or the requested check of replies
    /// - [`OwnerFault::Questions`], [`OwnerFault::QuestionDimension`] and [`Error::Vectors`] for questions that cannot be used
    pub(crate) fn check(&self, n: usize, dim: usize) -> Result<Option<SecondLook>, Error> {
        if dim > MAX_DIM as usize {
            return Err(Error::TooLarge { n, dim });
        }
        // There may be more records later.
        let n = MAX_K as usize;
        if !(1..=n).contains(&self.k) {
            return Err(Error::K { k: self.k, n });
        }
        let look = self.look(dim)?;
        self.check_checking()?;
        self.check_questions(dim)?;
        Ok(look)
    }

    /// Refuses questions that say too little, or with which this mode or these vectors cannot be searched.
    pub(crate) fn check_questions(&self, dim: usize) -> Result<(), Error> {
        let Some(questions) = &self.questions else {
            return Ok(());
        };
        if !matches!(self.form, Form::Routed { .. } | Form::Sealed { .. }) {
            let expected = "routed or sealed for questions: the other modes score every vector";
            let found = self.form.name();
            return Err(Error::Mode { found, expected });
        }
        questions::check(questions, self.metric, dim)
    }

    /// The demands on an index that is searched in parts. For other modes, the default demands.
    pub(crate) fn wish(&self) -> Wish {
        let wish = Wish {
            k: self.k,
            second_look: self.second_look,
            ..Wish::default()
        };
        match self.form {
            Form::Routed { recall, queries } => Wish {
                recall,
                queries,
                ..wish
            },
            Form::Sealed {
                recall,
                queries,
                routing,
            } => Wish {
                recall,
                queries,
                routing,
                ..wish
            },
            Form::Masked(_) | Form::Open(_) | Form::Local => wish,
        }
    }

    /// Refuses a check of scores that the mode does not support.
    ///
    /// # Errors
    /// [`Error::Mode`] if the mode does not support the check.
    pub(crate) fn check_checking(&self) -> Result<(), Error> {
        let own = "an index without readers of its own for exact checks";
        let (found, expected) = match (self.form, self.checking) {
            (Form::Masked(_), Checking::Exact) if self.own_readers => ("masked", own),
            (Form::Open(_), Checking::Exact) if self.own_readers => ("open", own),
            (Form::Masked(_), Checking::None) => {
                ("masked", "open, in which alone scores need not be checked")
            }
            (Form::Routed { .. }, Checking::None) => {
                ("routed", "open, in which alone scores need not be checked")
            }
            (Form::Routed { .. }, Checking::Exact) => ("routed", "masked or open for exact checks"),
            (Form::Sealed { .. }, Checking::Exact) => ("sealed", "masked or open for exact checks"),
            (Form::Local, Checking::Exact) => ("local", "masked or open for exact checks"),
            _ => return Ok(()),
        };
        Err(Error::Mode { found, expected })
    }

    /// The second look at vectors of `dim` coordinates, if there is one.
    ///
    /// # Errors
    /// [`Error::Candidates`] if there are too few or too many candidates; [`Error::Mode`] if clients score the vectors
    /// themselves.
    pub(crate) fn look(&self, dim: usize) -> Result<Option<SecondLook>, Error> {
        let Some(candidates) = self.second_look else {
            return Ok(None);
        };
        if matches!(self.form, Form::Sealed { .. } | Form::Local) {
            let found = self.form.name();
            let expected = "masked, open or routed for a second look";
            return Err(Error::Mode { found, expected });
        }
        let width = dim + self.metric.added() as usize;
        second_look(candidates, self.k, width).map(Some)
    }
}

/// A mode and its choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// The server scores all vectors, under pads.
    Masked(Packing),
    /// The server scores all vectors, and sees them.
    Open(Packing),
    /// Clients download everything.
    Local,
    /// The server scores some clusters, under pads, and does not know which.
    Routed {
        /// The share of the true nearest records that a search should find, above 0 and below 1.
        recall: f64,
        /// The number of searches that a typical client makes in one version of the index.
        queries: u64,
    },
    /// Clients fetch buckets.
    Sealed {
        /// The share of the true nearest records that a search should find, above 0 and below 1.
        recall: f64,
        /// The number of searches that a typical client makes in one version of the index.
        queries: u64,
        /// How clients find their buckets. `None` lets the planner choose.
        routing: Option<Routing>,
    },
}

impl Form {
    /// The name of the mode.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Masked(_) => "masked",
            Self::Open(_) => "open",
            Self::Local => "local",
            Self::Routed { .. } => "routed",
            Self::Sealed { .. } => "sealed",
        }
    }
}

impl Default for Spec {
    /// Masked mode, the cosine, ten results, ids that are numbers, a hundred searches.
    fn default() -> Self {
        Self {
            k: 10,
            ids: IdKind::Number,
            metric: Metric::Cosine,
            conditions: Conditions::default(),
            second_look: None,
            checking: Checking::Sums,
            own_readers: false,
            questions: None,
            form: Form::Masked(Packing::T4),
        }
    }
}

/// Vectors with their record ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The ids, one for each vector and all different. With `None`, numbers continue from the batch before.
    pub(crate) ids: Option<Vec<Id>>,
    pub(crate) vectors: Vectors,
    /// The payloads, one for each vector.
    pub(crate) payloads: Option<Vec<Vec<u8>>>,
    /// The attributes, with a row for each vector.
    pub(crate) attributes: Attributes,
}

impl Batch {
    /// Vectors with these record ids.
    ///
    /// # Errors
    /// [`Error::Ids`] if the numbers of ids and vectors differ.
    pub fn new(
        ids: impl IntoIterator<Item = impl Into<Id>>,
        vectors: Vectors,
    ) -> Result<Self, Error> {
        let ids: Vec<Id> = ids.into_iter().map(Into::into).collect();
        if ids.len() != vectors.len() {
            return Err(Error::Ids {
                found: ids.len(),
                expected: vectors.len(),
            });
        }
        Ok(Self {
            ids: Some(ids),
            ..Self::from(vectors)
        })
    }

    /// The same records with payloads, one for each, of at most [`MOST_PAYLOAD`](sordino_index::payload::MOST_PAYLOAD) bytes.
    ///
    /// # Errors
    /// [`Error::PayloadCount`] if the numbers of payloads and vectors differ.
    pub fn with_payloads(self, payloads: Vec<Vec<u8>>) -> Result<Self, Error> {
        let (found, expected) = (payloads.len(), self.vectors.len());
        if found != expected {
            return Err(Error::PayloadCount { found, expected });
        }
        Ok(Self {
            payloads: Some(payloads),
            ..self
        })
    }

    /// The same records with attributes, a row for each.
    ///
    /// # Errors
    /// [`Error::AttributeCount`] if the numbers of rows and vectors differ.
    pub fn with_attributes(self, attributes: Attributes) -> Result<Self, Error> {
        let (found, expected) = (attributes.rows(), self.vectors.len());
        if found != expected {
            return Err(Error::AttributeCount { found, expected });
        }
        Ok(Self { attributes, ..self })
    }

    /// These records, in this order.
    ///
    /// # Errors
    /// [`Error::Vectors`] for no rows.
    ///
    /// # Panics
    /// Panics if there is no such record.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let vectors = rows.iter().flat_map(|&row| self.vectors.row(row));
        let vectors = Vectors::new(self.vectors.dim(), vectors.copied().collect())?;
        let ids = self.ids.as_ref();
        let payloads = self.payloads.as_ref();
        Ok(Self {
            ids: ids.map(|ids| rows.iter().map(|&row| ids[row].clone()).collect()),
            vectors,
            payloads: payloads.map(|all| rows.iter().map(|&row| all[row].clone()).collect()),
            attributes: self.attributes.select(rows),
        })
    }
}

impl Batch {
    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vectors.len()
    }

    /// Always false, because a matrix holds at least one vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }
}

impl From<Vectors> for Batch {
    /// Vectors whose ids are numbers, from 0 or continuing from the batch before.
    fn from(vectors: Vectors) -> Self {
        Self {
            ids: None,
            payloads: None,
            attributes: Attributes::none(vectors.len()),
            vectors,
        }
    }
}
