//! Writers on the command line: keys, grants, additions, pushes, and additions that the owner takes
//! back.

use crate::binary::{done, failed, json};
use crate::place::Place;
use crate::readers::{first, place};
use crate::served::Served;

/// The place of [`place`] with the writer agent, who may add under the label finance. `@finance.csv` has records
/// with new ids.
fn with_writer() -> Place {
    let place = place();
    done(&place.line("keys new writer @agent.key --from @owner.pub"));
    done(&place.line("keys new writer-public @agent.pub --from @agent.key"));
    grant(&place, "finance", "2100-01-01T00:00:00Z");
    place
}

fn grant(place: &Place, label: &str, until: &str) -> String {
    let options = "--public @agent.pub --key @owner.key --write";
    done(&place.line(&format!(
        "keys grant @i agent {options} --label {label} --until {until}"
    )))
}

/// Three records with ids from `from` on.
fn records(place: &Place, name: &str, from: u64) {
    let some = crate::place::part(&place.base, 0..3);
    let lines = some.rows().enumerate().map(|(at, row)| {
        let turned = row.iter().enumerate();
        let turned = turned.map(|(at, x)| if at % 2 == 0 { -x } else { *x });
        let vector: Vec<String> = turned.map(|x| x.to_string()).collect();
        format!(
            "{{\"id\": {}, \"vector\": [{}]}}",
            from + at as u64,
            vector.join(", ")
        )
    });
    let lines: Vec<String> = lines.collect();
    std::fs::write(place.path(name), lines.join("\n")).unwrap();
}

