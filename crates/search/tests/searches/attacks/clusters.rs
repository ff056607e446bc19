//! Changed scores of routed mode's clusters: check rows refuse the promised changes, and no honest reply.
//!
//! Routed mode has no index without check rows, so that the same lies are not told there to a client that believes them: those that are small are
//! accepted here, and `lies` has larger ones in open mode without checks.

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_index::checks::balance::{COUNT, PLACES};
use sordino_search::manifest::{Grid, Mode};
use sordino_search::{Client, Error, Exchange, Hit, Server, Vectors, Wish, build};
use sordino_testkit::{Hostile, SCORE, connect, keys, kind, rng};

use super::answers::{Answers, ROUTED_BITS};
use super::bed::{DIM, K, vectors};

const N: usize = 2000;

/// The replies of each kind; the tests `lies` take their number from the environment.
const FEW: u64 = 20;

/// The steps of an answer in 256ths of a step of `P`.
const STEP: f64 = 1024.0;

struct Bed {
    server: Server,
    client: Client,
    vectors: Vectors,
    rng: StdRng,
    grid: Grid,
}

impl Bed {
    fn new() -> Self {
        let vectors = vectors(N);
        let wish = Wish::default().k(K).queries(10);
        let built = build::routed(&mut rng(1), &keys(), &vectors, wish, &mut |_| ());
        let index = built.unwrap().index;
        let Mode::Routed(mode) = &index.manifest().mode else {
            panic!("a routed index");
        };
        let grid = mode.grid;
        let server = Server::new(index).unwrap();
        Self {
            client: connect(&server),
            server,
            vectors,
            rng: rng(7),
            grid,
        }
    }

    /// Searches for a record, with changed answers.
    fn ask(
        &mut self,
        row: usize,
        mut lie: impl FnMut(&mut Answers),
    ) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
        let scores = self.grid.scores();
        let mut server = Hostile::new(&self.server, |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == SCORE {
                let mut answers = Answers::read_routed(reply, scores);
                lie(&mut answers);
                answers.write_routed(reply);
            }
        });
        let query = self.vectors.row(row);
        let found = self.client.search(&mut self.rng, &mut server, query);
        let exchanges = server.inner.take_exchanges();
        (found.map(|found| found.hits), exchanges)
    }

    fn honest(&mut self) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
        let row = self.rng.random_range(0..N);
        self.ask(row, |_| ())
    }

    /// Steps of an answer above what is promised to be seen, half of the tolerance's root.
    #[expect(clippy::cast_possible_truncation, reason = "some hundred steps")]
    fn seen(&self) -> i32 {
        let root = (self.grid.tolerance(DIM) as f64).sqrt();
        (root / 2.0 / STEP).ceil() as i32 + 2
    }

    /// A place of a group, and the first check row of its part.
    fn place(&self, rng: &mut StdRng) -> (usize, usize) {
        let first = rng.random_range(0..self.grid.groups as usize) * self.grid.stored();
        let slots = self.grid.slots as usize;
        let place = rng.random_range(0..slots);
        (first + place, first + slots + place / PLACES * COUNT)
    }

    /// Asks many times. Each reply must be refused, after the messages of an honest search.
    fn refused(&mut self, name: &str, lie: Lie) {
        let (_, honest) = self.honest();
        let seen = self.seen();
        for trial in 0..FEW {
            let chance = &mut rng(trial);
            let (at, grid) = (self.place(chance), self.grid);
            let lied = Lied { at, seen, grid };
            let row = chance.random_range(0..N);
            let (found, exchanges) = self.ask(row, |answers| lie(chance, answers, lied));
            let refused = matches!(found, Err(Error::BadReply));
            assert!(refused, "{name}, {trial}: {found:?}");
            assert_eq!(exchanges, honest, "{name}, {trial}");
        }
    }
}

/// A place of a group, the first check row of its part, and the promised bound.
#[derive(Clone, Copy)]
struct Lied {
    at: (usize, usize),
    seen: i32,
    grid: Grid,
}

fn sign(rng: &mut StdRng) -> i32 {
    if rng.random() { 1 } else { -1 }
}

fn any(rng: &mut StdRng, seen: i32) -> i32 {
    rng.random_range(seen..(1 << ROUTED_BITS) - seen)
}

/// A change of an honest reply's answers.
type Lie = fn(&mut StdRng, &mut Answers, Lied);

