//! The conditions on a manifest. They bound every size that is later computed from it.

use super::{
    Checking, Columns, Deleted, Local, MAX_BASES, MAX_DIM, MAX_K, MAX_KEYS, MAX_SEGMENTS, Manifest,
    Mode, Routed, Sealed, Segment, frame_len,
};
use sordino_vectors::id::{IdKind, MAX_TEXT};

use crate::TAG_LEN;
use crate::code::Codec;
use crate::digest::{Coded, MIN_CODED};
use crate::sketch::Sketch;

/// The largest number of bytes of the code of one run of rows, or of their count.
pub(super) const RUN_LEN: u64 = 10;

/// The largest number of bytes of an id's code: of a number in its own run, of a text with its length, or of a UUID.
const fn id_len(kind: IdKind) -> u64 {
    match kind {
        IdKind::Number => 20,
        IdKind::Text => 2 + MAX_TEXT as u64,
        IdKind::Uuid => 16,
    }
}

/// The largest number of bytes of all buckets, so that no sum of lengths overflows.
const MOST_BYTES: u64 = 1 << 48;

/// The largest number of bytes of the code of a row of attributes, in all columns. Names and types come in addition.
const ATTRIBUTES_LEN: u64 = 64 * (4 + 4096 + 1);
const NAMES_LEN: u64 = 1 + 64 * (2 + 64);

pub(super) fn require(holds: bool, what: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| what.to_owned())
}

impl Manifest {
    /// Refuses constants that do not fit together, with the first reason.
    pub(super) fn check(&self) -> Result<(), String> {
        require(self.version > 0, "version 0")?;
        require(self.n > 0, "no vectors")?;
        require(
            (1..=MAX_DIM).contains(&self.dim),
            "a dimension outside 1 to 8192",
        )?;
        require((1..=MAX_K).contains(&self.k), "k outside 1 to 1024")?;
        self.check_readers()?;
        self.check_writers()?;
        self.check_frame()?;
        self.check_segments()?;
        self.check_deleted(&self.deleted)?;
        self.check_payloads()?;
        match &self.mode {
            Mode::Sealed(sealed) => self.check_sealed(sealed),
            Mode::Local(Local { codec, sketch, .. }) => {
                require(
                    matches!(codec, Codec::Int8 | Codec::Int12),
                    "a code that only buckets have",
                )?;
                self.check_sketch(sketch.as_ref())
            }
            Mode::Open(columns) => self.check_columns(columns, columns.checking == Checking::Sums),
            Mode::Masked(columns) => {
                require(columns.checking != Checking::None, "rows without checks")?;
                self.check_columns(columns, false)
            }
            Mode::Routed(routed) => self.check_routed(routed),
        }
    }

    fn check_frame(&self) -> Result<(), String> {
        let frame = &self.frame;
        require(
            (1..=self.version).contains(&frame.version),
            "a frame of a version outside 1 to the manifest's",
        )?;
        let (dim, width) = (self.dim as usize, self.stored_dim() as usize);
        let mut lengths = (1..=MAX_BASES).map(|bases| frame_len(dim, width, bases) + TAG_LEN);
        require(
            lengths.any(|len| len as u64 == frame.part.len),
            "a frame of an impossible length",
        )
    }

    fn check_segments(&self) -> Result<(), String> {
        let segments = self.segments();
        require(
            (1..=MAX_SEGMENTS).contains(&segments.len()),
            "segments outside 1 to 1024",
        )?;
        let mut stored = 0;
        let mut ids: Vec<[u8; 16]> = Vec::with_capacity(segments.len() + 1);
        for segment in segments {
            let Segment { id, version, n, .. } = *segment;
            require(n > 0, "an empty segment")?;
            require(
                (1..=self.version).contains(&version),
                "a segment of a version outside 1 to the manifest's",
            )?;
            let n64 = u64::from(n);
            check_coded(&segment.ids, id_len(self.ids) * (n64 + 1), "record ids")?;
            if let Some(attributes) = &segment.attributes {
                let most = ATTRIBUTES_LEN * n64 + NAMES_LEN;
                check_coded(attributes, most, "attributes")?;
            }
            stored += u64::from(n);
            ids.push(id);
        }
        require(stored == u64::from(self.n), "segments of other sizes")?;
        ids.push(self.deleted.id);
        ids.push(self.frame.id);
        ids.extend(self.all_payloads().map(|payloads| payloads.id));
        ids.extend(self.combined().map(|combined| combined.id));
        ids.extend(self.readers.as_ref().map(|readers| readers.id));
        ids.sort_unstable();
        require(
            ids.is_sorted_by(|a, b| a < b),
            "two segments of the same id",
        )
    }

