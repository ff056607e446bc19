//! Configuration files, and SIGHUP.

use crate::binary::{done, failed};
use crate::place::{Place, assert_found};
use crate::served::Served;
use std::{fs, path::Path};

/// Writes a configuration file to this place's folder, which `@` stands for in the text.
pub(crate) fn configure(place: &Place, name: &str, text: &str) {
    let folder = format!("{}/", place.folder().display());
    fs::write(place.path(name), text.replace('@', &folder)).unwrap();
}

#[test]
fn a_file_has_the_options_of_the_command_line_which_comes_first() {
    let place = Place::new();
    place.build_mode("local");
    configure(
        &place,
        "serve.toml",
        "# A server.\nindex = \"@local\"\nkey = \"@owner.pub\"\nlisten = [\"203.0.113.1:1\"]\n\
         plaintext = true\nclient = [\"@none.pub\"]\nrate = 50\nbatch = 2\nlog-level = \"warn\"\n",
    );
    // The address is not an address of this machine and the client's key is missing. The command
    // line replaces both.
    let served = Served::new(&place.line("--config @serve.toml --anyone"));
    assert_found(&place.query(&["--connect", &served.url()]), "local");
    // Without options the file is refused, because of the missing key that it names.
    let refused = failed(&place.line("serve --config @serve.toml"), 1);
    assert!(refused.contains("none.pub"), "{refused}");
    // An option of the command line also wins over options in the file that exclude it.
    configure(
        &place,
        "tls.toml",
        "index = \"@nowhere\"\nkey = \"@owner.pub\"\ncert = \"@a.pem\"\ncert-key = \"@a.key\"\nanyone = true",
    );
    let served = Served::new(&place.line("--config @tls.toml @local --plaintext"));
    assert_found(&place.query(&["--connect", &served.url()]), "local");
}

#[test]
fn mistakes_in_a_file_are_named_by_line() {
    let place = Place::new();
    for (text, line, words) in [
        (
            "key = \"a\"\n\nlisen = \"localhost:1\"",
            3,
            "\"lisen\" is not an option",
        ),
        ("config = \"b\"", 1, "not an option"),
        ("key = \"a\"\nrate = \"fast\"", 2, "expected a number from"),
        ("\nrate = -3", 2, "expected a number from"),
        ("plaintext = \"yes\"", 1, "expected true or false"),
        ("anyone = 1", 1, "expected true or false"),
        ("key = true", 1, "expected text or a number"),
        ("key = [\"a\", \"b\"]", 1, "expected text or a number"),
        ("client = [\"a\", [\"b\"]]", 1, "expected text, or a list"),
        ("[serve]\nkey = \"a\"", 1, "not an option"),
        ("[key]\na = 1", 1, "a table"),
        (
            "listen = \"localhost\"",
            1,
            "expected a port, too: localhost:7700",
        ),
        ("key = \"a\"\nkey = \"b\"", 2, "duplicate"),
        ("key = \"a", 1, "string"),
    ] {
        configure(&place, "wrong.toml", text);
        let refused = failed(&place.line("serve @local --config @wrong.toml"), 2);
        let place = format!("wrong.toml, line {line}: ");
        assert!(
            refused.contains(&place) && refused.contains(words),
            "{text}: {refused}"
        );
    }
    fs::write(place.path("wrong.toml"), [0xff; 8]).unwrap();
    failed(&place.line("serve --config @wrong.toml"), 1);
    failed(&place.line("serve --config @nowhere.toml"), 1);
    failed(&place.line("serve --config"), 2);
}

/// A certificate for `localhost` and its key in the files of a server.
fn certificate(place: &Place, authority: &str) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(place.path(authority), made.cert.pem()).unwrap();
    fs::write(place.path("server.pem"), made.cert.pem()).unwrap();
    fs::write(place.path("server.pk"), made.signing_key.serialize_pem()).unwrap();
}

