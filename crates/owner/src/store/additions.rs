//! The additions of writers since the owner's last change, before the owner signs them.

use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::Mode;
use sordino_index::{Disk, Error};
use sordino_vault::frame::Frame;

use super::Store;
use super::records::{self, Records};
use super::stored_part::StoredPart;
use super::verify::Check;

impl<D: Disk> Store<D> {
    /// Refuses to build on a version that may not be the newest. Also refuses a version with wrong additions, because a
    /// change would sign these additions.
    pub(super) fn check_base(&self) -> Result<(), Error> {
        self.check_sure()?;
        let (owner, keys) = (&self.keys.public(), &self.contents());
        Check::new(&self.folder, owner, keys, &self.manifest).additions()
    }
}

impl<D: Disk> Check<'_, D> {
    /// Reads all additions whose keys are known. Each must open, have a row of attributes for each record, and the sums
    /// of its own rows.
    ///
    /// # Errors
    /// [`Error::Addition`] with the first fault.
    pub(super) fn additions(&self) -> Result<(), Error> {
        let manifest = self.manifest;
        if manifest.additions().len() == 0 {
            return Ok(());
        }
        let records = Records::read(self.folder, manifest, self.keys)?;
        let frame = records::frame(self.folder, manifest, self.keys)?;
        for (_, addition) in manifest.additions() {
            let checked = self.addition(&records, &frame, addition.version);
            checked.map_err(|fault| manifest.blamed(addition.version, fault))?;
        }
        Ok(())
    }

    fn addition(&self, records: &Records, frame: &Frame, version: u64) -> Result<(), Error> {
        let manifest = self.manifest;
        let part = manifest.recent.iter().find(|it| it.version == version);
        let carried = match part {
            Some(part) => StoredPart::open(self.folder, manifest, part, self.keys)?
                .added(self.folder, manifest)?,
            None => None,
        };
        let carried = carried.filter(|_| manifest.second_look().is_some());
        let mut exact = carried.iter().flatten().map(|(_, carried)| carried);
        for (at, segment) in manifest.segments().into_iter().enumerate() {
            if segment.version != version || !self.reads(at) {
                continue;
            }
            let (marks, residuals) = self.segment(records, frame, at)?;
            if let Mode::Masked(mode) = &manifest.mode {
                let scheme = Scheme::new(Rows::Masked, mode);
                self.column(at, scheme, mode, &mode.segments[at])?;
            }
            // Each row of the addition has a record, as was checked before.
            for ((mark, residual), carried) in marks.iter().zip(residuals.rows()).zip(&mut exact) {
                super::verify::check_exact(frame, mark.base, residual, carried)?;
            }
        }
        Ok(())
    }
}
