//! The time of the steps of a search on one thread: measured constants, and a quick measurement on this machine.
//!
//! Each constant is the time of one unit of work. The number of units depends only on public sizes:
//!
//! | step | side | grows with |
//! |---|---|---|
//! | PIR scan | server | probes x bytes of the matrix |
//! | PIR query and recovery | client | probes x (columns + rows) x n words |
//! | column scores | server | vectors x dimension |
//! | column query, column scores | client | dimension / t polynomials, vectors x t / 2048 blocks |
//! | pads | client | vectors x dimension |
//! | table scan | server | bytes of the table |
//! | table query | client | clusters x dimension words |
//! | plain scores | client | vectors x dimension |
//! | opening buckets | client | vectors x dimension |
//! | centroid scores | client, or both | clusters x dimension, clusters |

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use sordino_ckks::{column, dot};
use sordino_index::Error;
use sordino_index::bucket::Layout;
use sordino_index::code::Codec;
use sordino_lwe as lwe;
use sordino_pir::{Database, Seed, simple};
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::frame::Frame;
use sordino_vault::pad::Pad;
use sordino_vault::purpose::Purpose;
use sordino_vault::quantiser::Entry;
use sordino_vault::residue;
use sordino_vault::seal::Seal;
use sordino_vectors::metric::Metric;
use sordino_vectors::synthetic;
use sordino_vectors::u32_of;
use zeroize::Zeroizing;

/// Nanoseconds of each step's unit of work, on one thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// PIR server: a byte of the matrix, for one query of a batch.
    pub pir_scan: f64,
    /// PIR client: a word of `A` or of the hint, for one query of a batch.
    pub pir_word: f64,
    /// Column packing, server: a stored coordinate.
    pub column_score: f64,
    /// Column packing, client: a polynomial of a query.
    pub column_query: f64,
    /// Column packing, client: a block of scores, 2048 / t vectors.
    pub column_block: f64,
    /// Masked mode, client: a pad's coordinate.
    pub pad: f64,
    /// Routed mode, server: a byte of the table.
    pub table_scan: f64,
    /// Routed mode, client: a word of a query.
    pub table_word: f64,
    /// Client: a coordinate of a plain score, including its part in ranking the vectors.
    pub product: f64,
    /// Client: a coordinate of a bucket that is opened and decoded.
    pub open: f64,
    /// Centroids scored by the client: a coordinate.
    pub centroid: f64,
    /// Centroids scored under encryption, server: a coordinate.
    pub dot_score: f64,
    /// Centroids scored under encryption, client: a centroid.
    pub dot_decrypt: f64,
}

impl Speed {
    /// The constants for one thread of an AMD EPYC of the Zen 5 generation (family 26, model 2) with AVX-512.
    /// [`Self::measure`] gave them in November 2026 with the other processor idle.
    pub const ZEN5: Self = Self {
        pir_scan: 0.0072,
        pir_word: 0.0212,
        column_score: 0.246,
        column_query: 3_760.0,
        column_block: 3_450.0,
        pad: 0.131,
        table_scan: 0.0280,
        table_word: 40.0,
        product: 0.0686,
        open: 0.83,
        centroid: 0.0723,
        dot_score: 1.66,
        dot_decrypt: 26.8,
    };

    /// Measures this machine, for about a second. Parallel steps use the caller's rayon pool. So call it in a pool of
    /// one thread for figures comparable with [`Self::ZEN5`].
    ///
    /// # Errors
    /// [`Error`] if memory is refused.
    pub fn measure() -> Result<Self, Error> {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let (pir_scan, pir_word) = pir(&mut rng)?;
        let (column_score, column_query, column_block) = columns(&mut rng)?;
        let (dot_score, dot_decrypt) = centroids(&mut rng)?;
        let (product, open, centroid) = local();
        let codes: Vec<i32> = residue::codes(synthetic::uniform(1, DIM, 1).row(0)).collect();
        let pads = Pad::new(Zeroizing::new([1; 32]), 1);
        let (table_scan, table_word) = table(&mut rng)?;
        let mut products = vec![0; N];
        let pad = shortest(|| pads.products(&codes, &mut products)).each(N * DIM);
        Ok(Self {
            pir_scan,
            pir_word,
            column_score,
            column_query,
            column_block,
            pad,
            table_scan,
            table_word,
            product,
            open,
            centroid,
            dot_score,
            dot_decrypt,
        })
    }
}

