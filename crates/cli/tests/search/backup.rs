//! `sordino index backup` and `restore`.

use crate::binary::{done, failed, json, killed};
use crate::place::Place;
use crate::served::Served;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn backup(place: &Place, from: &str, to: &str) -> Value {
    json(&place.line(&format!("index backup @{from} @{to} --key @owner.pub")))
}

fn deep(place: &Place, index: &str) -> Value {
    json(&place.line(&format!("index verify @{index} --key @reader.key --deep")))
}

fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("parts")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_backup_is_made_and_brought_up_to_date_and_restored() {
    let place = Place::new();
    for mode in ["masked", "routed", "open", "sealed", "local"] {
        place.build_mode(mode);
        let copy = format!("{mode}.backup");
        let first = backup(&place, mode, &copy);
        assert_eq!(first["written"], first["parts"], "{mode}");
        assert_eq!(deep(&place, &copy)["records"], 2000);
        assert_eq!(backup(&place, mode, &copy)["written"], 0);
        done(&place.line(&format!(
            "index delete @{mode} --ids 5,6,1999 --key @owner.key"
        )));
        let second = backup(&place, mode, &copy);
        // The new version has a new list of deletions, and no other new part.
        assert_eq!(
            (&second["written"], &second["version"]),
            (&1.into(), &2.into())
        );
        assert_eq!(second["versions"], 2);
        // Parts that only the version before had are deleted.
        let named = second["parts"].as_u64().unwrap();
        assert_eq!(parts(&place.path(&copy)).len() as u64, named, "{mode}");
        done(&place.line(&format!(
            "index restore @{copy} @{mode}.new --key @reader.key"
        )));
        let restored = deep(&place, &format!("{mode}.new"));
        assert_eq!(
            (&restored["records"], &restored["full"]),
            (&1997.into(), &true.into())
        );
        let found = place.query(&["--index", &place.at(&format!("{mode}.new"))]);
        assert_eq!(found["queries"].as_array().unwrap().len(), 20);
        // The restored index can change.
        done(&place.line(&format!("index add @{mode}.new @more.npy --key @owner.key")));
        place.verify(&format!("{mode}.new"));
    }
}

#[test]
fn only_what_is_older_and_of_the_same_index_is_brought_up_to_date() {
    let place = Place::new();
    place.build_mode("local");
    place.build("other", &["--mode", "local"]);
    backup(&place, "local", "copy");
    let line = |line: &str| place.line(line);
    let other = failed(&line("index backup @other @copy --key @owner.pub"), 3);
    assert!(
        other.contains("choose another folder for the copy"),
        "{other}"
    );
    // Refuses a copy that is newer than the index.
    done(&line(
        "index add @copy @more.npy --key @owner.key --pins @other.pins",
    ));
    let older = failed(&line("index backup @local @copy --key @owner.pub"), 3);
    assert!(
        older.contains("the copy has version 2, and this is version 1"),
        "{older}"
    );
    // Changes both the index and the copy, in different ways.
    done(&line("index delete @local --ids 1 --key @owner.key"));
    done(&line("index delete @local --ids 2 --key @owner.key"));
    let fork = failed(&line("index backup @local @copy --key @owner.pub"), 3);
    assert!(fork.contains("does not follow"), "{fork}");
    // Refuses folders of others, a folder that has an index already, a missing source, and another
    // owner's key.
    fs::create_dir(place.path("home")).unwrap();
    fs::write(place.path("home/thesis.txt"), "mine").unwrap();
    let taken = failed(&line("index backup @local @home --key @owner.pub"), 1);
    assert!(taken.contains("thesis.txt"), "{taken}");
    assert_eq!(fs::read_dir(place.path("home")).unwrap().count(), 1);
    let there = failed(&line("index restore @copy @local --key @owner.pub"), 1);
    assert!(there.contains("holds an index already"), "{there}");
    let none = failed(&line("index backup @nowhere @new --key @owner.pub"), 1);
    assert!(none.contains("no index in"), "{none}");
    assert!(!place.path("new").exists());
    done(&line("keys new owner @stranger.key"));
    failed(&line("index backup @local @new --key @stranger.key"), 3);
    let public = failed(&line("index verify @local --key @owner.pub --deep"), 1);
    assert!(public.contains("--deep opens"), "{public}");
}

#[test]
fn damage_is_found_in_the_index_and_mended_in_its_backup() {
    let place = Place::new();
    place.build_mode("masked");
    backup(&place, "masked", "copy");
    let whole = parts(&place.path("copy"));
    for (number, part) in whole.iter().enumerate() {
        let mut bytes = fs::read(part).unwrap();
        match number % 3 {
            0 => bytes[0] ^= 1,
            1 => bytes.truncate(bytes.len() / 2),
            _ => bytes.push(0),
        }
        fs::write(part, bytes).unwrap();
    }
    failed(
        &place.line("index verify @copy --key @reader.key --deep"),
        3,
    );
    assert_eq!(backup(&place, "masked", "copy")["written"], whole.len());
    deep(&place, "copy");
    // `index backup` copies no damaged index.
    let part = &parts(&place.path("masked"))[0];
    let mut bytes = fs::read(part).unwrap();
    bytes[10] ^= 1;
    fs::write(part, bytes).unwrap();
    done(&place.line("index restore @copy @other --key @owner.pub"));
    failed(&place.line("index backup @masked @new --key @owner.pub"), 3);
    assert!(!place.path("new/CURRENT").exists());
    deep(&place, "copy");
}

