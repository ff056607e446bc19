//! Writes, seals and opens buckets.

use sordino_index::Error;
use sordino_index::bucket::{Layout, ROW_LEN};

use crate::decoded_rows::DecodedRows;
use crate::frame::Frame;
use crate::quantiser::{Entry, Quantiser};
use crate::seal::Seal;

/// Writes, seals and opens buckets and chunks of a layout.
#[derive(Clone, Copy, Debug)]
pub struct BucketCodec(pub Layout);

impl BucketCodec {
    /// A bucket's content: these vectors. There must be at most `slots` of them.
    ///
    /// # Panics
    /// Panics if there are more vectors than slots.
    #[must_use]
    pub fn write(&self, centroid: &[f32], entries: &[Entry<'_>]) -> Vec<u8> {
        assert!(
            entries.len() <= self.0.slots as usize,
            "a bucket holds at most its slots"
        );
        let mut plain = Vec::with_capacity(self.0.plain_len());
        plain.extend(sordino_vectors::u32_of(entries.len()).to_le_bytes());
        let quantiser = Quantiser::new(self.0.codec, centroid, entries, &mut plain);
        for entry in entries {
            plain.extend(entry.row.to_le_bytes());
            quantiser.encode(entry, &mut plain);
        }
        plain.resize(self.0.plain_len(), 0);
        plain
    }

    /// Decodes a bucket's content, and appends it to `opened`.
    ///
    /// # Errors
    /// [`Error`] if the content has another form.
    pub fn read(&self, plain: &[u8], frame: &Frame, opened: &mut DecodedRows) -> Result<(), Error> {
        self.each(plain, frame, |row, base, _, residual| {
            opened.push(frame, row, base, residual);
        })
    }

    /// Decodes a bucket's content. Passes the row, the base, the stored scale and the residual of each vector.
    fn each(
        &self,
        plain: &[u8],
        frame: &Frame,
        mut take: impl FnMut(u32, u8, f32, &[f32]),
    ) -> Result<(), Error> {
        let (Some((count, rest)), true) =
            (plain.split_first_chunk(), plain.len() == self.0.plain_len())
        else {
            return Err(Error::BadReply);
        };
        let count = u32::from_le_bytes(*count);
        let dim = self.0.dim as usize;
        let (head, entries) = rest.split_at(self.0.codec.head_len(dim));
        let quantiser = Quantiser::read(self.0.codec, head)?;
        let mut residual = vec![0.0; dim];
        for entry in entries
            .chunks_exact(self.0.entry_len())
            .take(count as usize)
        {
            let (row, code) = entry
                .split_first_chunk::<ROW_LEN>()
                .ok_or(Error::BadReply)?;
            let (base, scale) = quantiser.decode(frame, code, &mut residual);
            take(u32::from_le_bytes(*row), base, scale, &residual);
        }
        if count > self.0.slots {
            return Err(Error::BadReply);
        }
        Ok(())
    }

    /// Seals the content of bucket number `number`.
    #[must_use]
    pub fn seal(&self, seal: &Seal, number: u32, plain: &[u8]) -> Vec<u8> {
        seal.seal(number, &self.0.shape(), plain)
    }

    /// Opens bucket number `number`, decodes its vectors, and appends them to `opened`.
    ///
    /// # Errors
    /// [`Error::BadReply`] if `sealed` is not what the owner sealed in this place.
    pub fn open(
        &self,
        seal: &Seal,
        number: u32,
        sealed: &[u8],
        frame: &Frame,
        opened: &mut DecodedRows,
    ) -> Result<(), Error> {
        let plain = seal.open(number, &self.0.shape(), sealed);
        self.read(&plain.ok_or(Error::BadReply)?, frame, opened)
    }

    /// Opens bucket number `number`, and appends its residuals, their bases and their scales. The bucket's rows must follow
    /// the rows that were appended before.
    ///
    /// # Errors
    /// [`Error::BadReply`] if the bucket is not what the owner sealed in this place, or has other rows.
    pub fn open_residuals(
        &self,
        seal: &Seal,
        number: u32,
        sealed: &[u8],
        frame: &Frame,
        marks: &mut Vec<(u8, f32)>,
        residuals: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let plain = seal.open(number, &self.0.shape(), sealed);
        let mut in_order = true;
        self.each(
            &plain.ok_or(Error::BadReply)?,
            frame,
            |row, base, scale, residual| {
                in_order &= row as usize == marks.len();
                marks.push((base, scale));
                residuals.extend_from_slice(residual);
            },
        )?;
        in_order.then_some(()).ok_or(Error::BadReply)
    }
}
