//! The encoded database as bytes, to be kept in a file.

use std::io::{self, Write};

use sordino_lattice::aligned::Aligned;

use super::{Database, N, Pages, Params, SLACK, take};
use crate::Error;
use crate::wire::{self, Head, Kind};

/// Bytes of the seed.
const SEED_LEN: usize = 32;

impl Database {
    /// Writes the database: head, seed, blocks at 5 or 7 bytes a coefficient.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let head = Head::new(
            Kind::Database,
            self.params.id(),
            self.shape.dim,
            self.shape.count,
        );
        out.write_all(&head.begin(0))?;
        out.write_all(&self.seed)?;
        out.write_all(&self.blocks[..self.encoded_len()])
    }

    /// Reads a database, for instance from a file that is mapped into memory. Its hint is computed anew
    /// by [`hint`](Self::hint).
    ///
    /// # Errors
    /// If the bytes are not a database of this version, name an unknown set, have another length than
    /// their shape fixes, or hold a value that is not below `q`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::Database, bytes)?;
        let params = Params::from_id(head.set)?;
        let shape = params.shape(head.dim(), head.count())?;
        let block_len = shape.polys * N * params.coefficient_len();
        let expected = block_len
            .checked_mul(shape.blocks)
            .and_then(|len| len.checked_add(SEED_LEN))
            .ok_or(Error::Count {
                found: shape.count,
                most: usize::MAX / block_len * shape.per,
            })?;
        wire::check_body(body, expected)?;
        let (seed, encoded) = body.split_first_chunk::<SEED_LEN>().ok_or(Error::Kind)?;
        let mut poly = Aligned::new(N);
        for (j, block) in encoded.chunks_exact(block_len).enumerate() {
            for l in 0..shape.polys {
                take(params.coefficient_len(), block, l, shape.polys, &mut poly);
                if let Some(i) = poly.iter().position(|&x| x >= params.modulus()) {
                    return Err(Error::Coefficient {
                        index: (j * shape.polys + l) * N + i,
                    });
                }
            }
        }
        let mut blocks = Pages::zeroed(encoded.len() + SLACK);
        blocks[..encoded.len()].copy_from_slice(encoded);
        Ok(Self {
            params,
            shape,
            seed: *seed,
            a: Self::public_tiles(&params, shape, seed),
            blocks,
        })
    }
}
