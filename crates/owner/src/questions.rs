//! The questions with which an owner has recall measured.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use sordino_index::{Error, OwnerFault};
use sordino_vectors::Vectors;
use sordino_vectors::metric::Metric;

/// The smallest number of different questions. The standard error of their recall is about 0.015.
const FEWEST: usize = 50;

/// Refuses questions that say too little, or with which vectors of `dim` coordinates cannot be searched.
pub(crate) fn check(questions: &Vectors, metric: Metric, dim: usize) -> Result<(), Error> {
    let (found, expected) = (questions.dim(), dim);
    if found != expected {
        return Err(OwnerFault::QuestionDimension { found, expected }.into());
    }
    metric.check_queries(questions)?;
    match different(questions).len() {
        found if found < FEWEST => {
            let expected = FEWEST;
            Err(OwnerFault::Questions { found, expected }.into())
        }
        _ => Ok(()),
    }
}

/// The positions of questions that differ from all earlier ones.
pub(crate) fn different(questions: &Vectors) -> Vec<usize> {
    let mut seen = HashSet::new();
    let rows = questions.rows().enumerate();
    // A hash of 64 bits for each row takes less memory than the rows.
    let new = rows.filter(|(_, row)| {
        let mut hasher = DefaultHasher::new();
        row.iter().for_each(|x| hasher.write_u32(x.to_bits()));
        seen.insert(hasher.finish())
    });
    new.map(|(at, _)| at).collect()
}
