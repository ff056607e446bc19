//! `sordino proxy` for programs on this machine, over HTTP.

use crate::binary::{command, done, failed, json};
use crate::documents;
use crate::place::{DIM, Place};
use crate::proxied::{Proxy, Relay};
use crate::served::Served;
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

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
    // Simultaneous requests wait for one another.
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
    // Without a server, the proxy reports an error within its time limit.
    let quick = Proxy::new(&place, &served.url(), "--client-key @alice.key --timeout 1");
    let address = served.url().replace("http://", "");
    drop(served);
    let (status, problem) = quick.search(one.as_bytes());
    assert_eq!((status, &problem["error"]["code"]), (502, &json!("server")));
    let why = problem["error"]["message"].as_str().unwrap();
    assert!(why.contains("connect"), "{why}");
    // The proxy reports such an error for every request. The words differ with the moment at which the connection
    // breaks.
    for _ in 0..3 {
        let (status, problem) = quick.search(one.as_bytes());
        assert_eq!((status, &problem["error"]["code"]), (502, &json!("server")));
    }
    let absent = |proxy: &Proxy| {
        let (status, problem) = proxy.get("/health");
        let why = problem["error"]["message"].as_str().unwrap_or_default();
        status == 503 && why.contains("the server behind this proxy cannot be reached")
    };
    assert!(absent(&quick));
    assert_eq!(quick.get("/healthz").0, 200);
    // The proxy also asks the server by itself.
    until("it seems ready", || absent(&proxy));
    let line = format!(
        "serve --json --listen {address} @masked --key @owner.pub --plaintext --client @alice.pub"
    );
    let _served = Served::started(&mut command(&place.line(&line)));
    until("it is not ready again", || proxy.get("/readyz").0 == 200);
    until("it is not ready again", || quick.get("/readyz").0 == 200);
}

/// Waits for what a proxy does by itself.
fn until(not_yet: &str, is_so: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed().as_secs() < 90, "{not_yet}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_proxy_whose_reader_is_revoked_is_not_ready_until_it_is_granted_again() {
    let place = crate::readers::place();
    let served = Served::plain(&place, "i");
    let proxy = Proxy::new(&place, &served.url(), "--key @bob.pair");
    let one = json!({"vector": place.base.row(7)}).to_string();
    assert_eq!(proxy.search(one.as_bytes()).0, 200);
    assert_eq!(proxy.get("/readyz").0, 200);
    done(&place.line("keys revoke @i bob --key @owner.key"));
    assert_eq!(served.line()["event"], "following");
    let (status, problem) = proxy.search(one.as_bytes());
    assert_eq!(status, 502, "{problem}");
    let (status, ready) = proxy.get("/readyz");
    assert_eq!((status, &ready["error"]["code"]), (503, &json!("server")));
    let why = ready["error"]["message"].as_str().unwrap();
    assert!(why.contains("revoked"), "{why}");
    // A wrong request does not change the proxy's state.
    assert_eq!(proxy.search(b"{\"vector\": [1]}").0, 400);
    assert_eq!(proxy.get("/health").0, 503);
    done(&place.line("keys grant @i bob --public @bob.pub --key @owner.key"));
    assert_eq!(served.line()["event"], "following");
    let (status, found) = proxy.search(one.as_bytes());
    assert_eq!(status, 200, "{found}");
    assert_eq!(proxy.get("/readyz").0, 200);
}

#[test]
fn an_index_that_is_here_as_a_whole_is_followed_too() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let proxy = Proxy::new(&place, &served.url(), "");
    let one = json!({"vector": place.base.row(7), "k": 1}).to_string();
    let asked = || {
        let (status, found) = proxy.search(one.as_bytes());
        assert_eq!(status, 200, "{found}");
        (
            found["version"].clone(),
            found["results"][0]["hits"][0]["id"].clone(),
        )
    };
    assert_eq!(asked(), (json!(1), json!(7)));
    done(&place.line("index delete @local --ids 7 --key @owner.key"));
    assert_eq!(served.line()["event"], "following");
    until("it is not followed", || asked().0 == json!(2));
    assert_ne!(asked().1, json!(7));
    // The key that the proxy uses stops being a reader's.
    done(&place.line("keys new reader-pair @al.pair --from @owner.pub"));
    done(&place.line("keys new reader-public @al.pub --from @al.pair"));
    done(&place.line("keys grant @local al --public @al.pub --key @owner.key"));
    until("it is ready for ever", || proxy.get("/readyz").0 == 503);
    assert_eq!(proxy.search(one.as_bytes()).0, 502);
}

