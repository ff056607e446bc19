//! The bodies of [`Score`](Message::Score): one encrypted query, for all vectors or for all centroids. The body is only the
//! query or the reply, without a frame around it. Routed mode has [bodies of its own](super::routed).

use sordino_ckks::{column, dot};

use super::Message;
use crate::Error;

/// Reads a query for the scores of vectors of `dim` coordinates.
///
/// # Errors
/// [`Error::Malformed`] for a wrong length; [`Error::Ckks`] if the query is malformed.
pub fn read(params: &column::Params, dim: usize, body: &[u8]) -> Result<column::Query, Error> {
    Message::Score.check_len(body, column::Query::encoded_len(params, dim)?)?;
    Ok(column::Query::from_bytes(body)?)
}

/// Reads a query for the scores of centroids of `dim` coordinates.
///
/// # Errors
/// The errors of [`read`].
pub fn read_for_centroids(dim: usize, body: &[u8]) -> Result<dot::Query, Error> {
    Message::Score.check_len(body, dot::Query::encoded_len(dim))?;
    Ok(dot::Query::from_bytes(body)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Packing;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn a_query_reads_back_and_no_other_length_does() {
        let (rng, params) = (&mut StdRng::seed_from_u64(1), Packing::T8.open());
        let client = column::Client::empty(&params, [1; 32], 16).unwrap();
        let (_, query) = client.encrypt(rng, &[0.25; 16]).unwrap();
        let body = query.to_bytes();
        assert_eq!(read(&params, 16, &body).unwrap().to_bytes(), body);
        let (_, query) = dot::encrypt(rng, &dot::Params::rlwe_2048_50(), &[0.25; 16]).unwrap();
        let centroids = query.to_bytes();
        let found = read_for_centroids(16, &centroids).unwrap();
        assert_eq!(found.to_bytes(), centroids);
        for (whole, len) in [(&body, body.len()), (&centroids, centroids.len())] {
            let longer = [&whole[..], &[0]].concat();
            for wrong in [&[][..], &whole[..1], &whole[..len - 1], &longer] {
                assert!(read(&params, 16, wrong).is_err(), "{}", wrong.len());
                assert!(read_for_centroids(16, wrong).is_err(), "{}", wrong.len());
            }
        }
    }
}
