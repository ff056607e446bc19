//! The Gaussian's table, compared with an independent computation, and its samples, compared with
//! the table.

use sordino_lattice::sample::gaussian::Sampler;
use sordino_lattice::sample::stream::Stream;

/// `sigma` as a fraction, the number of entries, and four values `T[k]`.
type Golden = ((u32, u32), usize, [(usize, u128); 4]);

/// These values were computed with 120 decimal digits.
const GOLDEN: [Golden; 4] = [
    (
        (32, 1),
        419,
        [
            (1, 0xfcce_f759_8579_35ee_5e06_9875_fe8a_8e3a),
            (2, 0xf66d_b241_f66f_d16d_fcc7_f3d2_4933_eda2),
            (209, 0x4f73_59df_f322_810f_8932_3c53),
            (418, 2),
        ],
    ),
    (
        (16, 1),
        210,
        [
            (1, 0xf99d_eeb3_0af2_6bdc_bc0d_30eb_fd15_1c74),
            (2, 0xece0_2c92_2d86_9fde_8fb2_7bc7_81ba_027e),
            (105, 0x4734_e928_848c_0481_cadf_314b),
            (209, 2),
        ],
    ),
    (
        (32, 5),
        84,
        [
            (1, 0xf00a_d4bf_9b5e_0da7_d620_fa4d_f8b4_c722),
            (2, 0xd083_9f58_c028_2e77_d917_4912_0dd5_ed99),
            (42, 0x5dcc_37b6_3378_86cd_6475_e182),
            (83, 0xe),
        ],
    ),
    (
        (11, 1),
        144,
        [
            (1, 0xf6b7_2ca7_55bd_b429_cbb6_189d_1307_6f34),
            (2, 0xe439_203d_c0c5_900e_867f_828c_18fa_87d1),
            (72, 0x5702_daef_294e_7607_7537_00b7),
            (143, 7),
        ],
    ),
];

#[test]
fn the_table_is_the_one_computed_with_decimals() {
    for ((numerator, denominator), bound, entries) in GOLDEN {
        let sampler = Sampler::new(numerator, denominator);
        assert_eq!(sampler.bound(), bound);
        for (k, tail) in entries {
            assert_eq!(
                sampler.tail(k),
                tail,
                "sigma {numerator}/{denominator}, k {k}"
            );
        }
    }
}

fn draw(sampler: &Sampler, seed: u8, len: usize) -> Vec<i16> {
    let mut samples = vec![0; len];
    sampler.fill(&mut Stream::new(&[seed; 32], 0), &mut samples);
    samples
}

#[test]
fn moments_are_those_of_the_gaussian() {
    for (sigma, seed) in [(32u32, 1), (16, 2)] {
        let len = 1 << 18;
        let samples = draw(&Sampler::new(sigma, 1), seed, len);
        let moment = |power| {
            let sum: f64 = samples.iter().map(|x| f64::from(*x).powi(power)).sum();
            sum / len as f64 / f64::from(sigma).powi(power)
        };
        // Allows five standard errors. The argument is the variance: mean 1, variance 2, skewness
        // 15, kurtosis 96.
        let error = |variance: f64| 5.0 * (variance / len as f64).sqrt();
        assert!(moment(1).abs() < error(1.0), "mean {}", moment(1));
        assert!(
            (moment(2) - 1.0).abs() < error(2.0),
            "variance {}",
            moment(2)
        );
        assert!(moment(3).abs() < error(15.0), "third moment {}", moment(3));
        assert!(
            (moment(4) - 3.0).abs() < error(96.0),
            "fourth moment {}",
            moment(4)
        );
    }
}

#[test]
fn frequencies_follow_the_table() {
    let sampler = Sampler::new(32, 5);
    let len = 1 << 18;
    let mut counts = [0f64; 21];
    for x in draw(&sampler, 3, len) {
        if let Some(count) = counts.get_mut(usize::from((x + 10).unsigned_abs())) {
            *count += f64::from(u8::from(x >= -10));
        }
    }
    let tail = |k: usize| sampler.tail(k) as f64 / 2f64.powi(128);
    let chi_squared: f64 = (-10i32..=10)
        .map(|x| {
            let k = x.unsigned_abs() as usize;
            let probability = if k == 0 {
                1.0 - tail(1)
            } else {
                (tail(k) - tail(k + 1)) / 2.0
            };
            let expected = probability * len as f64;
            let index = usize::try_from(x + 10).unwrap();
            (counts[index] - expected).powi(2) / expected
        })
        .sum();
    // With 21 cells the mean is 21 and the standard deviation 6.5, so 60 is six deviations above
    // the mean.
    assert!(chi_squared < 60.0, "chi squared {chi_squared}");
}

#[test]
fn samples_are_a_function_of_the_randomness_and_of_nothing_else() {
    let sampler = Sampler::new(32, 1);
    assert_eq!(draw(&sampler, 5, 100), draw(&sampler, 5, 100));
    assert_ne!(draw(&sampler, 5, 100), draw(&sampler, 6, 100));
    // Compares one draw with an independent walk through the tails, for the backend of this
    // process.
    let expected = draw(&sampler, 5, 300);
    let mut stream = Stream::new(&[5; 32], 0);
    // The stream has 256 magnitudes, 44 more from the next step, and then the signs of all.
    let mut bytes = stream.chunk(4096).to_vec();
    bytes.extend_from_slice(&stream.chunk(1024)[..16 * 44]);
    let signs = stream.chunk(38);
    for (i, x) in expected.iter().enumerate() {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let u = u128::from(word(16 * i)) << 64 | u128::from(word(16 * i + 8));
        let magnitude = (1..=sampler.bound())
            .take_while(|k| u < sampler.tail(*k))
            .count();
        let negative = signs[i / 8] >> (i % 8) & 1 == 1;
        let magnitude = i16::try_from(magnitude).unwrap();
        assert_eq!(*x, if negative { -magnitude } else { magnitude });
    }
}

#[test]
#[should_panic(expected = "sigma 0/1 is not between 1 and 1024")]
fn a_sigma_of_zero_is_refused() {
    let _ = Sampler::new(0, 1);
}
