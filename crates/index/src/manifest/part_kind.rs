//! The kinds of parts.

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartKind {
    /// The centre and the bases, relative to which vectors are stored.
    Frame,
    /// The list of deletions.
    Deleted,
    /// The content keys, wrapped for each reader of an index that has its own.
    Ring,
    /// All pages of payloads.
    Payloads,
    /// The places of the records that have payloads.
    PayloadPlaces,
    /// The PIR hint of the payloads.
    PayloadHint,
    /// A segment's vectors in sealed chunks.
    Chunks,
    /// A segment's record ids.
    Ids,
    /// The attributes of a segment's records.
    Attributes,
    /// Sealed mode's buckets.
    Buckets,
    /// The digest of each bucket.
    BucketDigests,
    /// The centroids, or the mean, by which clients find buckets.
    Centroids,
    /// The PIR hint of the buckets.
    BucketHint,
    /// A segment's rows in open and masked mode.
    Rows,
    /// The bases and scales of a segment's rows in open and masked mode.
    Scales,
    /// The hint of a segment's rows, or of routed mode's table.
    RowsHint,
    /// Sums of a segment's rows in open mode.
    Sums,
    /// The combinations of all rows for exact checks in open and masked mode.
    Combination,
    /// Routed mode's clusters.
    Table,
    /// The records at the places of routed mode's clusters.
    Members,
}

impl PartKind {
    /// The name in reports and errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Deleted => "deleted",
            Self::Ring => "ring",
            Self::Payloads => "payloads",
            Self::PayloadPlaces => "payload places",
            Self::PayloadHint => "payload hint",
            Self::Chunks => "chunks",
            Self::Ids => "ids",
            Self::Attributes => "attributes",
            Self::Buckets => "buckets",
            Self::BucketDigests => "bucket digests",
            Self::Centroids => "centroids",
            Self::BucketHint => "PIR hint",
            Self::Rows => "rows",
            Self::Scales => "scales",
            Self::RowsHint => "hint",
            Self::Sums => "sums",
            Self::Combination => "combination",
            Self::Table => "table",
            Self::Members => "members",
        }
    }
}
