//! Locality-sensitive hashing: the recall that a code or a table gives, and the work that it takes.
//!
//! `cargo run --release --example lsh [BASE.npy QUERIES.npy]`: the files hold matrices of type u8 or i8, with a vector
//! in each row. Without files it uses a generated set of clusters.

use std::error::Error;
use std::time::Instant;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_lsh::{
    CrossPolytope, E2Lsh, Family, Kind, Lookup, Nearest, Scratch, Seed, SimHash, SimHashTables,
    Tables,
};

const SEED: Seed = Seed([42; 32]);
const K: usize = 10;

struct Data {
    dim: usize,
    base: Vec<f32>,
    queries: Vec<f32>,
}

impl Data {
    fn count(&self) -> usize {
        self.base.len() / self.dim
    }

    fn row(&self, id: u32) -> &[f32] {
        &self.base[id as usize * self.dim..][..self.dim]
    }

    /// The `K` best of these ids by exact inner product.
    fn best(&self, query: &[f32], ids: impl Iterator<Item = u32>) -> Vec<u32> {
        let score = |id| self.row(id).iter().zip(query).map(|(a, b)| a * b).sum();
        let mut scored: Vec<(f32, u32)> = ids.map(|id| (score(id), id)).collect();
        let k = K.min(scored.len());
        if k > 0 {
            scored.select_nth_unstable_by(k - 1, |a, b| b.0.total_cmp(&a.0));
        }
        scored[..k].iter().map(|(_, id)| *id).collect()
    }
}

/// Scales rows to length 1.
fn normalise(rows: &mut [f32], dim: usize) {
    for row in rows.chunks_exact_mut(dim) {
        let norm = row
            .iter()
            .map(|x| x * x)
            .sum::<f32>()
            .sqrt()
            .max(f32::MIN_POSITIVE);
        row.iter_mut().for_each(|x| *x /= norm);
    }
}

/// Generates 400 clusters in 128 dimensions.
fn generated() -> Data {
    let (dim, count, queries) = (128, 50_000, 300);
    let mut rng = StdRng::seed_from_u64(1);
    let mut gaussian = move || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
    let centres: Vec<f32> = (0..400 * dim).map(|_| gaussian()).collect();
    let mut draw = |n: usize| -> Vec<f32> {
        (0..n * dim)
            .map(|i| centres[i % centres.len()] + 0.7 * gaussian())
            .collect()
    };
    Data {
        dim,
        base: draw(count),
        queries: draw(queries),
    }
}

/// Reads a two-dimensional `.npy` array of u8 or i8.
fn npy(path: &str) -> Result<(usize, Vec<f32>), Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let length = bytes.get(8..10).ok_or("too short")?;
    let end = 10 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    let header = std::str::from_utf8(bytes.get(10..end).ok_or("too short")?)?;
    let shape = header.split(['(', ')']).nth(1).ok_or("no shape")?;
    let shape: Vec<usize> = shape
        .split(',')
        .map(|n| n.trim().parse())
        .collect::<Result<_, _>>()?;
    let [rows, dim] = shape[..] else {
        return Err("not two-dimensional".into());
    };
    let values = bytes.get(end..end + rows * dim).ok_or("too short")?;
    let float = match header {
        _ if header.contains("|u1") => |byte: &u8| f32::from(*byte),
        _ if header.contains("|i1") => |byte: &u8| f32::from(byte.cast_signed()),
        _ => return Err("neither u8 nor i8".into()),
    };
    Ok((dim, values.iter().map(float).collect()))
}

fn load() -> Result<Data, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut data = match (args.next(), args.next()) {
        (Some(base), Some(queries)) => {
            let ((dim, base), (query_dim, mut queries)) = (npy(&base)?, npy(&queries)?);
            if dim != query_dim {
                return Err(format!("{dim} and {query_dim} dimensions").into());
            }
            queries.truncate(300 * dim);
            Data { dim, base, queries }
        }
        _ => generated(),
    };
    normalise(&mut data.base, data.dim);
    normalise(&mut data.queries, data.dim);
    Ok(data)
}

fn recall(found: &[u32], truth: &[u32]) -> f64 {
    let hits = found.iter().filter(|id| truth.contains(id)).count();
    hits as f64 / truth.len() as f64
}