#[test]
fn conditions_are_decided_by_the_proxy() {
    let place = Place::new();
    fs::write(place.path("docs.jsonl"), documents::jsonl(&place)).unwrap();
    let line = format!(
        "index build @docs.jsonl @docs --key @owner.key {}",
        documents::COLUMNS
    );
    json(&place.line(&line));
    let served = Served::plain(&place, "docs");
    let proxy = Proxy::new(&place, &served.url(), "");
    let ask = |more: Value| {
        let mut body = json!({"vector": place.base.row(8)});
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        proxy.search(body.to_string().as_bytes())
    };
    let condition = json!({"where": "year >= 2010 and lang = 'de'", "k": 4});
    let (status, found) = ask(condition);
    assert_eq!(status, 200, "{found}");
    let hits = found["results"][0]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 4);
    for hit in hits {
        let attributes = &hit["attributes"];
        assert!(attributes["year"].as_u64().unwrap() >= 2010, "{hit}");
        assert_eq!(attributes["lang"], "de");
        let payload: Value = serde_json::from_str(hit["payload"].as_str().unwrap()).unwrap();
        assert_eq!(payload["lang"], "de");
    }
    let (_, found) = ask(json!({"min_score": 0.999}));
    let hits = found["results"][0]["hits"].as_array().unwrap();
    assert_eq!((hits.len(), &hits[0]["id"]), (1, &json!("doc-8")));
    let (_, none) = ask(json!({"where": "year = 1"}));
    assert_eq!(none["results"][0]["hits"], json!([]));
    for (condition, words) in [
        (
            "color = 'red'",
            "no attribute color: there are lang (text), year (int)",
        ),
        ("lang = 1", "attribute lang is text"),
        ("lang", "character 5"),
    ] {
        let (status, problem) = ask(json!({ "where": condition }));
        assert_eq!(
            (status, &problem["error"]["code"]),
            (400, &json!("request"))
        );
        let message = problem["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
}

/// After a refused reply, all requests get the same status, and the proxy sends nothing more to the
/// server.
#[test]
fn after_a_refused_reply_it_searches_no_more() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let relay = Relay::new(&served.address);
    let proxy = Proxy::new(&place, &relay.url, "");
    let some = of_rows(&place, 0..3, 1);
    assert_eq!(proxy.search(&some).0, 200);
    let search = relay.sent();
    relay.spoil(true);
    let (status, problem) = proxy.search(&some);
    assert_eq!(
        (status, &problem["error"]["code"]),
        (422, &json!("untrusted"))
    );
    // The proxy searched for all of the request's vectors.
    assert!(relay.sent() > search + search / 4);
    relay.spoil(false);
    let sent = relay.sent();
    for _ in 0..3 {
        assert_eq!(proxy.search(&some), (status, problem.clone()));
    }
    assert!(relay.sent() < sent + 1000);
    assert_eq!(proxy.search(b"{\"vector\": [1]}").0, 400);
    assert_eq!(proxy.get("/readyz").0, 200);
    let message = problem["error"]["message"].as_str().unwrap();
    assert!(message.contains("do not repeat the search"), "{message}");
    let other = Proxy::new(&place, &relay.url, "");
    assert_eq!(other.search(&some).0, 200);
}

