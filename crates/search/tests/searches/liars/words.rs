//! The numbers of a reply: its last bytes, with a fixed number of bits for each number.

/// Answers as integers mod `modulus`.
#[derive(Clone)]
pub(crate) struct Words {
    pub(crate) all: Vec<u64>,
    pub(crate) modulus: u64,
}

/// The number of bits of a number mod `modulus`.
fn bits(modulus: u64) -> usize {
    (u64::BITS - (modulus - 1).leading_zeros()) as usize
}

impl Words {
    /// Reads the last `count` numbers of a reply.
    pub(crate) fn read(reply: &[u8], modulus: u64, count: usize) -> Self {
        let bits = bits(modulus);
        let body = &reply[reply.len() - (bits * count).div_ceil(8)..];
        let word = |i: usize| {
            let first = i * bits;
            let mut held = [0; 16];
            let bytes = &body[first / 8..body.len().min(first / 8 + 9)];
            held[..bytes.len()].copy_from_slice(bytes);
            let word = u128::from_le_bytes(held) >> (first % 8);
            u64::try_from(word & ((1 << bits) - 1)).unwrap()
        };
        let all = (0..count).map(word).collect();
        Self { all, modulus }
    }

    pub(crate) fn write(&self, reply: &mut [u8]) {
        let bits = bits(self.modulus);
        let start = reply.len() - (bits * self.all.len()).div_ceil(8);
        let (mut held, mut count, mut at) = (0u128, 0, start);
        for &word in &self.all {
            held |= u128::from(word) << count;
            count += bits;
            while count >= 8 {
                reply[at] = held.to_le_bytes()[0];
                held >>= 8;
                count -= 8;
                at += 1;
            }
        }
        if count > 0 {
            reply[at] = held.to_le_bytes()[0];
        }
    }

    /// Adds `steps` to number `at`, mod `modulus`.
    pub(crate) fn add(&mut self, at: usize, steps: i64) {
        let modulus = i128::from(self.modulus);
        let moved = (i128::from(self.all[at]) + i128::from(steps)).rem_euclid(modulus);
        self.all[at] = moved.try_into().unwrap();
    }
}

#[test]
fn writing_inverts_reading() {
    for modulus in [1 << 15, 1 << 16, 1_099_511_590_913, 1_125_899_906_826_241] {
        let all: Vec<u64> = (1..30u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % modulus)
            .collect();
        let mut reply = vec![7; 300];
        let words = Words { all, modulus };
        words.write(&mut reply);
        assert_eq!(Words::read(&reply, modulus, 29).all, words.all);
        let len = (29 * bits(modulus)).div_ceil(8);
        assert!(reply[..300 - len].iter().all(|&byte| byte == 7));
    }
}
