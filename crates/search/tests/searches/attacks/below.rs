//! Changes below the tolerance by a server that knows the nearest row and lowers its score: the table of
//! docs/security/masked.md. Checks do not refuse such changes. The test measures their effect.

use sordino_index::checks;
use sordino_search::manifest::Packing;
use sordino_search::vectors::dot;
use sordino_search::{Client, Id, Server, Vectors, build, synthetic};
use sordino_testkit::{Hostile, SCORE, connect, keys, kind, rng};

use super::answers::Answers;

const PACKING: Packing = Packing::T8;
const FOUND: usize = 10;
const QUERIES: usize = 100;

/// The number of steps of the tolerance in one step of an answer, which has 15 of the modulus' 26
/// bits.
const STEP: f64 = 2048.0;

/// Changes relative to the tolerance `T`, and whether a part of the change is made to the group's check rows. If a change
/// above `T` is made to the row alone, half of these replies are refused. The server does not know the sign of the row in
/// the checks, and does not wait for a refusal to learn it.
const CHANGES: [(f64, bool); 4] = [(0.6, false), (1.0, false), (1.2, true), (1.6, true)];

struct Bed {
    server: Server,
    client: Client,
    /// The place of each row.
    places: Vec<usize>,
    n: usize,
    dim: usize,
}

impl Bed {
    fn new(base: &Vectors) -> Self {
        let (n, dim) = (base.len(), base.dim());
        let index = build::masked(&mut rng(1), &keys(), base, FOUND, PACKING, &mut |_| ()).unwrap();
        let segment = index.manifest().segments()[0].clone();
        let order = keys().shared().row_order(&segment.id, segment.n);
        let mut places = vec![0; n];
        for place in 0..segment.n {
            places[order.row(place) as usize] = place as usize;
        }
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        Self {
            server,
            client,
            places,
            n,
            dim,
        }
    }

    /// The tolerance, in steps of an answer.
    fn tolerance(&self) -> f64 {
        let count = checks::count(self.n, self.dim);
        f64::from(checks::tolerance(&PACKING.masked(), self.dim, count)) / STEP
    }

    /// Searches while the server lowers the row's answer by `lowered` steps and moves the answers of its group's check rows
    /// by `moved`. Returns the row's score if the row is found. Returns `None` if the reply is refused.
    fn finds(&self, query: &[f32], row: usize, lowered: i32, moved: i32) -> Option<Option<f32>> {
        let stored = checks::stored(self.n, self.dim);
        let place = self.places[row];
        let first = self.n + place / checks::group(self.dim) * checks::COUNT;
        let mut lying = Hostile::new(&self.server, |request, reply| {
            if kind(request) == SCORE {
                let mut answers = Answers::read(reply, stored);
                answers.add(place, -lowered);
                for check in first..first + checks::COUNT {
                    answers.add(check, moved);
                }
                answers.write(reply);
            }
        });
        let found = self.client.search(&mut rng(2), &mut lying, query).ok()?;
        let is_it = |id: &Id| id.number() == Some(row as u64);
        let hit = found.hits.iter().find(|hit| is_it(&hit.id));
        Some(hit.map(|hit| hit.score))
    }
}

/// The rows in the order of their cosine with the query, the nearest first.
fn nearest(base: &Vectors, query: &[f32]) -> Vec<(f32, usize)> {
    let cosine = |row: &[f32]| dot(row, query) / (dot(row, row) * dot(query, query)).sqrt();
    let mut all: Vec<_> = base.rows().map(cosine).zip(0..).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// Named sets of vectors and queries: generated sets, and the files that `SORDINO_BASE` and `SORDINO_QUERIES`
/// name.
fn sets() -> Vec<(String, Vectors, Vectors)> {
    let mut sets = Vec::new();
    for dim in [128, 384] {
        let (base, queries) = synthetic::clustered(20_000, QUERIES, dim, 4);
        sets.push(("clustered".to_owned(), base, queries));
    }
    let named = |variable| std::env::var_os(variable).map(std::path::PathBuf::from);
    if let (Some(base), Some(queries)) = (named("SORDINO_BASE"), named("SORDINO_QUERIES")) {
        let [vectors, queries] = [&base, &queries].map(|path| Vectors::open(path).unwrap());
        sets.push((base.display().to_string(), vectors, queries));
    }
    sets
}

/// Run with --release and --nocapture.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a hundred of them")]
#[ignore = "a measurement, whose numbers are in docs/security/masked.md"]
fn what_lies_below_the_tolerance_moves_few_results() {
    for (name, base, queries) in sets() {
        let bed = Bed::new(&base);
        let (tolerance, count) = (bed.tolerance(), queries.len().min(QUERIES));
        eprintln!(
            "{name}, {} x {}: T = {tolerance:.1} steps of an answer",
            bed.n, bed.dim
        );
        for (part, on_checks) in CHANGES {
            #[expect(clippy::cast_possible_truncation, reason = "some hundreds of steps")]
            let steps = (part * tolerance).round() as i32;
            let (mut lost, mut refused, mut honest, mut near, mut drops) = (0, 0, 0, 0, Vec::new());
            for query in queries.rows().take(count) {
                let all = nearest(&base, query);
                let row = all[0].1;
                let before = bed.finds(query, row, 0, 0).flatten();
                honest += usize::from(before.is_some());
                // The sign is one bit, which one refusal reveals. So the server tries both signs.
                let moved = if on_checks { steps / 2 } else { 0 };
                let found = bed.finds(query, row, steps, moved);
                match found.or_else(|| bed.finds(query, row, steps, -moved)) {
                    None => refused += 1,
                    Some(None) => lost += 1,
                    Some(after) => drops.extend(before.zip(after).map(|(a, b)| a - b)),
                }
                let drop = drops.iter().sum::<f32>() / drops.len() as f32;
                let others = all[FOUND..].iter();
                near += others
                    .take_while(|it| all[FOUND - 1].0 - it.0 < drop)
                    .count();
            }
            let drop = drops.iter().sum::<f32>() / drops.len() as f32;
            eprintln!(
                "lowered by {part} T = {drop:.4}: the true nearest is out of the ten in {lost} of {count}, refused in {refused}; as much more \
                 brings {} others into the ten; honest replies have it in {honest}",
                near / count
            );
        }
    }
}
