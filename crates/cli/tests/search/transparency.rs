//! `sordino log`: what is published is found in it, and what is not, or is of another history, is refused.

use crate::binary::{done, failed, json};
use crate::place::Place;
use std::fs;

fn backup(place: &Place, to: &str) {
    done(&place.line(&format!("index backup @index @{to} --key @owner.pub")));
}

fn delete(place: &Place, index: &str, id: usize) {
    done(&place.line(&format!(
        "index delete @{index} --ids {id} --key @owner.key"
    )));
}

#[test]
fn a_log_shows_who_was_shown_another_history() {
    let place = Place::new();
    let line = |text: &str| place.line(text);
    place.build("index", &["--mode", "local"]);
    let append = |index: &str| json(&line(&format!("log append @log @{index} --key @owner.key")));
    assert_eq!(append("index")["appended"], 1);
    delete(&place, "index", 1);
    delete(&place, "index", 2);
    // Versions that were not appended one by one.
    let report = append("index");
    assert_eq!(
        (&report["appended"], &report["entries"]),
        (&2.into(), &3.into())
    );
    assert_eq!(append("index")["appended"], 0);

    // A reader searches, and checks what it saw.
    let query = "query --key @reader.key --file @queries.npy --pin @pin --no-cache";
    done(&line(&format!("{query} --index @index")));
    let check = "log check @log --key @reader.key --pin @pin --seen @seen";
    let checked = json(&line(check));
    assert_eq!(checked["root"], report["root"]);
    assert_eq!(json(&line(check))["fingerprint"], report["fingerprint"]);
    let own = done(&line("log fingerprint @pin"));
    assert!(own.starts_with("3 ") && own.trim().len() == 41, "{own}");

    // The log grows, and is proved by a short file.
    backup(&place, "copy");
    delete(&place, "index", 3);
    append("index");
    let prove = "log prove @log --index @index --seen 3 --output @proof --key @owner.pub";
    done(&line(prove));
    assert!(fs::metadata(place.path("proof")).unwrap().len() < 9000);
    done(&line(&format!("{query} --index @index")));
    let by_proof = "log check @proof --key @owner.pub --pin @pin --seen @seen";
    assert_eq!(json(&line(by_proof))["entries"], 4);
    // The same log again, by all of it.
    done(&line(by_proof));
    done(&line(check));

    // Another way from the third version on, of which the log knows nothing.
    delete(&place, "copy", 4);
    let other = "log check @log --key @owner.pub --index @copy";
    assert!(failed(&line(other), 3).contains("not in the owner's log"));
    // Nor is it published behind the reader's back: another log is no extension of what was seen.
    done(&line("log append @other @copy --key @owner.key"));
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
    done(&line("log append @log @index --key @owner.key"));
    let check = "log check @log --key @owner.pub --index @index";
    let whole = fs::read(place.path("log")).unwrap();
    for (at, code) in [(0, 3), (20, 3), (60, 3), (whole.len() - 1, 3)] {
        let mut bent = whole.clone();
        bent[at] ^= 1;
        fs::write(place.path("log"), bent).unwrap();
        failed(&line(check), code);
        // Nothing is appended to what is not understood.
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
    assert!(seen.contains("remove it to trust the log anew"), "{seen}");
}
