//! A set of vectors, queries, and their true neighbours.

use super::{Args, Synthetic};
use crate::usual_columns::vectors;
use crate::{Error, Output};
use sordino_search::plan::{Plan, Wish};
use sordino_search::recall::{self, Truth};
use sordino_search::{Metric, Vectors, synthetic};
use std::path::PathBuf;

/// The number of generated vectors, if no number is given.
const N: usize = 100_000;

/// A set of vectors with queries and their true neighbours.
pub(super) struct Set {
    pub(super) name: String,
    /// The vectors, unless they are in an index already.
    pub(super) base: Option<Vectors>,
    pub(super) queries: Vectors,
    pub(super) truth: Option<Truth>,
}

impl Set {
    pub(super) fn new(args: &Args, output: Output) -> Result<Self, Error> {
        let column = args.vector_column.as_ref();
        let (name, base, queries) = match (&args.data, &args.queries) {
            (Some(data), Some(queries)) => {
                let base = vectors(data, column)?;
                let base = match args.n {
                    Some(n) if n < base.len() && args.truth.is_some() => {
                        let why = "--truth covers all vectors of the file: leave out --n";
                        return Err(Error::Arguments(why.to_owned()));
                    }
                    Some(n) => base.truncated(n)?,
                    None => base,
                };
                let queries = vectors(queries, column)?;
                (data.display().to_string(), base, queries)
            }
            (None, Some(_)) => {
                let why = "--queries needs --data or --index";
                return Err(Error::Arguments(why.to_owned()));
            }
            _ => {
                let (n, dim) = (args.n.unwrap_or(N), args.dim);
                match args.set {
                    Synthetic::Uniform => (
                        "uniform".to_owned(),
                        synthetic::uniform(n, dim, 1),
                        synthetic::uniform(args.searches, dim, 2),
                    ),
                    Synthetic::Clustered => {
                        let (base, queries) = synthetic::clustered(n, args.searches, dim, 1);
                        ("clustered".to_owned(), base, queries)
                    }
                }
            }
        };
        if args.k > base.len() {
            return Err(Error::Search(sordino_search::Error::K {
                k: args.k,
                n: base.len(),
            }));
        }
        if base.dim() != queries.dim() {
            return Err(Error::Search(sordino_search::Error::Dimension {
                found: queries.dim(),
                expected: base.dim(),
            }));
        }
        let queries = queries.truncated(args.searches)?;
        let truth = match &args.truth {
            Some(path) => Truth::open(path).map_err(Error::vectors(path))?,
            None => {
                output.note("computing the true neighbours");
                recall::nearest(Metric::Cosine, &base, &queries, args.k)
            }
        };
        truth.check(queries.len(), args.k, base.len())?;
        Ok(Self {
            name,
            base: Some(base),
            queries,
            truth: Some(truth),
        })
    }

    /// The vectors to build indexes of.
    pub(super) fn base(&self) -> Result<&Vectors, Error> {
        let base = self.base.as_ref();
        Ok(base.ok_or(sordino_search::vectors::Error::NoVectors)?)
    }

    /// The queries for an index, and the right answers if they are known.
    pub(super) fn of_index(args: &Args) -> Result<Self, Error> {
        let named = |path: &Option<PathBuf>| path.clone().unwrap_or_default();
        let (index, queries) = (named(&args.index), named(&args.queries));
        let queries = vectors(&queries, args.vector_column.as_ref())?;
        let truth = args.truth.as_ref();
        let truth = truth.map(|path| Truth::open(path).map_err(Error::vectors(path)));
        Ok(Self {
            name: index.display().to_string(),
            base: None,
            queries: queries.truncated(args.searches)?,
            truth: truth.transpose()?,
        })
    }
}

/// The bytes of a download of all `n` vectors.
pub(super) fn download_all(n: usize, dim: usize, k: usize) -> Result<u64, Error> {
    let wish = Wish::default().k(k);
    Ok(Plan::new(n, dim, wish)?.download().once)
}
