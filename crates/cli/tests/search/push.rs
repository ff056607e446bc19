//! `sordino index push`.

use crate::binary::{done, failed, json, killed};
use crate::place::Place;
use crate::served::Served;
use std::fs;

const SERVE: &str = "--key @owner.pub --plaintext --anyone --accept-changes";

/// Serves a copy of an index. Returns the server.
fn served(place: &Place, mode: &str, more: &str) -> Served {
    place.build_mode(mode);
    copy(place, mode, "remote");
    Served::new(&place.line(&format!("@remote {SERVE} {more}")))
}

fn copy(place: &Place, from: &str, to: &str) {
    done(&place.line(&format!("index restore @{from} @{to} --key @owner.pub")));
}

#[test]
fn a_servers_index_is_changed_from_afar() {
    let place = Place::new();
    for mode in ["masked", "routed", "sealed"] {
        let served = served(&place, mode, "");
        let push = place.line(&format!(
            "index push @{mode} {} --key @owner.key",
            served.url()
        ));
        assert_eq!(json(&push)["parts"], 0);
        // Pushes three versions at once. The last of them is compacted.
        done(&place.line(&format!("index add @{mode} @more.npy --key @owner.key")));
        done(&place.line(&format!("index delete @{mode} --ids 0,1 --key @owner.key")));
        done(&place.line(&format!("index compact @{mode} --key @owner.key")));
        let pushed = json(&push);
        assert_eq!(
            (&pushed["version"], &pushed["versions"]),
            (&4.into(), &3.into()),
            "{mode}"
        );
        assert_eq!(served.line()["version"], 4);
        let found = place.query(&["--connect", &served.url()]);
        assert_eq!(found["version"], 4);
        assert_eq!(place.verify("remote")["versions"], 4);
        assert_eq!(json(&push)["bytes"], 0);
        // While the server runs, its lock keeps other commands from changing the folder.
        let locked = failed(
            &place.line("index delete @remote --ids 5 --key @owner.key"),
            1,
        );
        assert!(locked.contains("locked"), "{locked}");
        drop(served);
        fs::remove_dir_all(place.path("remote")).unwrap();
    }
}

#[test]
fn only_the_owner_pushes_and_only_what_follows() {
    let place = Place::new();
    let first = served(&place, "local", "--max-index 1");
    let url = first.url();
    let push = |index: &str, key: &str, code: i32| {
        failed(
            &place.line(&format!("index push @{index} {url} --key @{key} --wait 0")),
            code,
        )
    };
    done(&place.line("keys new owner @stranger.key"));
    push("local", "reader.key", 1);
    push("local", "stranger.key", 3);
    place.build("other", &["--mode", "local"]);
    // The other index has the server's version number, and then a lower one.
    let ids = ["local", "other"].map(|index| {
        let info = json(&place.line(&format!("index info @{index} --key @owner.pub")));
        info["id"].as_str().unwrap().to_owned()
    });
    let tells = |said: &str| {
        assert!(
            said.contains(&format!("the server has index {}", ids[0]))
                && said.contains(&format!("this is index {}", ids[1])),
            "{said}"
        );
    };
    tells(&push("other", "owner.key", 3));
    // Two copies were changed, in different ways. The first one that is pushed becomes the server's
    // version.
    copy(&place, "local", "twin");
    done(&place.line("index delete @local --ids 1 --key @owner.key"));
    done(&place.line("index delete @twin --ids 2 --key @owner.key --pins @twin.pins"));
    done(&place.line(&format!("index push @local {url} --key @owner.key")));
    let twin = push("twin", "owner.key", 3);
    assert!(twin.contains("does not follow"), "{twin}");
    done(&place.line("index delete @twin --ids 3 --key @owner.key --pins @twin.pins"));
    push("twin", "owner.key", 3);
    // A folder with an older version is refused.
    copy(&place, "local", "old");
    done(&place.line("index delete @local --ids 4 --key @owner.key"));
    done(&place.line(&format!("index push @local {url} --key @owner.key")));
    let old = push("old", "owner.key", 3);
    assert!(
        old.contains("the server has version 3, and this is version 2"),
        "{old}"
    );
    tells(&push("other", "owner.key", 3));
    // An index is refused if it is larger than the server allows.
    let most: Vec<u8> = crate::place::npy(&sordino_search::synthetic::uniform(60_000, 32, 1));
    fs::write(place.path("many.npy"), most).unwrap();
    done(&place.line("index add @local @many.npy --key @owner.key"));
    let large = push("local", "owner.key", 4);
    assert!(large.contains("takes at most 1 MiB"), "{large}");
    assert_eq!(place.verify("remote")["version"], 3);
    drop(first);
    // A server without the option accepts no changes.
    let closed = Served::plain(&place, "remote");
    let push = format!(
        "index push @local {} --key @owner.key --wait 0",
        closed.url()
    );
    let refused = failed(&place.line(&push), 4);
    assert!(refused.contains("--accept-changes"), "{refused}");
}

#[test]
fn a_push_that_is_killed_goes_on_and_two_at_once_leave_a_whole_version() {
    let place = Place::new();
    let served = served(&place, "masked", "");
    let base = place.line("index add @masked @base.npy --key @owner.key");
    let push = place.line(&format!(
        "index push @masked {} --key @owner.key",
        served.url()
    ));
    let mut cut = 0;
    for at in 0..8u32 {
        done(&base);
        let before = place.files("remote");
        let ended = killed(&push, || place.files("remote") >= before + at as usize);
        cut += u32::from(ended.is_none());
        place.verify("remote");
        let version = json(&push)["version"].as_u64();
        assert_eq!(version, Some(u64::from(at) + 2));
        assert_eq!(place.verify("remote")["version"].as_u64(), version);
    }
    assert!(cut > 0);
    copy(&place, "masked", "twin");
    done(&base);
    done(&place.line("index delete @twin --ids 3 --key @owner.key --pins @twin.pins"));
    let other = place.line(&format!(
        "index push @twin {} --key @owner.key",
        served.url()
    ));
    std::thread::scope(|scope| {
        let both = [&push, &other].map(|push| scope.spawn(|| crate::binary::run(push)));
        let ended = both.map(|push| push.join().unwrap());
        let codes = ended.each_ref().map(|push| push.status.code());
        assert!(codes.contains(&Some(0)), "{codes:?}");
        // The refused push reports the other change, by its version or because it has begun.
        for lost in ended.iter().filter(|push| push.status.code() != Some(0)) {
            let said = String::from_utf8_lossy(&lost.stderr);
            let told = ["does not follow", "another change"]
                .iter()
                .any(|words| said.contains(words));
            assert!(told, "{said}");
        }
    });
    assert_eq!(place.verify("remote")["version"], 10);
    assert_eq!(place.query(&["--connect", &served.url()])["version"], 10);
}
