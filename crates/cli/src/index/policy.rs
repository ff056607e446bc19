//! When a change is followed by a compaction.

use crate::numbers;
use clap::Args;
use sordino_search::Compaction;

/// Options of commands that change an index.
#[derive(Args, Debug)]
pub(super) struct Policy {
    /// Compact at once when more than so many segments are there that are not full, beside one for each further label.
    #[arg(long, value_name = "SEGMENTS", value_parser = numbers::some)]
    compact_after: Option<usize>,
    /// Compact at once when at least this share of the stored records is deleted or replaced: 0.3.
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
