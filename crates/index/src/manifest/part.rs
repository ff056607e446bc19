//! The parts of an index, which its manifest's digests name, and who holds each.

use super::{Columns, Manifest, Mode, PartKind, Routed, Routing, Rows, Scheme, Sealed, Segment};
use crate::checks::{exact, held};
use crate::digest::{Coded, Digest};
use crate::payload::{Fetch, Payloads};
use crate::{Error, TAG_LEN};

/// Who holds a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The server, which needs it for its answers.
    Server,
    /// The server, and clients download it.
    Everyone,
    /// Clients download it; the server computes it from its other parts.
    Clients,
    /// Only the owner. It is never served.
    Owner,
}

impl Holder {
    /// True if clients download it.
    #[must_use]
    pub fn is_given(self) -> bool {
        matches!(self, Self::Everyone | Self::Clients)
    }

    /// True if a server needs it stored.
    #[must_use]
    pub fn is_served(self) -> bool {
        matches!(self, Self::Everyone | Self::Server)
    }

    /// True if it is in the owner's directory.
    #[must_use]
    pub fn is_stored(self) -> bool {
        self != Self::Clients
    }
}

/// One part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The kind of its content.
    pub kind: PartKind,
    /// The length in bytes.
    pub len: u64,
    /// The digest by which the manifest names it.
    pub digest: Digest,
    /// Who holds it.
    pub holder: Holder,
    /// The number of the segment that it belongs to, if it belongs to one.
    pub segment: Option<usize>,
}

fn part(kind: PartKind, len: usize, digest: &Digest, holder: Holder) -> Part {
    Part {
        kind,
        len: len as u64,
        digest: *digest,
        holder,
        segment: None,
    }
}

fn coded(kind: PartKind, coded: &Coded, holder: Holder) -> Part {
    Part {
        kind,
        len: coded.len,
        digest: coded.digest,
        holder,
        segment: None,
    }
}

impl Payloads {
    /// All pages.
    #[must_use]
    pub fn content_part(&self) -> Part {
        let holder = match self.fetch {
            Fetch::Download => Holder::Everyone,
            Fetch::Pir { .. } | Fetch::Hintless { .. } | Fetch::Scan { .. } => Holder::Server,
        };
        let len = self.content_len();
        part(PartKind::Payloads, len, &self.content, holder)
    }

    /// The places of the records.
    #[must_use]
    pub fn places_part(&self) -> Part {
        coded(PartKind::PayloadPlaces, &self.places, Holder::Everyone)
    }

    /// The parts: all pages, the places of records, and the PIR hint, if pages are fetched with one.
    fn parts(&self) -> Result<Vec<Part>, Error> {
        let mut parts = vec![self.content_part(), self.places_part()];
        let hint = match &self.fetch {
            Fetch::Pir { hint, .. } => {
                let params = self.pir_params()?;
                params.map(|params| (params.hint_len(), hint))
            }
            Fetch::Scan { hint, .. } => {
                let scan = self.scan()?;
                let len = scan.map(|scan| scan.hint_len()).transpose()?;
                len.map(|len| (len, hint))
            }
            Fetch::Download | Fetch::Hintless { .. } => None,
        };
        let hint = hint.map(|(len, hint)| part(PartKind::PayloadHint, len, hint, Holder::Everyone));
        parts.extend(hint);
        Ok(parts)
    }
}

impl Routed {
    /// The table of an index whose stored vectors have `width` coordinates.
    #[must_use]
    pub fn table_part(&self, width: usize) -> Part {
        let len = self.grid.table_len(width);
        part(PartKind::Table, len, &self.table, Holder::Server).of(0)
    }
}

/// The parts of a segment's records next to their vectors.
fn record_parts(at: usize, segment: &Segment) -> impl Iterator<Item = Part> {
    let ids = coded(PartKind::Ids, &segment.ids, Holder::Everyone);
    let attributes = segment.attributes.as_ref();
    let attributes = attributes.map(|it| coded(PartKind::Attributes, it, Holder::Everyone));
    let parts = std::iter::once(ids).chain(attributes);
    parts.map(move |part| part.of(at))
}

