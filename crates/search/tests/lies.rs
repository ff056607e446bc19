//! A server that lies about scores: check rows refuse what they promise to refuse, and no honest reply.
//!
//! `SORDINO_TRIALS` is the number of replies of each kind, 40 without it.

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_index::checks;
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Error, Exchange, Hit, InProcess, OwnerKeys, Server, Transport, Vectors, build,
    synthetic,
};

const DIM: usize = 16;
/// Two groups of rows, of which the second is not whole.
const N: usize = 2000;
/// Bits of an answer.
const ANSWER: usize = 15;
/// The kind of request that is answered with scores.
const SCORE: u16 = 105;

fn trials() -> u64 {
    let trials = std::env::var("SORDINO_TRIALS").ok();
    trials.map_or(40, |text| text.parse().expect("a number of trials"))
}

fn keys() -> OwnerKeys {
    OwnerKeys::from_master([8; 32])
}

fn vectors() -> Vectors {
    synthetic::clustered(N, 1, DIM, 4).0
}

fn server() -> Server {
    let mut rng = StdRng::seed_from_u64(1);
    let index = build::masked(&mut rng, &keys(), &vectors(), 5, Packing::T4, &mut |_| ());
    Server::new(index.expect("an index")).expect("a server")
}

/// The answers of a reply: its last bytes.
struct Answers(Vec<u16>);

impl Answers {
    fn positions() -> usize {
        checks::stored(N, DIM)
    }

    fn len() -> usize {
        (ANSWER * Self::positions()).div_ceil(8)
    }

    fn read(reply: &[u8]) -> Self {
        let body = &reply[reply.len() - Self::len()..];
        let bit = |at: usize| u16::from(body[at / 8] >> (at % 8) & 1);
        let answer = |i: usize| (0..ANSWER).map(|at| bit(ANSWER * i + at) << at).sum();
        Self((0..Self::positions()).map(answer).collect())
    }

    fn write(&self, reply: &mut [u8]) {
        let start = reply.len() - Self::len();
        let body = &mut reply[start..];
        body.fill(0);
        for (i, answer) in self.0.iter().enumerate() {
            for at in 0..ANSWER {
                let place = ANSWER * i + at;
                body[place / 8] |= ((answer >> at & 1) as u8) << (place % 8);
            }
        }
    }

    /// Moves an answer by this many steps mod 2^15.
    fn add(&mut self, position: usize, steps: i32) {
        let moved = i32::from(self.0[position]) + steps;
        self.0[position] = moved.rem_euclid(1 << ANSWER).try_into().expect("15 bits");
    }
}

/// A server whose scores are changed.
struct Lying<'a, F> {
    inner: InProcess<'a>,
    lie: F,
}

impl<F: FnMut(&mut Vec<u8>)> Transport for Lying<'_, F> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let mut reply = self.inner.call(request, limit)?;
        if u16::from_le_bytes([request[6], request[7]]) == SCORE {
            (self.lie)(&mut reply);
        }
        Ok(reply)
    }
}

struct Bed {
    server: Server,
    client: Client,
    vectors: Vectors,
    rng: StdRng,
}

impl Bed {
    fn new() -> Self {
        let server = server();
        let client = Client::connect(&mut InProcess::new(&server), &keys().reader(), None);
        Self {
            client: client.expect("a client"),
            server,
            vectors: vectors(),
            rng: StdRng::seed_from_u64(7),
        }
    }

    fn ask(&mut self, lie: impl FnMut(&mut Vec<u8>)) -> (Result<Vec<Hit>, Error>, Vec<Exchange>) {
        let inner = InProcess::new(&self.server);
        let mut transport = Lying { inner, lie };
        let row = self.rng.random_range(0..N);
        let query = self.vectors.row(row);
        let found = self.client.search(&mut self.rng, &mut transport, query);
        let exchanges = transport.inner.take_exchanges();
        (found.map(|found| found.hits), exchanges)
    }

    /// Asks many times, and is refused each time, after the messages of an honest search.
    fn refused(&mut self, name: &str, mut lie: impl FnMut(&mut StdRng, &mut Answers)) {
        let (_, honest) = self.ask(|_| ());
        for trial in 0..trials() {
            let mut rng = StdRng::seed_from_u64(trial);
            let (found, exchanges) = self.ask(|reply| {
                let mut answers = Answers::read(reply);
                lie(&mut rng, &mut answers);
                answers.write(reply);
            });
            assert!(
                matches!(found, Err(Error::Search)),
                "{name}, {trial}: {found:?}"
            );
            assert_eq!(exchanges, honest, "{name}, {trial}");
        }
    }
}

