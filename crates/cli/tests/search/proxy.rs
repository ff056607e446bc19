//! `sordino proxy`: programs of this machine, over HTTP.

use crate::binary::{command, done, failed};
use crate::place::{DIM, Place};
use crate::served::Served;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
};

/// A proxy in a process of its own, killed when dropped.
struct Proxy {
    child: Child,
    address: String,
    token: String,
}

impl Proxy {
    fn new(place: &Place, url: &str, more: &str) -> Self {
        let line = format!(
            "proxy --json --connect {url} --key @reader.key --token-file @token --listen 127.0.0.1:0 --cache \
             @cache {more}"
        );
        let mut child = command(&place.line(&line))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        Self {
            child,
            address: said["address"].as_str().unwrap().to_owned(),
            token: fs::read_to_string(place.path("token"))
                .unwrap()
                .trim()
                .to_owned(),
        }
    }

    /// The status and body of the reply to these bytes.
    fn send(&self, request: &[u8]) -> (u16, String) {
        let mut tcp = TcpStream::connect(&self.address).unwrap();
        // It may be refused before all of it is written.
        let _ = tcp.write_all(request);
        let mut reply = String::new();
        let _ = tcp.read_to_string(&mut reply);
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.unwrap_or(0), body.to_owned())
    }

    fn request(&self, method: &str, path: &str, token: &str, body: &[u8]) -> (u16, String) {
        let len = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: {len}\r\n\
             Connection: close\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    fn search(&self, body: &[u8]) -> (u16, Value) {
        let (status, body) =
            self.request("POST", "/search", &format!("Bearer {}", self.token), body);
        (
            status,
            serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}")),
        )
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.request("GET", path, "", b"");
        (status, serde_json::from_str(&body).unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn of_rows(place: &Place, rows: std::ops::Range<usize>, k: usize) -> Vec<u8> {
    let vectors: Vec<&[f32]> = rows.map(|row| place.base.row(row)).collect();
    json!({"vectors": vectors, "k": k}).to_string().into_bytes()
}

fn nearest(found: &Value) -> Vec<u64> {
    let results = found["results"].as_array().unwrap().iter();
    results
        .map(|result| result["hits"][0]["id"].as_u64().unwrap())
        .collect()
}

#[test]
fn programs_search_through_it_and_it_follows_the_index() {
    let place = Place::new();
    place.build_mode("masked");
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    let served =
        Served::new(&place.line("@masked --key @owner.pub --plaintext --client @alice.pub"));
    let proxy = Proxy::new(&place, &served.url(), "--client-key @alice.key --pin @pin");
    let (status, found) = proxy.search(&of_rows(&place, 0..5, 3));
    assert_eq!(status, 200, "{found}");
    assert_eq!(
        (nearest(&found), &found["version"]),
        (vec![0, 1, 2, 3, 4], &json!(1))
    );
    assert_eq!(found["results"][0]["hits"].as_array().unwrap().len(), 3);
    let one = json!({"vector": place.base.row(7)}).to_string();
    let (_, found) = proxy.search(one.as_bytes());
    assert_eq!(
        (
            nearest(&found),
            found["results"][0]["hits"].as_array().unwrap().len()
        ),
        (vec![7], 10)
    );
    let health = json!({"status": "ok", "version": 1, "dim": DIM, "k": 10});
    assert_eq!(proxy.get("/health"), (200, health));
    done(&place.line("index delete @masked --ids 7 --key @owner.key"));
    assert_eq!(served.line()["event"], "following");
    let (_, found) = proxy.search(one.as_bytes());
    assert_ne!(nearest(&found), [7]);
    assert_eq!(proxy.get("/health").1["version"], 2);
    assert!(
        fs::read_to_string(place.path("pin"))
            .unwrap()
            .contains("\"version\":2")
    );
    // Many at a time wait for one another.
    let bodies: Vec<Vec<u8>> = (0..8).map(|row| of_rows(&place, row..row + 1, 1)).collect();
    std::thread::scope(|scope| {
        let asked: Vec<_> = bodies
            .iter()
            .map(|body| scope.spawn(|| proxy.search(body)))
            .collect();
        for (row, asked) in asked.into_iter().enumerate().take(7) {
            assert_eq!(nearest(&asked.join().unwrap().1), [row as u64]);
        }
    });
    // With the server gone it says so, within its time.
    let quick = Proxy::new(&place, &served.url(), "--client-key @alice.key --timeout 1");
    drop(served);
    let (status, problem) = quick.search(one.as_bytes());
    assert!(status == 502 || status == 504, "{status} {problem}");
    let code = problem["error"]["code"].as_str().unwrap();
    assert!(code == "server" || code == "slow", "{problem}");
    assert_eq!(quick.get("/health").0, 200);
}

#[test]
fn hostile_requests_get_typed_refusals_and_nothing_else() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let proxy = Proxy::new(&place, &served.url(), "--timeout 5");
    let good = of_rows(&place, 0..1, 1);
    let bearer = format!("Bearer {}", proxy.token);
    let refused = |method: &str, path: &str, token: &str, body: &[u8]| {
        let (status, body) = proxy.request(method, path, token, body);
        let problem: Value =
            serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}"));
        let code = problem["error"]["code"].as_str().unwrap().to_owned();
        assert!(problem["error"]["message"].as_str().unwrap().len() > 10);
        (status, code)
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    let almost = format!("Bearer {}x", &proxy.token[1..]);
    for token in [
        "",
        "Bearer ",
        "Basic x",
        &proxy.token,
        &almost,
        &format!("{bearer} "),
        &bearer[..60],
    ] {
        // Spaces around a header's value are not part of it.
        if token.trim() == bearer {
            continue;
        }
        assert_eq!(
            refused("POST", "/search", token, &good),
            is(401, "token"),
            "{token}"
        );
    }
    assert_eq!(refused("GET", "/search", &bearer, b""), is(405, "method"));
    assert_eq!(refused("POST", "/health", &bearer, b""), is(405, "method"));
    assert_eq!(refused("GET", "/", &bearer, b""), is(404, "path"));
    assert_eq!(
        refused("POST", "/search/../search", &bearer, &good),
        is(404, "path")
    );
    let long = vec![b' '; (4 << 20) + 1];
    assert_eq!(refused("POST", "/search", &bearer, &long), is(413, "long"));
    let zero = json!({"vector": vec![0.0; DIM]}).to_string();
    let short = json!({"vector": [1.0]}).to_string();
    for body in [
        &b""[..],
        b"\xff\xfe",
        b"{",
        &vec![b'['; 100_000],
        &good[..good.len() - 1],
        short.as_bytes(),
        br#"{"vectors": []}"#,
        br#"{"k": 99999999999999999999}"#,
    ] {
        assert_eq!(
            refused("POST", "/search", &bearer, body),
            is(400, "request")
        );
    }
    // The zero vector has no direction; that is found out by whoever searches.
    let (status, _) = refused("POST", "/search", &bearer, zero.as_bytes());
    assert_eq!(status, 400);
    // Bytes that are no HTTP, and bodies that do not come or do not end.
    for bytes in [
        b"\x16\x03\x01\x02\x00".to_vec(),
        b"POST /search HTTP/1.1\r\n\r\n".to_vec(),
        [b"GET /".to_vec(), vec![b'a'; 200_000], b" HTTP/1.1\r\n\r\n".to_vec()].concat(),
        format!("POST /search HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
            .into_bytes(),
    ] {
        let (status, _) = proxy.send(&bytes);
        assert!(status == 0 || (400..500).contains(&status), "{status}");
    }
    let head = format!(
        "POST /search HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer}\r\nContent-Length: 90\r\n\r\n{{"
    );
    let (status, body) = proxy.send(head.as_bytes());
    assert!(status == 504 && body.contains("slow"), "{status} {body}");
    // More connections than it has places for, held open, make way when they say nothing.
    let held: Vec<_> = (0..200)
        .filter_map(|_| TcpStream::connect(&proxy.address).ok())
        .collect();
    drop(held);
    let start = std::time::Instant::now();
    while proxy
        .send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .0
        != 200
    {
        assert!(start.elapsed().as_secs() < 60, "it does not come back");
    }
    assert_eq!(proxy.search(&good).0, 200);
}

#[test]
fn the_token_is_its_users_alone() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let first = Proxy::new(&place, &served.url(), "");
    assert_eq!(first.token.len(), 64);
    // The next one takes the same.
    assert_eq!(Proxy::new(&place, &served.url(), "").token, first.token);
    let line = format!(
        "proxy --connect {} --key @reader.key --listen 127.0.0.1:0 --token-file",
        served.url()
    );
    for text in [
        "",
        "short",
        &"x y".repeat(20),
        &"é".repeat(40),
        &"x".repeat(5000),
    ] {
        let path = place.path("wrong");
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let wrong = failed(&place.line(&format!("{line} @wrong")), 1);
        assert!(wrong.contains("32 to 4095 visible"), "{wrong}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("token"), 0o600);
        fs::write(place.path("seen"), "y".repeat(64)).unwrap();
        fs::set_permissions(place.path("seen"), fs::Permissions::from_mode(0o640)).unwrap();
        let seen = failed(&place.line(&format!("{line} @seen")), 1);
        assert!(seen.contains("others can read"), "{seen}");
    }
}

#[test]
fn its_description_names_what_it_answers() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let proxy = Proxy::new(&place, &served.url(), "");
    let (_, described) = proxy.get("/openapi.json");
    let schema = |name: &str| described["components"]["schemas"][name]["properties"].clone();
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&described["paths"]),
        ["/health", "/openapi.json", "/search"]
    );
    assert_eq!(keys(&schema("Health")), keys(&proxy.get("/health").1));
    let (_, found) = proxy.search(&of_rows(&place, 0..1, 1));
    assert_eq!(keys(&schema("Results")), keys(&found));
    for key in keys(&found["results"][0]["hits"][0]) {
        assert!(keys(&schema("Hit")).contains(&key), "{key}");
    }
    let codes = &schema("Problem")["error"]["properties"]["code"]["enum"];
    let (_, problem) = proxy.search(b"");
    assert!(
        codes
            .as_array()
            .unwrap()
            .contains(&problem["error"]["code"])
    );
}
