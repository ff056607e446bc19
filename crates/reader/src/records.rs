//! The records of an index without their vectors: ids, attributes, and which records were deleted or replaced.
//!
//! A record's place is its row, after the rows of all segments before its own. Inside the client, places name records. Its
//! callers use ids.

use sordino_index::manifest::{Manifest, Segment};
use sordino_index::{Error, Id, IdKind};
use sordino_vault::attributes::Attributes;
use sordino_vault::contents::{ContentKeys, bury_repeated};
use sordino_vault::ids::Ids;
use sordino_vault::numbers::Numbers;
use sordino_vectors::column::Column;
use sordino_vectors::recall::Scored;
use sordino_vectors::u32_of;

use crate::download::Download;
use crate::filter::Filter;

/// All records, segment by segment.
#[derive(Default)]
pub(crate) struct Records {
    segments: Vec<Known>,
    /// The deleted or replaced rows of each segment.
    dead: Vec<Numbers>,
}

/// The records of a segment.
struct Known {
    /// The place of its first record.
    first: u32,
    /// `None` if the segment's key is not known.
    ids: Option<Ids>,
    attributes: Attributes,
}

/// The records of a version that the client does not know yet.
pub(crate) struct Fresh {
    segments: Vec<Known>,
    pub(crate) dead: Vec<Numbers>,
}

impl Fresh {
    /// The records of the segments after the first `kept` ones, which `known` has, and the list of deletions, from the download.
    pub(crate) fn new(
        manifest: &Manifest,
        keys: &ContentKeys,
        (known, kept): (&Records, usize),
        download: &mut Download,
    ) -> Result<Self, Error> {
        let list = download.take(&manifest.deleted.rows.digest)?;
        let all = manifest.segments();
        let mut dead = keys.open_deleted(manifest, &list)?;
        let mut first = 0;
        let mut segments: Vec<Known> = Vec::new();
        for (at, segment) in all.into_iter().enumerate() {
            if at >= kept {
                let known = Known::new(first, segment, manifest.ids, keys, download);
                segments.push(known.map_err(|fault| manifest.blamed(segment.version, fault))?);
            }
            // The sum has at most 32 bits, as checked with the manifest.
            first += segment.n;
        }
        let ids = |at: usize| {
            let known = known.segments[..kept].iter().chain(&segments).nth(at);
            known.and_then(|it| it.ids.as_ref())
        };
        bury_repeated(manifest, ids, &mut dead);
        Ok(Self { segments, dead })
    }
}

impl Known {
    fn new(
        first: u32,
        segment: &Segment,
        kind: IdKind,
        keys: &ContentKeys,
        download: &mut Download,
    ) -> Result<Self, Error> {
        let sealed = download.take(&segment.ids.digest)?;
        let attributes = segment.attributes.as_ref();
        let attributes = attributes.map(|coded| download.take(&coded.digest));
        let attributes = attributes.transpose()?;
        let none = || Attributes::none(segment.n as usize);
        let key = keys.of(segment);
        let ids = key.map(|key| key.open_ids(segment, kind, &sealed));
        let ids = ids.transpose()?;
        let attributes = match key.zip(attributes) {
            Some((key, sealed)) => key.open_attributes(segment, &sealed)?,
            None => none(),
        };
        Ok(Self {
            first,
            ids,
            attributes,
        })
    }
}

impl Records {
    /// Keeps the first `kept` segments, and adds what is fresh.
    pub(crate) fn update(&mut self, kept: usize, fresh: Fresh) {
        self.segments.truncate(kept);
        self.segments.extend(fresh.segments);
        self.dead = fresh.dead;
    }

    /// The id of the record in an existing place.
    pub(crate) fn id(&self, place: u32) -> Id {
        let at = self
            .segments
            .partition_point(|segment| segment.first <= place);
        let segment = &self.segments[at - 1];
        let ids = segment.ids.as_ref().expect("nothing else is found");
        ids.id(place - segment.first)
    }

    /// Sorts ranked hits with equal scores by their ids.
    pub(crate) fn order(&self, hits: &mut [Scored]) {
        for equal in hits.chunk_by_mut(|a, b| a.score.total_cmp(&b.score).is_eq()) {
            if equal.len() > 1 {
                equal.sort_by_cached_key(|hit| self.id(hit.id));
            }
        }
    }

    /// The place of the record with this id, if a readable segment has one that is neither deleted nor replaced.
    pub(crate) fn place(&self, id: &Id) -> Option<u32> {
        let (segment, row) = self.find(id)?;
        Some(segment.first + row)
    }

    /// The attributes of the record with this id, if a readable segment has one that is neither deleted nor replaced.
    pub(crate) fn attributes(&self, id: &Id) -> Option<Attributes> {
        let (segment, row) = self.find(id)?;
        Some(segment.attributes.select(&[row as usize]))
    }

    /// For each readable segment that has the attribute: the ids of the records that are neither deleted nor replaced,
    /// with their values. `chosen` says which rows to take, if not all. A value may be missing.
    pub(crate) fn column(
        &self,
        name: &str,
        chosen: Option<&[Vec<bool>]>,
    ) -> Vec<(Vec<Id>, Column)> {
        let segments = self.segments.iter().zip(&self.dead).enumerate();
        let columns = segments.filter_map(|(at, (segment, dead))| {
            let (ids, column) = (segment.ids.as_ref()?, segment.attributes.column(name)?);
            let passes = |row: u32| chosen.is_none_or(|chosen| chosen[at][row as usize]);
            let rows = 0..u32_of(ids.len());
            let rows: Vec<u32> = rows
                .filter(|&row| !dead.contains(row) && passes(row))
                .collect();
            let values = column.rows(rows.iter().map(|&row| row as usize));
            Some((rows.iter().map(|&row| ids.id(row)).collect(), values))
        });
        columns.collect()
    }

    fn find(&self, id: &Id) -> Option<(&Known, u32)> {
        let segments = self.segments.iter().zip(&self.dead).rev();
        let mut found = segments.filter_map(|(segment, dead)| {
            let row = segment.ids.as_ref()?.row(id)?;
            (!dead.contains(row)).then_some((segment, row))
        });
        found.next()
    }

    /// For each row of each segment, whether its record passes. If segments may be hidden, an attribute that no visible segment
    /// has, or a value of another type, matches no record. Refusing the filter would reveal to the server, by the missing search,
    /// what the reader cannot read.
    pub(crate) fn passing(&self, filter: &Filter, hidden: bool) -> Result<Vec<Vec<bool>>, Error> {
        let segments = self.segments.iter().map(|segment| &segment.attributes);
        match hidden {
            true => Ok(filter.passing_of_visible(segments)),
            false => filter.passing(segments),
        }
    }
}
