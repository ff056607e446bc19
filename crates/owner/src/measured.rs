//! The recall that a build measured, of an index that is searched in parts.

/// The measurements that are made when buckets or clusters are built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Recall of held-out vectors with the probes or groups chosen.
    pub expected_recall: f64,
    /// True if that reaches the recall wished for. If not, no affordable number of probes does: the
    /// data has too little structure to be searched in parts.
    pub reached: bool,
}
