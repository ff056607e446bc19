//! Additions: records that a writer appends to an index without its owner.
//!
//! An owner signs the base together with its list of deletions. So segments with a higher version than that list were
//! added since.

use serde::{Deserialize, Serialize};

use super::check::require;
use super::{ColumnSegment, Manifest, Mode, Segment, Writer};
use crate::Error;
use crate::digest::Digest;
use crate::payload::{PageGroup, Payloads};

/// The largest number of additions between two changes by the owner.
pub const MAX_ADDITIONS: usize = 64;

/// The largest number of segments of one addition.
pub const MAX_ADDED: usize = 8;

/// The largest number of records of one addition. They determine what clients download, and writers are less trusted
/// than the owner.
pub const MOST_ADDED_RECORDS: u64 = 1 << 20;

/// The largest number of bytes of the pages that an addition has. All clients download them.
pub const MOST_ADDED_BYTES: u64 = 1 << 26;

/// The largest amount by which an addition's number may exceed the number before it. Numbers may be left out, because
/// an interrupted change uses its number up.
const MAX_STEP: u64 = 1024;

/// Records that a writer adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Addition {
    /// The version that the addition makes.
    pub version: u64,
    /// The time of the addition, as its writer claims, in seconds since 1970.
    pub time: u64,
    /// The digest of the version before.
    pub previous: Digest,
    /// The number of the content key of the whole addition.
    pub key: u32,
    /// Its segments.
    pub segments: Vec<ColumnSegment>,
    /// The payloads of its records, if records have any.
    pub payloads: Option<Payloads>,
}

impl Addition {
    /// Segments under the key of this number, and the payloads of their records.
    #[must_use]
    pub fn new(
        (version, time): (u64, u64),
        previous: Digest,
        key: u32,
        segments: Vec<ColumnSegment>,
        payloads: Option<Payloads>,
    ) -> Self {
        Self {
            version,
            time,
            previous,
            key,
            segments,
            payloads,
        }
    }

    /// The number of its records.
    #[must_use]
    pub fn records(&self) -> u64 {
        let segments = self.segments.iter();
        segments.map(|it| u64::from(it.segment.n)).sum()
    }

    /// Gives all its parts the content key, which its encoding has only once.
    fn keyed(mut self) -> Self {
        for column in &mut self.segments {
            column.segment.key = self.key;
        }
        if let Some(payloads) = &mut self.payloads {
            payloads.groups = vec![PageGroup {
                key: self.key,
                records: payloads.records,
                pages: payloads.pages,
            }];
        }
        self
    }

    /// Refuses an addition that this writer may not make to a version with this digest.
    fn check(&self, manifest: &Manifest, before: &Digest, writer: &Writer) -> Result<(), String> {
        require(
            self.previous == *before,
            "it was made for another version, or another index",
        )?;
        let step = self.version.checked_sub(manifest.version);
        require(
            step.is_some_and(|step| (1..=MAX_STEP).contains(&step)),
            "its number is not one of those after the version before",
        )?;
        require(
            self.time < writer.until,
            "its writer's right had ended by then",
        )?;
        require(
            writer.may_add(self.key),
            "its writer may not add under this label",
        )?;
        require(
            (1..=MAX_ADDED).contains(&self.segments.len()),
            "segments outside 1 to 8",
        )?;
        let own = |it: &ColumnSegment| it.segment.version == self.version;
        require(
            self.segments.iter().all(own),
            "a segment of another version",
        )?;
        require(
            self.segments.iter().all(|it| it.segment.n > 0),
            "an empty segment",
        )?;
        require(
            self.records() <= MOST_ADDED_RECORDS,
            "more than 2^20 records",
        )?;
        let Some(payloads) = &self.payloads else {
            return require(
                manifest.payloads.is_none(),
                "nothing of what its records carry",
            );
        };
        require(
            payloads.version == self.version,
            "payloads of another version",
        )?;
        require(
            u64::from(payloads.records) == self.records(),
            "payloads of other records than its own",
        )?;
        require(
            payloads.content_part().len <= MOST_ADDED_BYTES,
            "payloads of more than 2^26 bytes",
        )
    }
}

impl Manifest {
    /// Appends a writer's addition to this version, which has this digest. Returns the addition with its keys.
    ///
    /// # Errors
    /// The first reason why the addition is not allowed.
    pub(super) fn append(
        &mut self,
        addition: Addition,
        before: &Digest,
        writer: usize,
    ) -> Result<Addition, String> {
        let writer = self.writers.get(writer);
        let writer = writer.ok_or("its writer is none that the owner names")?;
        addition.check(self, before, writer)?;
        let addition = addition.keyed();
        let bytes: u64 = addition.segments.iter().map(|it| self.row_bytes(it)).sum();
        match &mut self.mode {
            Mode::Masked(columns) => columns.segments.extend(addition.segments.iter().cloned()),
            Mode::Local(local) => {
                require(
                    addition.segments.iter().all(ColumnSegment::is_sealed_whole),
                    "a hint or scales of rows that are downloaded",
                )?;
                require(bytes <= MOST_ADDED_BYTES, "rows of more than 2^26 bytes")?;
                let own = addition.segments.iter().map(|it| it.segment.clone());
                local.segments.extend(own);
            }
            _ => return Err("an addition in a mode that is neither masked nor local".to_owned()),
        }
        self.recent.extend(addition.payloads.clone());
        let n = u64::from(self.n) + addition.records();
        self.n = u32::try_from(n).map_err(|_| "more than 2^32 - 1 records")?;
        (self.version, self.previous) = (addition.version, *before);
        self.check()?;
        Ok(addition)
    }

    /// The size in bytes of a segment's rows in sealed chunks, as in local mode.
    fn row_bytes(&self, column: &ColumnSegment) -> u64 {
        let layout = column.segment.layout(self.stored_dim(), self.chunk_codec());
        u64::from(column.segment.chunks()) * layout.sealed_len() as u64
    }

    /// True for a segment that a writer added since the owner's last change: the list of deletions is older.
    #[must_use]
    pub fn is_added(&self, segment: &Segment) -> bool {
        segment.version > self.deleted.version
    }

    /// True if a part of this version was added by a writer since the owner's last change.
    #[must_use]
    pub fn was_added(&self, version: u64) -> bool {
        !self.writers.is_empty() && version > self.deleted.version
    }

    /// The error for a fault in a part of this version: [`Error::Addition`] if a writer added the part, unless a file
    /// could not be read.
    #[must_use]
    pub fn blamed(&self, version: u64, fault: Error) -> Error {
        match fault {
            fault @ (Error::File { .. } | Error::Addition(..)) => fault,
            fault if !self.was_added(version) => fault,
            fault => Error::Addition(version, fault.into()),
        }
    }

    /// The places of the records that a part of payloads may contain. The owner's parts may contain all records. A part
    /// that a writer added may contain records of the segments that were added with it.
    #[must_use]
    pub fn places_of(&self, payloads: &Payloads) -> std::ops::Range<u64> {
        if payloads.version <= self.deleted.version {
            return 0..u64::from(self.n);
        }
        let (mut place, mut own) = (0, 0..0);
        for segment in self.segments() {
            let after = place + u64::from(segment.n);
            if segment.version == payloads.version {
                // The segments of an addition follow one another.
                let first = if own.is_empty() { place } else { own.start };
                own = first..after;
            }
            place = after;
        }
        own
    }
}
