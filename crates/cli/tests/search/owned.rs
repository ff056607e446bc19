//! The memory that an owner has of its indexes' versions: an older one that is put back is changed no more.

use crate::binary::{command, done, failed};
use crate::place::Place;
use crate::query::copy;
use std::fs;

const NEW: [&str; 4] = [
    "index add @local @queries.npy --key @owner.key",
    "index compact @local --key @owner.key",
    "index delete @local --ids 9 --key @owner.key",
    "keys grant @local eve --public @bob.pub --key @owner.key",
];

/// An index at version 3, in which bob was revoked, and the version before that next to it.
fn place() -> Place {
    let place = Place::new();
    place.build("local", &["--mode", "local", "--own-readers"]);
    done(&place.line("keys new reader-pair @bob.pair --from @owner.pub"));
    done(&place.line("keys new reader-public @bob.pub --from @bob.pair"));
    done(&place.line("keys grant @local bob --public @bob.pub --key @owner.key"));
    copy(&place.path("local"), &place.path("before"));
    done(&place.line("keys revoke @local bob --key @owner.key"));
    copy(&place.path("local"), &place.path("after"));
    place
}

/// Puts a version instead of the index.
fn show(place: &Place, name: &str) {
    fs::remove_dir_all(place.path("local")).unwrap();
    copy(&place.path(name), &place.path("local"));
}

#[test]
fn a_folder_that_takes_a_revocation_back_is_changed_no_more() {
    let place = place();
    show(&place, "before");
    for line in NEW {
        let refused = failed(&place.line(line), 3);
        assert!(
            refused.contains("version 2") && refused.contains("version 3"),
            "{line}: {refused}"
        );
        assert!(refused.contains("--restored"), "{refused}");
    }
    for line in [
        "keys list @local --key @owner.key",
        "keys revoke @local bob --key @owner.key",
        "log append @log @local --key @owner.key --new",
    ] {
        failed(&place.line(line), 3);
    }
    // Nothing was changed: bob's key opens the present version, and the newest one is accepted again.
    assert_eq!(place.verify("local")["version"], 2);
    show(&place, "after");
    done(&place.line(NEW[0]));
    let query = "query --index @local --key @bob.pair --file @queries.npy";
    failed(&place.line(query), 1);
}

#[test]
fn a_backup_is_restored_on_purpose_by_an_option() {
    let place = place();
    show(&place, "before");
    done(&place.line("keys revoke @local bob --key @owner.key --restored"));
    done(&place.line(NEW[0]));
    // The version that was lost does not come back unsaid.
    show(&place, "after");
    let refused = failed(&place.line(NEW[0]), 3);
    assert!(refused.contains("version 3"), "{refused}");
}

/// This also holds for a folder of which the owner's memory knew nothing.
#[test]
fn a_version_that_was_put_back_on_purpose_is_not_said_to_be_unknown() {
    let place = Place::new();
    place.build("local", &["--mode", "local"]);
    copy(&place.path("local"), &place.path("elsewhere"));
    for index in ["local", "elsewhere"] {
        let line = format!("index delete @{index} --ids 7 --key @owner.key --restored");
        let said = command(&place.line(&line)).output().unwrap();
        let said = String::from_utf8(said.stderr).unwrap();
        assert!(
            said.contains("accepted as it is: version 1 is remembered"),
            "{said}"
        );
        assert!(!said.contains("first time"), "{said}");
    }
}

#[test]
fn a_deletion_that_is_taken_back_and_another_index_are_refused() {
    let place = Place::new();
    place.build_mode("local");
    place.build("other", &["--mode", "local"]);
    copy(&place.path("local"), &place.path("before"));
    done(&place.line("index delete @local --ids 7 --key @owner.key"));
    for name in ["before", "other"] {
        show(&place, name);
        failed(&place.line(NEW[0]), 3);
    }
    // Who builds one again in that place means it.
    fs::remove_dir_all(place.path("local")).unwrap();
    place.build_mode("local");
    done(&place.line(NEW[0]));
}

/// A key that comes alone knows nothing, and says so; what it sees first it remembers.
#[test]
fn what_is_seen_first_is_said_and_remembered() {
    let place = place();
    let pins = place.path("owner.key.pins");
    let text = fs::read_to_string(&pins).unwrap();
    assert!(text.contains(" 3 "), "{text}");
    fs::remove_file(&pins).unwrap();
    let run = |line: &str| {
        let output = command(&place.line(line)).output().unwrap();
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    let list = "keys list @local --key @owner.key";
    let said = run(list);
    assert!(said.contains("version 3 is remembered"), "{said}");
    assert_eq!(fs::read_to_string(&pins).unwrap(), text);
    assert!(!run(list).contains("remembered"));
    show(&place, "before");
    failed(&place.line(list), 3);
}

/// A change that could not be remembered is not made.
#[test]
fn a_memory_that_cannot_be_kept_is_named_before_the_change() {
    let place = place();
    let change = "index delete @local --ids 9 --key @owner.key --pins";
    let nowhere = failed(&place.line(&format!("{change} @nowhere/pins")), 1);
    assert!(
        nowhere.contains("nowhere") && nowhere.contains("--pins"),
        "{nowhere}"
    );
    fs::write(place.path("damaged"), "{}").unwrap();
    let damaged = failed(&place.line(&format!("{change} @damaged")), 1);
    assert!(damaged.contains("not a file of versions"), "{damaged}");
    let built = "index build @base.npy @new --key @owner.key --mode local --pins @damaged";
    failed(&place.line(built), 1);
    assert!(!place.path("new").exists());
    assert_eq!(place.verify("local")["version"], 3);
    done(&place.line(&format!("{change} @elsewhere")));
    assert!(
        fs::read_to_string(place.path("elsewhere"))
            .unwrap()
            .contains(" 4 ")
    );
    // The file next to the key knows version 3, from which 4 follows.
    done(&place.line(NEW[0]));
}
