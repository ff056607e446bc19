//! Tests that compare the transform with its definition, with schoolbook products and with tfhe-ntt,
//! and the backends with each other.

use proptest::prelude::*;

use super::*;
use crate::sample::residue;

const Q50: u64 = 1_125_899_906_826_241;
const Q40: u64 = 1_099_511_590_913;
const Q31: u64 = 2_147_389_441;
/// The largest 50-bit prime that is 1 mod 2^17, for the longest lengths.
const Q50_LONG: u64 = 1_125_899_903_827_969;
/// Primes across the range between two powers of two, which are 1 mod 2^17.
const BETWEEN: [u64; 4] = [
    562_949_955_125_249,
    675_539_943_817_217,
    844_424_928_952_321,
    957_014_919_610_369,
];

fn random(seed: u8, plan: &Plan) -> Vec<u64> {
    let mut values = vec![0; plan.len()];
    residue::fill_vartime(&[seed; 32], 0, plan.modulus(), &mut values);
    values
}

fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    let near_powers = [(Q50, 2048), (Q40, 2048), (Q31, 2048), (Q50_LONG, 1 << 16)];
    let all = near_powers.into_iter().chain(BETWEEN.map(|q| (q, 1024)));
    // Miri is slow, so it runs few and short transforms.
    let (count, most) = if cfg!(miri) {
        (2, 32)
    } else {
        (usize::MAX, usize::MAX)
    };
    for (q, longest) in all.take(count) {
        let modulus = Modulus::new(q).unwrap();
        let mut n = 16;
        while n <= longest.min(most) {
            let plan = Plan::new(n, modulus).unwrap();
            plans.extend(Backend::available().map(|backend| Plan {
                kernels: Kernels::of(backend),
                ..plan.clone()
            }));
            n *= 2;
        }
    }
    plans
}

#[test]
fn is_evaluation_in_the_stated_order() {
    for n in [16usize, 64] {
        let modulus = Modulus::new(Q50).unwrap();
        let plan = Plan::new(n, modulus).unwrap();
        let psi = modulus.root_of_unity_vartime(2 * n as u64).unwrap();
        let a = random(1, &plan);
        let mut values = a.clone();
        plan.forward(&mut values);
        for (i, &value) in values.iter().enumerate() {
            let brv = i.reverse_bits() >> (usize::BITS - n.ilog2());
            let point = modulus.pow_vartime(psi, 2 * brv as u64 + 1);
            let horner = a
                .iter()
                .rev()
                .fold(0, |sum, &c| modulus.add(modulus.mul(sum, point), c));
            assert_eq!(value, horner);
        }
    }
}

#[test]
fn products_are_negacyclic() {
    for plan in plans().iter().filter(|plan| plan.len() <= 128) {
        let (n, modulus) = (plan.len(), plan.modulus());
        let (mut a, mut b) = (random(2, plan), random(3, plan));
        let mut expected = vec![0; n];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let product = modulus.mul(x, y);
                let k = (i + j) % n;
                expected[k] = if i + j < n {
                    modulus.add(expected[k], product)
                } else {
                    modulus.sub(expected[k], product)
                };
            }
        }
        plan.forward(&mut a);
        plan.forward(&mut b);
        plan.multiply(&mut a, &b);
        plan.inverse(&mut a);
        assert_eq!(a, expected);
    }
}

#[test]
fn products_equal_those_of_tfhe_ntt() {
    for n in [256, 2048] {
        let plan = Plan::new(n, Modulus::new(Q50).unwrap()).unwrap();
        let peer = tfhe_ntt::prime64::Plan::try_new(n, Q50).unwrap();
        let (mut a, mut b) = (random(4, &plan), random(5, &plan));
        let (mut x, mut y) = (a.clone(), b.clone());
        plan.forward(&mut a);
        plan.forward(&mut b);
        plan.multiply(&mut a, &b);
        plan.inverse(&mut a);
        peer.fwd(&mut x);
        peer.fwd(&mut y);
        peer.mul_assign_normalize(&mut x, &y);
        peer.inv(&mut x);
        assert_eq!(a, x);
    }
}

#[test]
fn backends_agree_and_invert() {
    for plan in plans() {
        let q = plan.modulus().q();
        let extremes = [vec![q - 1; plan.len()], vec![0; plan.len()]];
        for a in extremes
            .into_iter()
            .chain((0..4).map(|seed| random(seed, &plan)))
        {
            let (mut found, mut expected) = (a.clone(), a.clone());
            plan.forward(&mut found);
            portable::forward(&plan, &mut expected);
            assert_eq!(found, expected, "forward, n = {}, q = {q}", plan.len());
            plan.inverse(&mut found);
            assert_eq!(found, a, "inverse, n = {}, q = {q}", plan.len());

            let mut product = a.clone();
            plan.multiply(&mut product, &expected);
            let mut by_definition = a.clone();
            portable::multiply(&plan, &mut by_definition, &expected);
            assert_eq!(
                product,
                by_definition,
                "multiply, n = {}, q = {q}",
                plan.len()
            );
        }
    }
}

