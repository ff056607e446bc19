//! The uses of derived keys.

/// The use of a key that is derived for a segment's content. Each use has its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Sealing buckets.
    Bucket,
    /// Sealing chunks, in local and sealed mode.
    Chunk,
    /// Sealing lists of record ids.
    Ids,
    /// Sealing the centre and the bases that vectors are stored relative to.
    Frame,
    /// Sealing the bases and scales of rows.
    Scales,
    /// Sealing the list of deletions.
    Deleted,
    /// Sealing centroids.
    Centroids,
    /// Sealing the list of the records in routed mode's clusters.
    Members,
    /// Sealing payloads.
    Payload,
    /// Sealing attributes.
    Attributes,
    /// The order of a masked segment's rows.
    RowOrder,
    /// The order of payloads.
    SlotOrder,
    /// The codes that clients make of downloaded vectors.
    Sketch,
    /// The pads of masked rows, and of places.
    Pad,
    /// The signs and bits of check rows, and the signs of sums that readers hold.
    Checks,
    /// Sealing sums that readers hold.
    Sums,
    /// The weights of exact checks.
    Weights,
    /// Sealing the combinations of exact checks.
    Combination,
    /// Sealing the owner's list of readers.
    Readers,
    /// Sealing a reader's content keys.
    Wrap,
}

impl Purpose {
    /// The label of the use in the derivation and in the associated data of seals.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Chunk => "chunk",
            Self::Ids => "ids",
            Self::Frame => "frame",
            Self::Scales => "scales",
            Self::Deleted => "deleted",
            Self::Centroids => "centroids",
            Self::Members => "members",
            Self::Payload => "payload",
            Self::Attributes => "attributes",
            Self::RowOrder => "row order",
            Self::SlotOrder => "slot order",
            Self::Sketch => "sketch",
            Self::Pad => "pad",
            Self::Checks => "checks",
            Self::Sums => "sums",
            Self::Weights => "weights",
            Self::Combination => "combination",
            Self::Readers => "readers",
            Self::Wrap => "wrap",
        }
    }
}
