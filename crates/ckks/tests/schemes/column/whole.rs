//! Answers that are not rounded, and the combinations that check them.

use chacha20::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use sordino_ckks::Error;
use sordino_ckks::column::{Client, Combination, Database, Params, Query, Reply, Segments};

use super::parties::{SEED, client_of, dots, integer_query, residues, rms, unit_vectors};

const WHOLE: [Params; 4] = [
    Params::real_t4().whole(),
    Params::real_t8().whole(),
    Params::modular_26_t4().whole(),
    Params::modular_26_t8().whole(),
];

/// Vectors of the set's kind, their encoding and a client.
struct Bed {
    segments: Segments,
    client: Client,
    combination: Combination,
    weights: Vec<Vec<u64>>,
    firsts: Vec<usize>,
    rng: ChaCha12Rng,
}

fn weights(rng: &mut ChaCha12Rng, count: usize, q: u64) -> Vec<u64> {
    (0..count).map(|_| rng.next_u64() % q).collect()
}

impl Bed {
    /// Makes segments with these counts of vectors.
    fn new(params: &Params, dim: usize, counts: &[usize]) -> Self {
        let mut rng = ChaCha12Rng::from_seed([3; 32]);
        let mut bed = Self {
            segments: Segments::new(params, SEED, dim).unwrap(),
            client: Client::empty(params, SEED, dim).unwrap(),
            combination: Combination::empty(params, dim).unwrap(),
            weights: Vec::new(),
            firsts: Vec::new(),
            rng: ChaCha12Rng::from_seed([4; 32]),
        };
        for &count in counts {
            let (database, hint) = match params.log_p() {
                Some(log_p) => bed
                    .segments
                    .encode_modular(&residues(&mut rng, count * dim, log_p)),
                None => bed.segments.encode(&unit_vectors(&mut rng, count, dim)),
            }
            .unwrap();
            let weights = weights(&mut rng, count, params.modulus());
            let combination = database.combination(&weights).unwrap();
            let read = Combination::from_bytes(&combination.to_bytes()).unwrap();
            bed.combination.add(&read).unwrap();
            let per = params.block_vectors();
            bed.firsts.push(bed.segments.len().next_multiple_of(per));
            bed.weights.push(weights);
            bed.segments.push(database.into()).unwrap();
            bed.client.extend(&hint).unwrap();
        }
        bed
    }

    fn ask(&mut self) -> (Query, Reply) {
        let (params, dim) = (*self.client.params(), self.client.dim());
        let rng = &mut self.rng;
        let (_, query) = match params.log_p() {
            Some(log_p) => {
                let query = integer_query(rng, dim, log_p);
                self.client.encrypt_modular(rng, &query).unwrap()
            }
            None => {
                let query = unit_vectors(rng, 1, dim);
                self.client.encrypt(rng, &query).unwrap()
            }
        };
        let reply = self.segments.score_batch(std::slice::from_ref(&query));
        (query, reply.unwrap().remove(0))
    }

    fn holds(&self, query: &Query, reply: &Reply) -> bool {
        let q = self.client.params().modulus();
        let parts = self.firsts.iter().zip(&self.weights);
        let sums = parts.map(|(&first, weights)| reply.weighted(first, &[weights]).unwrap()[0]);
        sums.fold(0, |sum, x| (sum + x) % q) == self.combination.of(query).unwrap()
    }
}

/// Changes the answers in a reply. They are packed numbers of `bits` bits after the head.
fn changed(reply: &Reply, change: impl Fn(&mut Vec<u64>)) -> Result<Reply, Error> {
    let bits = 64 - reply.params().modulus().leading_zeros() as usize;
    let mut bytes = reply.to_bytes();
    let body = &mut bytes[32..];
    let bit = |body: &[u8], at: usize| u64::from(body[at / 8] >> (at % 8) & 1);
    let mut answers: Vec<u64> = (0..reply.len())
        .map(|i| (0..bits).map(|at| bit(body, i * bits + at) << at).sum())
        .collect();
    change(&mut answers);
    body.fill(0);
    for (i, answer) in answers.iter().enumerate() {
        for at in 0..bits {
            body[(i * bits + at) / 8] |= ((answer >> at & 1) as u8) << ((i * bits + at) % 8);
        }
    }
    Reply::from_bytes(&bytes)
}

#[test]
fn combinations_of_honest_answers_hold_and_of_changed_ones_do_not() {
    for params in WHOLE {
        let (dim, q) = (19, params.modulus());
        let per = params.block_vectors();
        let mut bed = Bed::new(&params, dim, &[2 * per + 37, 5, per]);
        for _ in 0..3 {
            let (query, reply) = bed.ask();
            assert!(bed.holds(&query, &reply), "{}", params.name());
            let one = |at: usize, by: u64| {
                let reply = changed(&reply, |answers| answers[at] = (answers[at] + by) % q);
                bed.holds(&query, &reply.unwrap())
            };
            // Changes one answer: the first of each segment or the last of a block, by the smallest
            // amount and by others.
            for at in [0, per - 1, 2 * per + 36, 3 * per + 4, 4 * per, 5 * per - 1] {
                for by in [1, q - 1, q / 2, 1 << 20] {
                    assert!(!one(at, by), "{} {at} {by}", params.name());
                }
            }
            // Positions between segments are unused.
            assert!(one(2 * per + 37, 1));
            let swapped = changed(&reply, |answers| answers.swap(0, 1)).unwrap();
            assert!(!bed.holds(&query, &swapped));
            let (other, _) = bed.ask();
            assert!(!bed.holds(&other, &reply), "answers to another query");
        }
    }
}

