//! The client of a [`ByteTable`](crate::ByteTable). It encodes the wanted columns as a message, and decodes values to
//! bytes.

use sordino_lattice::choice::equal;
use zeroize::Zeroizing;

use crate::params::HINT_BITS;
use crate::{Client, Error};

/// The difference between a byte and its digit: the digit of byte `b` is `b - 128`, whose two's complement is `b ^ 0x80`.
pub(crate) const CENTRE: u8 = 0x80;
/// The number of bits of a value below the bits of its digit.
const STEP: u32 = HINT_BITS - 8;

impl Client {
    /// The [message](Client::query) that asks for one column in each group. A number beyond the last column asks for no
    /// column. The decoded bytes are then all 128.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of columns is not the number of groups.
    ///
    /// # Security
    /// Runs in constant time: all positions are written alike.
    pub fn select(&self, wanted: &[usize]) -> Result<Zeroizing<Vec<i16>>, Error> {
        let shape = self.shape();
        if wanted.len() != shape.groups() {
            return Err(Error::Length {
                what: "wanted columns",
                found: wanted.len(),
                expected: shape.groups(),
            });
        }
        let mut message = Zeroizing::new(vec![0; shape.words()]);
        for (group, &wanted) in message.chunks_exact_mut(shape.columns()).zip(wanted) {
            for (column, u) in group.iter_mut().enumerate() {
                *u = i16::from(equal(column, wanted).to_le_bytes()[0]);
            }
        }
        Ok(message)
    }
}

/// The bytes of the wanted columns, one column after the other, from their decrypted values mod `2^26`. A value is a digit
/// times `2^18` plus noise.
///
/// # Security
/// Runs in constant time.
#[must_use]
pub fn decode_bytes(values: &[i64]) -> Vec<u8> {
    let byte = |value: &i64| {
        let [digit, ..] = (value.wrapping_add(1 << (STEP - 1)) >> STEP).to_le_bytes();
        digit ^ CENTRE
    };
    values.iter().map(byte).collect()
}
