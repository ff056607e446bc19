//! The encoding of a frame, which is sealed.

use sordino_vectors::metric::{LONGEST, Metric};

use super::Frame;
use sordino_index::Error;
use sordino_index::manifest::{FRAME_HEAD_LEN, MAX_BASES, frame_len};

/// The code of an unknown recall.
const UNKNOWN: u32 = u32::MAX;
/// No coordinate of a centre or a base is larger than this.
const LARGEST: f64 = 4.0 * LONGEST;

impl Frame {
    /// True if vectors have the same residuals in another frame of the same rotation. Bound and recall may differ.
    #[must_use]
    pub fn shares_residuals(&self, other: &Self) -> bool {
        (&self.centre, &self.bases) == (&other.centre, &other.bases)
    }

    /// The encoding has the bound, the recall, the number of bases, then the centre and the bases in single precision. All
    /// numbers are little-endian.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.bound.to_le_bytes().to_vec();
        bytes.extend(self.recall.unwrap_or(UNKNOWN).to_le_bytes());
        // A frame has at most 256 bases.
        let [low, high, ..] = self.bases().to_le_bytes();
        bytes.extend([low, high]);
        let numbers = self.centre.iter().chain(&self.bases);
        bytes.extend(numbers.flat_map(|x| x.to_le_bytes()));
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written, for vectors of `dim` coordinates.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a wrong length, and for numbers that no frame has.
    pub fn from_bytes(
        metric: Metric,
        rotation: [u8; 32],
        dim: usize,
        bytes: &[u8],
    ) -> Result<Self, Error> {
        let malformed = |why: &str| Error::Malformed {
            what: "frame",
            why: why.to_owned(),
        };
        let head = bytes.split_first_chunk::<FRAME_HEAD_LEN>();
        let (&[b0, b1, r0, r1, r2, r3, n0, n1], numbers) =
            head.ok_or_else(|| malformed("without its head"))?;
        let bound = i16::from_le_bytes([b0, b1]);
        let recall = u32::from_le_bytes([r0, r1, r2, r3]);
        let bases = usize::from(u16::from_le_bytes([n0, n1]));
        let width = dim + metric.added() as usize;
        if !(1..=MAX_BASES).contains(&bases) || bytes.len() != frame_len(dim, width, bases) {
            return Err(malformed("of another number of bases"));
        }
        let (numbers, _) = numbers.as_chunks();
        let numbers: Vec<f32> = numbers.iter().copied().map(f32::from_le_bytes).collect();
        let possible = |x: &f32| x.is_finite() && f64::from(x.abs()) <= LARGEST;
        let known = recall == UNKNOWN || recall <= 1_000_000;
        if !numbers.iter().all(possible) || !super::BOUNDS.contains(&bound) || !known {
            return Err(malformed("with numbers that no frame has"));
        }
        let (centre, bases) = numbers.split_at(dim);
        Ok(Self {
            bound,
            recall: (recall != UNKNOWN).then_some(recall),
            ..Self::new(metric, rotation, centre.to_vec(), bases.to_vec())
        })
    }
}

/// Leaves out the centre and the bases, which would show vectors.
impl core::fmt::Debug for Frame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Frame")
            .field("metric", &self.metric)
            .field("dim", &self.dim())
            .field("bases", &self.bases())
            .finish_non_exhaustive()
    }
}