    /// Checks the constants of open or masked mode. `sums` is true if readers hold sums of the rows.
    fn check_columns(&self, columns: &Columns, sums: bool) -> Result<(), String> {
        let mut scales = columns.segments.iter().map(|it| it.segment.scales);
        require(scales.all(|it| it.is_some()), "rows without scales")?;
        let held = columns.segments.iter().all(|it| it.sums.is_some() == sums);
        require(held, "sums where there are none, or none where there are")?;
        let exact = columns.checking == Checking::Exact;
        require(
            columns.combined.is_some() == exact,
            "combinations where there are none, or none where there are",
        )?;
        // In an index with readers of its own, not all readers have the weights of all rows.
        require(
            !exact || self.readers.is_none(),
            "exact checks of an index with readers of its own",
        )?;
        let versions = columns.combined.iter().map(|combined| combined.version);
        require(
            versions
                .into_iter()
                .all(|version| (1..=self.version).contains(&version)),
            "combinations of a version outside 1 to the manifest's",
        )
    }

    fn check_deleted(&self, deleted: &Deleted) -> Result<(), String> {
        require(
            (1..=self.version).contains(&deleted.version),
            "deletions of a version outside 1 to the manifest's",
        )?;
        let most = u64::from(self.n) + MAX_SEGMENTS as u64;
        self.check_lists(&deleted.rows, RUN_LEN * (most + 1), "deletions")
    }

    /// Checks sealed lists of at most `most` bytes each: one or, if the index has readers of its own, one for each key.
    fn check_lists(&self, coded: &Coded, most: u64, what: &str) -> Result<(), String> {
        if self.readers.is_none() {
            return check_coded(coded, most, what);
        }
        let largest = most.next_power_of_two().max(MIN_CODED as u64) + 4 + TAG_LEN as u64;
        let possible = coded.len <= largest * MAX_KEYS as u64;
        require(possible, &format!("{what} of an impossible length"))
    }

    fn check_sketch(&self, sketch: Option<&Sketch>) -> Result<(), String> {
        let Some(&Sketch { bits, candidates }) = sketch else {
            return Ok(());
        };
        require(
            bits.is_multiple_of(64) && (64..=1024).contains(&bits),
            "codes of no length from 64 to 1024",
        )?;
        require(candidates >= self.k, "fewer candidates than results")
    }

    fn check_sealed(&self, sealed: &Sealed) -> Result<(), String> {
        let n = sealed.base.n;
        require(
            (1..=n).contains(&sealed.clusters),
            "clusters outside 1 to n",
        )?;
        require(
            (1..=sealed.clusters).contains(&sealed.probes),
            "probes outside 1 to clusters",
        )?;
        require(
            sealed.layout.dim == self.stored_dim(),
            "buckets of another dimension",
        )?;
        require(
            Codec::ALL.contains(&sealed.layout.codec),
            "a code that buckets do not have",
        )?;
        require(
            sealed.layout.codec.serves(self.metric),
            "buckets whose code does not serve the metric: build the index again",
        )?;
        require(
            (1..=n).contains(&sealed.layout.slots),
            "slots outside 1 to n",
        )?;
        require(
            (1..1_000_000).contains(&sealed.recall),
            "a recall that is no share",
        )?;
        let fetched = sealed.hint.is_some() || super::hintless_params(sealed).is_ok();
        require(fetched, "buckets that cannot be fetched")?;
        let places = u64::from(sealed.clusters) * u64::from(sealed.layout.slots);
        require(places >= u64::from(n), "fewer places than vectors")?;
        let len = u64::from(sealed.clusters).checked_mul(sealed.layout.sealed_len() as u64);
        require(
            len.is_some_and(|len| len <= MOST_BYTES),
            "buckets of more than 2^48 bytes",
        )
    }
}

impl Manifest {
    fn check_routed(&self, routed: &Routed) -> Result<(), String> {
        require(
            routed.tail.checking == Checking::Sums,
            "a tail that is not checked by sums",
        )?;
        self.check_columns(&routed.tail, false)?;
        let grid = &routed.grid;
        let width = self.stored_dim() as usize;
        // The shape bounds the numbers of groups, places and columns, so their products do not overflow.
        require(
            grid.shape(width).is_ok(),
            "clusters of a shape that no table has",
        )?;
        require(
            u32::try_from(grid.all_stored()).is_ok() && grid.places() >= routed.base.n as usize,
            "fewer places than vectors, or too many",
        )?;
        require(
            grid.packs(grid.packing),
            "clusters that are not whole blocks",
        )?;
        require(
            grid.group_hint_len().is_ok(),
            "more places than a hint can be of",
        )?;
        require(
            (1..1_000_000).contains(&routed.recall),
            "a recall that is no share",
        )
    }
}

/// Checks that the size of a sealed code before its tag is a power of two, and no larger than a code of `most` bytes
/// needs.
fn check_coded(coded: &Coded, most: u64, what: &str) -> Result<(), String> {
    let class = coded.len.saturating_sub(TAG_LEN as u64);
    let largest = most.next_power_of_two().max(MIN_CODED as u64);
    let possible = class.is_power_of_two() && (MIN_CODED as u64..=largest).contains(&class);
    possible
        .then_some(())
        .ok_or_else(|| format!("{what} of an impossible length"))
}
