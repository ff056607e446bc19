//! The hashes that verification computes for the items that were not refused so far.

use super::{Slot, key_of};
use crate::error::Error;
use crate::item::Item;
use crate::key::RawKey;
use crate::params::{Params, Set};
use crate::sponge::{Input, Output, Tasks};

/// The hashes of steps 7 and 8.
enum Job {
    /// Computes mu of the message of the item at this index.
    Mu(usize),
    /// Computes c of the signature of the item at this index.
    Challenge(usize),
}

/// First computes mu of every live item, then c of every live item.
pub(super) struct MuAndBall<'t, 'a, P: Params> {
    pub(super) set: &'t Set,
    pub(super) items: &'a [Item<'a, P>],
    pub(super) keys: &'a [RawKey],
    pub(super) live: &'t [usize],
    pub(super) slots: &'t mut [Slot],
}

impl<P: Params> MuAndBall<'_, '_, P> {
    fn job(&self, number: usize) -> Job {
        match number.checked_sub(self.live.len()) {
            None => Job::Mu(self.live[number]),
            Some(number) => Job::Challenge(self.live[number]),
        }
    }
}

impl<'a, P: Params> Tasks<'a> for MuAndBall<'_, 'a, P> {
    fn input(&mut self, job: usize, _lane: usize) -> Option<Input<'a>> {
        match self.job(job) {
            Job::Mu(index) => {
                let item = &self.items[index];
                let key = key_of(item, self.keys, &self.slots[index]);
                item.message.representative(&key.tr)
            }
            Job::Challenge(index) => {
                let signature = self.items[index].signature;
                Some(Input::shake256(&signature[..self.set.c_tilde_len]))
            }
        }
    }

    fn output(&mut self, job: usize, _lane: usize, block: &[u8]) -> Output {
        match self.job(job) {
            Job::Mu(index) => {
                self.slots[index].hashed[..64].copy_from_slice(&block[..64]);
                Output::Done
            }
            Job::Challenge(index) => {
                let slot = &mut self.slots[index];
                slot.in_ball.block(self.set, block, &mut slot.c.0)
            }
        }
    }
}

/// Compares c~' = H(mu || w1) with the signature's c~.
pub(super) struct Compare<'t, 'a, P: Params> {
    pub(super) set: &'t Set,
    pub(super) items: &'t [Item<'t, P>],
    pub(super) live: &'t [usize],
    pub(super) slots: &'a [Slot],
    pub(super) verdicts: &'t mut [Result<(), Error>],
}

impl<'a, P: Params> Tasks<'a> for Compare<'_, 'a, P> {
    fn input(&mut self, job: usize, _lane: usize) -> Option<Input<'a>> {
        Some(Input::shake256(
            &self.slots[self.live[job]].hashed[..64 + self.set.w1_len()],
        ))
    }

    fn output(&mut self, job: usize, _lane: usize, block: &[u8]) -> Output {
        let index = self.live[job];
        let len = self.set.c_tilde_len;
        if block[..len] != self.items[index].signature[..len] {
            self.verdicts[index] = Err(Error::Mismatch);
        }
        Output::Done
    }
}
