//! `sordino serve`.

use crate::binary::{done, failed};
use crate::place::{Place, assert_found, nearest};
use crate::served::Served;
use std::{fs, process::Command};

const MODES: [&str; 4] = ["masked", "open", "sealed", "local"];

#[test]
fn every_mode_is_served_to_another_process() {
    let place = Place::new();
    for mode in MODES {
        place.build_mode(mode);
        let served = Served::plain(&place, mode);
        let found = place.query(&["--connect", &served.url()]);
        assert_eq!(found["mode"].as_str(), Some(mode));
        assert_found(&found, mode);
        // The same from several connections at a time, and in this process.
        let jobs = place.query(&["--connect", &served.url(), "--jobs", "3"]);
        assert_eq!(nearest(&jobs), nearest(&found), "{mode}");
        let here = place.query(&["--index", &place.at(mode)]);
        assert_eq!(nearest(&here), nearest(&found), "{mode}");
    }
}

#[test]
fn clients_prove_who_they_are() {
    let place = Place::new();
    place.build_mode("open");
    for name in ["alice", "mallory"] {
        done(&place.line(&format!("keys new client @{name}.key")));
        let public = format!("keys new client-public @{name}.pub --from @{name}.key");
        done(&place.line(&public));
    }
    let served = "@open --key @owner.pub --plaintext --client @alice.pub";
    let served = Served::new(&place.line(served));
    let url = served.url();
    let found = place.query(&["--connect", &url, "--client-key", &place.at("alice.key")]);
    assert_found(&found, "open");
    let query = format!("query --key @reader.key --file @queries.npy --connect {url}");
    assert!(failed(&place.line(&query), 4).contains("not signed"));
    let unknown = failed(
        &place.line(&format!("{query} --client-key @mallory.key")),
        4,
    );
    assert!(unknown.contains("not known"), "{unknown}");
}

#[test]
fn tls_is_checked_against_the_given_roots() {
    let place = Place::new();
    place.build_mode("local");
    let made = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        fs::write(place.path(&format!("{name}.pem")), made.cert.pem()).unwrap();
        fs::write(
            place.path(&format!("{name}.pk")),
            made.signing_key.serialize_pem(),
        )
        .unwrap();
    };
    made("server");
    made("other");
    let tls = "--anyone --cert @server.pem --cert-key @server.pk";
    let served = Served::new(&place.line(&format!("@local --key @owner.pub {tls}")));
    let url = format!("https://{}", served.address);
    let tls = ["--connect", &url, "--server-name", "localhost"];
    let found = place.query(&[&tls[..], &["--roots", &place.at("server.pem")]].concat());
    assert_found(&found, "local");
    let query = "query --key @reader.key --file @queries.npy";
    let other = format!("{query} --connect {url} --server-name localhost --roots @other.pem");
    failed(&place.line(&other), 4);
    // No TLS where there is some.
    failed(
        &place.line(&format!("{query} --connect http://{}", served.address)),
        4,
    );
}

#[test]
fn a_running_server_follows_the_index() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    assert_eq!(nearest(&place.query(&["--connect", &served.url()]))[0], 0);
    done(&place.line("index delete @masked --ids 0 --key @owner.key"));
    let now = served.line();
    assert_eq!(
        (now["event"].as_str(), now["version"].as_u64()),
        (Some("following"), Some(2))
    );
    let found = place.query(&["--connect", &served.url()]);
    assert_eq!(found["version"].as_u64(), Some(2));
    assert_ne!(nearest(&found)[0], 0);
}

#[cfg(unix)]
#[test]
fn a_server_stops_when_it_is_told() {
    let place = Place::new();
    place.build_mode("local");
    let mut served = Served::plain(&place, "local");
    let id = served.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let status = served.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}
