//! What writers added since the owner's last change, before the owner signs it.

use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::Mode;
use sordino_index::payload::Payloads;
use sordino_index::{Disk, Error};
use sordino_vault::frame::Frame;

use super::Store;
use super::records::{self, Records};
use super::stored_part::StoredPart;
use super::verify::Check;

impl<D: Disk> Store<D> {
    /// Refuses to build on a version that may not be the newest, and on wrong additions: a change signs them.
    pub(super) fn check_base(&self) -> Result<(), Error> {
        self.check_sure()?;
        let (owner, keys) = (&self.keys.public(), &self.contents());
        Check::new(&self.folder, owner, keys, &self.manifest).additions()
    }
}

impl<D: Disk> Check<'_, D> {
    /// Reads all additions of which there are keys. Each must open, have a text for each row, and sums of its own rows.
    ///
    /// # Errors
    /// [`Error::Addition`] with the first thing that is wrong.
    pub(super) fn additions(&self) -> Result<(), Error> {
        let manifest = self.manifest;
        if manifest.additions().len() == 0 {
            return Ok(());
        }
        let records = Records::read(self.folder, manifest, self.keys)?;
        let frame = records::frame(self.folder, manifest, self.keys)?;
        for (at, segment) in manifest.segments().into_iter().enumerate() {
            if manifest.was_added(segment.version) && self.reads(at) {
                let checked = self.added_segment(&records, &frame, at);
                checked.map_err(|fault| manifest.blamed(segment.version, fault))?;
            }
        }
        for part in &manifest.recent {
            if manifest.was_added(part.version) {
                let checked = self.added_payloads(&frame, part);
                checked.map_err(|fault| manifest.blamed(part.version, fault))?;
            }
        }
        Ok(())
    }

    fn added_segment(&self, records: &Records, frame: &Frame, at: usize) -> Result<(), Error> {
        self.segment(records, frame, at)?;
        match &self.manifest.mode {
            Mode::Masked(mode) => self.column(
                at,
                Scheme::new(Rows::Masked, mode),
                mode,
                &mode.segments[at],
            ),
            _ => Ok(()),
        }
    }

    fn added_payloads(&self, frame: &Frame, payloads: &Payloads) -> Result<(), Error> {
        let part = StoredPart::open(self.folder, self.manifest, payloads, self.keys)?;
        let Some(all) = part.added(self.folder, self.manifest)? else {
            return Ok(());
        };
        if self.manifest.second_look().is_none() {
            return Ok(());
        }
        let mut carried = all.iter().peekable();
        let mut place = 0;
        for (at, segment) in self.manifest.segments().into_iter().enumerate() {
            let after = place + u64::from(segment.n);
            if carried.peek().is_some_and(|(first, _)| *first < after) {
                let (marks, residuals) =
                    records::residuals(self.folder, self.manifest, self.keys, frame, at)?;
                // Each row of the segment has a record: that was checked.
                for (mark, residual) in marks.iter().zip(residuals.rows()) {
                    let Some((_, carried)) = carried.next() else {
                        break;
                    };
                    super::verify::check_exact(frame, mark.base, residual, carried)?;
                }
            }
            place = after;
        }
        Ok(())
    }
}
