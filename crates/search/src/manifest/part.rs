//! The parts of an index: what its manifest's digests name, and who holds each.

use super::{Coded, Columns, Digest, Manifest, Mode, Routing, Sealed, Segment};
use crate::payload::{Fetch, Payloads};
use crate::{Error, columns, index};

/// Who holds a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The server keeps it to answer from.
    Server,
    /// The server keeps it and clients download it.
    Everyone,
    /// Clients download it; the server computes it from what it keeps.
    Clients,
    /// The owner alone; it is never served.
    Owner,
}

impl Holder {
    /// Whether clients download it.
    #[must_use]
    pub fn is_given(self) -> bool {
        matches!(self, Self::Everyone | Self::Clients)
    }

    /// Whether a server needs it stored.
    #[must_use]
    pub fn is_served(self) -> bool {
        matches!(self, Self::Everyone | Self::Server)
    }

    /// Whether it is in the owner's directory.
    #[must_use]
    pub fn is_stored(self) -> bool {
        self != Self::Clients
    }
}

/// One part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// Bytes.
    pub len: u64,
    /// The digest that the manifest names.
    pub digest: Digest,
    /// Who holds it.
    pub holder: Holder,
    /// The number of the segment that it belongs to, if it belongs to one.
    pub segment: Option<usize>,
}

fn part(name: &'static str, len: usize, digest: &Digest, holder: Holder) -> Part {
    Part {
        name,
        len: len as u64,
        digest: *digest,
        holder,
        segment: None,
    }
}

fn coded(name: &'static str, coded: &Coded, holder: Holder) -> Part {
    part(name, coded.len as usize, &coded.digest, holder)
}

/// The parts of payloads: all of them are downloaded, or the hint to fetch some.
fn payload_parts(payloads: &Payloads) -> Result<Vec<Part>, Error> {
    let records = |holder| {
        let len = payloads.records_len();
        part("payloads", len, &payloads.records, holder)
    };
    let ids = coded("payload ids", &payloads.ids, Holder::Everyone);
    Ok(match (&payloads.fetch, payloads.pir_params()?) {
        (Fetch::Pir { hint, .. }, Some(params)) => {
            let hint = part("payload hint", params.hint_len(), hint, Holder::Everyone);
            vec![records(Holder::Server), ids, hint]
        }
        _ => vec![records(Holder::Everyone), ids],
    })
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
    /// All parts, in the order in which they are stored and downloaded.
    ///
    /// # Errors
    /// If there are more or longer vectors than the mode can hold.
    pub fn parts(&self) -> Result<Vec<Part>, Error> {
        let mut parts = vec![coded("deleted", &self.deleted.ids, Holder::Everyone)];
        if let Some(payloads) = &self.payloads {
            parts.extend(payload_parts(payloads)?);
        }
        match &self.mode {
            Mode::Sealed(mode) => self.sealed_parts(mode, &mut parts)?,
            Mode::Local(mode) => {
                for (at, segment) in mode.segments.iter().enumerate() {
                    parts.extend(self.chunk_parts(at, segment, Holder::Everyone));
                }
            }
            Mode::Open(mode) => self.column_parts(mode, &mode.packing.open(), &mut parts)?,
            Mode::Masked(mode) => self.column_parts(mode, &mode.packing.masked(), &mut parts)?,
        }
        Ok(parts)
    }

    fn chunk_parts(&self, at: usize, segment: &Segment, holder: Holder) -> [Part; 2] {
        let layout = segment.layout(self.width(), self.chunk_codec());
        let len = segment.chunks() as usize * layout.sealed_len();
        [
            part("chunks", len, &segment.rows, holder).of(at),
            coded("ids", &segment.ids, Holder::Owner).of(at),
        ]
    }

    fn sealed_parts(&self, mode: &Sealed, parts: &mut Vec<Part>) -> Result<(), Error> {
        let (clusters, width) = (mode.clusters as usize, self.width() as usize);
        let (centroids, holder) = match mode.routing {
            Routing::Encrypted => (clusters * width, Holder::Server),
            routing => (index::route_len(routing, clusters, width), Holder::Everyone),
        };
        let buckets = clusters * mode.layout.sealed_len();
        let hint = index::pir_params(mode)?.hint_len();
        let base = [
            part("buckets", buckets, &mode.buckets, Holder::Server),
            part(
                "bucket digests",
                clusters * size_of::<Digest>(),
                &mode.digests,
                Holder::Everyone,
            ),
            part("centroids", centroids, &mode.centroids, holder),
            part("PIR hint", hint, &mode.hint, Holder::Everyone),
        ];
        parts.extend(base.map(|part| part.of(0)));
        parts.extend(self.chunk_parts(0, &mode.base, Holder::Owner));
        for (at, segment) in (1..).zip(&mode.tail) {
            parts.extend(self.chunk_parts(at, segment, Holder::Everyone));
        }
        Ok(())
    }

    fn column_parts(
        &self,
        mode: &Columns,
        params: &sordino_ckks::column::Params,
        parts: &mut Vec<Part>,
    ) -> Result<(), Error> {
        let width = self.width() as usize;
        for (at, column) in mode.segments.iter().enumerate() {
            let segment = &column.segment;
            let n = segment.n as usize;
            let hint = sordino_ckks::column::Hint::encoded_len(params, width, n)?;
            let rows = columns::rows_len(n, width);
            parts.extend([
                part("rows", rows, &segment.rows, Holder::Server).of(at),
                coded("ids", &segment.ids, Holder::Everyone).of(at),
                part("hint", hint, &column.hint, Holder::Clients).of(at),
            ]);
        }
        Ok(())
    }
}
