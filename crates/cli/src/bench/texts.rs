//! An index of vectors with one text each, which is typical for applications.

use super::Args;
use crate::{Error, mode::Mode};
use serde::Serialize;
use sordino_search::manifest::Packing;
use sordino_search::plan::{Plan, Wish};
use sordino_search::{Form, Spec, Vectors, synthetic};

/// The texts of a set: generated, with the lengths and the redundancy of passages.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Texts {
    pub(super) count: usize,
    /// The number of bytes of all texts together. The next two fields are the numbers for the median text and for the
    /// longest.
    pub(super) bytes: usize,
    pub(super) median_bytes: usize,
    pub(super) longest_bytes: usize,
}

impl Texts {
    /// Generates this number of texts. Also returns their properties.
    pub(super) fn of(count: usize) -> (Self, Vec<Vec<u8>>) {
        let texts = synthetic::texts(count, 3).into_iter();
        let texts: Vec<Vec<u8>> = texts.map(String::into_bytes).collect();
        let mut lens: Vec<usize> = texts.iter().map(Vec::len).collect();
        lens.sort_unstable();
        let of = Self {
            count,
            bytes: lens.iter().sum(),
            median_bytes: lens.get(count / 2).copied().unwrap_or(0),
            longest_bytes: lens.last().copied().unwrap_or(0),
        };
        (of, texts)
    }
}

/// The index of this mode, in the form that moves the fewest bytes in a session.
pub(super) fn spec(base: &Vectors, mode: Mode, args: &Args) -> Result<Spec, Error> {
    let (recall, queries) = (args.recall, args.session);
    let wish = Wish::default().k(args.k).recall(recall).queries(queries);
    let plan = Plan::new(base.len(), base.dim(), wish)?;
    let t4 = Packing::T4;
    let form = match mode {
        Mode::Masked => Form::Masked(plan.masked().map_or(t4, |scoring| scoring.packing)),
        Mode::Open => Form::Open(plan.open().map_or(t4, |scoring| scoring.packing)),
        Mode::Local => Form::Local,
        Mode::Routed => Form::Routed { recall, queries },
        Mode::Sealed => Form::Sealed {
            recall,
            queries,
            routing: None,
        },
    };
    let one_look = matches!(mode, Mode::Local | Mode::Sealed);
    let candidates = args.look.candidates.filter(|_| !one_look);
    let conditions = wish.conditions();
    Ok(Spec::new(form)
        .k(args.k)
        .conditions(conditions)
        .second_look(candidates))
}
