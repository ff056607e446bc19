//! The steps of a build.

/// The current step of a build. A long step is reported repeatedly, so that a program that wants to stop can
/// unwind from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Normalising and rotating.
    Rotate,
    /// Training the centroids, or deriving the vertices of a hash.
    Cluster,
    /// Assigning vectors to buckets, and copies to the remaining places.
    Assign,
    /// Measuring how many probes are needed.
    Probe,
    /// Encrypting buckets.
    Seal,
    /// Choosing clients' codes; local mode only.
    Sketch,
    /// Adding the pads; masked mode only.
    Mask,
    /// Computing the hint.
    Hint,
}

impl Step {
    /// The steps of a sealed index, in order.
    pub const SEALED: [Self; 6] = [
        Self::Rotate,
        Self::Cluster,
        Self::Assign,
        Self::Probe,
        Self::Seal,
        Self::Hint,
    ];

    /// The name of the step in a progress bar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rotate => "rotating",
            Self::Cluster => "clustering",
            Self::Assign => "filling buckets",
            Self::Probe => "measuring probes",
            Self::Seal => "sealing",
            Self::Sketch => "measuring codes",
            Self::Mask => "masking",
            Self::Hint => "computing the hint",
        }
    }
}