/// Prints the recall of exact scores over the nearest codes, by code length and number of
/// candidates.
fn codes(data: &Data, truth: &[Vec<u32>]) -> Result<(), Box<dyn Error>> {
    println!("recall@{K} of exact scores over the C nearest codes");
    println!(
        "{:>22} {:>7} {:>7} {:>7} {:>7} {:>14}",
        "", "C=10", "C=50", "C=200", "C=1000", "time of C=200"
    );
    for (name, kind) in [
        ("rotation", Kind::Rotation),
        ("hyperplanes", Kind::Hyperplanes),
    ] {
        for bits in [64, 128, 256, 512, 1024] {
            let hash = SimHash::new(data.dim, bits, kind, SEED)?;
            let codes = hash.par_hash_batch(&data.base)?;
            let (mut scratch, mut room) = (Scratch::default(), Nearest::default());
            let mut code = vec![0; bits / 64];
            print!("{:>22}", format!("{name} {bits} bits"));
            let mut time = String::new();
            for candidates in [10, 50, 200, 1000] {
                let (mut sum, mut spent) = (0.0, vec![]);
                for (query, truth) in data.queries.chunks_exact(data.dim).zip(truth) {
                    let start = Instant::now();
                    hash.hash_into(query, &mut scratch, &mut code)?;
                    let near = codes.nearest(&code, candidates, &mut room)?;
                    spent.push(start.elapsed());
                    let found = data.best(query, near.iter().map(|near| near.index));
                    sum += recall(&found, truth);
                }
                print!(" {:>7.3}", sum / truth.len() as f64);
                if candidates == 200 {
                    spent.sort_unstable();
                    time = format!("{:.0?}", spent[spent.len() / 2]);
                }
            }
            println!(" {time:>14}");
        }
    }
    Ok(())
}

/// Prints the recall and the work of one family's tables, by number of probes.
fn tables<F: Family>(
    name: &str,
    family: F,
    data: &Data,
    truth: &[Vec<u32>],
) -> Result<(), Box<dyn Error>> {
    let tables = Tables::build(family, &data.base)?;
    let mut room = Lookup::default();
    print!("{name:>34}");
    for probes in [1, 4, 16, 64] {
        let (mut sum, mut seen) = (0.0, 0);
        for (query, truth) in data.queries.chunks_exact(data.dim).zip(truth) {
            let candidates = tables.candidates(query, probes, &mut room)?;
            seen += candidates.len();
            sum += recall(&data.best(query, candidates.iter().copied()), truth);
        }
        let share = 100.0 * seen as f64 / (truth.len() * data.count()) as f64;
        print!(" {:>8}", format!("{:.3}", sum / truth.len() as f64));
        print!(" {:>7}", format!("{share:.2}%"));
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let data = load()?;
    let all = 0..u32::try_from(data.count())?;
    let queries = data.queries.chunks_exact(data.dim);
    let truth: Vec<Vec<u32>> = queries.map(|query| data.best(query, all.clone())).collect();
    println!(
        "{} vectors of {} floats, {} queries, cosine\n",
        data.count(),
        data.dim,
        truth.len()
    );

    codes(&data, &truth)?;

    println!(
        "\nrecall@{K} of exact scores over the vectors in the probed buckets, and their share"
    );
    print!("{:>34}", "");
    for probes in [1, 4, 16, 64] {
        print!(" {:>16}", format!("{probes} per table"));
    }
    println!();
    let d = data.dim;
    tables(
        "SimHash, 8 tables of 14 bits",
        SimHashTables::new(d, 8, 14, Kind::Rotation, SEED)?,
        &data,
        &truth,
    )?;
    tables(
        "SimHash, 1 table of 10 bits",
        SimHashTables::new(d, 1, 10, Kind::Rotation, SEED)?,
        &data,
        &truth,
    )?;
    tables(
        "cross-polytope, 8 tables of 2",
        CrossPolytope::new(d, 8, 2, SEED)?,
        &data,
        &truth,
    )?;
    tables(
        "E2LSH, 8 tables of 8, width 2",
        E2Lsh::new(d, 8, 8, 2.0, SEED)?,
        &data,
        &truth,
    )?;
    println!("\nA party that sees a code or the buckets of a query learns where the query is.");
    Ok(())
}