#[test]
fn a_strided_inverse_is_part_of_the_whole() {
    for plan in plans() {
        let a = random(6, &plan);
        let mut values = a.clone();
        plan.forward(&mut values);
        for k in 0..=plan.len().ilog2() {
            for portable in [true, false] {
                let mut part = values.clone();
                if portable {
                    portable::inverse_strided(&plan, &mut part, k);
                } else {
                    plan.inverse_strided(&mut part, k);
                }
                let stride = 1 << k;
                let expected: Vec<u64> =
                    a.iter().skip(stride - 1).step_by(stride).copied().collect();
                assert_eq!(
                    part[..plan.len() >> k],
                    expected,
                    "n = {}, stride 2^{k}",
                    plan.len()
                );
            }
        }
    }
}

#[test]
fn sums_of_neighbours_give_every_other_coefficient() {
    for plan in plans() {
        let a = random(10, &plan);
        let mut values = a.clone();
        plan.forward(&mut values);
        for k in 0..=plan.len().ilog2() - 4 {
            let fold = |sum, &x| plan.modulus().add(sum, x);
            let sums = values.chunks(1 << k).map(|part| part.iter().fold(0, fold));
            let mut sums: Vec<u64> = sums.collect();
            plan.inverse_folded(&mut sums);
            let expected: Vec<u64> = a.iter().step_by(1 << k).copied().collect();
            assert_eq!(sums, expected, "n = {}, stride 2^{k}", plan.len());
        }
    }
}

#[test]
fn a_fused_product_equals_its_parts() {
    for plan in plans() {
        let (a, b) = (random(7, &plan), random(8, &plan));
        for k in 0..=plan.len().ilog2() {
            let mut expected = a.clone();
            plan.multiply(&mut expected, &b);
            plan.inverse_strided(&mut expected, k);
            for portable in [true, false] {
                let mut found = vec![9; plan.len()];
                if portable {
                    portable::inverse_product(&plan, (&a, &b), &mut found, k);
                } else {
                    plan.inverse_product(&a, &b, &mut found, k);
                }
                let len = plan.len() >> k;
                assert_eq!(found[..len], expected[..len], "n = {}, k = {k}", plan.len());
            }
        }
    }
}

#[test]
fn automorphisms_permute_values() {
    let plan = Plan::new(64, Modulus::new(Q50).unwrap()).unwrap();
    let (n, modulus) = (plan.len(), plan.modulus());
    let a = random(9, &plan);
    for g in [1, 3, 5, 127] {
        let mut image = vec![0; n];
        for (i, &x) in a.iter().enumerate() {
            let at = i * g % (2 * n);
            image[at % n] = if at < n { x } else { modulus.sub(0, x) };
        }
        let mut values = a.clone();
        plan.forward(&mut values);
        plan.forward(&mut image);
        let permuted: Vec<u64> = plan
            .permutation(g)
            .iter()
            .map(|&i| values[i as usize])
            .collect();
        assert_eq!(permuted, image, "g = {g}");
    }
}

#[test]
fn lengths_and_moduli_are_checked() {
    let modulus = Modulus::new(Q50).unwrap();
    for n in [0, 8, 24, 1 << 17] {
        assert_eq!(
            Plan::new(n, modulus).unwrap_err(),
            ModulusError::Length { found: n }
        );
    }
    assert_eq!(
        Plan::new(1 << 16, modulus).unwrap_err(),
        ModulusError::NoRoot {
            q: Q50,
            order: 1 << 17
        }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_transform_is_linear(seed: u8, scalar in 0..Q50) {
        let plan = Plan::new(64, Modulus::new(Q50).unwrap()).unwrap();
        let modulus = plan.modulus();
        let (a, b) = (random(seed, &plan), random(seed.wrapping_add(1), &plan));
        let mut sum: Vec<u64> =
            a.iter().zip(&b).map(|(&a, &b)| modulus.add(modulus.mul(a, scalar), b)).collect();
        let (mut a, mut b) = (a, b);
        plan.forward(&mut sum);
        plan.forward(&mut a);
        plan.forward(&mut b);
        for ((&sum, &a), &b) in sum.iter().zip(&a).zip(&b) {
            prop_assert_eq!(sum, modulus.add(modulus.mul(a, scalar), b));
        }
    }
}
