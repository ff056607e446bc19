//! Memory for a lookup in tables.

use crate::probe::Step;

/// Memory for a lookup, which later lookups reuse.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    pub(crate) values: Vec<f32>,
    pub(crate) steps: Vec<Step>,
    pub(crate) keys: Vec<u64>,
    pub(crate) found: Vec<u32>,
    /// For each id, the number of the lookup that last found it.
    pub(crate) seen: Vec<u32>,
    pub(crate) lookup: u32,
}

impl Lookup {
    /// Starts a new lookup. All ids are below `len`.
    pub(crate) fn start(&mut self, len: usize) {
        self.found.clear();
        self.lookup = self.lookup.wrapping_add(1);
        if self.lookup == 0 || self.seen.len() < len {
            self.seen.clear();
            self.seen.resize(len, 0);
            self.lookup = 1;
        }
    }
}
