//! The questions with which an owner has recall measured.

use std::collections::HashSet;

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
    let bits = |row: &[f32]| row.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    let mut different = HashSet::new();
    for row in questions.rows() {
        if different.len() == FEWEST {
            break;
        }
        different.insert(bits(row));
    }
    match different.len() {
        FEWEST => Ok(()),
        found => Err(OwnerFault::Questions {
            found,
            expected: FEWEST,
        }
        .into()),
    }
}