#[test]
fn a_writer_adds_and_the_owner_sees_who_added_what() {
    let place = with_writer();
    let list = done(&place.line("keys list @i --key @owner.key"));
    let expected = "writes under finance until 2100-01-01T00:00:00Z";
    assert!(list.contains(expected), "{list}");
    let before = json(&place.line("index info @i --key @owner.pub"));
    records(&place, "new.jsonl", 9000);
    let added = json(&place.line("index add @i @new.jsonl --key @agent.key --label finance"));
    assert_eq!(added["added"], 3);
    let info = json(&place.line("index info @i --key @owner.pub"));
    let addition = &info["additions"][0];
    assert_eq!(
        (&addition["version"], &addition["records"]),
        (&added["version"], &3.into())
    );
    let shown = json(&place.line("keys show @agent.pub"));
    assert_eq!(addition["key"], shown["signing"]);
    assert_eq!(info["writers"][0]["key"], shown["signing"]);
    let listed = json(&place.line("keys list @i --key @owner.key"));
    let agent = listed["readers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "agent");
    assert_eq!(agent.unwrap()["key"], shown["key"]);
    assert_ne!(shown["key"], shown["signing"]);
    let text = done(&place.line("index info @i --key @owner.pub"));
    assert!(text.contains("3 record(s) by"), "{text}");
    // The writer's key can read, and so can the keys of other readers.
    let verified = json(&place.line("index verify @i --key @agent.key --deep"));
    assert_eq!(verified["records"], 2006);
    assert_eq!(
        json(&place.line("index verify @i --key @bob.pair --deep"))["records"],
        2000
    );
    // The owner takes the addition back.
    let version = before["version"].as_u64().unwrap();
    let back = format!("index take-back @i --after {version} --key @owner.key");
    assert_eq!(json(&place.line(&back))["records"], 2003);
    failed(&place.line(&back), 1);
    let info = json(&place.line("index info @i --key @owner.pub"));
    assert_eq!(info["additions"].as_array().unwrap().len(), 0);
    // The writer adds the records again, and the owner's next change includes them.
    done(&place.line("index add @i @new.jsonl --key @agent.key --label finance"));
    done(&place.line("index compact @i --key @owner.key"));
    assert_eq!(
        json(&place.line("index verify @i --key @owner.key"))["records"],
        2006
    );
    assert_eq!(first(&place, "alice.pair"), "2000");
    done(&place.line("keys revoke @i agent --write --key @owner.key"));
    records(&place, "later.jsonl", 9100);
    let add = place.line("index add @i @later.jsonl --key @agent.key --label finance");
    let refused = failed(&add, 1);
    assert!(refused.contains("none of the index's writers"), "{refused}");
    assert_eq!(
        json(&place.line("index verify @i --key @agent.key --deep"))["records"],
        2006
    );
}

#[test]
fn what_a_writer_may_not_do_is_refused_with_what_to_do() {
    let place = with_writer();
    records(&place, "new.jsonl", 9000);
    records(&place, "there.jsonl", 2000);
    for (line, part) in [
        (
            "index add @i @new.jsonl --key @agent.key",
            "without a label",
        ),
        (
            "index add @i @new.jsonl --key @agent.key --label hr",
            "did not grant",
        ),
        (
            "index add @i @there.jsonl --key @agent.key --label finance",
            "does not replace",
        ),
        (
            "index add @i @turned.npy --key @agent.key --label finance",
            "names the id of each",
        ),
        (
            "index add @i @new.jsonl --key @agent.key --label finance --compact-after 4",
            "the owner's",
        ),
        ("index delete @i --ids 0 --key @agent.key", "a writer's key"),
        ("index compact @i --key @agent.key", "a writer's key"),
        (
            "keys grant @i bob --label finance --key @agent.key",
            "a writer's key",
        ),
        (
            "keys grant @i bob --public @bob.pub --write --until 2100-01-01T00:00:00Z --key @owner.key",
            "a writer's public key",
        ),
        (
            "index take-back @i --after 1 --key @owner.key",
            "no additions were made after it",
        ),
    ] {
        let refused = failed(&place.line(line), 1);
        assert!(refused.contains(part), "{line}: {refused}");
    }
    let passed = "keys grant @i agent --write --until 2020-01-01T00:00:00Z --key @owner.key";
    let refused = failed(&place.line(passed), 2);
    assert!(refused.contains("it has passed"), "{refused}");
    // The version lists no right that was taken away.
    done(&place.line("keys revoke @i agent --write --key @owner.key"));
    let refused = failed(
        &place.line("index add @i @new.jsonl --key @agent.key --label finance"),
        1,
    );
    assert!(refused.contains("none of the index's writers"), "{refused}");
}

#[test]
fn a_writer_pushes_what_it_added() {
    let place = with_writer();
    done(&place.line("index restore @i @remote --key @owner.pub"));
    done(&place.line("index restore @i @mine --key @agent.key"));
    let serve = "@remote --key @owner.pub --plaintext --anyone --accept-changes";
    let served = Served::new(&place.line(serve));
    records(&place, "new.jsonl", 9000);
    done(&place.line("index add @mine @new.jsonl --key @agent.key --label finance"));
    let push = place.line(&format!(
        "index push @mine {} --key @agent.key",
        served.url()
    ));
    let pushed = json(&push);
    assert_eq!(pushed["versions"], 1);
    assert_eq!(served.line()["version"], pushed["version"]);
    assert_eq!(place.verify("remote")["version"], pushed["version"]);
    assert_eq!(json(&push)["bytes"], 0);
}

/// A local index and its server. The writers one and two each have a folder that they pulled.
fn pulled() -> (Place, Served) {
    let place = Place::new();
    done(&place.line("index build @base.npy @i --key @owner.key --own-readers --mode local"));
    for name in ["one", "two"] {
        done(&place.line(&format!("keys new writer @{name}.key --from @owner.pub")));
        done(&place.line(&format!(
            "keys new writer-public @{name}.pub --from @{name}.key"
        )));
        done(&place.line(&format!(
            "keys grant @i {name} --public @{name}.pub --key @owner.key --write --until 2100-01-01T00:00:00Z"
        )));
    }
    done(&place.line("index restore @i @remote --key @owner.pub"));
    let serve = "@remote --key @owner.pub --plaintext --anyone --accept-changes";
    let served = Served::new(&place.line(serve));
    for name in ["one", "two"] {
        done(&over(
            &place,
            &served,
            &format!("index pull @{name} URL --key @{name}.key"),
        ));
    }
    (place, served)
}

/// A command line in which `URL` becomes the server's address.
fn over(place: &Place, served: &Served, line: &str) -> Vec<String> {
    place.line(&line.replace("URL", &served.url()))
}

fn add(place: &Place, name: &str, key: &str, from: u64) {
    records(place, "new.jsonl", from);
    done(&place.line(&format!("index add @{name} @new.jsonl --key @{key}.key")));
}

fn count(place: &Place, name: &str, key: &str) -> serde_json::Value {
    json(&place.line(&format!("index verify @{name} --key @{key}.key --deep")))["records"].clone()
}

#[test]
fn a_writer_that_came_second_pulls_and_adds_again() {
    let (place, served) = pulled();
    let before = place.verify("remote")["version"].as_u64().unwrap();
    add(&place, "one", "one", 9000);
    add(&place, "two", "two", 9100);
    done(&over(&place, &served, "index push @one URL --key @one.key"));
    let refused = failed(
        &over(
            &place,
            &served,
            "index push @two URL --key @two.key --wait 0",
        ),
        3,
    );
    assert!(refused.contains("`sordino index pull`"), "{refused}");
    // A pull without the option does not discard what only this folder has.
    let refused = failed(
        &over(&place, &served, "index pull @two URL --key @two.key"),
        3,
    );
    assert!(refused.contains(&format!("--after {before}")), "{refused}");
    assert_eq!(count(&place, "two", "two"), 2003);
    failed(
        &over(
            &place,
            &served,
            "index pull @two URL --key @two.key --after 9999",
        ),
        1,
    );
    let after = format!("index pull @two URL --key @two.key --after {before}");
    // An earlier pull was interrupted while it replaced the version of this number.
    std::fs::remove_file(place.path("two").join("CURRENT")).unwrap();
    let pulled = json(&over(&place, &served, &after));
    assert_eq!(pulled["version"].as_u64(), Some(before + 1));
    assert_eq!(count(&place, "two", "two"), 2003);
    done(&place.line("index get @two --ids 9000 --key @two.key"));
    add(&place, "two", "two", 9100);
    done(&over(&place, &served, "index push @two URL --key @two.key"));
    // The first folder only has an older version, so the pull discards nothing of its own.
    done(&over(&place, &served, "index pull @one URL --key @one.key"));
    assert_eq!(count(&place, "one", "one"), 2006);
}

#[test]
fn an_owner_takes_what_writers_pushed_and_what_another_machine_changed() {
    let (place, served) = pulled();
    let before = place.verify("remote")["version"].as_u64().unwrap();
    add(&place, "one", "one", 9000);
    done(&over(&place, &served, "index push @one URL --key @one.key"));
    done(&over(&place, &served, "index pull @i URL --key @owner.key"));
    done(&place.line("index compact @i --key @owner.key"));
    done(&over(&place, &served, "index push @i URL --key @owner.key"));
    assert_eq!(count(&place, "i", "owner"), 2003);
    // Another machine has a folder and the same key, and both machines change the index. The second push is refused.
    done(&over(
        &place,
        &served,
        "index pull @other URL --key @owner.key",
    ));
    let shared = place.verify("remote")["version"].as_u64().unwrap();
    assert!(shared > before);
    add(&place, "i", "owner", 9200);
    done(&place.line("index delete @other --ids 0 --key @owner.key --pins @other.pins"));
    done(&over(&place, &served, "index push @i URL --key @owner.key"));
    let refused = failed(
        &over(
            &place,
            &served,
            "index push @other URL --key @owner.key --wait 0",
        ),
        3,
    );
    assert!(
        refused.contains("both were changed") && refused.contains("writers' keys"),
        "{refused}"
    );
    let pull = "index pull @other URL --key @owner.key --pins @other.pins";
    let refused = failed(&over(&place, &served, pull), 3);
    assert!(refused.contains("--after VERSION"), "{refused}");
    assert_eq!(count(&place, "other", "owner"), 2002);
    done(&over(&place, &served, &format!("{pull} --after {shared}")));
    assert_eq!(count(&place, "other", "owner"), 2006);
    done(&place.line("index delete @other --ids 0 --key @owner.key --pins @other.pins"));
    done(&over(
        &place,
        &served,
        "index push @other URL --key @owner.key",
    ));
    done(&over(&place, &served, "index pull @i URL --key @owner.key"));
    assert_eq!(count(&place, "i", "owner"), 2005);
    // A folder that is older than the version of the owner's pins is brought to that version, if the server has it.
    let older = |name: &str| {
        done(&place.line(&format!("index restore @one @{name} --key @owner.pub")));
    };
    let pull = over(&place, &served, "index pull @i URL --key @owner.key");
    std::fs::remove_dir_all(place.path("i")).unwrap();
    older("i");
    done(&pull);
    assert_eq!(count(&place, "i", "owner"), 2005);
    // All versions between the two are there, as a backup checks.
    done(&place.line("index backup @i @backup --key @owner.pub"));
    // The pull refuses to give up a change that was not pushed, or another index.
    done(&place.line("index delete @other --ids 1 --key @owner.key --pins @other.pins"));
    let kept = count(&place, "other", "owner");
    for from in [9300, 9400] {
        add(&place, "i", "owner", from);
    }
    done(&over(&place, &served, "index push @i URL --key @owner.key"));
    let unpushed = over(&place, &served, "index pull @other URL --key @owner.key");
    let refused = failed(&unpushed, 3);
    assert!(refused.contains("--after VERSION"), "{refused}");
    assert_eq!(count(&place, "other", "owner"), kept);
    std::fs::rename(place.path("i"), place.path("moved")).unwrap();
    done(&place.line("index build @base.npy @i --mode local --key @owner.key --pins @new.pins"));
    let before = place.verify("i");
    failed(&pull, 3);
    assert_eq!(place.verify("i"), before);
    std::fs::remove_dir_all(place.path("i")).unwrap();
    std::fs::rename(place.path("moved"), place.path("i")).unwrap();
    // Here the server lacks the version that the pins know.
    add(&place, "i", "owner", 9500);
    std::fs::remove_dir_all(place.path("i")).unwrap();
    for name in ["i", "new"] {
        if name == "i" {
            older("i");
        }
        let line = over(
            &place,
            &served,
            &format!("index pull @{name} URL --key @owner.key"),
        );
        let refused = failed(&line, 3);
        assert!(refused.contains("its owner knows version"), "{refused}");
    }
    assert!(!place.path("new").exists());
    // In masked mode, only the server has the rows.
    done(&place.line("index build @base.npy @masked --key @owner.key"));
    let masked = Served::new(&place.line("@masked --key @owner.pub --plaintext --anyone"));
    let refused = failed(
        &place.line(&format!(
            "index pull @copy {} --key @owner.key",
            masked.url()
        )),
        1,
    );
    assert!(refused.contains("local"), "{refused}");
}
