//! A stolen writer's key that adds unreadable parts. The attacker wants to see, by a refusal, whether a query came near
//! them. Clients read all added parts before any search, so refusals do not depend on queries.

use sordino_search::manifest::Addition;
use sordino_search::{Change, Error, Files, InProcess, Pin, Store};
use sordino_testkit::keys;

use super::bed::Bed;
use crate::readers::bed::{connect, reader, reads};

/// A folder to which mallory has added with an exchanged part. Also returns the versions before and
/// after.
fn poisoned(exchange: impl Fn(&Bed, &mut Addition)) -> (Bed, u64, u64) {
    let mut bed = Bed::new();
    bed.let_write("wren", &[]);
    bed.let_write("mallory", &[]);
    let before = bed.add("wren", 200, None);
    let mut branch = bed.branch(0);
    branch.add("mallory", 300, None);
    let signed = bed.graft(&branch, "mallory", |addition| exchange(&bed, addition));
    let version = signed.unwrap().version;
    (bed, before, version)
}

fn garbage(bed: &Bed, len: u64) -> [u8; 32] {
    let bytes: Vec<u8> = (0..len).map(|at| (at * at % 251) as u8).collect();
    bed.folder().put(&bytes).unwrap()
}

fn blamed<T: std::fmt::Debug>(refused: Result<T, Error>, on: u64) {
    let named = matches!(&refused, Err(Error::Addition(version, _)) if *version == on);
    assert!(named, "{refused:?}");
}

/// What mallory exchanges, whether a reader notices, and how it is exchanged.
type Exchange = (&'static str, bool, fn(&Bed, &mut Addition));

const EXCHANGES: [Exchange; 3] = [
    ("pages", true, |bed, addition| {
        let payloads = addition.payloads.as_mut().unwrap();
        payloads.content = garbage(bed, payloads.content_part().len);
    }),
    ("attributes", true, |bed, addition| {
        let coded = addition.segments[0].segment.attributes.as_mut().unwrap();
        coded.digest = garbage(bed, coded.len);
    }),
    // Only servers read rows, so readers cannot notice.
    ("rows", false, |bed, addition| {
        let segment = &mut addition.segments[0];
        let len = 40 * bed.manifest().stored_dim() as u64;
        segment.segment.rows = garbage(bed, len);
    }),
];

#[test]
fn what_does_not_open_is_refused_before_any_search_and_before_the_owner_signs_it() {
    for (what, seen, exchange) in EXCHANGES {
        let (mut bed, before, version) = poisoned(exchange);
        let rng = &mut bed.rng();
        if seen {
            let server = bed.server();
            for name in ["alice", "bob"] {
                blamed(connect(&server, &reader(name)).map(drop), version);
            }
        }
        let mut store = Store::open(bed.path(), &keys()).unwrap();
        blamed(store.delete(rng, &[0u64]), version);
        blamed(store.compact(rng, &mut |_| ()), version);
        blamed(store.change_access(rng, Change::revoke("mallory")), version);
        blamed(store.verify(), version);
        assert_eq!(store.version(), version, "{what}");
        drop(store);
        // In one version, the owner takes the addition back and removes mallory from the writers.
        let pin = Pin::of(&bed.manifest());
        let revoked = Some("mallory");
        let store = Store::take_back(
            rng,
            Files,
            bed.path(),
            &keys(),
            (before, Some(&pin)),
            revoked,
        );
        assert!(store.unwrap().verify().is_ok());
        assert!(bed.try_add("mallory", 400, None).is_err());
        bed.add("wren", 500, None);
        let server = bed.server();
        connect(&server, &reader("bob"))
            .unwrap()
            .refresh(&mut InProcess::new(&server))
            .unwrap();
        assert_eq!(
            reads(&server, &reader("bob"), &[0, 200, 300, 500]),
            [0, 200, 500],
            "{what}"
        );
    }
}
