//! Scores in a reply, as they lie in it: the last bytes, 15 bits each.

/// Bits of an answer.
pub(crate) const BITS: usize = 15;

/// The answers of a reply.
#[derive(Clone)]
pub(crate) struct Answers(pub(crate) Vec<u16>);

impl Answers {
    /// Reads this many answers.
    pub(crate) fn read(reply: &[u8], count: usize) -> Self {
        let body = &reply[reply.len() - (BITS * count).div_ceil(8)..];
        let bit = |at: usize| u16::from(body[at / 8] >> (at % 8) & 1);
        let answer = |i: usize| (0..BITS).map(|at| bit(BITS * i + at) << at).sum();
        Self((0..count).map(answer).collect())
    }

    /// Puts them in the place of a reply's.
    pub(crate) fn write(&self, reply: &mut [u8]) {
        let start = reply.len() - (BITS * self.0.len()).div_ceil(8);
        let body = &mut reply[start..];
        body.fill(0);
        for (i, answer) in self.0.iter().enumerate() {
            for at in 0..BITS {
                let place = BITS * i + at;
                body[place / 8] |= ((answer >> at & 1) as u8) << (place % 8);
            }
        }
    }

    /// Moves an answer by this many steps mod 2^15.
    pub(crate) fn add(&mut self, position: usize, steps: i32) {
        let moved = i32::from(self.0[position]) + steps;
        self.0[position] = moved.rem_euclid(1 << BITS).try_into().expect("15 bits");
    }
}
