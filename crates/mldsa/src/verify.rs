//! FIPS 204, Algorithm 8 (`ML-DSA.Verify_internal`), for a tile of signatures at the same time.
//!
//! Hashing goes across the signatures of a tile, with one sponge per lane. Arithmetic goes along the coefficients of
//! one polynomial at a time, which stay in the first-level cache. `definition.rs` has the algorithm for one signature,
//! in the standard's order of steps. Tests compare tiles with it.

#[cfg(test)]
mod definition;
mod hashes;

use crate::cache::{Cache, Found};
use crate::coding::{HintBits, hint_bit_unpack};
use crate::error::Error;
use crate::field::Poly;
use crate::in_ball::InBall;
use crate::item::{Item, Key};
use crate::keccak::{LANES, Lanes};
use crate::kernels::Kernels;
use crate::key::{ExpandedKey, RawKey, expand};
use crate::message::Message;
use crate::params::{Params, Set};
use crate::sponge;
use hashes::{Compare, MuAndBall};

/// The number of signatures per tile: two rounds of the eight hashing lanes. The tile's data (3 KiB each) and the
/// expanded key then stay in the second-level cache.
pub(crate) const TILE: usize = 16;

/// The data of one signature that is kept from step to step.
#[derive(Clone)]
pub(crate) struct Slot {
    /// The input of c~: mu, then w1 as Algorithm 28 encodes it.
    hashed: [u8; 64 + 1024],
    hint: [HintBits; 8],
    c: Poly,
    in_ball: InBall,
    /// Index in the cache, if the item's key is encoded.
    key: usize,
}

impl Slot {
    pub(crate) const NEW: Self = Self {
        hashed: [0; 64 + 1024],
        hint: [[0; 16]; 8],
        c: Poly::ZERO,
        in_ball: InBall::NEW,
        key: 0,
    };
}

/// Working memory for the polynomials of the current signature.
pub(crate) struct Work {
    pub(crate) lanes: Lanes,
    /// First z, then c.
    vector: [Poly; 8],
    w: Poly,
}

impl Work {
    pub(crate) const NEW: Self = Self {
        lanes: Lanes([[0; LANES]; 25]),
        vector: [Poly::ZERO; 8],
        w: Poly::ZERO,
    };
}

/// Verifies at most [`TILE`] items. There must be at least one slot and exactly one verdict for each item. Every
/// verdict is written.
pub(crate) fn verify_tile<P: Params>(
    kernels: Kernels,
    items: &[Item<'_, P>],
    cache: &mut Cache,
    slots: &mut [Slot],
    work: &mut Work,
    verdicts: &mut [Result<(), Error>],
) {
    let set = &P::SET;
    let mut live = Live {
        list: [0; TILE],
        len: 0,
    };

    // Makes all checks that need no hashing: lengths, the hint (step 3), and the norm of z (step 13).
    for (index, item) in items.iter().enumerate() {
        verdicts[index] = item.check().and_then(|()| {
            check_hint_and_norm(kernels, set, item.signature, &mut slots[index], work)
        });
        if verdicts[index].is_ok() {
            live.push(index);
        }
    }
    let live = live.get();

    // Step 5: ExpandA.
    expand_unknown(kernels, items, live, cache, slots, work);
    let keys = &cache.keys;

    // Steps 6 to 8: mu and c.
    for &index in live {
        slots[index].c = Poly::ZERO;
        slots[index].in_ball = InBall::NEW;
        if let Message::Mu(mu) = items[index].message {
            slots[index].hashed[..64].copy_from_slice(mu);
        }
    }
    let mut commit = MuAndBall {
        set,
        items,
        keys,
        live,
        slots,
    };
    sponge::run(kernels, &mut work.lanes, 2 * live.len(), &mut commit);

    // Steps 9 and 10: w1.
    for &index in live {
        let key = key_of(&items[index], keys, &slots[index]);
        recompute_w1(
            kernels,
            set,
            items[index].signature,
            key,
            &mut slots[index],
            work,
        );
    }

    // Steps 12 and 13: c~.
    let mut compare = Compare {
        set,
        items,
        live,
        slots,
        verdicts,
    };
    sponge::run(kernels, &mut work.lanes, live.len(), &mut compare);
}

impl<P: Params> ExpandedKey<P> {
    /// Verifies one signature, on the stack.
    ///
    /// # Errors
    /// The reason why the signature is not valid.
    pub fn verify(&self, message: Message<'_>, signature: &[u8]) -> Result<(), Error> {
        let item = Item {
            key: Key::Expanded(self),
            message,
            signature,
        };
        let mut work = Work::NEW;
        let mut verdict = Err(Error::Mismatch);
        verify_tile(
            Kernels::detect(),
            &[item],
            &mut Cache::new(0),
            &mut [Slot::NEW],
            &mut work,
            core::slice::from_mut(&mut verdict),
        );
        verdict
    }
}

/// Verifies one signature by a key that is not kept.
///
/// # Errors
/// The reason why the signature is not valid.
pub fn verify<P: Params>(
    public_key: &[u8],
    message: Message<'_>,
    signature: &[u8],
) -> Result<(), Error> {
    ExpandedKey::<P>::from_bytes(public_key)?.verify(message, signature)
}

/// The items that were not refused so far.
struct Live {
    list: [usize; TILE],
    len: usize,
}

impl Live {
    fn push(&mut self, index: usize) {
        self.list[self.len] = index;
        self.len += 1;
    }

    fn get(&self) -> &[usize] {
        &self.list[..self.len]
    }
}

fn key_of<'k, P: Params>(item: &Item<'k, P>, keys: &'k [RawKey], slot: &Slot) -> &'k RawKey {
    match item.key {
        Key::Expanded(key) => &key.raw,
        Key::Encoded(_) => &keys[slot.key],
    }
}

/// The packed polynomials of z (FIPS 204, Algorithm 27: `sigDecode`).
fn packed_z<'a>(set: &Set, signature: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    signature[set.c_tilde_len..]
        .chunks_exact(set.z_len())
        .take(set.l)
}

