//! The precision that the documentation states for the sets of slot mode, compared with the largest measured
//! errors.

use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::slot::{Encoder, Evaluator, Params, SecretKey};

fn values(rng: &mut ChaCha12Rng, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| f64::from(rng.next_u32()) / 2f64.powi(31) - 1.0)
        .collect()
}

fn worst(found: &[f64], expected: impl Iterator<Item = f64>) -> f64 {
    let errors = found.iter().zip(expected).map(|(x, y)| (x - y).abs());
    errors.fold(0.0, f64::max)
}

/// The largest errors of slots in [-1, 1] over a few runs: of a fresh ciphertext, a sum, a rotation and
/// a product, which is rescaled if a level is left.
fn measured(params: &Params) -> [f64; 4] {
    let mut rng = ChaCha12Rng::from_seed([1; 32]);
    let (slots, encoder) = (params.slots(), Encoder::new(params));
    let mut most = [0f64; 4];
    for _ in 0..3 {
        let secret = SecretKey::generate(&mut rng, params);
        let evaluator = Evaluator::new(params, vec![secret.galois_key(&mut rng, 5)]).unwrap();
        let (x, y) = (values(&mut rng, slots), values(&mut rng, slots));
        let (coded, factor) = (encoder.encode(&x).unwrap(), encoder.encode(&y).unwrap());
        let a = secret.encrypt(&mut rng, &coded).unwrap();
        let b = secret.encrypt(&mut rng, &factor).unwrap();
        let mut product = evaluator.mul_plain(&a, &factor).unwrap();
        if params.max_level() > 0 {
            product = evaluator.rescale(&product).unwrap();
        }
        let decode = |c: &_| encoder.decode(&secret.decrypt(c).unwrap()).unwrap();
        let sum = decode(&evaluator.add(&a, &b).unwrap());
        let rotated = decode(&evaluator.rotate(&a, 5).unwrap());
        let errors = [
            worst(&decode(&a), x.iter().copied()),
            worst(&sum, x.iter().zip(&y).map(|(x, y)| x + y)),
            worst(&rotated, x.iter().cycle().skip(5).copied()),
            worst(&decode(&product), x.iter().zip(&y).map(|(x, y)| x * y)),
        ];
        for (most, error) in most.iter_mut().zip(errors) {
            *most = most.max(error);
        }
    }
    most
}

#[test]
fn worst_errors_are_those_stated() {
    // The README and the documentation of each set state these values.
    for (params, stated) in [
        (Params::slots_2048(), [2e-4, 3e-4, 7e-3, 2e-4]),
        (Params::slots_4096(), [1.2e-9, 1.6e-9, 6e-8, 1.2e-8]),
        (Params::slots_8192(), [1.6e-9, 2.3e-9, 1.1e-7, 4e-8]),
    ] {
        let found = measured(&params);
        println!("{}: {found:?}", params.name());
        for (found, stated) in found.into_iter().zip(stated) {
            assert!(found <= stated, "{}: {found:e} {stated:e}", params.name());
            assert!(
                3.0 * found > stated,
                "{}: {found:e} {stated:e}",
                params.name()
            );
        }
    }
    assert_eq!(Params::slots_2048().max_level(), 0);
}
