//! The kinds of lies: each changes a reply's answers, and is false where a check has nothing that it could change.

use rand::prelude::*;

use crate::bed::Liar;

/// A change of an honest reply's answers.
type Lie = fn(&mut Liar<'_>) -> bool;

fn sign(rng: &mut StdRng) -> i64 {
    if rng.random() { 1 } else { -1 }
}

/// More than is promised to be seen, anywhere in the window.
fn any(liar: &mut Liar<'_>) -> i64 {
    let modulus = liar.words.modulus.cast_signed();
    liar.rng.random_range(liar.seen..modulus - liar.seen)
}

/// A part of the window: a tenth stands for a fifth of a cosine.
fn part(liar: &Liar<'_>, parts: i64) -> i64 {
    (liar.words.modulus.cast_signed() / parts).max(liar.seen)
}

/// Moves a row, and each of its check rows by what `follow` says.
fn with_checks(
    liar: &mut Liar<'_>,
    steps: i64,
    mut follow: impl FnMut(&mut StdRng) -> i64,
) -> bool {
    if liar.checks.is_empty() {
        return false;
    }
    liar.words.add(liar.at, steps);
    for check in liar.checks.clone() {
        let steps = follow(&mut liar.rng);
        liar.words.add(check, steps);
    }
    true
}

/// Puts other answers in the place of all.
fn replaced(liar: &mut Liar<'_>, by: Option<Vec<u64>>) -> bool {
    let changed = by.as_ref().is_some_and(|by| *by != liar.words.all);
    if let Some(by) = by {
        liar.words.all = by;
    }
    changed
}

pub(crate) const KINDS: [(&str, Lie); 18] = [
    ("one word by the least that is seen", |liar| {
        let steps = sign(&mut liar.rng) * liar.seen;
        liar.words.add(liar.at, steps);
        true
    }),
    ("one word by any more", |liar| {
        let steps = any(liar);
        liar.words.add(liar.at, steps);
        true
    }),
    ("many small ones", |liar| {
        for row in liar.rows.clone() {
            let steps = sign(&mut liar.rng) * liar.small;
            liar.words.add(row, steps);
        }
        true
    }),
    ("a constant", |liar| {
        let steps = sign(&mut liar.rng) * liar.seen;
        liar.rows.clone().for_each(|row| liar.words.add(row, steps));
        true
    }),
    ("a constant, on check rows too", |liar| {
        if liar.checks.is_empty() {
            return false;
        }
        let steps = sign(&mut liar.rng) * liar.seen;
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
        let other = liar.rng.random_range(liar.rows.clone());
        let far = |a: u64, b: u64| {
            let apart = a.abs_diff(b);
            apart.min(liar.words.modulus - apart) > 2 * liar.seen.unsigned_abs()
        };
        let Some(other) = (other..liar.rows.end)
            .chain(liar.rows.clone())
            .find(|&row| far(liar.words.all[liar.at], liar.words.all[row]))
        else {
            return false;
        };
        liar.words.all.swap(liar.at, other);
        true
    }),
    ("moved by one", |liar| {
        liar.words.all[liar.rows.clone()].rotate_left(1);
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
        liar.words.add(liar.at, steps);
        true
    }),
    ("lifted", |liar| {
        let (row, steps) = (liar.rng.random_range(liar.rows.clone()), part(liar, 4));
        liar.words.add(row, steps);
        true
    }),
    ("check rows that follow, guessed", |liar| {
        let steps = any(liar);
        // The liar guesses which check rows the record is in, and with which sign.
        with_checks(liar, steps, |rng| rng.random_range(-1..=1) * steps)
    }),
    ("check rows that follow by half", |liar| {
        let steps = sign(&mut liar.rng) * 2 * liar.seen;
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