fn check_hint_and_norm(
    kernels: Kernels,
    set: &Set,
    signature: &[u8],
    slot: &mut Slot,
    work: &mut Work,
) -> Result<(), Error> {
    let hint = &signature[set.c_tilde_len + set.l * set.z_len()..];
    if !hint_bit_unpack(set, hint, &mut slot.hint) {
        return Err(Error::HintEncoding);
    }
    let bound = set.gamma1() - set.beta;
    let short =
        packed_z(set, signature).all(|z| kernels.unpack_z(&mut work.w, z, set.gamma1_bits, bound));
    if short { Ok(()) } else { Err(Error::ZNorm) }
}

/// Step 5, ExpandA, for those keys of live items that are not expanded yet.
fn expand_unknown<P: Params>(
    kernels: Kernels,
    items: &[Item<'_, P>],
    live: &[usize],
    cache: &mut Cache,
    slots: &mut [Slot],
    work: &mut Work,
) {
    let mut unknown: [(&[u8], usize); TILE] = [(&[], 0); TILE];
    let mut count = 0;
    for &index in live {
        let Key::Encoded(encoded) = items[index].key else {
            continue;
        };
        slots[index].key = match cache.place(&P::SET, encoded) {
            Found::Ready(key) => key,
            Found::Vacant(key) => {
                unknown[count] = (encoded, key);
                count += 1;
                key
            }
        };
    }
    expand(
        kernels,
        &P::SET,
        &mut work.lanes,
        &unknown[..count],
        &mut cache.keys,
    );
}

/// w1 = UseHint(h, A z - c t1 2^d), encoded behind mu.
fn recompute_w1(
    kernels: Kernels,
    set: &Set,
    signature: &[u8],
    key: &RawKey,
    slot: &mut Slot,
    work: &mut Work,
) {
    let Work { vector, w, .. } = work;
    let vector = &mut vector[..=set.l];
    for (poly, z) in vector.iter_mut().zip(packed_z(set, signature)) {
        kernels.unpack_z(poly, z, set.gamma1_bits, set.gamma1());
        kernels.ntt(poly);
    }
    vector[set.l] = slot.c;
    kernels.ntt(&mut vector[set.l]);
    let rows = key.matrix.chunks_exact(set.l + 1);
    let encoded = slot.hashed[64..].chunks_exact_mut(set.gamma2.w1_len());
    for ((row, hint), encoded) in rows.zip(&slot.hint).zip(encoded) {
        kernels.product(w, row, vector);
        kernels.inverse_ntt(w);
        kernels.use_hint_encode(encoded, w, hint, set.gamma2);
    }
}