impl Part {
    fn of(self, segment: usize) -> Self {
        Self {
            segment: Some(segment),
            ..self
        }
    }
}

impl Manifest {
    /// The part of this kind, and of this segment if the kind belongs to segments.
    ///
    /// # Errors
    /// [`Error`] if the manifest has no such part, or the part's length cannot be computed.
    pub fn part(&self, kind: PartKind, segment: Option<usize>) -> Result<Part, Error> {
        let parts = self.parts()?;
        let part = parts
            .into_iter()
            .find(|part| part.kind == kind && part.segment == segment);
        part.ok_or_else(|| Error::Malformed {
            what: "manifest",
            why: format!("no {}", kind.name()),
        })
    }

    /// All parts, in the order in which they are stored and downloaded.
    ///
    /// # Errors
    /// [`Error`] if there are more or longer vectors than the mode can hold.
    pub fn parts(&self) -> Result<Vec<Part>, Error> {
        let mut parts = vec![
            coded(PartKind::Frame, &self.frame.part, Holder::Everyone),
            coded(PartKind::Deleted, &self.deleted.rows, Holder::Everyone),
        ];
        let ring = self.readers.as_ref();
        parts.extend(ring.map(|readers| coded(PartKind::Ring, &readers.ring, Holder::Everyone)));
        for payloads in self.all_payloads() {
            parts.extend(payloads.parts()?);
        }
        match &self.mode {
            Mode::Sealed(mode) => self.sealed_parts(mode, &mut parts)?,
            Mode::Local(mode) => {
                for (at, segment) in mode.segments.iter().enumerate() {
                    parts.extend(self.chunk_parts(at, segment, Holder::Everyone));
                }
            }
            Mode::Open(mode) => self.column_parts(0, mode, Rows::Open, &mut parts)?,
            Mode::Masked(mode) => self.column_parts(0, mode, Rows::Masked, &mut parts)?,
            Mode::Routed(mode) => self.routed_parts(mode, &mut parts)?,
        }
        Ok(parts)
    }

    /// The size in bytes of all stored parts.
    ///
    /// # Errors
    /// The errors of [`parts`](Self::parts).
    pub fn stored_len(&self) -> Result<u64, Error> {
        let parts = self.parts()?;
        let stored = parts.iter().filter(|part| part.holder.is_stored());
        Ok(stored.fold(0, |sum, part| sum.saturating_add(part.len)))
    }

    /// Refuses a version whose stored parts have more than `most` bytes together. The sum includes data that a server
    /// computes from the parts and that may be many times larger. Such data are the hints of routed mode and of scanned
    /// pages, and pages that clients fetch without a hint.
    ///
    /// # Errors
    /// [`Error::Room`] if all of this has more than `most` bytes, and the errors of [`parts`](Self::parts).
    pub fn check_room(&self, most: u64) -> Result<(), Error> {
        let found = self.stored_len()?.saturating_add(self.expanded_len()?);
        match found <= most {
            true => Ok(()),
            false => Err(Error::Room { found, most }),
        }
    }

    /// The bytes of the data that a server computes from a version's parts, if these may be many times larger than the
    /// parts.
    fn expanded_len(&self) -> Result<u64, Error> {
        let hint = match &self.mode {
            Mode::Routed(mode) => mode.grid.encoded_hint_len(),
            _ => 0,
        };
        let Some(payloads) = &self.payloads else {
            return Ok(hint);
        };
        let scan = payloads.scan()?.map_or(0, |scan| scan.encoded_hint_len());
        let units = payloads.hintless_params()?;
        let units = units.map_or(0, |params| params.server_bytes() as u64);
        Ok(hint.saturating_add(scan).saturating_add(units))
    }

