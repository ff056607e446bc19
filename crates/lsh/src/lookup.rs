//! The room that a lookup in tables works in.

use crate::probe::Step;

/// Room for a lookup, to be used again and again.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    pub(crate) values: Vec<f32>,
    pub(crate) steps: Vec<Step>,
    pub(crate) keys: Vec<u64>,
    pub(crate) found: Vec<u32>,
    /// The lookup that last found each id.
    pub(crate) seen: Vec<u32>,
    pub(crate) lookup: u32,
}

impl Lookup {
    /// Forgets what the last lookup found; ids are below `len`.
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
