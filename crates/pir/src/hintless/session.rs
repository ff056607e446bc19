//! The secret of a session.

use rand_core::CryptoRng;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::{Ntt, Poly, add_signed};
use sordino_lattice::sample::hedge::Hedge;
use sordino_lattice::sample::stream::Stream;
use sordino_lattice::sample::{cbd, residue, ternary};
use zeroize::{Zeroize, Zeroizing};

use super::keys::{Digest, Keys};
use super::ring::{GADGETS, N, SQUARE, modulus, plan, steps};

/// The secret that encrypts a client's queries during one session. Erased when dropped.
///
/// # Security
/// The server can link the queries of one session, because they name its keys. To prevent further links, a client
/// starts a new session.
pub struct Session {
    /// `s`, in NTT form.
    s: Poly<Ntt>,
    /// A value that represents `s` in the derivation of queries' seeds.
    tag: [u8; 32],
    /// The name of the keys.
    digest: Digest,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.s.zeroize();
        self.tag.zeroize();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A fresh secret, and the keys with which a server expands queries under it.
    ///
    /// # Security
    /// Secret, errors and seeds are hashes of 32 bytes of `rng`. If `rng` repeats itself (after a snapshot is
    /// restored, or a `fork`), the same session results twice. That shows the repetition, but nothing about its
    /// queries.
    pub fn new<R: CryptoRng + ?Sized>(rng: &mut R) -> (Self, Keys) {
        let seeds = Hedge::new(rng, "sordino-pir hintless session").seeds::<4>();
        let mut small = Zeroizing::new(Aligned::new(N));
        ternary::fill(&mut Stream::new(&seeds[0], 0), &mut small);
        let s = Poly::from_signed(&small, plan()).into_ntt(plan());
        let keys = generate(&s, seeds[1], &seeds[2]);
        let session = Self {
            s,
            tag: seeds[3],
            digest: keys.digest(),
        };
        (session, keys)
    }

    /// The name of the session's keys.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    pub(crate) const fn tag(&self) -> &[u8; 32] {
        &self.tag
    }

    /// `s`, in NTT form.
    pub(crate) const fn secret(&self) -> &Poly<Ntt> {
        &self.s
    }
}

/// `b = -a s' + e + g_t s` for every digit of every step, then `b = -a s + e + g_t s^2` for the last key, in NTT form.
fn generate(s: &Poly<Ntt>, seed: [u8; 32], errors: &[u8; 32]) -> Keys {
    let q = modulus();
    let mut errors = Stream::new(errors, 0);
    let mut e = Zeroizing::new(Aligned::new(N));
    let mut image = Zeroizing::new(Aligned::new(N));
    let mut square = Zeroizing::new(Aligned::from(&**s));
    plan().multiply(&mut square, s);
    let mut keys = Keys::zero(seed);
    let mut polys = keys.polys_mut().enumerate();
    for (i, gadget) in GADGETS.iter().enumerate() {
        // The key is encrypted under `image`, and hides `hidden`.
        let hidden: &[u64] = if i == SQUARE {
            image.copy_from_slice(s);
            &square
        } else {
            // s' = tau^-1(s): value k of tau(a) is value permutation[k] of a.
            for (&from, &value) in steps()[i].permutation().iter().zip(s.iter()) {
                image[from as usize] = value;
            }
            s
        };
        for t in 0..gadget.digits() {
            let Some((number, b)) = polys.next() else {
                unreachable!("a polynomial for every digit");
            };
            let mut product = Zeroizing::new(Aligned::new(N));
            residue::fill_vartime(&seed, number as u64, q, &mut product);
            plan().multiply(&mut product, &image);
            cbd::fill(&mut errors, &mut e);
            b.fill(0);
            add_signed(q, b, &e);
            plan().forward(b);
            let factor = q.reduce(gadget.factor(t));
            for ((b, &product), &hidden) in b.iter_mut().zip(product.iter()).zip(hidden) {
                *b = q.add(q.sub(*b, product), q.mul(hidden, factor));
            }
        }
    }
    drop(polys);
    keys
}
