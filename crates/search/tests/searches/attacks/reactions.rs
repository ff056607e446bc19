//! Reactions to changed replies: what a server learns when it sees that a reply was refused.
//!
//! Check rows stay the same for the life of a segment. Whether a change near the tolerance passes depends on one sign
//! or one bit. So a server that sees refusals learns a row's part of the sums, and can forge the row's scores from
//! then on (docs/security/masked.md). A client that ends at the first refusal reveals about two of these bits.

use sordino_index::checks::COUNT;
use sordino_search::{Error, Server};
use sordino_testkit::{Hostile, SCORE, connect, kind, rng};

use super::answers::{Answers, BITS};
use super::bed::{DIM, masked, open, open_with_sums, vectors};
use super::lies::{self, Bed, first_check, tolerance};

/// The row that the server wants to forge.
const TARGET: usize = 5;
/// The number of searches for each bit. Noise refuses one of the 40 sums that should pass in about
/// a sixth of the searches.
const TIMES: usize = 4;

/// A row's part of the sums: its sign and its bits.
struct Part {
    sign: i32,
    bits: [bool; COUNT],
}

impl Part {
    /// The steps by which a check row's sum changes if the row changes by `steps`.
    fn follows(&self, check: usize, steps: i32) -> i32 {
        self.sign * steps * i32::from(self.bits[check])
    }
}

/// A reader, and the reactions that the server sees.
struct Victim {
    bed: Bed,
    /// True if the reader ends at the first refusal.
    prudent: bool,
    refusals: usize,
    searches: usize,
}

impl Victim {
    fn new(prudent: bool) -> Self {
        Self {
            bed: Bed::masked(),
            prudent,
            refusals: 0,
            searches: 0,
        }
    }

    /// Whether the reader refuses a reply with a changed row and changed check rows. `None` if the reader
    /// searches no more.
    fn refuses(&mut self, steps: i32, check: impl Fn(usize) -> i32) -> Option<bool> {
        if self.prudent && self.refusals > 0 {
            return None;
        }
        self.searches += 1;
        let row = self.searches % lies::N;
        let (found, _) = self.bed.ask(row, |answers| {
            answers.add(TARGET, steps);
            for at in 0..COUNT {
                answers.add(first_check(TARGET) + at, check(at));
            }
        });
        let refused = matches!(found, Err(Error::BadReply));
        self.refusals += usize::from(refused);
        Some(refused)
    }

    /// True if the reader refuses each of several such replies.
    fn always_refuses(&mut self, steps: i32, check: impl Fn(usize) -> i32) -> Option<bool> {
        for _ in 0..TIMES {
            if !self.refuses(steps, &check)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// The row's part of the sums, or `None` if the reader ends before the server knows it.
    fn part(&mut self) -> Option<Part> {
        // A change of 7/5 of the tolerance exceeds it, and half of that change is below the
        // tolerance.
        let probe = tolerance() * 7 / 5;
        let minus = self.always_refuses(probe, |_| probe / 2)?;
        let sign = if minus { -1 } else { 1 };
        let mut bits = [false; COUNT];
        for (asked, bit) in bits.iter_mut().enumerate() {
            let check = |at| if at == asked { 0 } else { sign * probe / 2 };
            *bit = self.always_refuses(probe, check)?;
        }
        Some(Part { sign, bits })
    }
}

#[test]
fn refusals_that_are_shown_forge_a_row() {
    let mut victim = Victim::new(false);
    let part = victim.part().expect("a reader who goes on");
    // There are 41 questions, and about half of them are refused.
    assert!((10..=TIMES * (COUNT + 1)).contains(&victim.refusals));
    // Lowers the cosine by a third for all queries, so that the row is in no results.
    let less = -(1 << BITS) / 6;
    for _ in 0..10 {
        let refused = victim.refuses(less, |check| part.follows(check, less));
        assert_eq!(refused, Some(false));
    }
}

#[test]
fn a_reader_that_ends_at_the_first_refusal_tells_too_little() {
    let mut victim = Victim::new(true);
    assert!(victim.part().is_none());
    assert_eq!(victim.refusals, 1);
    assert!(victim.searches < 20, "{} searches", victim.searches);
}

/// True if a reply is refused in which row 0's score is raised. The raised score is impossible only for a query
/// for that row.
fn is_refused(server: &Server, stored: usize, query: &[f32], seed: u64) -> bool {
    // The change is 0.02 in a window of 2.05, and a cosine of 1.02 is impossible.
    let steps = (1 << BITS) * 4 / 410 + 1;
    let client = connect(server);
    let mut transport = Hostile::new(server, |request: &[u8], reply: &mut Vec<u8>| {
        if kind(request) == SCORE {
            let mut answers = Answers::read(reply, stored);
            answers.add(0, steps);
            answers.write(reply);
        }
    });
    let found = client.search(&mut rng(seed), &mut transport, query);
    matches!(found, Err(Error::BadReply))
}

/// Suppose that a server of open mode suspects that the query is a certain document. If only the range of scores is checked,
/// a refusal tells the server whether this is true. With sums of rows, such a change is refused for every query.
#[test]
fn a_refusal_tells_if_the_query_is_a_document_without_checks_alone() {
    let vectors = vectors(lies::N);
    let other = [1.0; DIM];
    let server = Server::new(open(1, &vectors)).unwrap();
    for seed in 0..5 {
        assert!(is_refused(&server, lies::N, vectors.row(0), seed));
        assert!(!is_refused(&server, lies::N, &other, seed));
    }
    for (index, stored) in [
        (masked(1, &vectors), lies::stored()),
        (open_with_sums(1, &vectors), lies::N),
    ] {
        let server = Server::new(index).unwrap();
        for query in [vectors.row(0), &other] {
            assert!(is_refused(&server, stored, query, 1));
        }
    }
}