/// The sizes of the measured steps.
const N: usize = 1 << 15;
const DIM: usize = 128;
const PROBES: usize = 16;

/// The number of runs of each step.
const RUNS: usize = 3;

/// The shortest run of a step, in nanoseconds. Disturbances only make runs longer.
struct Shortest(f64);

impl Shortest {
    fn new() -> Self {
        Self(f64::INFINITY)
    }

    fn time<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = step();
        self.0 = self.0.min(start.elapsed().as_secs_f64() * 1e9);
        made
    }

    /// Nanoseconds of each unit.
    fn each(&self, units: usize) -> f64 {
        self.0 / units as f64
    }
}

/// The shortest run of a step that needs no preparation.
fn shortest(mut step: impl FnMut()) -> Shortest {
    let mut shortest = Shortest::new();
    for _ in 0..RUNS {
        shortest.time(&mut step);
    }
    shortest
}

fn pir(rng: &mut ChaCha20Rng) -> Result<(f64, f64), Error> {
    // The matrix has only 8 MB, because computing a hint takes a thousand times as long as a scan.
    let params = sordino_pir::Params::for_columns(1024, 8192)?;
    let bytes: Vec<u8> = (0..8usize << 20).map(|at| at.to_le_bytes()[0]).collect();
    let seed = Seed([1; 32]);
    let (server, hint) =
        simple::Server::setup(Database::from_slice(&params, &bytes)?, &params, &seed)?;
    let client = simple::Client::new(&params, &seed, &hint)?;
    let [mut asks, mut scan, mut recovers] = [(); 3].map(|()| Shortest::new());
    for _ in 0..RUNS {
        let (secrets, queries) = asks.time(|| client.query_batch(rng, &[0; PROBES]))?;
        let answers = scan.time(|| server.answer_batch(&queries))?;
        black_box(recovers.time(|| client.recover_batch(secrets, &answers))?);
    }
    let words = PROBES * (params.columns() + params.rows()) * params.n();
    let bytes = PROBES * params.rows() * params.columns();
    Ok((scan.each(bytes), asks.each(words) + recovers.each(words)))
}

fn columns(rng: &mut ChaCha20Rng) -> Result<(f64, f64, f64), Error> {
    let params = column::Params::modular_26_t4();
    let codes: Vec<i32> = residue::codes(synthetic::uniform(N, DIM, 1).as_slice()).collect();
    let (database, hint) = column::Database::encode_modular(&params, [1; 32], &codes, DIM)?;
    let client = column::Client::new(&params, [1; 32], DIM, N, &hint)?;
    let query = &codes[..DIM];
    let [mut asks, mut scores, mut reads] = [(); 3].map(|()| Shortest::new());
    for _ in 0..RUNS {
        let (secret, query) = asks.time(|| client.encrypt_modular(rng, query))?;
        let reply = scores.time(|| database.score(&query))?;
        black_box(reads.time(|| client.decrypt_modular(secret, &reply))?);
    }
    Ok((
        scores.each(N * DIM),
        asks.each(DIM.div_ceil(params.t())),
        reads.each(blocks(N, &params)),
    ))
}

fn table(rng: &mut ChaCha20Rng) -> Result<(f64, f64), Error> {
    let (params, seed) = (lwe::Params::module_1536(), Seed([1; 32]));
    // A table of 38 MB, which is more than the processor's caches hold, in memory that was written before.
    let shape = lwe::Shape::new(16, 512, 2048)?;
    let mut table = lwe::Table::zeroed(&params, shape, &seed);
    let ones = vec![1; shape.columns()];
    (0..shape.answers()).try_for_each(|row| table.set(row, &ones))?;
    let client = lwe::Client::new(&params, shape, &seed);
    let message = vec![1; shape.words()];
    let [mut asks, mut scans] = [(); 2].map(|()| Shortest::new());
    for _ in 0..RUNS {
        let (_, query) = asks.time(|| client.query(rng, &message))?;
        black_box(scans.time(|| table.answer(&query))?);
    }
    Ok((scans.each(shape.scanned_len()), asks.each(shape.words())))
}

