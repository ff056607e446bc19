//! Changed scores: check rows refuse the changes that they promise to refuse, and no honest reply. Without check
//! rows, the row of the server's choice comes first.

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_index::checks;
use sordino_search::manifest::Packing;
use sordino_search::{Client, Error, Exchange, Hit, Server, Vectors};
use sordino_testkit::{Hostile, SCORE, connect, kind, rng};

use super::answers::{Answers, BITS};
use super::bed::{DIM, K, masked, open, vectors};

/// Two groups of rows. The second group is incomplete.
pub(crate) const N: usize = 2000;

/// The number of replies of each kind. The tests `lies` let the environment choose this number.
const FEW: u64 = 25;

/// The number of rows that a masked segment stores for these records.
pub(crate) fn stored() -> usize {
    checks::stored(N, DIM)
}

/// The first check row of a row's group.
pub(crate) fn first_check(row: usize) -> usize {
    N + row / checks::group(DIM) * checks::COUNT
}

/// The largest error of a check row in an honest reply, in steps of an answer.
pub(crate) fn tolerance() -> i32 {
    let tolerance = checks::tolerance(&Packing::T4.masked(), DIM, checks::count(N, DIM));
    tolerance.div_ceil(1 << (26 - BITS)).cast_signed()
}

/// The smallest number of steps above twice the tolerance, which checks must refuse.
fn seen() -> i32 {
    2 * tolerance() + 1
}

pub(crate) struct Bed {
    server: Server,
    client: Client,
    vectors: Vectors,
    rng: StdRng,
    /// The number of rows in a reply.
    stored: usize,
}

impl Bed {
    pub(crate) fn masked() -> Self {
        let vectors = vectors(N);
        let server = Server::new(masked(1, &vectors)).unwrap();
        Self::of(server, vectors, stored())
    }

    pub(crate) fn open() -> Self {
        let vectors = vectors(N);
        let server = Server::new(open(1, &vectors)).unwrap();
        Self::of(server, vectors, N)
    }

    fn of(server: Server, vectors: Vectors, stored: usize) -> Self {
        Self {
            client: connect(&server),
            server,
            vectors,
            rng: rng(7),
            stored,
        }
    }

    /// Searches for a record and changes the answers. Returns the result and the exchanges.
    pub(crate) fn ask(
        &mut self,
        row: usize,
        mut lie: impl FnMut(&mut Answers),
    ) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
        let stored = self.stored;
        let mut server = Hostile::new(&self.server, |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == SCORE {
                let mut answers = Answers::read(reply, stored);
                lie(&mut answers);
                answers.write(reply);
            }
        });
        let query = self.vectors.row(row);
        let found = self.client.search(&mut self.rng, &mut server, query);
        let exchanges = server.inner.take_exchanges();
        (found.map(|found| found.hits), exchanges)
    }

    /// Searches for a random record, without a lie.
    fn honest(&mut self) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
        let row = self.rng.random_range(0..N);
        self.ask(row, |_| ())
    }

    /// Repeats a search with this lie. Each search is refused, after the messages of an honest
    /// search.
    fn refused(&mut self, name: &str, lie: Lie) {
        let (_, honest) = self.honest();
        for trial in 0..FEW {
            let chance = &mut rng(trial);
            let row = chance.random_range(0..N);
            let (found, exchanges) = self.ask(row, |answers| lie(chance, answers));
            let refused = matches!(found, Err(Error::BadReply));
            assert!(refused, "{name}, {trial}: {found:?}");
            assert_eq!(exchanges, honest, "{name}, {trial}");
        }
    }
}

fn sign(rng: &mut StdRng) -> i32 {
    if rng.random() { 1 } else { -1 }
}

fn row(rng: &mut StdRng) -> usize {
    rng.random_range(0..N)
}

/// A random change anywhere in the window that checks must refuse.
fn any(rng: &mut StdRng) -> i32 {
    rng.random_range(seen()..(1 << BITS) - seen())
}

/// A change of an honest reply's answers.
type Lie = fn(&mut StdRng, &mut Answers);

