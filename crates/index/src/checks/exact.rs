//! Exact checks: combinations of all rows, mod `q`, with weights that the server does not know.
//!
//! ```text
//! z_k = sum over all rows v of  c_kv F_v,        sum over v of  c_kv y_v  =  <z_k, b>   mod q
//! ```
//!
//! where `y_v` is the answer of row `v` as a residue mod `q`, and `b` the query as it was sent. `F_v` is the functional
//! that maps `b` to `y_v` ([`Combination`]). The weights `c_kv` are drawn with a key of the segment. Each row gets
//! [`BITS`] bits, divided equally among its copies `k`. Readers get the combinations sealed, and compute both sides
//! before they decrypt. The outcome depends only on the sent and received messages and the weights, and reveals nothing
//! about a query.
//!
//! If any answer differs from the honest one, the reply passes for at most one of `2^BITS` weights of its row, so with
//! probability `2^-96`. Every refusal that the server notices excludes one possible value (docs/security/masked.md).

use sordino_ckks::column::{Combination, Params};

use crate::Error;

/// The number of bits of all weights of a row together.
pub const BITS: usize = 96;

/// The number of combinations of an index: the smallest number that holds weights of [`BITS`] bits in residues mod `q`.
#[must_use]
pub fn copies(params: &Params) -> usize {
    // A weight must have fewer bits than q.
    let most = params.modulus().ilog2() as usize;
    BITS.div_ceil(most)
}

/// The size in bytes of the combinations of an index.
///
/// # Errors
/// [`Error`] if rows of this width cannot exist, or the parameter set rounds answers.
pub fn len(params: &Params, width: usize) -> Result<usize, Error> {
    Ok(copies(params) * Combination::encoded_len(params, width)?)
}

/// Reads the combinations of an index.
///
/// # Errors
/// [`Error::Malformed`] if `bytes` has another length. [`Error::Ckks`] if the combinations belong to another parameter
/// set or dimension.
pub fn read(params: &Params, width: usize, bytes: &[u8]) -> Result<Vec<Combination>, Error> {
    let expected = len(params, width)?;
    if bytes.len() != expected {
        return Err(Error::Malformed {
            what: "combination",
            why: format!("{} bytes, expected {expected}", bytes.len()),
        });
    }
    let messages = bytes.chunks_exact(expected / copies(params));
    let read = messages.map(|message| {
        let combination = Combination::from_bytes(message)?;
        // Adding a combination to an empty one checks its parameter set and its dimension.
        let mut sum = Combination::empty(params, width)?;
        sum.add(&combination)?;
        Ok(sum)
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_bits_of_a_row_and_each_is_below_q() {
        for (params, expected) in [
            (Params::real_t4().whole(), 3),
            (Params::modular_26_t8().whole(), 2),
        ] {
            let copies = copies(&params);
            assert_eq!(copies, expected);
            assert!(BITS.is_multiple_of(8 * copies));
            assert!(1 << (BITS / copies) < params.modulus());
        }
    }

    #[test]
    fn combinations_read_back_and_nothing_else_does() {
        let params = Params::modular_26_t4().whole();
        let one = Combination::empty(&params, 9).unwrap().to_bytes();
        let both = [&one[..], &one].concat();
        assert_eq!(read(&params, 9, &both).unwrap().len(), 2);
        assert!(read(&params, 9, &one).is_err());
        assert!(
            read(&params, 12, &both).is_err(),
            "the same number of polynomials of more coordinates"
        );
        assert!(read(&Params::modular_26_t8().whole(), 9, &both).is_err());
        assert!(read(&Params::modular_26_t4(), 9, &both).is_err());
    }
}
