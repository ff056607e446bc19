//! When a change is followed by a compaction.

use crate::numbers;
use clap::Args;
use sordino_search::Compaction;

/// Options of commands that change an index.
#[derive(Args, Debug)]
pub(super) struct Policy {
    /// Compact at once when the index has more than this number of segments that are not full, not counting one for
    /// each further label.
    #[arg(long, value_name = "SEGMENTS", value_parser = numbers::some)]
    compact_after: Option<usize>,
    /// Compact at once when at least this share of the stored records is deleted or replaced, such as 0.3.
    #[arg(long, value_name = "SHARE", value_parser = numbers::share)]
    compact_deleted: Option<f64>,
}

impl Policy {
    pub(super) fn compaction(&self) -> Compaction {
        Compaction {
            segments: self.compact_after,
            deleted: self.compact_deleted,
        }
    }
}
