//! FIPS 204, Algorithm 8, for one signature in plain Rust, in the order of its steps.

use alloc::vec::Vec;

use shake::digest::{ExtendableOutput, Update, XofReader};
use shake::{Shake128, Shake256};

use crate::coding::{HintBits, hint_bit_unpack, portable as coding};
use crate::field::Poly;
use crate::in_ball::InBall;
use crate::ntt::portable as ntt;
use crate::params::Set;
use crate::sponge::Output;

/// `ML-DSA.Verify_internal(pk, M', sigma)`, for a key and a signature of the right lengths.
fn verify_internal(set: &Set, pk: &[u8], m_prime: &[u8], sigma: &[u8]) -> bool {
    // 1: (rho, t1) <- pkDecode(pk)
    let (rho, t1) = pk.split_at(32);
    // 2: (c~, z, h) <- sigDecode(sigma)
    let (c_tilde, rest) = sigma.split_at(set.c_tilde_len);
    let (z, h) = rest.split_at(set.l * set.z_len());
    // 3: if h is no encoding of a hint, then return false
    let mut hint = [HintBits::default(); 8];
    if !hint_bit_unpack(set, h, &mut hint) {
        return false;
    }
    // 5: A^ <- ExpandA(rho)
    let a_hat = |row, column| expand_a(rho, row, column);
    // 6: tr <- H(pk, 64)
    let tr = h_of(&[pk]);
    // 7: mu <- H(tr || M', 64)
    let mu = h_of(&[&tr, m_prime]);
    // 8: c <- SampleInBall(c~)
    let c = sample_in_ball(set, c_tilde);
    // 9: w' <- NTT^-1(A^ o NTT(z) - NTT(c) o NTT(t1 2^d)), row by row
    let mut short = true;
    let mut vector = [Poly::ZERO; 8];
    for (poly, z) in vector.iter_mut().zip(z.chunks_exact(set.z_len())) {
        short &= coding::unpack_z(poly, z, set.gamma1_bits, set.gamma1() - set.beta);
        ntt::ntt(poly);
    }
    vector[set.l] = c;
    ntt::ntt(&mut vector[set.l]);
    let mut hashed = Vec::from(mu);
    for (i, t1) in t1.as_chunks().0.iter().enumerate() {
        let mut row: Vec<Poly> = (0..=set.l).map(|j| a_hat(i, j)).collect();
        coding::unpack_t1(&mut row[set.l], t1);
        ntt::ntt(&mut row[set.l]);
        let mut w = Poly::ZERO;
        ntt::product(&mut w, &row, &vector[..=set.l]);
        ntt::inverse_ntt(&mut w);
        // 10: w1' <- UseHint(h, w'), and its encoding
        let mut encoded = [0; 192];
        let encoded = &mut encoded[..set.gamma2.w1_len()];
        coding::use_hint_encode(encoded, &w, &hint[i], set.gamma2);
        hashed.extend_from_slice(encoded);
    }
    // 12: c~' <- H(mu || w1Encode(w1'), lambda / 4)
    let c_tilde_prime = h_of(&[&hashed]);
    // 13: return [ z is short ] and [ c~ = c~' ]
    short && *c_tilde == c_tilde_prime[..set.c_tilde_len]
}

/// H of a concatenation: the first 64 bytes of SHAKE256.
fn h_of(parts: &[&[u8]]) -> [u8; 64] {
    let mut hasher = Shake256::default();
    parts.iter().for_each(|part| hasher.update(part));
    let mut out = [0; 64];
    hasher.finalize_xof().read(&mut out);
    out
}

/// Algorithm 32, one entry: `RejNTTPoly(rho || column || row)`, in the order that products take.
fn expand_a(rho: &[u8], row: usize, column: usize) -> Poly {
    let mut hasher = Shake128::default();
    hasher.update(rho);
    hasher.update(&[column, row].map(|index| u8::try_from(index).expect("at most 8")));
    let mut xof = hasher.finalize_xof();
    let (mut poly, mut filled) = (Poly::ZERO, 0);
    while filled < 256 {
        let mut block = [0; 168];
        xof.read(&mut block);
        filled = coding::rej_ntt_poly(&mut poly, filled, &block);
    }
    ntt::transpose(&mut poly);
    poly
}

/// Algorithm 29.
fn sample_in_ball(set: &Set, c_tilde: &[u8]) -> Poly {
    let mut hasher = Shake256::default();
    hasher.update(c_tilde);
    let mut xof = hasher.finalize_xof();
    let (mut c, mut state) = (Poly::ZERO, InBall::NEW);
    loop {
        let mut block = [0; 136];
        xof.read(&mut block);
        if state.block(set, &block, &mut c.0) == Output::Done {
            return c;
        }
    }
}

mod tests {
    use ml_dsa::signature::Keypair;

    use super::*;
    use crate::Backend;
    use crate::batch::BatchVerifier;
    use crate::item::Item;
    use crate::params::{MlDsa44, MlDsa65, MlDsa87, Params};

    /// Compares tiles with the definition, for a key, its signatures, and signatures in which some
    /// bytes were changed.
    fn tiles_equal_the_definition<P: Params>(public_key: &[u8], signatures: &[Vec<u8>]) {
        let message = |i: usize| [u8::try_from(i).expect("few"); 40];
        let mut cases = Vec::new();
        for (i, signature) in signatures.iter().enumerate() {
            cases.push((i, signature.clone()));
            cases.push((i + 1, signature.clone()));
            let len = signature.len();
            for at in [0, 40, len / 2, len - 90, len - 70, len - 9, len - 1] {
                for bit in [0, 3, 7] {
                    let mut changed = signature.clone();
                    changed[at] ^= 1 << bit;
                    cases.push((i, changed));
                }
            }
        }
        let defined: Vec<bool> = cases
            .iter()
            .map(|(i, signature)| {
                // M' of a pure message: domain 0, no context.
                let m_prime = [&[0, 0][..], &message(*i)].concat();
                verify_internal(&P::SET, public_key, &m_prime, signature)
            })
            .collect();
        assert_eq!(
            defined.iter().filter(|valid| **valid).count(),
            signatures.len()
        );
        let messages: Vec<[u8; 40]> = cases.iter().map(|(i, _)| message(*i)).collect();
        let items: Vec<Item<'_, P>> = messages
            .iter()
            .zip(&cases)
            .map(|(message, (_, signature))| Item::new(public_key, message, &[], signature))
            .collect();
        for backend in Backend::available() {
            let verdicts = BatchVerifier::with_keys_on(backend, 16).verify_each(&items);
            let found: Vec<bool> = verdicts.iter().map(Result::is_ok).collect();
            assert_eq!(found, defined, "{}", backend.name());
        }
    }

    macro_rules! tiles {
        ($name:ident, $set:ident) => {
            #[test]
            fn $name() {
                let key = ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&[8; 32].into());
                let signatures: Vec<Vec<u8>> = (0..3)
                    .map(|i| {
                        let signature = key.expanded_key().sign_deterministic(&[i; 40], &[]);
                        signature.unwrap().encode().to_vec()
                    })
                    .collect();
                tiles_equal_the_definition::<$set>(&key.verifying_key().encode(), &signatures);
            }
        };
    }
    tiles!(of_ml_dsa_44, MlDsa44);
    tiles!(of_ml_dsa_65, MlDsa65);
    tiles!(of_ml_dsa_87, MlDsa87);
}