#[cfg(unix)]
#[test]
fn an_index_that_cannot_be_written_or_is_served_and_changed_is_copied() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.build_mode("open");
    let mode = |mode: u32| {
        for folder in ["", "/parts", "/manifests"] {
            let path = place.path(&format!("open{folder}"));
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    // A mode does not stop a superuser, who runs tests in containers.
    mode(0o555);
    let before: Vec<PathBuf> = fs::read_dir(place.path("open"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    backup(&place, "open", "copy");
    let after = fs::read_dir(place.path("open")).unwrap().count();
    assert_eq!(before.len(), after);
    mode(0o755);
    let served = Served::plain(&place, "open");
    for id in 0..6 {
        let change = place.line(&format!("index delete @open --ids {id} --key @owner.key"));
        std::thread::scope(|scope| {
            let owner = scope.spawn(|| done(&change));
            backup(&place, "open", "copy");
            owner.join().unwrap();
        });
        deep(&place, "copy");
    }
    backup(&place, "open", "copy");
    assert_eq!(deep(&place, "copy")["records"], 1994);
    assert!(place.query(&["--connect", &served.url()])["version"].as_u64() >= Some(1));
}

#[test]
fn a_killed_backup_is_the_old_version_or_the_new_one_or_none() {
    let place = Place::new();
    place.build("index", &["--mode", "masked"]);
    let args = place.line("index backup @index @copy --key @owner.pub");
    done(&args);
    let (mut cut, mut version) = (0, 1);
    for at in 0..20 {
        if at % 2 == 0 {
            fs::remove_dir_all(place.path("copy")).unwrap();
            version = 0;
        } else {
            done(&place.line("index add @index @base.npy --key @owner.key"));
        }
        let before = place.files("copy");
        let ended = killed(&args, || place.files("copy") > before + at / 2);
        cut += u32::from(ended.is_none());
        if place.path("copy/CURRENT").exists() {
            let now = deep(&place, "copy")["version"].as_u64().unwrap();
            assert!(now >= version && (ended.is_none() || now > 0));
        } else {
            assert!(ended.is_none() && version == 0);
        }
        // The same command completes the backup.
        done(&args);
        version = deep(&place, "copy")["version"].as_u64().unwrap();
    }
    assert!(cut > 0, "no backup was killed in time");
    let found = place.query(&["--index", &place.at("copy")]);
    assert_eq!(found["version"].as_u64(), Some(version));
}

/// Every file of a folder, with its content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for inner in ["", "manifests", "parts"] {
        for entry in fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_folder_without_current_is_not_emptied_and_is_mended() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("index add @local @more.npy --key @owner.key"));
    place.build("other", &["--mode", "local"]);
    let current = fs::read(place.path("local/CURRENT")).unwrap();
    fs::remove_file(place.path("local/CURRENT")).unwrap();
    let before = files(&place.path("local"));
    // Every command that would make, change, copy, send or serve the index reports the missing file, and touches
    // nothing.
    for line in [
        "index build @base.npy @local --key @owner.key",
        "index build @base.npy @local --key @owner.key --mode routed",
        "index restore @other @local --key @owner.pub",
        "index backup @other @local --key @owner.pub",
        "index backup @local @new --key @owner.pub",
        "index add @local @more.npy --key @owner.key",
        "index compact @local --key @owner.key",
        "index info @local --key @owner.pub",
        "index push @local http://localhost:1 --key @owner.key",
        "serve @local --key @owner.pub --plaintext --anyone",
        "query --index @local --key @reader.key --file @queries.npy",
    ] {
        let error = failed(&place.line(line), 1);
        let says = "manifests of 2 versions, 1 to 2 and no file CURRENT";
        assert!(error.contains(says), "{line}: {error}");
        assert!(
            error.contains("restore --from-manifests"),
            "{line}: {error}"
        );
        assert_eq!(files(&place.path("local")), before, "{line}");
    }
    let mend = place.line("index restore --from-manifests @local --key @owner.pub");
    done(&place.line("keys new owner @stranger.key"));
    let stranger = "index restore --from-manifests @local --key @stranger.key";
    let error = failed(&place.line(stranger), 3);
    assert!(error.contains("not signed by this owner"), "{error}");
    // The file `CURRENT` is missing, empty, damaged, or longer than it can be.
    for wrong in [None, Some(&b""[..]), Some(b"2"), Some(&[b'0'; 1 << 20])] {
        match wrong {
            Some(bytes) => fs::write(place.path("local/CURRENT"), bytes).unwrap(),
            None => assert!(!place.path("local/CURRENT").exists()),
        }
        let build = place.line("index build @base.npy @local --key @owner.key");
        failed(&build, 1);
        let mended = json(&mend);
        assert_eq!(
            (&mended["version"], &mended["passed"]),
            (&2.into(), &serde_json::json!([]))
        );
        assert_eq!(fs::read(place.path("local/CURRENT")).unwrap(), current);
        assert_eq!(deep(&place, "local")["records"], 2003);
    }
    assert!(done(&mend).contains("nothing was to mend"));
}

#[test]
fn a_part_that_is_gone_is_named_by_each_command_that_needs_it() {
    let place = Place::new();
    place.build_mode("local");
    for part in parts(&place.path("local")) {
        fs::remove_file(part).unwrap();
    }
    for line in [
        "index verify @local --key @owner.pub",
        "query --index @local --key @reader.key --file @queries.npy",
        "serve @local --key @owner.pub --plaintext --anyone",
        "index get @local --key @reader.key --ids 1",
    ] {
        let error = failed(&place.line(line), 3);
        assert!(error.contains("the file is missing"), "{line}: {error}");
    }
}

#[test]
fn versions_that_are_not_whole_are_passed_over_and_named() {
    let place = Place::new();
    place.build_mode("local");
    let first: Vec<PathBuf> = parts(&place.path("local"));
    done(&place.line("index add @local @more.npy --key @owner.key"));
    let added = parts(&place.path("local"));
    let added = added.iter().find(|part| !first.contains(part)).unwrap();
    let mut bytes = fs::read(added).unwrap();
    bytes[0] ^= 1;
    fs::write(added, bytes).unwrap();
    // If the version that `CURRENT` names is incomplete, the command does not go back to an older
    // one.
    let mend = place.line("index restore --from-manifests @local --key @owner.pub");
    assert!(failed(&mend, 3).contains("wrong digest"));
    fs::remove_file(place.path("local/CURRENT")).unwrap();
    let said = done(&mend);
    assert!(
        said.contains("version 1 is whole, and is the newest again"),
        "{said}"
    );
    assert!(
        said.contains("version 2 was passed over: wrong digest"),
        "{said}"
    );
    assert_eq!(deep(&place, "local")["records"], 2000);
    // The owner knows version 2. One warning says that this version is lost, and its number is not
    // used again.
    failed(
        &place.line("index add @local @more.npy --key @owner.key"),
        3,
    );
    done(&place.line("index add @local @more.npy --key @owner.key --restored"));
    assert_eq!(deep(&place, "local")["version"], 3);
}

/// An attacker who keeps a folder can remove its newest manifests, or replace them with another
/// index's.
#[test]
fn what_is_mended_is_the_version_and_the_index_that_the_owner_knows() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("index add @local @more.npy --key @owner.key"));
    let newest = format!("local/manifests/{:020}", 2);
    let second = fs::read(place.path(&newest)).unwrap();
    fs::remove_file(place.path(&newest)).unwrap();
    fs::remove_file(place.path("local/CURRENT")).unwrap();
    let before = files(&place.path("local"));
    let mend = |key: &str| {
        place.line(&format!(
            "index restore --from-manifests @local --key {key}"
        ))
    };
    let error = failed(&mend("@owner.key"), 3);
    assert!(error.contains("version 1"), "{error}");
    assert_eq!(files(&place.path("local")), before);
    // The manifest of another index has a higher number.
    place.build("other", &["--mode", "local"]);
    for _ in 0..2 {
        done(&place.line("index add @other @more.npy --key @owner.key"));
    }
    let third = format!("manifests/{:020}", 3);
    let planted = place.path("local").join(&third);
    fs::copy(place.path("other").join(&third), &planted).unwrap();
    for part in parts(&place.path("other")) {
        let name = part.file_name().unwrap();
        fs::copy(&part, place.path("local/parts").join(name)).unwrap();
    }
    let error = failed(&mend("@owner.pub"), 3);
    assert!(error.contains("several indexes"), "{error}");
    fs::remove_file(planted).unwrap();
    fs::write(place.path(&newest), second).unwrap();
    let mended = json(&mend("@owner.key"));
    assert_eq!(mended["version"], 2);
    assert_eq!(mended["id"].as_str().unwrap().len(), 32);
}

#[test]
fn an_interrupted_copy_goes_on_where_all_but_its_current_was_copied() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("index add @local @more.npy --key @owner.key"));
    backup(&place, "local", "copy");
    let lines = [
        "index backup @local @copy --key @owner.pub",
        "index restore @local @copy --key @owner.pub",
    ];
    for line in lines {
        fs::remove_file(place.path("copy/CURRENT")).unwrap();
        done(&place.line(line));
        assert_eq!(deep(&place, "copy")["version"], 2);
    }
    // A copy with a newer version is no copy of this index.
    done(&place.line("index add @copy @more.npy --key @owner.key"));
    fs::remove_file(place.path("copy/CURRENT")).unwrap();
    for line in lines {
        let error = failed(&place.line(line), 1);
        assert!(error.contains("manifests of 3 versions"), "{error}");
    }
    done(&place.line("index restore --from-manifests @copy --key @owner.pub"));
    assert_eq!(deep(&place, "copy")["version"], 3);
}
