//! Commands connect to servers behind a proxy, to silent servers and to servers with another protocol. Certificates of
//! servers change.

use crate::binary::{command, done, failed};
use crate::place::{Place, assert_found};
use crate::proxied::carry;
use crate::served::Served;
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

const QUERY: &str = "query --key @reader.key --file @queries.npy --no-cache --connect";

/// Starts a proxy that opens tunnels for clients that show `auth`. Returns its address and each request's first line.
fn tunnels(auth: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (said, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let line = head.lines().next().unwrap_or_default().to_owned();
            let server = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let _ = said.send(line);
            if !head.to_ascii_lowercase().contains(auth) {
                let _ = client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
                continue;
            }
            let server = TcpStream::connect(server).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || carry(client, forth, |_| ()));
            std::thread::spawn(move || carry(server, back, |_| ()));
        }
    });
    (address, lines)
}

#[test]
fn a_server_is_reached_through_a_proxy() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    // This is "me:secret" in the form of Basic, in small letters.
    let (address, lines) = tunnels("basic bwu6c2vjcmv0");
    let proxy = format!("http://me:secret@{address}");
    let found = place.query(&["--connect", &served.url(), "--proxy", &proxy]);
    assert_found(&found, "local");
    let line = lines.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!(line, format!("CONNECT {} HTTP/1.1", served.address));
    let query = format!("{QUERY} {} --wait 0 --proxy", served.url());
    let refused = failed(&place.line(&format!("{query} http://{address}")), 4);
    assert!(
        refused.contains(&format!("through the proxy {address}")),
        "{refused}"
    );
    let other = failed(
        &place.line(&format!("{query} socks5://me:secret@{address}")),
        1,
    );
    assert!(
        other.contains("expected http://HOST:PORT") && !other.contains("secret"),
        "{other}"
    );
    // The proxy in the environment is not used for servers on this machine.
    let line = place.line(&format!("{QUERY} {}", served.url()));
    let run = command(&line)
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .output();
    assert!(run.unwrap().status.success());
}

#[test]
fn a_silent_server_is_waited_for_as_long_as_asked() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let held = std::thread::spawn(move || listener.incoming().take(1).collect::<Vec<_>>());
    let start = Instant::now();
    let silent = failed(&place.line(&format!("{QUERY} {url} --wait 1")), 4);
    assert!(silent.contains("says nothing for 1 s"), "{silent}");
    assert!(start.elapsed() < Duration::from_secs(20));
    drop(held);
}

/// Answers of HTTP servers to requests they do not know. The answer of Python's server has no
/// status.
#[test]
fn another_http_server_is_named() {
    let place = Place::new();
    for answer in [
        "<!DOCTYPE HTML>\n<html lang=\"en\">",
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let _ = client.read(&mut [0; 1024]);
                let _ = client.write_all(answer.as_bytes());
                // Reads the rest, so that closing the connection does not discard the answer.
                let _ = client.shutdown(std::net::Shutdown::Write);
                let _ = client.read_to_end(&mut Vec::new());
            }
        });
        let other = failed(&place.line(&format!("{QUERY} {url} --wait 0")), 4);
        assert!(other.contains("this is not a Sordino server"), "{other}");
    }
}

/// Writes a certificate and its key to a folder. The certificate is valid until the end of the
/// year.
#[cfg(unix)]
fn certificate(place: &Place, folder: &str, year: i32) {
    certified(place, folder, year, rcgen::IsCa::NoCa);
}

#[cfg(unix)]
fn certified(place: &Place, folder: &str, year: i32, is_ca: rcgen::IsCa) {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = is_ca;
    params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    params.not_after = rcgen::date_time_ymd(year, 12, 31);
    let key = rcgen::KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    fs::create_dir_all(place.path(folder)).unwrap();
    fs::write(place.path(&format!("{folder}/tls.crt")), made.pem()).unwrap();
    fs::write(
        place.path(&format!("{folder}/tls.key")),
        key.serialize_pem(),
    )
    .unwrap();
}