    fn chunk_parts(&self, at: usize, segment: &Segment, holder: Holder) -> Vec<Part> {
        let layout = segment.layout(self.stored_dim(), self.chunk_codec());
        let len = segment.chunks() as usize * layout.sealed_len();
        let mut parts = vec![part(PartKind::Chunks, len, &segment.rows, holder).of(at)];
        parts.extend(record_parts(at, segment));
        parts
    }

    fn sealed_parts(&self, mode: &Sealed, parts: &mut Vec<Part>) -> Result<(), Error> {
        let (clusters, width) = (mode.clusters as usize, self.stored_dim() as usize);
        let (centroids, holder) = match mode.routing {
            Routing::Encrypted => (clusters * width, Holder::Server),
            routing => (super::route_len(routing, clusters, width), Holder::Everyone),
        };
        let buckets = clusters * mode.layout.sealed_len();
        let base = [
            part(PartKind::Buckets, buckets, &mode.buckets, Holder::Server),
            part(
                PartKind::BucketDigests,
                clusters * size_of::<Digest>(),
                &mode.digests,
                Holder::Everyone,
            ),
            part(PartKind::Centroids, centroids, &mode.centroids, holder),
        ];
        parts.extend(base.map(|part| part.of(0)));
        if let Some(hint) = &mode.hint {
            let len = super::pir_params(mode)?.hint_len();
            parts.push(part(PartKind::BucketHint, len, hint, Holder::Everyone).of(0));
        }
        parts.extend(self.chunk_parts(0, &mode.base, Holder::Owner));
        for (at, segment) in (1..).zip(&mode.tail) {
            parts.extend(self.chunk_parts(at, segment, Holder::Everyone));
        }
        Ok(())
    }

    fn routed_parts(&self, mode: &Routed, parts: &mut Vec<Part>) -> Result<(), Error> {
        let (grid, width) = (&mode.grid, self.stored_dim() as usize);
        let hint = grid.groups as usize * grid.group_hint_len()?;
        let places = grid.members_len(mode.base.n);
        let route = grid.route_len(width);
        let base = [
            mode.table_part(width),
            part(PartKind::RowsHint, hint, &mode.hint, Holder::Clients),
            part(
                PartKind::Centroids,
                route,
                &mode.centroids,
                Holder::Everyone,
            ),
            part(PartKind::Members, places, &mode.members, Holder::Everyone),
        ];
        parts.extend(base.map(|part| part.of(0)));
        parts.extend(self.chunk_parts(0, &mode.base, Holder::Owner));
        self.column_parts(1, &mode.tail, Rows::Masked, parts)
    }

    /// The parts of segments whose rows are all scored. The first segment has number `first`.
    fn column_parts(
        &self,
        first: usize,
        mode: &Columns,
        rows: Rows,
        parts: &mut Vec<Part>,
    ) -> Result<(), Error> {
        let width = self.stored_dim() as usize;
        let scheme = Scheme::new(rows, mode);
        let params = scheme.params();
        if let Some(combined) = &mode.combined {
            let len = exact::len(&params, width)? + TAG_LEN;
            let part = part(PartKind::Combination, len, &combined.part, Holder::Everyone);
            parts.push(part);
        }
        for (at, column) in (first..).zip(&mode.segments) {
            let segment = &column.segment;
            let n = segment.n as usize;
            let stored = scheme.stored(n, width);
            let hint = sordino_ckks::column::Hint::encoded_len(&params, width, stored)?;
            let rows = super::rows_len(stored, width);
            parts.extend([
                part(PartKind::Rows, rows, &segment.rows, Holder::Server).of(at),
                part(PartKind::RowsHint, hint, &column.hint, Holder::Clients).of(at),
            ]);
            if let Some(scales) = &segment.scales {
                let len = super::scales_len(self.metric, n) + TAG_LEN;
                parts.push(part(PartKind::Scales, len, scales, Holder::Everyone).of(at));
            }
            if let Some(sums) = &column.sums {
                let len = held::len(n, width) + TAG_LEN;
                parts.push(part(PartKind::Sums, len, sums, Holder::Everyone).of(at));
            }
            parts.extend(record_parts(at, segment));
        }
        Ok(())
    }
}