/// Every kind of lie, each above the promised bound.
const LIES: [(&str, Lie); 11] = [
    (
        "the least that is promised",
        |rng,
         answers,
         Lied {
             at: (place, _),
             seen,
             ..
         }| {
            answers.add_routed(place, sign(rng) * seen);
        },
    ),
    (
        "any more",
        |rng,
         answers,
         Lied {
             at: (place, _),
             seen,
             ..
         }| {
            answers.add_routed(place, any(rng, seen));
        },
    ),
    (
        "half on each check row",
        |rng,
         answers,
         Lied {
             at: (place, check),
             seen,
             ..
         }| {
            let steps = sign(rng) * seen;
            answers.add_routed(place, 2 * steps);
            (check..check + COUNT).for_each(|at| answers.add_routed(at, steps));
        },
    ),
    (
        "check rows that follow, guessed",
        |rng,
         answers,
         Lied {
             at: (place, check),
             seen,
             ..
         }| {
            let steps = any(rng, seen);
            answers.add_routed(place, steps);
            for at in check..check + COUNT {
                answers.add_routed(at, rng.random_range(0..2) * steps);
            }
        },
    ),
    (
        "half of the window, on check rows too",
        |_,
         answers,
         Lied {
             at: (place, check), ..
         }| {
            let half = 1 << (ROUTED_BITS - 1);
            answers.add_routed(place, half);
            (check..check + COUNT).for_each(|at| answers.add_routed(at, half));
        },
    ),
    ("a constant", |rng, answers, Lied { seen, .. }| {
        let steps = sign(rng) * seen;
        (0..answers.0.len()).for_each(|at| answers.add_routed(at, steps));
    }),
    (
        "a third of the bound everywhere",
        |rng, answers, Lied { seen, .. }| {
            (0..answers.0.len()).for_each(|at| answers.add_routed(at, sign(rng) * seen / 3));
        },
    ),
    ("scaled", |_, answers, _| {
        for answer in &mut answers.0 {
            *answer = answer.wrapping_mul(3);
        }
    }),
    (
        "moved by one",
        |_,
         answers,
         Lied {
             at: (_, check),
             grid,
             ..
         }| {
            answers.0[check - grid.slots as usize..check].rotate_left(1);
        },
    ),
    ("zeros", |_, answers, _| answers.0.fill(0)),
    ("noise", |rng, answers, _| {
        answers.0.fill_with(|| rng.random());
    }),
];

#[test]
fn every_kind_of_lie_about_clusters_is_refused() {
    let mut bed = Bed::new();
    for (name, lie) in LIES {
        bed.refused(name, lie);
    }
}

#[test]
fn honest_replies_are_accepted_and_so_are_small_changes() {
    let mut bed = Bed::new();
    for _ in 0..100 {
        assert_eq!(bed.honest().0.expect("hits").len(), K);
    }
    // An eighth of the promised bound, which is less than the noise of an honest reply.
    let (seen, chance) = (bed.seen(), &mut rng(3));
    for row in 0..20 {
        let (place, _) = bed.place(chance);
        let (found, _) = bed.ask(row, |answers| answers.add_routed(place, seen / 8));
        assert_eq!(found.expect("hits").len(), K);
    }
}

#[test]
fn answers_to_another_query_of_clusters_are_refused() {
    let mut bed = Bed::new();
    let mut before = None;
    let (first, honest) = bed.ask(3, |answers| before = Some(answers.clone()));
    first.expect("hits");
    for row in 0..20 {
        // Each request gets the answer to the request before the last.
        let replay = |answers: &mut Answers| std::mem::swap(answers, before.as_mut().unwrap());
        let (found, exchanges) = bed.ask(row, replay);
        assert!(matches!(found, Err(Error::BadReply)), "{row}");
        assert_eq!(exchanges, honest);
    }
}

/// Chi squared of eleven degrees of freedom: by how much more than by chance the shares of accepted replies differ between twelve
/// queries. The same change is made to the answers of a place of the first group and of its part's first check row, of a size of
/// which about half are refused; `place` says which place, by the query.
fn differing(bed: &mut Bed, place: impl Fn(usize) -> usize) -> f64 {
    const QUERIES: usize = 12;
    const TIMES: usize = 40;
    let (slots, seen) = (bed.grid.slots as usize, bed.seen());
    let mut accepted = |query: usize, steps: i32, times: usize| {
        let at = place(query);
        let asked = (0..times).filter(|_| {
            let (found, _) = bed.ask(query * 163, |answers| {
                answers.add_routed(at, steps);
                answers.add_routed(slots + at / PLACES * COUNT, steps);
            });
            found.is_ok()
        });
        asked.count()
    };
    // Larger changes are accepted less often.
    let (mut low, mut high) = (0, 3 * seen);
    while high - low > 1 {
        let middle = i32::midpoint(low, high);
        let all: usize = (0..QUERIES).map(|query| accepted(query, middle, 6)).sum();
        match all * 2 < QUERIES * 6 {
            true => high = middle,
            false => low = middle,
        }
    }
    let steps = high;
    let found: Vec<f64> = (0..QUERIES)
        .map(|query| accepted(query, steps, TIMES) as f64)
        .collect();
    let mean = found.iter().sum::<f64>() / QUERIES as f64;
    let squares: f64 = found.iter().map(|found| (found - mean).powi(2)).sum();
    squares / (mean * (1.0 - mean / TIMES as f64))
}

/// A selective failure: were the bits of check rows each cluster's own, a server that changes the same place in all replies would be
/// refused more often by some clusters than by others, and see which searches choose the same.
#[test]
fn refusals_do_not_tell_which_cluster_was_chosen() {
    let mut bed = Bed::new();
    // With so many choices, twelve queries do not all choose the same.
    assert!(bed.grid.clusters >= 4, "{:?}", bed.grid);
    let same = differing(&mut bed, |_| 0);
    // One in 100,000 by chance.
    assert!(same < 42.0, "{same}");
    // The bits of another place for each query show, as those of another cluster would.
    let others = differing(&mut bed, |query| query);
    assert!(others > 60.0, "{others}");
}