/// Every kind of lie. Each is larger than the changes that checks may miss.
const LIES: [(&str, Lie); 13] = [
    ("the least that is promised", |rng, answers| {
        answers.add(row(rng), sign(rng) * seen());
    }),
    ("any more", |rng, answers| answers.add(row(rng), any(rng))),
    ("check rows that follow, guessed", |rng, answers| {
        let (row, steps) = (row(rng), any(rng));
        answers.add(row, steps);
        for check in first_check(row)..first_check(row) + checks::COUNT {
            // The liar guesses which check rows contain the record, and with which sign.
            answers.add(check, rng.random_range(-1..=1) * steps);
        }
    }),
    // If check rows had signs alone, each would change by half of P, whatever the signs are.
    ("half of the window, on check rows too", |rng, answers| {
        let (row, half) = (row(rng), 1 << (BITS - 1));
        answers.add(row, half);
        for check in first_check(row)..first_check(row) + checks::COUNT {
            answers.add(check, half);
        }
    }),
    ("a constant", |rng, answers| {
        let steps = sign(rng) * seen();
        (0..N).for_each(|row| answers.add(row, steps));
    }),
    ("a tenth of the bound everywhere", |rng, answers| {
        (0..N).for_each(|row| answers.add(row, sign(rng) * (seen() / 10)));
    }),
    ("two rows in opposite directions", |rng, answers| {
        let row = rng.random_range(0..N - 1);
        answers.add(row, seen());
        answers.add(row + 1, -seen());
    }),
    ("scaled", |_, answers| {
        for answer in &mut answers.0 {
            *answer = answer.wrapping_mul(3) % (1 << BITS);
        }
    }),
    ("swapped", |rng, answers| {
        // Answers that are close to each other may be swapped, because such a change is small enough to be
        // accepted.
        let apart = |row: usize| {
            let [a, b] = [answers.0[row], answers.0[row + N / 2]].map(i32::from);
            (seen()..=(1 << BITS) - seen()).contains(&(a - b).rem_euclid(1 << BITS))
        };
        let mut row = rng.random_range(0..N / 2);
        while !apart(row) {
            row = rng.random_range(0..N / 2);
        }
        answers.0.swap(row, row + N / 2);
    }),
    ("moved by one", |_, answers| answers.0[..N].rotate_left(1)),
    ("zeros", |_, answers| answers.0.fill(0)),
    ("noise", |rng, answers| {
        answers.0.fill_with(|| rng.random_range(0..1 << BITS));
    }),
    ("suppressed", |rng, answers| {
        answers.add(row(rng), -2 * seen());
    }),
];

#[test]
fn every_kind_of_lie_is_refused() {
    let mut bed = Bed::masked();
    for (name, lie) in LIES {
        bed.refused(name, lie);
    }
}

#[test]
fn honest_replies_are_accepted() {
    let mut bed = Bed::masked();
    for _ in 0..4 * FEW {
        assert_eq!(bed.honest().0.expect("hits").len(), K);
    }
}

#[test]
fn answers_to_another_query_are_refused() {
    let mut bed = Bed::masked();
    let mut before = None;
    let (first, honest) = bed.ask(3, |answers| before = Some(answers.clone()));
    first.expect("hits");
    for row in 0..20 {
        // Each search gets the answers of the search before the last one.
        let replay = |answers: &mut Answers| std::mem::swap(answers, before.as_mut().unwrap());
        let (found, exchanges) = bed.ask(row, replay);
        assert!(matches!(found, Err(Error::BadReply)), "{row}");
        assert_eq!(exchanges, honest);
    }
}

/// The attack that check rows prevent: the server adds seven tenths to the score of a row of its choice.
#[test]
fn without_check_rows_the_servers_row_is_among_the_first() {
    let steps = 11_000;
    let first = |bed: &mut Bed, row: usize| {
        let liked = (row * 7 + 900) % N;
        let (found, _) = bed.ask(row, |answers| answers.add(liked, steps));
        let id = liked as u64;
        found.is_ok_and(|hits| hits.iter().any(|hit| hit.id.number() == Some(id)))
    };
    // Rows of open mode are in the order of their ids. Without sums of rows, only scores that become impossible are refused.
    let mut bed = Bed::open();
    let lifted = (0..20).filter(|&row| first(&mut bed, row)).count();
    assert!(lifted >= 10, "{lifted} of 20");
    let mut bed = Bed::masked();
    for row in 0..20 {
        let (found, _) = bed.ask(row, |answers| answers.add((row * 7 + 900) % N, steps));
        assert!(matches!(found, Err(Error::BadReply)));
    }
}
