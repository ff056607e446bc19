//! Ciphertexts and rotation keys as bytes. They hold coefficients, not values, so that a message does not depend on the
//! order of a transform. A polynomial that is uniform and fresh is sent as its seed.
//!
//! After the head, whose dimension is `N`, come the primes `q_0, ..., q_L, P`, 8 bytes each. If they belong to another
//! chain, an error names the difference. Then come the fields of the kind. Polynomials follow limb by limb, with the
//! prime's number of bits for each coefficient.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::ntt::Plan;

use super::ciphertext::Ciphertext;
use super::keys::{Digit, GaloisKey, expand, permutation};
use super::params::Params;
use crate::Error;
use crate::bits::Width;
use crate::wire::{self, Head, Kind};

/// The size in bytes of a seed.
const SEED_LEN: usize = 32;
/// Values of the head's word about `c1` in a ciphertext: all of it follows, or its seed.
const WHOLE: u8 = 0;
const SEEDED: u8 = 1;

impl Ciphertext {
    /// The message. A freshly encrypted ciphertext is half as long as others, because its `c1` is a seed.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let encoding = if self.seed.is_some() { SEEDED } else { WHOLE };
        let n = self.params.degree();
        let plans = self.params.plans(self.level);
        let head = Head::new(Kind::SlotCiphertext, encoding, n, self.level);
        let mut message = head.begin(body_len(&self.params, self.level, encoding));
        put_primes(&self.params, &mut message);
        message.extend_from_slice(&self.scale.to_le_bytes());
        put_limbs(plans, &self.c0, &mut message);
        match &self.seed {
            Some(seed) => message.extend_from_slice(seed),
            None => put_limbs(plans, &self.c1, &mut message),
        }
        message
    }

    /// Reads a message of the parameter set `params`.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, the ciphertext belongs to another set, or the set lacks its level.
    /// The call also fails if the length does not fit these, the scale is not a number from 1 on, or a coefficient is
    /// not below its prime.
    pub fn from_bytes(params: &Params, message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::SlotCiphertext, message)?;
        let (level, encoding) = (head.count(), head.set);
        wire::check_same("degrees", head.dim(), params.degree())?;
        if level > params.max_level() {
            return Err(Error::Level {
                found: level,
                most: params.max_level(),
            });
        }
        if encoding > SEEDED {
            return Err(Error::Kind);
        }
        wire::check_body(body, body_len(params, level, encoding))?;
        let body = take_primes(params, body)?;
        let (scale, body) = body.split_first_chunk().ok_or(Error::Kind)?;
        let scale = f64::from_le_bytes(*scale);
        if !(scale >= 1.0 && scale.is_finite()) {
            return Err(Error::Scale);
        }
        let plans = params.plans(level);
        let (c0, c1) = body.split_at(limbs_len(plans));
        let c0 = take_limbs(plans, c0)?;
        let (c1, seed) = match c1.try_into() {
            Ok(seed) if encoding == SEEDED => (expand(plans, seed), Some(*seed)),
            _ => (take_limbs(plans, c1)?, None),
        };
        Ok(Self {
            params: params.clone(),
            level,
            scale,
            c0,
            c1,
            seed,
        })
    }
}

impl GaloisKey {
    /// The message: for each digit a seed, and `b` modulo every prime.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let plans = self.params.all_plans();
        let head = Head::new(Kind::GaloisKey, 0, self.params.degree(), self.rotation);
        let mut message = head.begin(key_len(&self.params));
        put_primes(&self.params, &mut message);
        for digit in &self.digits {
            message.extend_from_slice(&digit.seed);
            put_limbs(plans, &digit.b, &mut message);
        }
        message
    }

    /// Reads a message of the parameter set `params`.
    ///
    /// # Errors
    /// [`Error`] if the kind or version is wrong, or the key belongs to another set. The call also fails if the key
    /// rotates by more places than there are slots, the length does not fit the set, or a coefficient is not below its
    /// prime.
    pub fn from_bytes(params: &Params, message: &[u8]) -> Result<Self, Error> {
        let (head, body) = Head::split(Kind::GaloisKey, message)?;
        let rotation = head.count();
        wire::check_same("degrees", head.dim(), params.degree())?;
        if head.set != 0 {
            return Err(Error::Kind);
        }
        if rotation >= params.slots() {
            return Err(Error::Index {
                index: rotation,
                count: params.slots(),
            });
        }
        wire::check_body(body, key_len(params))?;
        let body = take_primes(params, body)?;
        let plans = params.all_plans();
        let digits = body
            .chunks_exact(SEED_LEN + limbs_len(plans))
            .map(|digit| {
                let (seed, b) = digit.split_first_chunk().ok_or(Error::Kind)?;
                Ok(Digit {
                    b: take_limbs(plans, b)?,
                    a: expand(plans, seed),
                    seed: *seed,
                })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            params: params.clone(),
            rotation,
            permutation: permutation(params, rotation),
            digits,
        })
    }
}

fn body_len(params: &Params, level: usize, encoding: u8) -> usize {
    let limbs = limbs_len(params.plans(level));
    let c1 = if encoding == SEEDED { SEED_LEN } else { limbs };
    primes_len(params) + size_of::<f64>() + limbs + c1
}

fn key_len(params: &Params) -> usize {
    let digits = params.max_level() + 1;
    primes_len(params) + digits * (SEED_LEN + limbs_len(params.all_plans()))
}

fn primes_len(params: &Params) -> usize {
    params.all_plans().len() * size_of::<u64>()
}

fn put_primes(params: &Params, message: &mut Vec<u8>) {
    for prime in params.primes() {
        message.extend_from_slice(&prime.to_le_bytes());
    }
}

/// The bytes after the primes, after a check that the primes are the set's.
fn take_primes<'a>(params: &Params, body: &'a [u8]) -> Result<&'a [u8], Error> {
    let (primes, rest) = body.split_at(primes_len(params));
    let (primes, _) = primes.as_chunks();
    let found = primes.iter().copied().map(u64::from_le_bytes);
    match found.zip(params.primes()).find(|(found, own)| found != own) {
        Some((found, _)) => Err(Error::Modulus { found }),
        None => Ok(rest),
    }
}

fn width(plan: &Plan) -> Width {
    Width::bits(plan.modulus().bits())
}

fn limbs_len(plans: &[Plan]) -> usize {
    plans.iter().map(|plan| width(plan).len(plan.len())).sum()
}

fn put_limbs(plans: &[Plan], limbs: &[u64], message: &mut Vec<u8>) {
    for (plan, limb) in plans.iter().zip(limbs.chunks_exact(plans[0].len())) {
        let mut coefficients = Aligned::from(limb);
        plan.inverse(&mut coefficients);
        let start = message.len();
        message.resize(start + width(plan).len(plan.len()), 0);
        width(plan).write(&coefficients, &mut message[start..]);
    }
}

fn take_limbs(plans: &[Plan], bytes: &[u8]) -> Result<Aligned<u64>, Error> {
    let n = plans.first().map_or(0, Plan::len);
    let mut limbs = Aligned::new(plans.len() * n);
    let mut rest = bytes;
    for (j, (limb, plan)) in limbs.chunks_exact_mut(n).zip(plans).enumerate() {
        let (bytes, after) = rest.split_at(width(plan).len(n));
        width(plan).read(bytes, limb);
        if let Some(i) = limb.iter().position(|&x| x >= plan.modulus().q()) {
            return Err(Error::Coefficient { index: j * n + i });
        }
        plan.forward(limb);
        rest = after;
    }
    Ok(limbs)
}
