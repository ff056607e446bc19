//! `sordino index` and `serve`, killed as by `kill -9`.

use crate::binary::{command, done, killed, run};
use crate::place::{Place, assert_found, npy, part};
use crate::served::Served;
use std::{fs, process::Stdio, time::Duration};

#[test]
fn a_killed_builder_leaves_no_index_or_a_whole_one() {
    let place = Place::new();
    let build = |index: &str| {
        let form = "--key @owner.key --mode sealed --recall 0.9";
        place.line(&format!("index build @base.npy @{index} {form}"))
    };
    done(&build("whole"));
    let whole = place.files("whole");
    let (mut cut, mut complete) = (0, 0);
    // The command is killed when this number of files exists. The last number is never reached.
    for written in 0..whole + 2 {
        let args = build("index");
        let ended = killed(&args, || place.files("index") >= written);
        if place.path("index").join("CURRENT").exists() {
            place.verify("index");
            complete += 1;
        } else {
            assert!(ended.is_none(), "a build that was reported is there");
            // The remains do not stand in the way of another build, but for a version that is whole.
            if !run(&args).status.success() {
                done(&place.line("index restore --from-manifests @index --key @owner.pub"));
            }
            place.verify("index");
            cut += 1;
        }
        fs::remove_dir_all(place.path("index")).unwrap();
    }
    assert!(
        cut > 0 && complete > 0,
        "{cut} cut short, {complete} complete"
    );
    eprintln!("{cut} builds cut short, {complete} complete");
}

#[test]
fn a_killed_change_is_made_or_not_and_an_acknowledged_one_is_made() {
    let place = Place::new();
    let index = place.build_mode("masked");
    fs::write(place.path("more.npy"), npy(&part(&place.base, 0..500))).unwrap();
    let add = place.line("index add @masked @more.npy --key @owner.key");
    let before = place.files("masked");
    done(&add);
    let written = place.files("masked") - before;
    let mut records = place.verify("masked")["records"].as_u64().unwrap();
    assert_eq!(records, 2500);
    let mut cut = 0;
    for written in 0..written + 2 {
        let before = place.files("masked");
        let ended = killed(&add, || place.files("masked") >= before + written);
        let now = place.verify("masked")["records"].as_u64().unwrap();
        match ended {
            Some(_) => assert_eq!(now, records + 500),
            None => {
                cut += 1;
                assert!(
                    now == records || now == records + 500,
                    "{records}, then {now}"
                );
            }
        }
        records = now;
    }
    assert!(cut > 0, "no change was killed in time");
    // There are several copies of what is searched for by now: any of them is right.
    let found = place.query(&["--index", &index]);
    for query in found["queries"].as_array().unwrap() {
        assert!(
            query["hits"][0]["score"].as_f64().unwrap() > 0.999,
            "{query}"
        );
    }
}

#[test]
fn a_killed_server_loses_nothing() {
    let place = Place::new();
    place.build_mode("masked");
    for wait in [0u64, 20, 60, 150] {
        let served = Served::plain(&place, "masked");
        let query = "query --json --key @reader.key --file @queries.npy --connect";
        let args = place.line(&format!("{query} {}", served.url()));
        let child = command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        // Killed as by `kill -9`, while it answers.
        drop(served);
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => assert_found(&serde_json::from_slice(&output.stdout).unwrap(), "masked"),
            code => assert_eq!(code, Some(4), "{}", String::from_utf8_lossy(&output.stderr)),
        }
        place.verify("masked");
    }
    let served = Served::plain(&place, "masked");
    assert_found(&place.query(&["--connect", &served.url()]), "masked");
}