#[test]
fn answers_that_are_no_residues_are_refused() {
    for params in WHOLE {
        let q = params.modulus();
        let bed = &mut Bed::new(&params, 3, &[40]);
        let (_, reply) = bed.ask();
        let refused = changed(&reply, |answers| answers[7] = q).unwrap_err();
        assert_eq!(refused, Error::Coefficient { index: 7 });
        assert!(changed(&reply, |answers| answers[7] = q - 1).is_ok());
    }
}

/// Checks the definition: the functional of a vector returns, for each unit query, the vector's
/// answer.
#[test]
fn a_combination_is_the_sum_of_its_definition() {
    for params in [Params::real_t4().whole(), Params::modular_26_t8().whole()] {
        let bed = &mut Bed::new(&params, 5, &[9]);
        let q = u128::from(params.modulus());
        // With weight only at one vector, the sum over two replies is the sum of that vector's
        // answers.
        for v in 0..9 {
            let mut one = vec![0; 9];
            one[v] = 1;
            let (query, reply) = bed.ask();
            let answer = reply.weighted(0, &[&one[..]]).unwrap()[0];
            let twice: Vec<u64> = one.iter().map(|x| 2 * x).collect();
            let both = reply.weighted(0, &[&twice[..], &one]).unwrap();
            assert_eq!(both[1], answer);
            assert_eq!(u128::from(both[0]), 2 * u128::from(answer) % q);
            assert!(bed.holds(&query, &reply));
        }
    }
}

#[test]
fn whole_answers_decrypt_with_less_error() {
    let mut rng = ChaCha12Rng::from_seed([8; 32]);
    let (dim, count) = (128, 600);
    let base = unit_vectors(&mut rng, count, dim);
    let query = unit_vectors(&mut rng, 1, dim);
    let exact = dots(&query, &base);
    for (whole, rounded) in [
        (Params::real_t4().whole(), Params::real_t4()),
        (Params::real_t8().whole(), Params::real_t8()),
    ] {
        let mut error = |params: &Params| {
            let (database, hint) = Database::encode(params, SEED, &base, dim).unwrap();
            let client = client_of(&database, &hint);
            let scores = super::parties::score_real(&mut rng, &database, &client, &query);
            let errors = scores.iter().zip(&exact).map(|(&a, b)| f64::from(a) - b);
            rms(&errors.collect::<Vec<_>>())
        };
        let (less, more) = (error(&whole), error(&rounded));
        let (expected, than) = (whole.statistical_error(dim), rounded.statistical_error(dim));
        assert!(expected < than);
        assert!((less / expected - 1.0).abs() < 0.1, "{less:e} {expected:e}");
        assert!((more / than - 1.0).abs() < 0.1, "{more:e} {than:e}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (params, q) = (
        Params::modular_26_t4().whole(),
        Params::modular_26_t4().whole().modulus(),
    );
    let bed = &mut Bed::new(&params, 4, &[600]);
    let (query, reply) = bed.ask();
    let database = |params: &Params| {
        Database::encode_modular(params, SEED, &[5; 40], 4)
            .unwrap()
            .0
    };
    let refused = database(&params).combination(&[1; 9]).unwrap_err();
    assert!(matches!(
        refused,
        Error::Mismatch {
            what: "weights",
            ..
        }
    ));
    let refused = database(&params).combination(&[q; 10]).unwrap_err();
    assert_eq!(refused, Error::Coefficient { index: 0 });
    let rounded = Params::modular_26_t4();
    assert_eq!(
        database(&rounded).combination(&[1; 10]).unwrap_err(),
        Error::Whole
    );
    assert_eq!(Combination::empty(&rounded, 4).unwrap_err(), Error::Whole);
    assert_eq!(Combination::encoded_len(&rounded, 4), Err(Error::Whole));
    // The first position does not begin a block, there are more weights than answers, or two lists
    // differ in length.
    let one: &[u64] = &[1];
    assert!(reply.weighted(1, &[one]).is_err());
    assert!(reply.weighted(512, &[&[1; 89]]).is_err());
    assert!(reply.weighted(512, &[&[1; 88]]).is_ok());
    assert!(reply.weighted(1024, &[one]).is_err());
    assert!(reply.weighted(0, &[one, &[]]).is_err());
    let other = Combination::empty(&params, 5).unwrap();
    assert!(other.of(&query).is_err() && bed.combination.add(&other).is_err());
    // A change of any byte of a combination's message changes the combination or is refused.
    let bytes = bed.combination.to_bytes();
    assert_eq!(bytes.len(), Combination::encoded_len(&params, 4).unwrap());
    for at in [0, 4, 5, 6, 7, 8, 12] {
        let mut other = bytes.to_vec();
        other[at] ^= 0x40;
        assert!(Combination::from_bytes(&other).is_err(), "byte {at}");
    }
    for len in [0, 15, 16, bytes.len() - 1] {
        assert!(Combination::from_bytes(&bytes[..len]).is_err());
    }
    let mut beyond = bytes.to_vec();
    beyond[16..].fill(0xff);
    let refused = Combination::from_bytes(&beyond).unwrap_err();
    assert_eq!(refused, Error::Coefficient { index: 0 });
}
