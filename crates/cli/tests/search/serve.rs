//! `sordino serve`.

use crate::binary::{done, failed};
use crate::place::{Place, assert_found, nearest};
use crate::served::Served;
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

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
        let key = place.at(&format!("{name}.key"));
        done(&["keys", "new", "client", &key]);
        let public = place.at(&format!("{name}.pub"));
        done(&["keys", "new", "client-public", &public, "--from", &key]);
    }
    let (index, owner, alice) = (
        place.at("open"),
        place.at("owner.pub"),
        place.at("alice.pub"),
    );
    let served = Served::new(&[&index, "--key", &owner, "--plaintext", "--client", &alice]);
    let url = served.url();
    let found = place.query(&["--connect", &url, "--client-key", &place.at("alice.key")]);
    assert_found(&found, "open");
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file, "--connect", &url];
    assert!(failed(&args, 4).contains("not signed"));
    let mallory = place.at("mallory.key");
    let unknown = failed(&[&args[..], &["--client-key", &mallory]].concat(), 4);
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
    let served = Served::new(&[
        &place.at("local"),
        "--key",
        &place.at("owner.pub"),
        "--anyone",
        "--cert",
        &place.at("server.pem"),
        "--cert-key",
        &place.at("server.pk"),
    ]);
    let url = format!("https://{}", served.address);
    let tls = ["--connect", &url, "--server-name", "localhost"];
    let found = place.query(&[&tls[..], &["--roots", &place.at("server.pem")]].concat());
    assert_found(&found, "local");
    let (key, file) = (place.at("reader.key"), place.at("queries.npy"));
    let args = ["query", "--key", &key, "--file", &file];
    failed(
        &[&args[..], &tls, &["--roots", &place.at("other.pem")]].concat(),
        4,
    );
    // No TLS where there is some.
    failed(
        &[
            &args[..],
            &["--connect", &format!("http://{}", served.address)],
        ]
        .concat(),
        4,
    );
}

#[test]
fn a_running_server_follows_the_index() {
    let place = Place::new();
    let index = place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    assert_eq!(nearest(&place.query(&["--connect", &served.url()]))[0], 0);
    let (key, owner) = (place.at("owner.key"), &place);
    done(&["index", "delete", &index, "--ids", "0", "--key", &key]);
    let now = served.line();
    assert_eq!(
        (now["event"].as_str(), now["version"].as_u64()),
        (Some("following"), Some(2))
    );
    let found = owner.query(&["--connect", &served.url()]);
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
    let start = Instant::now();
    let status = served.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(20));
}