/// Waits until a file that a process writes has these words.
#[cfg(unix)]
pub(crate) fn until(file: &Path, words: &str) {
    let start = std::time::Instant::now();
    while !fs::read_to_string(file).unwrap().contains(words) {
        assert!(start.elapsed().as_secs() < 60, "{words} is never said");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[cfg(unix)]
#[test]
fn a_hang_up_reloads_certificates_keys_and_rates_and_keeps_the_old_where_the_new_are_wrong() {
    let place = Place::new();
    place.build_mode("local");
    for name in ["alice", "bob"] {
        done(&place.line(&format!("keys new client @{name}.key")));
        done(&place.line(&format!(
            "keys new client-public @{name}.pub --from @{name}.key"
        )));
    }
    certificate(&place, "first.pem");
    let fixed = "index = \"@local\"\nkey = \"@owner.pub\"\ncert = \"@server.pem\"\ncert-key = \"@server.pk\"\n";
    let config = |more: &str| configure(&place, "serve.toml", &format!("{fixed}{more}"));
    config("client = \"@alice.pub\"\n");
    let log = place.path("log");
    let served = Served::logged(&place.line("--config @serve.toml"), &log);
    let url = format!("https://{}", served.address);
    let query = |name: &str, authority: &str| {
        format!(
            "query --connect {url} --server-name localhost --roots @{authority} --client-key @{name}.key \
             --key @reader.key --file @queries.npy --no-cache"
        )
    };
    let may = |name, authority| done(&place.line(&query(name, authority)));
    let not = |name, authority| failed(&place.line(&query(name, authority)), 4);
    may("alice", "first.pem");
    assert!(not("bob", "first.pem").contains("not known"));

    certificate(&place, "second.pem");
    config("client = [\"@bob.pub\"]\nrate = 77\nbatch = 3\n");
    served.hang_up();
    assert_eq!(served.line()["event"], "reloaded");
    until(&log, "in effect from the next start options=batch");
    may("bob", "second.pem");
    assert!(not("alice", "second.pem").contains("not known"));
    not("bob", "first.pem");

    // Each of these files has one fault.
    fs::write(place.path("other.pk"), "no key").unwrap();
    for (wrong, words) in [
        (
            "client = [\"@alice.pub\", \"@nowhere.pub\"]\n",
            "nowhere.pub",
        ),
        ("client = \"@alice.pub\"\nrate = 0\n", "line 6"),
        ("client = \"@alice.pub\"\nrato = 1\n", "rato"),
        ("anyone = true\n", "cannot begin to answer anyone"),
    ] {
        config(wrong);
        served.hang_up();
        until(&log, words);
        may("bob", "second.pem");
        not("alice", "second.pem");
    }
    config("client = [\"@alice.pub\"]\n");
    fs::write(place.path("server.pk"), "no key").unwrap();
    served.hang_up();
    until(&log, "private key");
    may("bob", "second.pem");
    certificate(&place, "third.pem");
    served.hang_up();
    assert_eq!(served.line()["event"], "reloaded");
    may("alice", "third.pem");
    assert!(
        fs::read_to_string(&log)
            .unwrap()
            .contains("the one before stays")
    );
}

#[test]
fn a_name_stands_for_all_its_addresses() {
    use std::net::ToSocketAddrs;
    let place = Place::new();
    place.build_mode("local");
    // A port that is free now, and that no other test uses.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let name = format!("localhost:{port}");
    let open = "@local --key @owner.pub --plaintext --anyone --listen";
    let served = Served::new(&place.line(&format!("{open} {name}")));
    let expected: Vec<String> = name
        .to_socket_addrs()
        .unwrap()
        .filter(|address| std::net::TcpListener::bind((address.ip(), 0)).is_ok())
        .map(|address| format!("http://{address}"))
        .collect();
    for url in expected {
        assert_found(&place.query(&["--connect", &url]), "local");
    }
    assert_found(&place.query(&["--connect", &served.url()]), "local");
}
