//! `sordino serve --root`.

use crate::binary::{done, failed, json};
use crate::place::{Place, assert_found};
use crate::served::Served;
use serde_json::Value;
use std::fs;

/// A place with a folder `root`, clients Alice and Bob, and indexes outside that folder.
fn place(modes: &[&str]) -> Place {
    let place = Place::new();
    fs::create_dir(place.path("root")).unwrap();
    for client in ["alice", "bob"] {
        done(&place.line(&format!("keys new client @{client}.key")));
        let line = format!("keys new client-public @{client}.pub --from @{client}.key");
        done(&place.line(&line));
    }
    for mode in modes {
        place.build_mode(mode);
    }
    place
}

fn moved(place: &Place, from: &str, to: &str) {
    fs::rename(place.path(from), place.path(to)).unwrap();
}

/// The names of the indexes that the server has.
fn names(line: &Value) -> Vec<&str> {
    let all = line["indexes"].as_array().unwrap().iter();
    all.map(|index| index["name"].as_str().unwrap()).collect()
}

/// The server's next line with these names.
fn until(served: &Served, expected: &[&str]) -> Value {
    loop {
        let line = served.line();
        if names(&line) == expected {
            return line;
        }
    }
}

#[test]
fn a_folder_of_indexes_is_served_by_their_names_as_they_come_and_go() {
    let place = place(&["open", "local"]);
    let root = "--root @root --key @owner.pub --plaintext --anyone --metrics 127.0.0.1:0";
    let served = Served::new(&place.line(root));
    let query = |name: &str| place.query(&["--connect", &format!("{}/{name}", served.url())]);
    let refused = |name: &str| {
        let line = "query --key @reader.key --file @queries.npy --wait 0 --connect";
        failed(&place.line(&format!("{line} {}/{name}", served.url())), 4)
    };
    assert!(refused("mail").contains("no such index here"));
    moved(&place, "open", "root/mail");
    until(&served, &["mail"]);
    assert_found(&query("mail"), "open");
    moved(&place, "local", "root/news");
    until(&served, &["mail", "news"]);
    assert_found(&query("news"), "local");
    // First an index changes. Then there are a folder without an index, one with a bad name, and one with a damaged
    // index.
    done(&place.line("index delete @root/news --ids 0 --key @owner.key"));
    let line = until(&served, &["mail", "news"]);
    assert_eq!(line["indexes"][1]["version"], 2);
    for folder in ["root/empty", "root/a.b", "root/broken"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    fs::write(place.path("root/broken/CURRENT"), "1 xyz").unwrap();
    moved(&place, "root/mail", "mail");
    until(&served, &["news"]);
    assert_eq!(refused("mail"), refused("none"));
    assert!(refused("broken").contains("no such index here"));
    assert_eq!(query("news")["version"], 2);
    moved(&place, "mail", "root/post");
    until(&served, &["news", "post"]);
    assert_found(&query("post"), "open");
}

fn says(log: &std::path::Path, words: &str) {
    let start = std::time::Instant::now();
    while !fs::read_to_string(log).unwrap().contains(words) {
        assert!(start.elapsed().as_secs() < 60, "{words} is never said");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Without the feature `policies`, an index that has a policy is closed to all: at the start, later, and after the
/// policy is deleted.
#[cfg(not(feature = "policies"))]
#[test]
fn a_policy_that_cannot_be_read_is_for_nobody() {
    let place = place(&["local"]);
    for name in ["mail", "news"] {
        done(&place.line(&format!(
            "index restore @local @root/{name} --key @owner.pub"
        )));
    }
    let policy = "permit(principal, action, resource);";
    fs::write(place.path("root/mail.cedar"), policy).unwrap();
    let log = place.path("log");
    let root = "--root @root --key @owner.pub --plaintext --anyone";
    let served = Served::logged(&place.line(root), &log);
    let url = |name: &str| format!("{}/{name}", served.url());
    let refused = |name: &str| {
        let line = format!(
            "query --key @reader.key --file @queries.npy --connect {}",
            url(name)
        );
        assert!(failed(&place.line(&line), 4).contains("no such index here"));
    };
    says(&log, "mail.cedar: this command was built without policies");
    refused("mail");
    assert_found(&place.query(&["--connect", &url("news")]), "local");
    // A policy that appears while its index is served closes the index. Its deletion does not open
    // the index.
    fs::write(place.path("root/news.cedar"), policy).unwrap();
    says(&log, "news.cedar: this command was built without policies");
    refused("news");
    fs::remove_file(place.path("root/news.cedar")).unwrap();
    says(&log, "stays in force");
    refused("news");
}

#[cfg(feature = "policies")]
#[test]
fn an_index_has_an_owner_and_a_policy_of_its_own() {
    let place = place(&["local"]);
    moved(&place, "local", "root/mail");
    fs::copy(place.path("owner.pub"), place.path("root/mail.pub")).unwrap();
    let alice = json(&place.line("keys show @alice.pub"));
    let alice = alice["public_key_digest"].as_str().unwrap().to_owned();
    let policy = format!("permit(principal == Client::\"{alice}\", action, resource);");
    fs::write(place.path("root/mail.cedar"), &policy).unwrap();
    let log = place.path("log");
    let root = "--root @root --plaintext --client @alice.pub --client @bob.pub";
    let served = Served::logged(&place.line(root), &log);
    let url = format!("{}/mail", served.url());
    let key = |name: &str| place.at(&format!("{name}.key"));
    let found = place.query(&["--connect", &url, "--client-key", &key("alice")]);
    assert_found(&found, "local");
    let bob = place.line(&format!(
        "query --key @reader.key --file @queries.npy --connect {url} --client-key @bob.key"
    ));
    assert!(failed(&bob, 4).contains("no such index here"));
    let said = |words: &str| says(&log, words);
    // A faulty or a missing policy changes nothing: no further client gets in, and none is shut
    // out.
    fs::write(place.path("root/mail.cedar"), "permit(principal").unwrap();
    said("mail.cedar");
    failed(&bob, 4);
    fs::remove_file(place.path("root/mail.cedar")).unwrap();
    said("stays in force");
    failed(&bob, 4);
    let found = place.query(&["--connect", &url, "--client-key", &key("alice")]);
    assert_found(&found, "local");
    let group = "permit(principal in Group::\"all\", action, resource);";
    let bobs = json(&place.line("keys show @bob.pub"));
    let groups = serde_json::json!([
        {"uid": {"type": "Group", "id": "all"}, "attrs": {}, "parents": []},
        {"uid": {"type": "Client", "id": bobs["public_key_digest"]}, "attrs": {},
         "parents": [{"type": "Group", "id": "all"}]},
    ]);
    fs::write(place.path("root/groups.json"), groups.to_string()).unwrap();
    fs::write(place.path("root/mail.cedar"), group).unwrap();
    said("policy replaced");
    let found = place.query(&["--connect", &url, "--client-key", &key("bob")]);
    assert_found(&found, "local");
    let alice_asks = place.line(&format!(
        "query --key @reader.key --file @queries.npy --connect {url} --client-key @alice.key"
    ));
    // A policy that forbids a group stays in effect while the groups are replaced.
    let all = "permit(principal, action, resource);";
    let shut = format!("{all} forbid(principal in Group::\"all\", action, resource);");
    fs::write(place.path("root/mail.cedar"), &shut).unwrap();
    until_refused(&bob);
    done(&alice_asks);
    moved(&place, "root/groups.json", "groups.json");
    said("groups.json: the file is missing");
    failed(&bob, 4);
    moved(&place, "groups.json", "root/groups.json");
    // The server notices a policy that has the length and time of the old one.
    let one = |digest: &str| {
        format!("{all} forbid(principal == Client::\"{digest}\", action, resource);")
    };
    fs::write(place.path("root/mail.cedar"), one(&alice)).unwrap();
    until_refused(&alice_asks);
    done(&bob);
    let written = fs::metadata(place.path("root/mail.cedar")).unwrap();
    let next = place.path("next.cedar");
    fs::write(&next, one(bobs["public_key_digest"].as_str().unwrap())).unwrap();
    let file = fs::File::options().append(true).open(&next).unwrap();
    file.set_modified(written.modified().unwrap()).unwrap();
    drop(file);
    fs::rename(&next, place.path("root/mail.cedar")).unwrap();
    until_refused(&bob);
    done(&alice_asks);
    // If the folder disappears and returns without its policy, no client gets in.
    fs::remove_file(place.path("root/mail.cedar")).unwrap();
    moved(&place, "root/mail", "away");
    until_refused(&alice_asks);
    moved(&place, "away", "root/mail");
    said("mail.cedar: the file is missing");
    // When the log names a folder that came later, the server has looked at all folders once more.
    for name in ["first", "second"] {
        fs::create_dir(place.path(&format!("root/{name}"))).unwrap();
        fs::write(place.path(&format!("root/{name}/CURRENT")), "1 xyz").unwrap();
        said(name);
    }
    failed(&bob, 4);
    fs::write(place.path("root/mail.cedar"), all).unwrap();
    until_done(&bob);
}

/// New groups take effect even if the new policy is faulty and the old one stays in force.
#[cfg(feature = "policies")]
#[test]
fn groups_change_under_a_policy_that_stays_in_force() {
    let place = place(&["local"]);
    moved(&place, "local", "root/mail");
    let digest = |name: &str| {
        let shown = json(&place.line(&format!("keys show @{name}.pub")));
        shown["public_key_digest"].as_str().unwrap().to_owned()
    };
    let group = |name: &str| {
        let groups = serde_json::json!([
            {"uid": {"type": "Client", "id": digest(name)}, "attrs": {}, "parents": [{"type": "Group", "id": "all"}]},
            {"uid": {"type": "Group", "id": "all"}, "attrs": {}, "parents": []},
        ]);
        fs::write(place.path("next.json"), groups.to_string()).unwrap();
        moved(&place, "next.json", "root/groups.json");
    };
    group("alice");
    let policy = "permit(principal in Group::\"all\", action, resource);";
    fs::write(place.path("root/mail.cedar"), policy).unwrap();
    let log = place.path("log");
    let root = "--root @root --key @owner.pub --plaintext --client @alice.pub --client @bob.pub";
    let served = Served::logged(&place.line(root), &log);
    let asks = |name: &str| {
        place.line(&format!(
            "query --key @reader.key --file @queries.npy --connect {}/mail --client-key @{name}.key",
            served.url()
        ))
    };
    let (alice, bob) = (asks("alice"), asks("bob"));
    done(&alice);
    failed(&bob, 4);
    let faults = || {
        fs::read_to_string(&log)
            .unwrap()
            .matches("not followed")
            .count()
    };
    let wrong = format!(
        "{policy} forbid(principal == Client::\"{}\", action, resource);",
        digest("bob").to_uppercase()
    );
    fs::write(place.path("root/mail.cedar"), wrong).unwrap();
    says(&log, "is no client");
    done(&alice);
    let said = faults();
    group("bob");
    until_refused(&alice);
    done(&bob);
    // The server logs the fault again, because the files have changed.
    let start = std::time::Instant::now();
    while faults() == said {
        assert!(start.elapsed().as_secs() < 60, "it is never said again");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // A policy file that is a broken link counts as a policy that cannot be read.
    fs::rename(place.path("root/mail"), place.path("away")).unwrap();
    until_refused(&bob);
    #[cfg(unix)]
    {
        fs::copy(place.path("owner.pub"), place.path("root/news.pub")).unwrap();
        std::os::unix::fs::symlink("/nowhere", place.path("root/news.cedar")).unwrap();
        moved(&place, "away", "root/news");
        says(&log, "news.cedar");
        let news = place.line(&format!(
            "query --key @reader.key --file @queries.npy --connect {}/news --client-key @bob.key",
            served.url()
        ));
        failed(&news, 4);
    }
}

/// Repeats the request until it is refused, or answered.
#[cfg(feature = "policies")]
fn until_refused(line: &[String]) {
    asked_until(line, false);
}

#[cfg(feature = "policies")]
fn until_done(line: &[String]) {
    asked_until(line, true);
}

#[cfg(feature = "policies")]
fn asked_until(line: &[String], answered: bool) {
    let start = std::time::Instant::now();
    while crate::binary::run(line).status.success() != answered {
        assert!(start.elapsed().as_secs() < 60, "{line:?}: never so");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn owners_push_to_the_indexes_of_their_names() {
    let place = place(&["local"]);
    for name in ["mail", "news"] {
        done(&place.line(&format!(
            "index restore @local @root/{name} --key @owner.pub"
        )));
    }
    let root = "--root @root --key @owner.pub --plaintext --anyone --accept-changes";
    let served = Served::new(&place.line(root));
    done(&place.line("index delete @local --ids 0 --key @owner.key"));
    let push = |name: &str, key: &str| {
        let index = if key == "owner" { "local" } else { "theirs" };
        let url = format!("{}/{name}", served.url());
        place.line(&format!(
            "index push @{index} {url} --key @{key}.key --wait 0"
        ))
    };
    assert_eq!(json(&push("mail", "owner"))["version"], 2);
    let line = until(&served, &["mail", "news"]);
    let versions = [&line["indexes"][0], &line["indexes"][1]].map(|it| it["version"].as_u64());
    assert_eq!(versions, [Some(2), Some(1)]);
    let url = format!("{}/mail", served.url());
    assert_eq!(place.query(&["--connect", &url])["version"], 2);
    // An index that does not exist has no owner.
    done(&place.line("keys new owner @other.key"));
    done(&place.line("index build @base.npy @theirs --key @other.key --mode local"));
    let refused = [("mail", "other"), ("none", "other"), ("none", "owner")];
    let refused = refused.map(|(name, key)| {
        let said = failed(&push(name, key), 4);
        // The text before this names the file.
        said.split_once("the request failed").unwrap().1.to_owned()
    });
    assert!(refused[0].contains("key is not known"), "{}", refused[0]);
    assert!(
        refused.iter().all(|said| *said == refused[0]),
        "{refused:?}"
    );
}

#[test]
fn what_cannot_be_served_is_said_and_left_out() {
    let place = place(&["open", "local"]);
    moved(&place, "open", "root/mail");
    moved(&place, "local", "root/news");
    fs::copy(place.path("owner.pub"), place.path("root/mail.pub")).unwrap();
    let log = place.path("log");
    // The server logs three faults: an index without an owner's key, an index above the size limit, and a secret key
    // next to an index.
    let served = Served::logged(&place.line("--root @root --plaintext --anyone"), &log);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("the owner's public key is missing"), "{said}");
    drop(served);
    fs::write(place.path("big.npy"), crate::place::npy(&many())).unwrap();
    let build = "index build @big.npy @root/big --key @owner.key --mode open";
    done(&place.line(build));
    let small = "--root @root --key @owner.pub --plaintext --anyone --max-index 1";
    let served = Served::logged(&place.line(small), &log);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("takes at most 1 MiB"), "{said}");
    drop(served);
    fs::copy(place.path("owner.key"), place.path("root/news.pub")).unwrap();
    let served = Served::logged(&place.line(small), &log);
    let said = fs::read_to_string(&log).unwrap();
    assert!(said.contains("must have no secret"), "{said}");
    drop(served);
    // If an owner's key is a broken link, the server does not use the owner of the other indexes.
    #[cfg(unix)]
    {
        fs::remove_file(place.path("root/news.pub")).unwrap();
        std::os::unix::fs::symlink(place.path("gone.pub"), place.path("root/news.pub")).unwrap();
        let served = Served::logged(&place.line(small), &log);
        let said = fs::read_to_string(&log).unwrap();
        assert!(said.contains("news.pub"), "{said}");
        drop(served);
    }
    let both = "serve @root/mail --root @root --key @owner.pub --plaintext --anyone";
    failed(&place.line(both), 2);
    failed(
        &place.line("serve --plaintext --anyone --key @owner.pub"),
        2,
    );
    let nowhere = failed(&place.line("serve --root @nowhere --plaintext --anyone"), 1);
    assert!(nowhere.contains("nowhere"), "{nowhere}");
}

/// Vectors whose index is larger than a megabyte.
fn many() -> sordino_search::Vectors {
    sordino_search::synthetic::clustered(40_000, 1, crate::place::DIM, 3).0
}
