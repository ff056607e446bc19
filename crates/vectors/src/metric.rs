//! The measures of nearness between vectors.

use serde::{Deserialize, Serialize};

use crate::{Error, Vectors, to_f32};

/// A measure of nearness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// The cosine of the angle: larger is nearer. Zero vectors are refused.
    #[default]
    Cosine,
    /// The inner product: larger is nearer.
    InnerProduct,
    /// The Euclidean distance: smaller is nearer.
    Euclidean,
}

/// The greatest length of stored vectors and Euclidean queries. Scores of longer vectors would not fit single precision.
pub const LONGEST: f64 = (1u128 << 80) as f64;

/// The greatest length of an inner-product query, so that its product with the longest vector fits single precision.
pub const LONGEST_QUERY: f64 = (1u128 << 46) as f64;

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 3] = [Self::Cosine, Self::InnerProduct, Self::Euclidean];

    /// The metric's name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::InnerProduct => "inner product",
            Self::Euclidean => "Euclidean",
        }
    }

    /// The number of coordinates that are added to a vector to make it a unit vector.
    #[must_use]
    pub fn added(self) -> u32 {
        match self {
            Self::Cosine => 0,
            Self::InnerProduct => 1,
            Self::Euclidean => 2,
        }
    }

    /// Checks that vectors can be stored; the error names the row. The first vector has row `first`.
    ///
    /// # Errors
    /// [`Error::ZeroVector`] for a zero vector under the cosine. [`Error::Norm`] for a vector that is longer than
    /// [`LONGEST`] under another metric.
    pub fn check(self, vectors: &Vectors, first: usize) -> Result<(), Error> {
        for (row, vector) in (first..).zip(vectors.rows()) {
            self.check_row(vector, LONGEST, row)?;
        }
        Ok(())
    }

    /// Checks that a query can be compared with vectors.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a coordinate is infinite or NaN. [`Error::ZeroVector`] for a zero vector under the cosine and
    /// the inner product. [`Error::Norm`] for a vector that is longer than [`LONGEST`] or, under the inner product, than
    /// [`LONGEST_QUERY`].
    pub fn check_query(self, query: &[f32]) -> Result<(), Error> {
        if let Some(column) = query.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row: 0, column });
        }
        self.check_asked(query, 0)
    }

    /// Checks that each of these queries can be compared with vectors. The error names the row.
    ///
    /// # Errors
    /// The errors of [`check_query`](Self::check_query).
    pub fn check_queries(self, queries: &Vectors) -> Result<(), Error> {
        let mut rows = queries.rows().enumerate();
        rows.try_for_each(|(row, query)| self.check_asked(query, row))
    }

    fn check_asked(self, query: &[f32], row: usize) -> Result<(), Error> {
        if self == Self::InnerProduct && length(query) == 0.0 {
            return Err(Error::ZeroVector { row });
        }
        let most = match self {
            Self::InnerProduct => LONGEST_QUERY,
            Self::Cosine | Self::Euclidean => LONGEST,
        };
        self.check_row(query, most, row)
    }

    fn check_row(self, vector: &[f32], most: f64, row: usize) -> Result<(), Error> {
        let norm = length(vector);
        if self == Self::Cosine {
            return match norm == 0.0 {
                true => Err(Error::ZeroVector { row }),
                false => Ok(()),
            };
        }
        if norm > most {
            let (norm, most) = (to_f32(norm), to_f32(most));
            return Err(Error::Norm { row, norm, most });
        }
        Ok(())
    }
}

/// The length of a vector.
#[must_use]
pub fn length(vector: &[f32]) -> f64 {
    let squares = vector.iter().map(|&x| f64::from(x) * f64::from(x));
    squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_whose_scores_do_not_fit_are_refused_by_their_row() {
        let vectors = |x: f32| Vectors::new(2, vec![0.5, 0.0, x, 0.0]).unwrap();
        for metric in [Metric::InnerProduct, Metric::Euclidean] {
            assert!(metric.check(&vectors(1e24), 0).is_ok());
            assert!(metric.check(&vectors(0.0), 0).is_ok());
            let long = metric.check(&vectors(3e38), 7);
            assert!(matches!(long, Err(Error::Norm { row: 8, .. })), "{long:?}");
        }
        assert!(Metric::Cosine.check(&vectors(3e38), 0).is_ok());
        let zero = Metric::Cosine.check(&vectors(0.0), 7);
        assert!(matches!(zero, Err(Error::ZeroVector { row: 8 })));
        for metric in [Metric::Cosine, Metric::InnerProduct] {
            let zero = metric.check_queries(&vectors(0.0));
            assert!(
                matches!(zero, Err(Error::ZeroVector { row: 1 })),
                "{zero:?}"
            );
        }
        assert!(Metric::Euclidean.check_queries(&vectors(0.0)).is_ok());
        assert!(Metric::Euclidean.check_query(&[0.0]).is_ok());
        assert!(Metric::Euclidean.check_query(&[1e24]).is_ok());
        for query in [0.0, 1e24] {
            assert!(Metric::InnerProduct.check_query(&[query]).is_err());
        }
    }
}
