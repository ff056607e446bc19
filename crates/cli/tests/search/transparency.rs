//! `sordino log`: a published version is found in the log. An unpublished version, or one of another
//! history, is refused.

use crate::binary::{done, failed, json};
use crate::place::Place;
use std::fs;

fn backup(place: &Place, to: &str) {
    done(&place.line(&format!("index backup @index @{to} --key @owner.pub")));
}

fn delete(place: &Place, index: &str, id: usize) {
    done(&place.line(&format!(
        "index delete @{index} --ids {id} --key @owner.key --pins @{index}.pins"
    )));
}

#[test]
fn a_log_shows_who_was_shown_another_history() {
    let place = Place::new();
    let line = |text: &str| place.line(text);
    place.build("index", &["--mode", "local"]);
    let append = |index: &str| json(&line(&format!("log append @log @{index} --key @owner.key")));
    let missing = failed(&line("log append @log @index --key @owner.key"), 1);
    assert!(missing.contains("--new makes one"), "{missing}");
    assert!(!place.path("log").exists());
    let new = json(&line("log append @log @index --key @owner.key --new"));
    assert_eq!(new["appended"], 1);
    let again = failed(&line("log append @log @index --key @owner.key --new"), 1);
    assert!(again.contains("exists already"), "{again}");
    delete(&place, "index", 1);
    delete(&place, "index", 2);
    // Appends several versions at once.
    let report = append("index");
    assert_eq!(
        (&report["appended"], &report["entries"]),
        (&2.into(), &3.into())
    );
    assert_eq!(append("index")["appended"], 0);

    // A reader searches, and checks the version that it saw.
    let query = "query --key @reader.key --file @queries.npy --pin @pin --no-cache";
    done(&line(&format!("{query} --index @index")));
    let check = "log check @log --key @reader.key --pin @pin --seen @seen";
    let checked = json(&line(check));
    assert_eq!(checked["root"], report["root"]);
    assert_eq!(
        (&checked["version"], &checked["newest"]),
        (&3.into(), &true.into())
    );
    assert_eq!(json(&line(check))["fingerprint"], report["fingerprint"]);
    let own = done(&line("log fingerprint @pin"));
    assert!(own.starts_with("3 ") && own.trim().len() == 41, "{own}");

    // The log grows, and a short file proves its extension.
    backup(&place, "copy");
    delete(&place, "index", 3);
    append("index");
    let prove = "log prove @log --index @index --seen 3 --output @proof --key @owner.pub";
    done(&line(prove));
    assert!(fs::metadata(place.path("proof")).unwrap().len() < 9000);
    // The reader's server has stopped at an old version, or the reader did not search since.
    let behind = failed(&line(check), 3);
    let said = "seen version 3 of the index, and the owner's log has the newer version 4";
    assert!(behind.contains(said), "{behind}");
    let behind = line(&check.replace("--pin @pin", "--index @copy"));
    assert!(failed(&behind, 3).contains(said));
    done(&line(&format!("{query} --index @index")));
    let by_proof = "log check @proof --key @owner.pub --pin @pin --seen @seen";
    let proved = json(&line(by_proof));
    assert_eq!(
        (&proved["entries"], &proved["version"]),
        (&4.into(), &4.into())
    );
    assert!(proved["newest"].is_null());
    // Checks the same log, from its whole file.
    done(&line(by_proof));
    done(&line(check));

    // From the third version on, this copy has a different history, which the log does not contain.
    delete(&place, "copy", 4);
    let other = "log check @log --key @owner.pub --index @copy";
    assert!(failed(&line(other), 3).contains("not in the owner's log"));
    // The owner cannot append this version after the other one.
    let second = failed(
        &line("log append @log @copy --key @owner.key --pins @copy.pins"),
        3,
    );
    let said = "does not follow from version 4, its last in the log";
    assert!(second.contains(said), "{second}");
    done(&line(check));
    // The reader notices a second log: it does not extend the log that the reader saw.
    done(&line(
        "log append @other @copy --key @owner.key --pins @copy.pins --new",
    ));
    done(&line("log check @other --key @owner.pub --index @copy"));
    let forked = "log check @other --key @owner.pub --index @copy --seen @seen";
    assert!(failed(&line(forked), 3).contains("does not begin with"));
    done(&line(
        "query --key @reader.key --file @queries.npy --pin @fork --no-cache --index @copy",
    ));
    let theirs = done(&line("log fingerprint @fork"));
    assert!(theirs.starts_with("4 ") && theirs != done(&line("log fingerprint @pin")));
}

