//! The kinds of lies. Each changes a reply's answers. The function returns false if it changed nothing that a
//! check could find.

use rand::prelude::*;
use rand::seq::index;

use super::bed::Liar;

/// A change of an honest reply's answers.
type Lie = fn(&mut Liar<'_>) -> bool;

fn sign(rng: &mut StdRng) -> i64 {
    if rng.random() { 1 } else { -1 }
}

/// A random change anywhere in the window that checks must refuse.
fn any(liar: &mut Liar<'_>) -> i64 {
    let modulus = liar.words.modulus.cast_signed();
    liar.rng
        .random_range(liar.promise.seen..modulus - liar.promise.seen)
}

/// A fraction of the window. A tenth of the window is a fifth of a cosine.
fn part(liar: &Liar<'_>, parts: i64) -> i64 {
    (liar.words.modulus.cast_signed() / parts).max(liar.promise.seen)
}

/// Moves `count` rows of one group by `steps` steps each, up or down.
fn spread(liar: &mut Liar<'_>, (steps, count): (i64, usize)) {
    let group = liar.place.group.clone();
    for row in index::sample(&mut liar.rng, group.len(), count) {
        let steps = sign(&mut liar.rng) * steps;
        liar.words.add(group.start + row, steps);
    }
}

/// Moves a row, and each of its check rows by the steps that `follow` returns.
fn with_checks(
    liar: &mut Liar<'_>,
    steps: i64,
    mut follow: impl FnMut(&mut StdRng) -> i64,
) -> bool {
    if liar.place.checks.is_empty() {
        return false;
    }
    liar.words.add(liar.place.at, steps);
    for check in liar.place.checks.clone() {
        let steps = follow(&mut liar.rng);
        liar.words.add(check, steps);
    }
    true
}

/// Replaces all answers.
fn replaced(liar: &mut Liar<'_>, by: Option<Vec<u64>>) -> bool {
    let changed = by.as_ref().is_some_and(|by| *by != liar.words.all);
    if let Some(by) = by {
        liar.words.all = by;
    }
    changed
}

/// Kinds that change check rows too. They are used if the server stores check rows.
pub(crate) const OF_CHECK_ROWS: [&str; 4] = [
    "a constant, on check rows too",
    "check rows that follow, guessed",
    "check rows that follow by half",
    "half of the window, on check rows too",
];

pub(crate) const KINDS: [(&str, Lie); 19] = [
    ("one word by the least that is seen", |liar| {
        let steps = sign(&mut liar.rng) * liar.promise.seen;
        liar.words.add(liar.place.at, steps);
        true
    }),
    ("one word by any more", |liar| {
        let steps = any(liar);
        liar.words.add(liar.place.at, steps);
        true
    }),
    ("many small ones", |liar| {
        let changes = liar.promise.small(liar.place.group.len());
        spread(liar, changes);
        true
    }),
    ("a few just below what one is seen by", |liar| {
        let (steps, least) = liar.promise.few();
        let count = liar.rng.random_range(least..least + 5);
        spread(liar, (steps, count));
        true
    }),
    ("a constant", |liar| {
        let steps = sign(&mut liar.rng) * liar.promise.seen;
        liar.place
            .rows
            .clone()
            .for_each(|row| liar.words.add(row, steps));
        true
    }),
    ("a constant, on check rows too", |liar| {
        if liar.place.checks.is_empty() {
            return false;
        }
        let steps = sign(&mut liar.rng) * liar.promise.seen;
        (0..liar.words.all.len()).for_each(|row| liar.words.add(row, steps));
        true
    }),
    ("scaled", |liar| {
        for word in &mut liar.words.all {
            *word = *word * 3 % liar.words.modulus;
        }
        true
    }),
    ("swapped rows", |liar| {
        let other = liar.rng.random_range(liar.place.rows.clone());
        let far = |a: u64, b: u64| {
            let apart = a.abs_diff(b);
            apart.min(liar.words.modulus - apart) > 2 * liar.promise.seen.unsigned_abs()
        };
        let Some(other) = (other..liar.place.rows.end)
            .chain(liar.place.rows.clone())
            .find(|&row| far(liar.words.all[liar.place.at], liar.words.all[row]))
        else {
            return false;
        };
        liar.words.all.swap(liar.place.at, other);
        true
    }),
    ("moved by one", |liar| {
        liar.words.all[liar.place.rows.clone()].rotate_left(1);
        true
    }),
    ("zeros", |liar| {
        liar.words.all.fill(0);
        true
    }),
    ("noise", |liar| {
        let modulus = liar.words.modulus;
        liar.words
            .all
            .fill_with(|| liar.rng.random_range(0..modulus));
        true
    }),
    ("suppressed", |liar| {
        let steps = -part(liar, 8);
        liar.words.add(liar.place.at, steps);
        true
    }),
    ("lifted", |liar| {
        let (row, steps) = (
            liar.rng.random_range(liar.place.rows.clone()),
            part(liar, 4),
        );
        liar.words.add(row, steps);
        true
    }),
    ("check rows that follow, guessed", |liar| {
        let steps = any(liar);
        // The liar guesses which check rows contain the record, and with which sign.
        with_checks(liar, steps, |rng| rng.random_range(-1..=1) * steps)
    }),
    ("check rows that follow by half", |liar| {
        let steps = sign(&mut liar.rng) * 2 * liar.promise.seen;
        with_checks(liar, steps, |_| steps / 2)
    }),
    ("half of the window, on check rows too", |liar| {
        let half = liar.words.modulus.cast_signed() / 2;
        with_checks(liar, half, |_| half)
    }),
    ("replayed", |liar| {
        let before = liar.before.all.clone();
        replaced(liar, Some(before))
    }),
    ("answers to another query", |liar| {
        let other = liar.other.all.clone();
        replaced(liar, Some(other))
    }),
    ("of an older version", |liar| {
        let older = liar.older().map(|older| older.all);
        replaced(liar, older)
    }),
];