/// Steps of an answer that are above what an honest one is off by, twice the tolerance.
fn seen() -> i32 {
    let tolerance = checks::tolerance(&Packing::T4.masked(), DIM, checks::count(N, DIM));
    (2 * tolerance).div_ceil(1 << (26 - ANSWER)).cast_signed() + 1
}

fn sign(rng: &mut StdRng) -> i32 {
    if rng.random() { 1 } else { -1 }
}

#[test]
fn honest_replies_are_accepted() {
    let mut bed = Bed::new();
    for _ in 0..5 * trials() {
        let (found, _) = bed.ask(|reply| {
            let answers = Answers::read(reply);
            answers.write(reply);
        });
        assert_eq!(found.expect("hits").len(), 5);
    }
}

#[test]
fn one_changed_score_is_refused() {
    let mut bed = Bed::new();
    let seen = seen();
    bed.refused("the least that is promised", |rng, answers| {
        let at = rng.random_range(0..N);
        answers.add(at, sign(rng) * seen);
    });
    bed.refused("any more", |rng, answers| {
        let at = rng.random_range(0..N);
        let steps = rng.random_range(seen..(1 << ANSWER) - seen);
        answers.add(at, steps);
    });
    bed.refused(
        "to the front, with check rows that follow",
        |rng, answers| {
            let at = rng.random_range(0..N);
            let steps = rng.random_range(seen..(1 << ANSWER) - seen);
            answers.add(at, steps);
            let first = N + at / checks::group(DIM) * checks::COUNT;
            for check in first..first + checks::COUNT {
                // The liar guesses which check rows the record is in, and with which sign.
                let guess = rng.random_range(-1..=1);
                answers.add(check, guess * steps);
            }
        },
    );
}

#[test]
fn half_of_the_window_is_refused_although_its_sign_does_not_show() {
    // With signs alone every check row would change by half of P, whatever the signs are.
    let half = 1 << (ANSWER - 1);
    Bed::new().refused("half", |rng, answers| {
        let at = rng.random_range(0..N);
        answers.add(at, half);
        let first = N + at / checks::group(DIM) * checks::COUNT;
        for check in first..first + checks::COUNT {
            answers.add(check, half);
        }
    });
}

#[test]
fn many_changed_scores_are_refused() {
    let mut bed = Bed::new();
    let seen = seen();
    bed.refused("a constant", |rng, answers| {
        let steps = sign(rng) * seen;
        (0..N).for_each(|at| answers.add(at, steps));
    });
    bed.refused("a tenth of the bound everywhere", |rng, answers| {
        (0..N).for_each(|at| answers.add(at, sign(rng) * (seen / 10)));
    });
    bed.refused("two rows in opposite directions", |rng, answers| {
        let at = rng.random_range(0..N - 1);
        answers.add(at, seen);
        answers.add(at + 1, -seen);
    });
    bed.refused("scaled", |_, answers| {
        for answer in &mut answers.0 {
            *answer = answer.wrapping_mul(3) % (1 << ANSWER);
        }
    });
    bed.refused("swapped", |rng, answers| {
        let at = rng.random_range(0..N / 2);
        answers.0.swap(at, at + N / 2);
    });
    bed.refused("zeros", |_, answers| answers.0.fill(0));
    bed.refused("noise", |rng, answers| {
        answers.0.fill_with(|| rng.random_range(0..1 << ANSWER));
    });
}

#[test]
fn answers_to_another_query_are_refused() {
    let mut bed = Bed::new();
    let mut before = None;
    let (first, _) = bed.ask(|reply| before = Some(Answers::read(reply)));
    first.expect("hits");
    bed.refused("replayed", |_, answers| {
        // The one after next gets this one's.
        std::mem::swap(answers, before.as_mut().expect("answers"));
    });
}

#[test]
fn suppressing_a_hit_is_refused() {
    let mut bed = Bed::new();
    let down = -2 * seen();
    bed.refused("suppressed", |rng, answers| {
        let at = rng.random_range(0..N);
        answers.add(at, down);
    });
}