/// Kubernetes has links to files in a folder. That folder is itself a link, which Kubernetes
/// replaces.
#[cfg(unix)]
#[test]
fn a_certificate_is_followed_when_its_link_is_exchanged() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    place.build_mode("local");
    certificate(&place, "tls/..1", 2020);
    certificate(&place, "tls/..2", 2090);
    symlink("..1", place.path("tls/..data")).unwrap();
    for file in ["tls.crt", "tls.key"] {
        symlink(format!("..data/{file}"), place.path(&format!("tls/{file}"))).unwrap();
    }
    let log = place.path("log");
    let tls = "--anyone --cert @tls/tls.crt --cert-key @tls/tls.key";
    let served = Served::logged(&place.line(&format!("@local --key @owner.pub {tls}")), &log);
    crate::config::until(&log, "certificate has expired");
    let url = format!(
        "https://{} --server-name localhost --roots @tls/..2/tls.crt",
        served.address
    );
    failed(&place.line(&format!("{QUERY} {url} --wait 0")), 4);
    symlink("..2", place.path("tls/..new")).unwrap();
    fs::rename(place.path("tls/..new"), place.path("tls/..data")).unwrap();
    assert_eq!(served.line()["event"], "renewed");
    done(&place.line(&format!("{QUERY} {url}")));
    // If only half of the pair was replaced, the server logs it and keeps the pair that it has.
    certificate(&place, "tls/..3", 2090);
    fs::copy(place.path("tls/..3/tls.crt"), place.path("tls/..2/tls.crt")).unwrap();
    crate::config::until(
        &log,
        "the private key belongs to none of the chain's certificates",
    );
}

#[cfg(unix)]
#[test]
fn a_certificate_of_an_authority_is_named_at_the_server_and_at_the_client() {
    let place = Place::new();
    place.build_mode("local");
    let authority = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    certified(&place, "tls", 2090, authority);
    let log = place.path("log");
    let tls = "--anyone --cert @tls/tls.crt --cert-key @tls/tls.key";
    let served = Served::logged(&place.line(&format!("@local --key @owner.pub {tls}")), &log);
    let option = "-addext basicConstraints=critical,CA:FALSE";
    crate::config::until(&log, option);
    let url = format!(
        "https://{} --server-name localhost --roots @tls/tls.crt",
        served.address
    );
    let refused = failed(&place.line(&format!("{QUERY} {url} --wait 0")), 4);
    assert!(refused.contains(option), "{refused}");
}

#[cfg(unix)]
#[test]
fn files_that_disappear_while_the_server_follows_them_are_named_once_each_time() {
    let place = Place::new();
    place.build_mode("local");
    certificate(&place, "tls", 2090);
    let log = place.path("log");
    let tls = "--anyone --cert @tls/tls.crt --cert-key @tls/tls.key";
    let served = Served::logged(&place.line(&format!("@local --key @owner.pub {tls}")), &log);
    let times = |count: usize, words: &str| {
        let start = Instant::now();
        let found = || fs::read_to_string(&log).unwrap().matches(words).count();
        while found() < count {
            assert!(start.elapsed() < Duration::from_secs(60), "{words}");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(found(), count);
    };
    let away = |file: &str| fs::rename(place.path(file), place.path("away")).unwrap();
    let back = |file: &str| fs::rename(place.path("away"), place.path(file)).unwrap();
    let certificate_away = "the certificate's files cannot be read";
    away("tls/tls.crt");
    times(1, certificate_away);
    back("tls/tls.crt");
    // Another pair is put into use, so the server has seen that the files are back.
    certificate(&place, "tls", 2089);
    assert_eq!(served.line()["event"], "renewed");
    away("tls/tls.key");
    times(2, certificate_away);
    back("tls/tls.key");
    away("local/CURRENT");
    times(1, "the index's file CURRENT cannot be read");
    // The server still answers from the version that it has.
    let url = format!(
        "https://{} --server-name localhost --roots @tls/tls.crt",
        served.address
    );
    done(&place.line(&format!("{QUERY} {url}")));
}
