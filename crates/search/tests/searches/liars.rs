//! Every kind of lie about scores, in each mode in which a server scores and each way to check it: none is accepted, and no honest reply refused.
//!
//! A few trials of each kind in every run; as many as `SORDINO_LIES` says where it is set (`scripts/long.sh lies` has 100,000 of each). `SORDINO_LIE`
//! chooses kinds, by a word in their names: `SORDINO_LIE=small SORDINO_LIES=100000`. Each lie is at least as large as docs/security promises to refuse
//! but with probability `2^-40`, or `2^-96` where checks are exact; the first, the many small ones and the few
//! are larger by a step or by one change at most.

mod bed; // readers, and a server that lies
mod kinds; // the lies
mod promise; // what is promised to be seen
mod words; // answers in a reply

use sordino_search::Error;
use sordino_search::manifest::Checking;

use bed::{Bed, K};
use kinds::{KINDS, OF_CHECK_ROWS};

/// The number of replies of each kind.
fn trials() -> u64 {
    let few = 6;
    let set = std::env::var("SORDINO_LIES").ok();
    set.map_or(few, |trials| {
        trials.parse().expect("SORDINO_LIES is a number")
    })
}

/// True for the chosen kinds: all, or those with a word in their names.
fn is_chosen(kind: &str) -> bool {
    let word = std::env::var("SORDINO_LIE").unwrap_or_default();
    let known = KINDS.iter().any(|(name, _)| name.contains(&word));
    assert!(known, "SORDINO_LIE is a word in the name of a kind");
    kind.contains(&word)
}

/// Tells lies of every kind about each of many searches, and answers each honestly. Where a server stores no check rows there are no
/// lies about these.
fn refused(name: &str, mut bed: Bed, check_rows: bool) {
    let (trials, chosen) = (
        trials(),
        KINDS.into_iter().filter(|(kind, _)| is_chosen(kind)),
    );
    let kinds: Vec<_> = chosen.collect();
    let (found, honest) = bed.ask(3, |_| ());
    assert_eq!(found.expect("hits").len(), K);
    for trial in 0..trials {
        let row = bed.any_row(trial);
        bed.turn();
        for (kind, lie) in &kinds {
            let mut lied = false;
            let (found, exchanges) = bed.ask(row, |liar| lied = lie(liar));
            assert_eq!(exchanges, honest, "{name}, {kind}, {trial}");
            assert_eq!(
                lied,
                check_rows || !OF_CHECK_ROWS.contains(kind),
                "{name}, {kind}"
            );
            if lied {
                let refused = matches!(found, Err(Error::BadReply));
                assert!(refused, "{name}, {kind}, {trial}: {found:?}");
            }
        }
        let (found, exchanges) = bed.ask(row, |_| ());
        assert_eq!(found.expect("hits").len(), K, "{name}, {trial}");
        assert_eq!(exchanges, honest, "{name}, {trial}");
        let told = trial + 1;
        if told == trials || told.is_multiple_of(10_000) {
            println!(
                "{name}: {told} lies of each kind, none accepted, and as many honest replies, none refused"
            );
        }
    }
}

#[test]
fn check_rows_refuse_every_lie() {
    refused("masked, sums", Bed::masked(Checking::Sums), true);
}

#[test]
fn sums_that_readers_hold_refuse_every_lie() {
    refused("open, sums", Bed::open(Checking::Sums), false);
}

#[test]
fn check_rows_of_clusters_refuse_every_lie() {
    refused("routed, sums", Bed::routed(), true);
}

#[test]
fn exact_checks_of_masked_rows_refuse_every_lie() {
    refused("masked, exact", Bed::masked(Checking::Exact), false);
}

#[test]
fn exact_checks_of_open_rows_refuse_every_lie() {
    refused("open, exact", Bed::open(Checking::Exact), false);
}

/// The same lies where nothing checks scores: most of them are believed, so that the tests above can fail.
#[test]
fn without_checks_lies_are_believed() {
    let mut bed = Bed::open(Checking::None);
    for kind in [
        "one word by the least that is seen",
        "suppressed",
        "many small ones",
        "a few just below what one is seen by",
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
