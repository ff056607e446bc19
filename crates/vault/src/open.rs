//! Opens what the owner sealed in segments.

use sordino_ckks::column::{Combination, Params};
use zeroize::Zeroizing;

use crate::attributes::Attributes;
use crate::checks::held::ReaderSums;
use crate::content_key::ContentKey;
use crate::contents::ContentKeys;
use crate::frame::{Frame, RowScale};
use crate::ids::Ids;
use crate::members::Members;
use crate::metric::Metric;
use crate::order::RowOrder;
use crate::pad::Pad;
use crate::purpose::Purpose;
use crate::route::Route;
use sordino_index::checks::exact;
use sordino_index::manifest::{Combined, Manifest, Routed, Segment};
use sordino_index::{Error, IdKind};

impl ContentKeys {
    /// The frame of a version, from its sealed part.
    ///
    /// # Errors
    /// [`Error::NoReader`] if the keys do not include the frame's key. Fails if the part is not what
    /// the owner sealed.
    pub fn open_frame(&self, manifest: &Manifest, sealed: &[u8]) -> Result<Frame, Error> {
        let part = &manifest.frame;
        let key = self.get(part.key).ok_or(Error::NoReader)?;
        let bytes = key.open_part(Purpose::Frame, &part.id, part.version, sealed)?;
        let dim = manifest.dim as usize;
        Frame::from_bytes(manifest.metric, manifest.rotation, dim, &bytes)
    }
}

impl ContentKey {
    /// The bases and scales of a segment's rows in the order of its ids, from their sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed.
    pub fn open_scales(
        &self,
        metric: Metric,
        segment: &Segment,
        sealed: &[u8],
    ) -> Result<Vec<RowScale>, Error> {
        let code = self.open_part(Purpose::Scales, &segment.id, segment.version, sealed)?;
        RowScale::read_all(metric, segment.n as usize, &code)
    }

    /// The record ids of a segment, from its sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or its number of ids is not the
    /// segment's.
    pub fn open_ids(&self, segment: &Segment, kind: IdKind, sealed: &[u8]) -> Result<Ids, Error> {
        let code = self.open_part(Purpose::Ids, &segment.id, segment.version, sealed)?;
        Ids::read(kind, segment.n, &code)
    }

    /// The attributes of a segment's records, from their sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed.
    pub fn open_attributes(&self, segment: &Segment, sealed: &[u8]) -> Result<Attributes, Error> {
        let code = self.open_part(Purpose::Attributes, &segment.id, segment.version, sealed)?;
        Attributes::read(segment.n as usize, &code)
    }

    /// The sums of a segment's open rows, from their sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or its shape is not the segment's.
    pub fn open_sums(
        &self,
        segment: &Segment,
        width: usize,
        sealed: &[u8],
    ) -> Result<ReaderSums, Error> {
        let code = self.open_part(Purpose::Sums, &segment.id, segment.version, sealed)?;
        let code = Zeroizing::new(code);
        ReaderSums::from_bytes(self.signs(&segment.id), segment.n as usize, width, &code)
    }

    /// The combinations that check all rows, from their sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or belongs to another parameter set or
    /// dimension.
    pub fn open_combined(
        &self,
        combined: &Combined,
        params: &Params,
        width: usize,
        sealed: &[u8],
    ) -> Result<Vec<Combination>, Error> {
        let (id, version) = (&combined.id, combined.version);
        let code = self.open_part(Purpose::Combination, id, version, sealed)?;
        exact::read(params, width, &Zeroizing::new(code))
    }

    /// The data with which a client finds routed mode's clusters, from its sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or its shape is not the mode's.
    pub fn open_route(&self, mode: &Routed, width: usize, sealed: &[u8]) -> Result<Route, Error> {
        let (id, version) = (&mode.base.id, mode.base.version);
        let code = self.open_part(Purpose::Centroids, id, version, sealed)?;
        Route::from_bytes(&mode.grid, width, &code)
    }

    /// The records in each of routed mode's clusters, from the sealed part.
    ///
    /// # Errors
    /// [`Error`] if the part is not what the owner sealed, or its shape is not the mode's.
    pub fn open_members(&self, mode: &Routed, sealed: &[u8]) -> Result<Members, Error> {
        let (id, version) = (&mode.base.id, mode.base.version);
        let code = self.open_part(Purpose::Members, id, version, sealed)?;
        Members::from_bytes(&mode.grid, mode.base.n, code)
    }

    /// The content of a part that was sealed under this id, for this version.
    pub(crate) fn open_part(
        &self,
        purpose: Purpose,
        id: &[u8; 16],
        version: u64,
        sealed: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let code = self.seal(purpose, id, version).open(0, &[], sealed);
        code.ok_or_else(|| Error::Malformed {
            what: purpose.label(),
            why: "not sealed with this index's key".to_owned(),
        })
    }

    /// The codes of a masked segment in the order of their ids, without their pads.
    #[must_use]
    pub fn unmask(&self, segment: &Segment, width: usize, rows: &[u8]) -> Vec<i32> {
        let order: RowOrder = self.row_order(&segment.id, segment.n);
        let pad: Pad = self.pad(&segment.id, segment.version);
        let mut codes = vec![0; segment.n as usize * width];
        let stored = rows.as_chunks().0.chunks_exact(width);
        // Check rows come after the rows of records.
        for (position, stored) in (0..segment.n).zip(stored) {
            let row = order.row(position) as usize;
            let codes = &mut codes[row * width..][..width];
            for (code, &bytes) in codes.iter_mut().zip(stored) {
                *code = i32::from_le_bytes(bytes);
            }
            pad.unmask(position, codes);
        }
        codes
    }
}