fn centroids(rng: &mut ChaCha20Rng) -> Result<(f64, f64), Error> {
    const CENTROIDS: usize = 2048;
    let params = dot::Params::rlwe_2048_50();
    let vectors = synthetic::uniform(CENTROIDS, DIM, 1);
    let database = dot::Plaintexts::encode(&params, vectors.as_slice(), DIM)?;
    let [mut scores, mut reads] = [(); 2].map(|()| Shortest::new());
    for _ in 0..RUNS {
        let (secret, query) = dot::encrypt(rng, &params, vectors.row(0))?;
        let reply = scores.time(|| database.score(&query))?;
        black_box(reads.time(|| secret.decrypt(CENTROIDS, &reply))?);
    }
    Ok((scores.each(CENTROIDS * DIM), reads.each(CENTROIDS)))
}

fn local() -> (f64, f64, f64) {
    let vectors = synthetic::uniform(1024, DIM, 1);
    let layout = Layout {
        dim: u32_of(DIM),
        slots: 1024,
        codec: Codec::Int8,
    };
    let frame = Frame::origin(Metric::Cosine, [1; 32], DIM);
    let entry = |(row, residual)| Entry {
        row,
        base: 0,
        scale: 0.0,
        residual,
        unit: &[],
    };
    let entries: Vec<Entry<'_>> = (0..).zip(vectors.rows()).map(entry).collect();
    let seal = Seal::new(&[1; 32], Purpose::Bucket, [1; 16], 1);
    let sealed = BucketCodec(layout).seal(&seal, 0, &BucketCodec(layout).write(&[], &entries));
    let open = shortest(|| {
        let mut opened = DecodedRows::default();
        let _ = BucketCodec(layout).open(&seal, 0, &sealed, &frame, &mut opened);
        black_box(&opened);
    });

    let centroid = shortest(|| {
        let scores = vectors
            .rows()
            .map(|row| sordino_vectors::dot(row, vectors.row(0)));
        black_box(scores.sum::<f32>());
    });
    let vectors = synthetic::uniform(N, DIM, 2);
    let mut opened = DecodedRows::default();
    (0..)
        .zip(vectors.rows())
        .for_each(|(id, row)| opened.push(&frame, id, 0, row));
    let asked = frame.ask_for(vectors.row(0)).expect("not zero");
    let product = shortest(|| {
        black_box(opened.nearest_of_all(&asked, |_| true, 10));
    });
    (
        product.each(N * DIM),
        open.each(1024 * DIM),
        centroid.each(1024 * DIM),
    )
}

/// Blocks of scores that column packing makes for `n` vectors.
pub(super) fn blocks(n: usize, params: &column::Params) -> usize {
    n.div_ceil(params.degree() / params.t())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The speed of a machine says nothing about the code, so the test checks only what holds on every machine. Every
    /// figure is positive and finite, and a pass over bytes is not slower than a decryption.
    #[test]
    fn a_machine_can_be_measured() {
        let speed = Speed::measure().unwrap();
        let Speed {
            pir_scan,
            pir_word,
            column_score,
            column_query,
            column_block,
            pad,
            table_scan,
            table_word,
            product,
            open,
            centroid,
            dot_score,
            dot_decrypt,
        } = speed;
        let all = [
            pir_scan,
            pir_word,
            column_score,
            column_query,
            column_block,
            pad,
            table_scan,
            table_word,
            product,
            open,
            centroid,
            dot_score,
            dot_decrypt,
        ];
        assert!(
            all.iter().all(|time| time.is_finite() && *time > 0.0),
            "{speed:?}"
        );
        assert!(
            product < column_block && pir_scan < dot_decrypt,
            "{speed:?}"
        );
    }
}
