//! `sordino serve`.

use crate::binary::{command, done, failed};
use crate::place::{Place, assert_found, nearest};
use crate::served::Served;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

const MODES: [&str; 5] = ["masked", "routed", "open", "sealed", "local"];

#[test]
fn an_address_that_is_taken_is_named_with_what_to_do() {
    let place = Place::new();
    place.build_mode("open");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let line = format!("serve @open --key @owner.pub --plaintext --anyone --listen {address}");
    let error = failed(&place.line(&line), 1);
    assert!(
        error.contains("another program listens there") && error.contains("--listen"),
        "{error}"
    );
}

#[test]
fn every_mode_is_served_to_another_process() {
    let place = Place::new();
    for mode in MODES {
        place.build_mode(mode);
        let served = Served::plain(&place, mode);
        let found = place.query(&["--connect", &served.url()]);
        assert_eq!(found["mode"].as_str(), Some(mode));
        assert_found(&found, mode);
        // Searches on several connections at once, and in one process without a server, find the same records.
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
    assert!(failed(&place.line(&query), 4).contains("requires a client key"));
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
    // A client without TLS is refused by a server with TLS.
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

#[test]
fn shards_in_processes_of_their_own_are_one_server_and_follow_the_index() {
    let place = Place::new();
    place.build_mode("masked");
    let shard = |shard: &str| {
        let line = format!("@masked --key @owner.pub --plaintext --anyone --shard {shard}");
        Served::new(&place.line(&line))
    };
    let shards = [shard("1/2"), shard("2/2")];
    let front = Served::gather(&place, &shards);
    let found = place.query(&["--connect", &front.url()]);
    assert_found(&found, "masked");
    let here = place.query(&["--index", &place.at("masked")]);
    assert_eq!(nearest(&here), nearest(&found));
    // Clients cannot search at a single shard.
    let query = "query --key @reader.key --file @queries.npy --connect";
    for shard in &shards {
        let apart = failed(&place.line(&format!("{query} {}", shard.url())), 4);
        assert!(
            apart.contains("the server holds only a shard of the index"),
            "{apart}"
        );
    }

    done(&place.line("index delete @masked --ids 0 --key @owner.key"));
    for server in shards.iter().chain([&front]) {
        let now = server.line();
        assert_eq!(
            (now["event"].as_str(), now["version"].as_u64()),
            (Some("following"), Some(2))
        );
    }
    let found = place.query(&["--connect", &front.url()]);
    assert_eq!(found["version"].as_u64(), Some(2));

    let turned = format!("{},{}", shards[1].url(), shards[0].url());
    let turned = format!("gather --shards {turned} --key @owner.pub --plaintext --anyone");
    let refused = failed(&place.line(&turned), 4);
    assert!(
        refused.contains("name the shards in their order"),
        "{refused}"
    );
    for wrong in ["0/2", "3/2", "2", "1/2 --accept-changes"] {
        let serve = "serve @masked --key @owner.pub --plaintext --anyone --shard";
        failed(&place.line(&format!("{serve} {wrong}")), 2);
    }
    let secret = format!(
        "gather --shards {} --key @owner.key --plaintext --anyone",
        front.url()
    );
    assert!(failed(&place.line(&secret), 1).contains("must have no secret"));
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

#[test]
fn a_server_is_not_given_a_secret() {
    let place = Place::new();
    place.build_mode("local");
    for secret in ["owner.key", "reader.key"] {
        let serve = format!("serve @local --key @{secret} --plaintext --anyone");
        let refused = failed(&place.line(&serve), 1);
        assert!(
            refused.contains("must have no secret") && refused.contains("keys new public"),
            "{refused}"
        );
    }
}

#[test]
fn the_address_may_be_a_name() {
    let place = Place::new();
    place.build_mode("local");
    let mut child = command(&place.line("serve @local --key @owner.pub --plaintext --anyone"))
        .args(["--listen", "localhost:0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        said["address"].as_str().unwrap().starts_with("127."),
        "{said}"
    );
    let wrong = "serve @local --key @owner.pub --plaintext --anyone --listen localhost";
    let wrong = failed(&place.line(wrong), 2);
    assert!(wrong.contains("localhost:7700"), "{wrong}");
}

/// The lines that a server writes to standard error until its end. The test sends one request that
/// is refused, then stops the server.
#[cfg(unix)]
fn log(place: &Place, more: &str) -> Vec<String> {
    let serve =
        "serve @local --key @owner.pub --plaintext --client @alice.pub --listen 127.0.0.1:0";
    let mut child = command(&place.line(&format!("{serve} --json {more}")))
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let address = said["address"].as_str().unwrap();
    let query = format!("query --key @reader.key --file @queries.npy --connect http://{address}");
    failed(&place.line(&query), 4);
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn the_log_has_times_and_reasons_and_nothing_of_a_query() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    let text = log(&place, "");
    // Each line begins with a date, a time and a zone.
    assert!(
        text.iter()
            .all(|line| line.as_bytes()[4] == b'-' && line.as_bytes()[10] == b'T')
    );
    let refused = text.iter().find(|line| line.contains("request refused"));
    let refused = refused.unwrap_or_else(|| panic!("{text:?}"));
    assert!(
        refused.contains("unsigned") && refused.contains("127.0.0.1") && refused.len() < 200,
        "{refused}"
    );
    assert!(text.last().unwrap().contains("stopping"), "{text:?}");
    for line in log(&place, "--log json") {
        let line: Value = serde_json::from_str(&line).unwrap();
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
    }
}

/// Whatever replaces the index, the server continues with the old data and takes no more memory. It
/// stops when told to.
#[cfg(unix)]
#[test]
fn a_server_outlives_what_becomes_of_its_index() {
    let place = Place::new();
    place.build_mode("masked");
    let mut served = Served::plain(&place, "masked");
    let current = place.path("masked/CURRENT");
    let whole = fs::read(&current).unwrap();
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(place.path("masked"));
        assert!(shell.status().unwrap().success(), "{line}");
    };
    for change in [
        "for part in parts/*; do echo damaged > $part; done",
        "echo 9 > CURRENT",
        "rm CURRENT; mkdir CURRENT; rmdir CURRENT",
        // The first of these files never ends, and the pipes never begin.
        "ln -s /dev/zero CURRENT",
        "rm CURRENT; mkfifo CURRENT",
        "rm CURRENT; for part in parts/*; do rm $part; mkfifo $part; done",
    ] {
        shell(change);
        let found = place.query(&["--connect", &served.url()]);
        assert_found(&found, "masked");
    }
    // The server looks at the index again and again, although its parts are pipes.
    fs::write(&current, [&whole[..], b" "].concat()).unwrap();
    fs::remove_dir_all(place.path("masked")).unwrap();
    place.build_mode("masked");
    assert_eq!(served.line()["event"], "following");
    let id = served.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

/// More idle strangers than the process may have open files. The server closes them for clients
/// that have a key.
#[cfg(unix)]
#[test]
fn strangers_do_not_use_up_the_open_files() {
    let place = Place::new();
    place.build_mode("local");
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    let mut served = Served::limited(
        &place.line("@local --key @owner.pub --plaintext --client @alice.pub"),
        40,
    );
    let strangers: Vec<_> = (0..80)
        .filter_map(|_| std::net::TcpStream::connect(&served.address).ok())
        .collect();
    assert!(strangers.len() > 60, "{}", strangers.len());
    for _ in 0..3 {
        let key = place.at("alice.key");
        let found = place.query(&["--connect", &served.url(), "--client-key", &key]);
        assert_found(&found, "local");
    }
    assert!(served.child.try_wait().unwrap().is_none());
}