#[test]
fn damaged_logs_and_wrong_uses_are_named() {
    let place = Place::new();
    let line = |text: &str| place.line(text);
    place.build("index", &["--mode", "local"]);
    done(&line("log append @log @index --key @owner.key --new"));
    let check = "log check @log --key @owner.pub --index @index";
    let whole = fs::read(place.path("log")).unwrap();
    for (at, code) in [(0, 3), (20, 3), (60, 3), (whole.len() - 1, 3)] {
        let mut bent = whole.clone();
        bent[at] ^= 1;
        fs::write(place.path("log"), bent).unwrap();
        failed(&line(check), code);
        // The command appends nothing to a log that it cannot read.
        failed(&line("log append @log @index --key @owner.key"), code);
    }
    fs::write(place.path("log"), &whole).unwrap();
    done(&line(check));
    done(&line("keys new owner @stranger.key"));
    let stranger = line("log check @log --key @stranger.key --index @index");
    failed(&stranger, 3);
    failed(&line("log check @log --key @owner.pub"), 2);
    failed(
        &line("log check @nowhere --key @owner.pub --index @index"),
        1,
    );
    failed(&line("log fingerprint @nowhere"), 1);
    let far = "log prove @log --index @index --seen 9 --output @proof --key @owner.pub";
    assert!(failed(&line(far), 1).contains("--seen is 9"));
    fs::write(place.path("seen"), "{}").unwrap();
    let seen = failed(&line(&format!("{check} --seen @seen")), 1);
    assert!(seen.contains("the next check trusts the log"), "{seen}");
}

/// Two heads of equal length that differ are a fork that the owner signed.
#[test]
fn commands_at_once_make_one_log() {
    let place = Place::new();
    for (at, index) in ["a", "b"].into_iter().enumerate() {
        place.build(index, &["--mode", "local"]);
        delete(&place, index, at);
    }
    done(&place.line("log append @log @a --key @owner.key --new"));
    delete(&place, "a", 7);
    let append = |index: &str| {
        let line = format!("log append @log @{index} --key @owner.key");
        json(&place.line(&line))["appended"].clone()
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| append("b"));
        assert_eq!(append("a"), 1);
        assert_eq!(second.join().unwrap(), 2);
    });
    for index in ["a", "b"] {
        let line = format!("log check @log --key @owner.pub --index @{index} --seen @seen");
        assert_eq!(json(&place.line(&line))["entries"], 5);
    }
}

/// A proof made for a reader that has seen fewer entries gives a usage error, not the error of a forged
/// proof. A proof with a flipped bit is refused, and is not mistaken for a log.
#[test]
fn proofs_are_refused_for_what_they_are() {
    let place = Place::new();
    let line = |text: &str| place.line(text);
    place.build("index", &["--mode", "local"]);
    done(&line("log append @log @index --key @owner.key --new"));
    for id in 1..4 {
        delete(&place, "index", id);
    }
    done(&line("log append @log @index --key @owner.key"));
    done(&line(
        "log check @log --key @owner.pub --index @index --seen @seen",
    ));
    delete(&place, "index", 4);
    done(&line("log append @log @index --key @owner.key"));
    let prove = |seen: u64| {
        let prove = "log prove @log --index @index --output @proof --key @owner.pub --seen";
        done(&line(&format!("{prove} {seen}")));
    };
    let check = "log check @proof --key @owner.pub --index @index --seen @seen";
    prove(3);
    let other = failed(&line(check), 1);
    let said = "the proof begins at 3 entries, and 4 were seen: ask for one made with --seen 4";
    assert!(other.contains(said), "{other}");
    prove(4);
    let whole = fs::read(place.path("proof")).unwrap();
    for at in [9, 50, 4700, 4720, whole.len() - 1] {
        let mut bent = whole.clone();
        bent[at] ^= 1;
        fs::write(place.path("proof"), bent).unwrap();
        let refused = failed(&line(check), 3);
        let named = [
            "log proof",
            "owner's key",
            "owner's log",
            "does not begin with",
        ];
        assert!(
            named.iter().any(|name| refused.contains(name)),
            "{at}: {refused}"
        );
        assert!(!refused.contains("malformed log:"), "{at}: {refused}");
    }
    for len in [20, 4000, whole.len() - 1] {
        fs::write(place.path("proof"), &whole[..len]).unwrap();
        let refused = failed(&line(check), 3);
        assert!(refused.contains("malformed log proof"), "{len}: {refused}");
    }
    fs::write(place.path("proof"), &whole).unwrap();
    done(&line(check));
    // A damaged file of seen heads is refused, and not taken for another kind of file.
    fs::write(place.path("seen"), vec![b' '; 5000]).unwrap();
    assert!(failed(&line(check), 1).contains("longer than 4096 bytes"));
}
