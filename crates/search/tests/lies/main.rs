//! Every kind of lie about scores, in each mode in which a server scores and each way to check it: none is accepted, and no honest reply refused.
//!
//! A few trials of each kind in every run; as many as `SORDINO_LIES` says where it is set (`scripts/long.sh lies` has 100,000 of each). Each lie is
//! at least as large as docs/security promises to refuse but with probability `2^-40`, or `2^-96` where checks are exact.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

mod bed; // readers, and a server that lies
mod kinds; // the lies
mod words; // answers in a reply

use sordino_search::Error;
use sordino_search::manifest::Checking;

use bed::{Bed, K};
use kinds::KINDS;

/// Replies of each kind.
fn trials() -> u64 {
    let few = 6;
    let set = std::env::var("SORDINO_LIES").ok();
    set.map_or(few, |trials| {
        trials.parse().expect("SORDINO_LIES is a number")
    })
}

/// Tells lies of every kind, and asks honestly as often.
fn refused(name: &str, mut bed: Bed) {
    let trials = trials();
    let (found, honest) = bed.ask(3, |_| ());
    assert_eq!(found.expect("hits").len(), K);
    for (kind, lie) in KINDS {
        let mut told = 0;
        for trial in 0..trials {
            let row = bed.any_row(trial);
            let mut lied = false;
            let (found, exchanges) = bed.ask(row, |liar| lied = lie(liar));
            if !lied {
                // A kind that this check does not have.
                assert_eq!(found.expect("hits").len(), K, "{name}, {kind}");
                break;
            }
            told += 1;
            let refused = matches!(found, Err(Error::Search));
            assert!(refused, "{name}, {kind}, {trial}: {found:?}");
            assert_eq!(exchanges, honest, "{name}, {kind}, {trial}");
        }
        println!("{name}: {kind}: {told} told, none accepted");
    }
    for trial in 0..trials {
        let row = bed.any_row(trial);
        let (found, exchanges) = bed.ask(row, |_| ());
        assert_eq!(found.expect("hits").len(), K, "{name}, {trial}");
        assert_eq!(exchanges, honest, "{name}, {trial}");
    }
    println!("{name}: {trials} honest replies, none refused");
}

#[test]
fn check_rows_refuse_every_lie() {
    refused("masked, sums", Bed::masked(Checking::Sums));
}

#[test]
fn sums_that_readers_hold_refuse_every_lie() {
    refused("open, sums", Bed::open(Checking::Sums));
}

#[test]
fn check_rows_of_clusters_refuse_every_lie() {
    refused("routed, sums", Bed::routed());
}

#[test]
fn exact_checks_of_masked_rows_refuse_every_lie() {
    refused("masked, exact", Bed::masked(Checking::Exact));
}

#[test]
fn exact_checks_of_open_rows_refuse_every_lie() {
    refused("open, exact", Bed::open(Checking::Exact));
}

/// The same lies where nothing checks scores: most of them are believed, so that the tests above can fail.
#[test]
fn without_checks_lies_are_believed() {
    let mut bed = Bed::open(Checking::None);
    for kind in [
        "one word by the least that is seen",
        "suppressed",
        "many small ones",
    ] {
        let (_, lie) = KINDS.iter().find(|(name, _)| *name == kind).unwrap();
        let accepted = (0..20).filter(|&trial| {
            let row = bed.any_row(trial);
            let (found, _) = bed.ask(row, |liar| assert!(lie(liar)));
            found.is_ok()
        });
        assert!(accepted.count() >= 10, "{kind}");
    }
}
