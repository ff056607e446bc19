//! `sordino keys grant`, `revoke`, `group` and `list`, and what readers of their own then find.

use crate::binary::{done, failed, json};
use crate::place::{Place, npy, part};
use std::fs;

/// An index with readers of its own: bob, and alice who is in a group. What was added has ids from 2000 on.
pub(crate) fn place() -> Place {
    let place = Place::new();
    for name in ["alice", "bob"] {
        done(&place.line(&format!(
            "keys new reader-pair @{name}.pair --from @owner.pub"
        )));
        done(&place.line(&format!(
            "keys new reader-public @{name}.pub --from @{name}.pair"
        )));
    }
    done(&place.line("index build @base.npy @i --key @owner.key --own-readers"));
    done(&place.line("keys group @i board --label finance --key @owner.key"));
    done(&place.line("keys grant @i alice --public @alice.pub --group board --key @owner.key"));
    done(&place.line("keys grant @i bob --public @bob.pub --key @owner.key"));
    let more = part(&place.base, 0..3);
    let turned = more.as_slice().iter().map(|x| -x).collect();
    let turned = sordino_search::Vectors::new(more.dim(), turned).unwrap();
    fs::write(place.path("turned.npy"), npy(&turned)).unwrap();
    done(&place.line("index add @i @turned.npy --key @owner.key --label finance"));
    place
}

/// The id that is found first for the vectors that were added.
pub(crate) fn first(place: &Place, key: &str) -> String {
    let found = done(&place.line(&format!("query --index @i --key @{key} --file @turned.npy")));
    let line = found.lines().next().unwrap();
    line.split('\t').nth(2).unwrap().to_owned()
}

#[test]
fn readers_find_what_they_were_granted_and_the_owner_sees_who_can_read_what() {
    let place = place();
    assert_eq!(first(&place, "alice.pair"), "2000");
    assert_ne!(first(&place, "bob.pair"), "2000");
    let list = json(&place.line("keys list @i --key @owner.key"));
    let reads = |at: usize| list["readers"][at]["records"].as_u64();
    assert_eq!((reads(0), reads(1)), (Some(2003), Some(2000)));
    assert_eq!(list["groups"][0]["readers"][0], "alice");
    assert_eq!(list["labels"][1]["records"], 3);
    let shown = json(&place.line("keys show @bob.pub"));
    let digest = shown["public_key_digest"].as_str().unwrap();
    assert_eq!(list["readers"][1]["key"], shown["key"]);
    let key = shown["key"].as_str().unwrap().replace('-', "");
    assert!(digest.starts_with(&key), "{digest} {key}");
    let text = done(&place.line("keys list @i --key @owner.key"));
    assert!(
        text.contains("bob: reads 2000 records; labels none; groups none"),
        "{text}"
    );
    let verified = json(&place.line("index verify @i --key @bob.pair --deep"));
    assert_eq!(verified["records"], 2000);
    // A shared key gives no access here, and a pair opens nothing elsewhere.
    let shared = failed(
        &place.line("query --index @i --key @reader.key --file @turned.npy"),
        1,
    );
    assert!(shared.contains("opens nothing of this index"), "{shared}");
    done(&place.line("index build @base.npy @other --key @owner.key --mode local"));
    let none = failed(
        &place.line("query --index @other --key @bob.pair --file @turned.npy"),
        1,
    );
    assert!(none.contains("opens nothing of this index"), "{none}");
    let plain = done(&place.line("keys list @other --key @owner.key"));
    assert!(plain.contains("no readers of its own"), "{plain}");
}

#[test]
fn who_is_revoked_is_refused_and_shown_until_the_index_is_compacted() {
    let place = place();
    let text = done(&place.line("keys revoke @i alice --group board --key @owner.key"));
    assert!(text.contains("alice: reads 2000 records"), "{text}");
    assert!(text.contains("can still read 3 that it may not"), "{text}");
    assert_ne!(first(&place, "alice.pair"), "2000");
    let text = done(&place.line("keys revoke @i bob --key @owner.key"));
    assert!(text.contains("bob: revoked; can still read 2000"), "{text}");
    let refused = failed(
        &place.line("query --index @i --key @bob.pair --file @turned.npy"),
        1,
    );
    assert!(refused.contains("or revoked it"), "{refused}");
    done(&place.line("index compact @i --key @owner.key"));
    let list = json(&place.line("keys list @i --key @owner.key"));
    assert_eq!(list["readers"].as_array().unwrap().len(), 1);
    assert_eq!(list["readers"][0]["until_compacted"], 0);
    assert_eq!(list["labels"][0]["older_keys"], 0);
    for wrong in [
        "keys revoke @i bob --key @owner.key",
        "keys grant @i carol --key @owner.key",
        "keys grant @i carol --public @owner.pub --key @owner.key",
        "keys grant @i alice --public @bob.pub --key @owner.key",
        "keys group @i none --remove --key @owner.key",
        "keys list @i --key @reader.key",
    ] {
        failed(&place.line(wrong), 1);
    }
}