/// A search that the server does not answer keeps one connection busy. Meanwhile the proxy answers other
/// searches.
#[test]
fn requests_are_searched_for_at_a_time() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let relay = Relay::new(&served.address);
    let proxy = Proxy::new(&place, &relay.url, "--timeout 60");
    relay.hold(true);
    const REQUESTS: usize = 16;
    let (send, done) = mpsc::channel();
    std::thread::scope(|scope| {
        for row in 0..REQUESTS {
            let (send, proxy) = (send.clone(), &proxy);
            let body = of_rows(&place, row..row + 1, 1);
            scope.spawn(move || {
                let (status, found) = proxy.search(&body);
                assert_eq!(status, 200, "{found}");
                assert_eq!(nearest(&found), [row as u64]);
                send.send(row).unwrap();
            });
        }
        // One of these requests may use the connection that is held up.
        for _ in 1..REQUESTS {
            done.recv().unwrap();
        }
        relay.hold(false);
    });
    // The vectors of one request are answered in their order.
    let (_, found) = proxy.search(&of_rows(&place, 0..20, 1));
    assert_eq!(nearest(&found), (0..20).collect::<Vec<u64>>());
}

#[test]
fn until_the_index_is_there_it_says_so() {
    let place = Place::new();
    let free = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let nobody = format!("http://{}", free());
    let mut proxy = Proxy::starting(&place, &nobody, &free());
    for path in ["/health", "/readyz"] {
        let (status, problem) = proxy.get(path);
        assert_eq!(
            (status, &problem["error"]["code"]),
            (503, &json!("starting"))
        );
    }
    let (status, problem) = proxy.search(b"{}");
    assert_eq!(
        (status, &problem["error"]["code"]),
        (503, &json!("starting"))
    );
    assert_eq!(proxy.get("/openapi.json").0, 200);
    // The proxy would try for half a minute longer.
    assert_eq!(proxy.stopped(), Some(0));
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
        // The spaces around a header's value do not belong to it.
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
    let array = refused("POST", "/search", &bearer, b"[[1.0, 0.0], null, 3]");
    assert_eq!(array, is(400, "request"));
    let queried = refused("POST", "/search?k=2", &bearer, &good);
    assert_eq!(queried, is(400, "request"));
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
    // The zero vector has no direction. The client finds this, not the check of the request.
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
}

/// More connections than the proxy has places for send nothing, or never end a header. The proxy closes them for
/// connections that send requests.
#[test]
fn silent_connections_shut_nobody_out() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let proxy = Proxy::new(&place, &served.url(), "");
    let good = of_rows(&place, 0..1, 1);
    // A connection that has shown the token stays open while the others come.
    let mut known = TcpStream::connect(&proxy.address).unwrap();
    let head = format!(
        "POST /search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        proxy.token,
        good.len()
    );
    known.write_all(head.as_bytes()).unwrap();
    let begun = std::time::Instant::now();
    let mut held = Vec::new();
    for at in 0..300 {
        let mut tcp = TcpStream::connect(&proxy.address).unwrap();
        if at % 2 == 0 {
            // The proxy may have closed this connection already.
            let _ = tcp.write_all(b"GET /health HTTP/1.1\r\nHost: x");
        }
        held.push(tcp);
        if at % 100 == 99 {
            assert_eq!(proxy.get("/health").0, 200);
            assert_eq!(proxy.search(&good).0, 200);
        }
    }
    // This comes before the time limit for silent connections.
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    known.write_all(&good).unwrap();
    let mut reply = [0; 12];
    known.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"HTTP/1.1 200");
}

#[test]
fn the_token_is_its_users_alone() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let first = Proxy::new(&place, &served.url(), "");
    assert_eq!(first.token.len(), 64);
    // The next proxy uses the same token.
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
    // Sorts the keys, because other packages can change whether serde_json keeps their order.
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(&described["paths"]),
        [
            "/health",
            "/healthz",
            "/openapi.json",
            "/readyz",
            "/records",
            "/records/count",
            "/records/scroll",
            "/search"
        ]
    );
    assert_eq!(keys(&schema("Health")), keys(&proxy.get("/health").1));
    assert_eq!(
        keys(&schema("Search")),
        ["k", "min_score", "vector", "vectors", "where"]
    );
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
