//! Receives a newer version of an index, piece by piece.

use super::{Folder, names};
use crate::manifest::{Part, SignedManifest};
use crate::{Disk, Error, digest};

impl<D: Disk> Folder<D> {
    /// True if a part of this length exists. It stays until a version names it. Its content is not read.
    pub fn holds(&self, part: &Part) -> bool {
        let path = self.parts().join(names::of_digest(&part.digest));
        self.disk.len(&path) == part.len && self.disk.stays(&path)
    }

    /// The stored parts of a version that are missing here, each once, with the number of bytes already received.
    ///
    /// # Errors
    /// [`Error`] if the manifest has no such parts; [`Error::File`] if a file cannot be read or written.
    pub fn missing(&self, manifest: &SignedManifest) -> Result<Vec<(Part, u64)>, Error> {
        let mut missing: Vec<(Part, u64)> = Vec::new();
        for part in manifest.parts()? {
            let name = names::of_digest(&part.digest);
            let known = missing.iter().any(|(other, _)| other.digest == part.digest);
            if known || !part.holder.is_stored() || self.disk.exists(&self.parts().join(&name)) {
                continue;
            }
            let received = self.parts().join(names::received(&name));
            let mut held = self.disk.len(&received);
            if held >= part.len {
                // All bytes are here, but they were never checked, so the part is sent again.
                self.run(&received, self.disk.remove(&received))?;
                held = 0;
            }
            missing.push((part, held));
        }
        Ok(missing)
    }

    /// Appends the next bytes of an incomplete part. With its last bytes the part is checked and gets its name,
    /// durably. A part with a wrong digest is removed.
    ///
    /// # Errors
    /// - [`Error::Malformed`] if the bytes are not the next ones, are none, or are too many
    /// - [`Error::Digest`] if the whole part has a wrong digest
    /// - [`Error::File`] if a file cannot be read or written
    pub fn receive(&self, part: &Part, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let wrong = |why: String| Error::Malformed {
            what: part.kind.name(),
            why,
        };
        let name = names::of_digest(&part.digest);
        let path = self.parts().join(names::received(&name));
        let held = self.disk.len(&path);
        if offset != held {
            return Err(wrong(format!(
                "bytes from {offset} on: expected those from {held} on"
            )));
        }
        let end = offset + bytes.len() as u64;
        if bytes.is_empty() || end > part.len {
            let len = part.len;
            return Err(wrong(format!("bytes {offset} to {end} of {len}")));
        }
        self.run(&path, self.disk.append(&path, bytes))?;
        if end < part.len {
            return Ok(());
        }
        let whole = self.run(&path, self.disk.read(&path, part.len))?;
        if let Err(error) = digest::check(part.kind.name(), &whole, &part.digest) {
            self.run(&path, self.disk.remove(&path))?;
            return Err(error);
        }
        self.run(&path, self.disk.sync(&path))?;
        self.put_in_place(&path, &self.parts().join(name))
    }

    /// Removes complete and incomplete parts that are not among these. They belong to an abandoned change.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be read or written.
    pub fn keep_only(&self, keep: &[Part]) -> Result<(), Error> {
        self.remove_all(&self.parts(), |name| {
            let digest = names::digest(names::finished(name).unwrap_or(name));
            digest.is_some_and(|digest| keep.iter().all(|part| part.digest != digest))
        })
    }
}
