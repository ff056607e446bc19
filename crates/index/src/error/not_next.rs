//! A version that does not follow from the one that it should replace.

/// An owner's version is older than the version of a server or a copy, or does not follow from it. An index only goes
/// forward: readers that have seen a version refuse earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotNext {
    /// The version that was to go there.
    pub found: u64,
    /// The version of the holder.
    pub there: u64,
    /// The holder of that version: the server, or the copy.
    pub holder: &'static str,
}

impl std::fmt::Display for NotNext {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            found,
            there,
            holder,
        } = self;
        if found < there {
            write!(
                out,
                "{holder} has version {there}, and this is version {found}: an index does not go back. Take the folder that \
                 has version {there}; another index needs a place of its own"
            )
        } else {
            write!(
                out,
                "{holder} has version {there}, from which this version {found} does not follow: both were changed, each in \
                 its own way, or they are two indexes. Take the folder in which its version {there} was made"
            )
        }
    }
}

impl std::error::Error for NotNext {}
