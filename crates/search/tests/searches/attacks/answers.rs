//! The scores in a reply: its last bytes, with 15 bits per score, or 16 in routed mode.

/// The number of bits of an answer.
pub(crate) const BITS: usize = 15;

/// The number of bits of an answer in routed mode.
pub(crate) const ROUTED_BITS: usize = 16;

/// The answers of a reply.
#[derive(Clone)]
pub(crate) struct Answers(pub(crate) Vec<u16>);

/// The last `count` answers of a reply, with `bits` bits each.
fn unpack(reply: &[u8], bits: usize, count: usize) -> Vec<u16> {
    let body = &reply[reply.len() - (bits * count).div_ceil(8)..];
    let bit = |at: usize| u16::from(body[at / 8] >> (at % 8) & 1);
    let answer = |i: usize| (0..bits).map(|at| bit(bits * i + at) << at).sum();
    (0..count).map(answer).collect()
}

fn pack(answers: &[u16], bits: usize, reply: &mut [u8]) {
    let start = reply.len() - (bits * answers.len()).div_ceil(8);
    let body = &mut reply[start..];
    body.fill(0);
    for (i, answer) in answers.iter().enumerate() {
        for at in 0..bits {
            let place = bits * i + at;
            body[place / 8] |= ((answer >> at & 1) as u8) << (place % 8);
        }
    }
}

impl Answers {
    pub(crate) fn read(reply: &[u8], count: usize) -> Self {
        Self(unpack(reply, BITS, count))
    }

    pub(crate) fn read_routed(reply: &[u8], count: usize) -> Self {
        Self(unpack(reply, ROUTED_BITS, count))
    }

    /// Replaces the answers of a reply.
    pub(crate) fn write(&self, reply: &mut [u8]) {
        pack(&self.0, BITS, reply);
    }

    pub(crate) fn write_routed(&self, reply: &mut [u8]) {
        pack(&self.0, ROUTED_BITS, reply);
    }

    /// Adds this number of steps, mod 2^16, to an answer of routed mode.
    pub(crate) fn add_routed(&mut self, position: usize, steps: i32) {
        let moved = i32::from(self.0[position]) + steps;
        let moved = moved.rem_euclid(1 << ROUTED_BITS);
        self.0[position] = moved.try_into().expect("16 bits");
    }

    /// Adds this number of steps, mod 2^15, to an answer.
    pub(crate) fn add(&mut self, position: usize, steps: i32) {
        let moved = i32::from(self.0[position]) + steps;
        self.0[position] = moved.rem_euclid(1 << BITS).try_into().expect("15 bits");
    }
}
