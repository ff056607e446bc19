//! `sordino proxy --owner-key`: programs write and list records over HTTP, and pages of named origins may ask.

use crate::binary::{command, done, failed, json};
use crate::documents;
use crate::place::{DIM, Place};
use crate::proxied::Proxy;
use crate::served::Served;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

impl Proxy {
    fn records(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = format!("bearer {}", self.writing);
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let (status, body) = self.request(method, path, &token, body.as_bytes());
        (status, serde_json::from_str(&body).unwrap())
    }
}

#[test]
fn programs_write_change_list_and_delete_records() {
    let place = Place::new();
    fs::write(place.path("docs.jsonl"), documents::jsonl(&place)).unwrap();
    let columns = documents::COLUMNS;
    done(&place.line(&format!(
        "index build @docs.jsonl @docs --key @owner.key {columns}"
    )));
    let served = Served::plain(&place, "docs");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @docs",
    );
    let put = |records: Value| proxy.records("PUT", "/records", &json!({ "records": records }));
    let count = || proxy.records("GET", "/records/count", &Value::Null);
    assert_eq!(count(), (200, json!({"version": 1, "count": 300})));

    let vector = place.base.row(400);
    let new = json!([{"id": "new", "vector": vector, "payload": "words", "attributes": {"year": 1999, "lang": "fr"}}]);
    let (status, written) = put(new);
    assert_eq!(
        (status, written),
        (200, json!({"version": 2, "records": 1, "replaced": 0}))
    );
    assert_eq!(served.line()["event"], "following");
    let find = || {
        let body = json!({"vector": vector, "k": 1}).to_string();
        proxy.search(body.as_bytes()).1["results"][0]["hits"][0].clone()
    };
    let hit = find();
    assert_eq!(
        (&hit["id"], &hit["payload"]),
        (&json!("new"), &json!("words"))
    );
    assert_eq!(hit["attributes"], json!({"year": 1999, "lang": "fr"}));

    // A record without a vector is accepted. Fields that the request does not name keep their
    // values.
    let (status, _) = put(json!([{"id": "new", "attributes": {"year": 2001}}]));
    assert_eq!((status, served.line()["version"].clone()), (200, json!(3)));
    let hit = find();
    assert_eq!(hit["payload"], "words");
    assert_eq!(hit["attributes"], json!({"year": 2001, "lang": "fr"}));

    let mut after = Value::Null;
    let mut ids = Vec::new();
    loop {
        let body = json!({"after": after, "limit": 128});
        let (status, page) = proxy.records("POST", "/records/scroll", &body);
        assert_eq!(status, 200, "{page}");
        let records = page["records"].as_array().unwrap();
        ids.extend(
            records
                .iter()
                .map(|it| it["id"].as_str().unwrap().to_owned()),
        );
        after = page["next"].clone();
        if after.is_null() {
            assert_eq!(records.last().unwrap()["payload"], "words");
            break;
        }
    }
    assert!(ids.len() == 301 && ids.is_sorted(), "{}", ids.len());

    // Lists are attributes as in other indexes, and conditions test their members.
    let tagged = json!([{"id": "new", "attributes": {"tags": ["x", "y"]}}]);
    assert_eq!(put(tagged).0, 200);
    served.line();
    // A search returns the names of new attributes.
    assert_eq!(find()["attributes"]["tags"], r#"["x","y"]"#);
    let body = json!({"vector": vector, "k": 1, "where": "tags has \"y\""}).to_string();
    let found = proxy.search(body.as_bytes()).1;
    assert_eq!(found["results"][0]["hits"][0]["id"], "new", "{found}");

    // An empty payload and a null payload both mean no payload, also with a vector.
    for record in [
        json!({"id": "new", "payload": ""}),
        json!({"id": "new", "vector": vector, "payload": null}),
    ] {
        assert_eq!(put(json!([record])).0, 200);
        served.line();
        assert_eq!(find()["payload"], "");
    }

    let gone = json!({"ids": ["new", "never", "new"]});
    let (status, deleted) = proxy.records("DELETE", "/records", &gone);
    let expected = json!({"version": 7, "deleted": 1, "missing": 1});
    assert_eq!((status, deleted), (200, expected));
    assert_eq!(count().1["count"], 300);
    // Another command changes the index between two requests.
    done(&place.line("index delete @docs --ids doc-1 --key @owner.key"));
    assert_eq!(count().1["count"], 299);
}

#[test]
fn a_proxy_writes_to_no_index_but_the_one_that_its_server_serves() {
    let place = Place::new();
    let id = |index: &str| {
        json(&place.line(&format!("index info @{index} --key @owner.pub")))["id"].clone()
    };
    for index in ["a", "b"] {
        place.build(index, &[]);
    }
    let (a, b) = (id("a"), id("b"));
    let served = Served::plain(&place, "a");
    let owner = "--write-token-file @writing --owner-key @owner.key --index";
    let url = served.url();
    let line = format!(
        "proxy --connect {url} --key @reader.key --token-file @token --cache @cache --listen 127.0.0.1:0 {owner} @b"
    );
    let why = failed(&place.line(&line), 1);
    for said in [
        a.as_str().unwrap(),
        b.as_str().unwrap(),
        "--index",
        "--connect",
    ] {
        assert!(why.contains(said), "{why}");
    }
    // If another index later replaces the folder, the proxy writes nothing to it.
    let proxy = Proxy::new(&place, &url, &format!("{owner} @a"));
    let gone = json!({"ids": [1]});
    assert_eq!(proxy.records("DELETE", "/records", &gone).0, 200);
    let before = place.verify("b");
    fs::rename(place.path("a"), place.path("elsewhere")).unwrap();
    fs::rename(place.path("b"), place.path("a")).unwrap();
    // The owner's pins would refuse that index too, unless the owner accepts it.
    done(&place.line("index compact @a --restored --key @owner.key"));
    for (method, path, body) in [
        ("DELETE", "/records", gone),
        ("POST", "/records/scroll", json!({})),
        ("GET", "/records/count", Value::Null),
    ] {
        let (status, problem) = proxy.records(method, path, &body);
        let why = problem["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(status, 500, "{problem}");
        assert!(
            why.contains(a.as_str().unwrap()) && why.contains(b.as_str().unwrap()),
            "{why}"
        );
    }
    fs::rename(place.path("a"), place.path("b")).unwrap();
    assert_eq!(place.verify("b"), before);
}

#[test]
fn mistakes_of_records_are_named_and_change_nothing() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @masked",
    );
    let vector = place.base.row(3);
    for (body, words) in [
        (json!({}), "missing field `records`"),
        (json!({"records": []}), "has 0: expected 1 to 10000"),
        (
            json!({"records": [{"id": 7, "vector": [1]}]}),
            "record 7: \"vector\" has 1 numbers",
        ),
        (
            json!({"records": [{"id": "x", "vector": vector}]}),
            "a whole number",
        ),
        (
            json!({"records": [{"id": -1, "vector": vector}]}),
            "expected an id",
        ),
        (
            json!({"records": [{"id": 7, "vector": vector}, {"id": 7, "vector": vector}]}),
            "7",
        ),
        (
            json!({"records": [{"id": 7, "vector": vector}, {"id": 8, "payload": "x"}]}),
            "1 of 2 records have vectors",
        ),
        (
            json!({"records": [{"id": 7, "payload": null, "attributes": {"a": 1}}]}),
            "record 7: \"payload\" is null: leave it out to keep the payload",
        ),
        (
            json!({"records": [{"id": 7, "attributes": {}}]}),
            "record 7: nothing would change",
        ),
        (json!({"records": [{"id": 9999, "payload": "x"}]}), "9999"),
        (
            json!({"records": [{"id": 7, "vector": vector}, {"id": 8, "vector": vec![0.0; DIM]}]}),
            "record 8: \"vector\" is the zero vector",
        ),
        (
            json!({"records": [{"id": 7, "vektor": vector}]}),
            "unknown field",
        ),
        (
            json!({"records": [{"id": 7, "attributes": {"tags": [["x"]]}}]}),
            "expected text, or a list of single values",
        ),
    ] {
        let (status, problem) = proxy.records("PUT", "/records", &body);
        let why = problem["error"]["message"].as_str().unwrap_or_default();
        assert!(status == 400 && why.contains(words), "{body}: {problem}");
    }
    assert_eq!(
        proxy.records("GET", "/records/count", &Value::Null).1["version"],
        1
    );
    let twice = r#"{"records": [{"id": 7, "attributes": {"a": 1, "a": 2}}]}"#;
    let token = format!("Bearer {}", proxy.writing);
    let (status, problem) = proxy.request("PUT", "/records", &token, twice.as_bytes());
    assert!(
        status == 400 && problem.contains("the members 1 and 2"),
        "{problem}"
    );
    // The token for searches cannot list, and the writers' token cannot search.
    let searching = format!("Bearer {}", proxy.token);
    for token in ["Bearer wrong", &searching] {
        let (status, problem) = proxy.request("GET", "/records/count", token, b"");
        assert!(status == 401 && problem.contains("--write-token-file"));
    }
    let (status, _) = proxy.records("POST", "/search", &json!({"vector": vector}));
    assert_eq!(status, 401);
    assert_eq!(proxy.records("PATCH", "/records", &Value::Null).0, 405);
    // Without --owner-key the proxy writes nothing.
    let readers = Proxy::new(&place, &served.url(), "");
    let (status, problem) = readers.records("DELETE", "/records", &json!({"ids": [7]}));
    assert_eq!(status, 404);
    assert!(problem.to_string().contains("--owner-key"), "{problem}");
}

/// The proxy reads a version once for all its pages, and does not open the index again.
#[test]
fn pages_of_one_version_are_listed_while_another_command_has_the_index() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @masked",
    );
    let page = |after: Value, limit: usize| {
        let body = json!({"after": after, "limit": limit});
        proxy.records("POST", "/records/scroll", &body)
    };
    let (status, first) = page(Value::Null, 3);
    assert_eq!((status, &first["next"]), (200, &json!(2)), "{first}");
    let lock = fs::File::open(place.path("masked").join("LOCK")).unwrap();
    lock.lock().unwrap();
    let ids = |page: &Value| -> Vec<u64> {
        let records = page["records"].as_array().unwrap().iter();
        records.map(|it| it["id"].as_u64().unwrap()).collect()
    };
    for (after, limit, found, next) in [
        (json!(2), 2, vec![3, 4], json!(4)),
        (Value::Null, 1, vec![0], json!(0)),
        (json!(1996), 3, vec![1997, 1998, 1999], Value::Null),
        (json!(1999), 3, vec![], Value::Null),
    ] {
        let (status, page) = page(after, limit);
        assert_eq!((status, ids(&page), &page["next"]), (200, found, &next));
    }
    let (status, problem) = proxy.records("GET", "/records/count", &Value::Null);
    assert_eq!((status, &problem["error"]["code"]), (503, &json!("busy")));
    drop(lock);
    // For another version the proxy reads the records again.
    done(&place.line("index delete @masked --ids 3 --key @owner.key"));
    let (_, page) = page(json!(2), 2);
    assert_eq!((ids(&page), &page["version"]), (vec![4, 5], &json!(2)));
}

/// More programs write at the same time than the proxy serves at once. Each waits for its turn, and none is
/// refused.
#[test]
fn programs_that_write_at_the_same_time_wait_for_their_turns() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @masked --timeout 300",
    );
    let put = |at: usize| {
        let record = json!({"id": 5000 + at, "vector": place.base.row(at)});
        proxy.records("PUT", "/records", &json!({ "records": [record] }))
    };
    std::thread::scope(|scope| {
        let writes: Vec<_> = (0..20).map(|at| scope.spawn(move || put(at))).collect();
        for write in writes {
            let (status, written) = write.join().unwrap();
            assert_eq!((status, &written["records"]), (200, &json!(1)), "{written}");
        }
    });
    let (_, count) = proxy.records("GET", "/records/count", &Value::Null);
    assert_eq!(count["count"], 2020);
}

#[test]
fn what_is_written_is_pushed_to_a_server_that_has_a_folder_of_its_own() {
    let place = Place::new();
    place.build_mode("masked");
    done(&place.line("index backup @masked @there --key @owner.pub"));
    let line = "@there --key @owner.pub --plaintext --anyone --accept-changes";
    let served = Served::new(&place.line(line));
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @masked --push",
    );
    let (status, gone) = proxy.records("DELETE", "/records", &json!({"ids": [7]}));
    assert_eq!((status, &gone["version"]), (200, &json!(2)), "{gone}");
    let there = || json(&place.line("index info @there --key @owner.pub"))["version"].clone();
    assert_eq!(there(), 2);
    // The server stops. When it runs again, a program repeats its request.
    let address = served.address.clone();
    drop(served);
    let delete = || proxy.records("DELETE", "/records", &json!({"ids": [8]}));
    let (status, problem) = delete();
    assert!(
        status >= 500 && problem.to_string().contains("not at the server yet"),
        "{problem}"
    );
    let again = ["serve", "--json", "--listen", &address];
    let _served = Served::started(command(&again).args(place.line(line)));
    let (status, gone) = delete();
    let counts = (&gone["deleted"], &gone["missing"]);
    assert_eq!((status, counts), (200, (&json!(0), &json!(1))), "{gone}");
    assert_eq!(there(), gone["version"]);
}

#[test]
fn ids_that_many_programs_would_round_are_texts() {
    let place = Place::new();
    let large = u64::MAX - 1;
    let line =
        |id: u64, row: usize| json!({"id": id, "embedding": place.base.row(row)}).to_string();
    let text: Vec<String> = (0..50u8)
        .map(|row| line(large - u64::from(row), row.into()))
        .collect();
    fs::write(place.path("large.jsonl"), text.join("\n")).unwrap();
    done(&place.line("index build @large.jsonl @large --key @owner.key --id-column id --k 3"));
    let served = Served::plain(&place, "large");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--write-token-file @writing --owner-key @owner.key --index @large",
    );
    let body = json!({"vector": place.base.row(0), "k": 1}).to_string();
    let (_, found) = proxy.search(body.as_bytes());
    assert_eq!(found["results"][0]["hits"][0]["id"], large.to_string());
    // Numbers this large may have been rounded by the sender.
    let (status, refused) = proxy.records("DELETE", "/records", &json!({"ids": [large]}));
    assert_eq!(status, 400);
    assert!(refused.to_string().contains("send the text of its digits"));
    // The reply gives ids in the form in which the search gave them.
    let (status, gone) = proxy.records("DELETE", "/records", &json!({"ids": [large.to_string()]}));
    assert_eq!((status, &gone["deleted"]), (200, &json!(1)));
}

#[test]
fn pages_of_named_origins_may_ask_and_others_not() {
    let place = Place::new();
    place.build_mode("local");
    let served = Served::plain(&place, "local");
    let proxy = Proxy::new(
        &place,
        &served.url(),
        "--allow-origin http://localhost:3000",
    );
    let ask = |method: &str, path: &str, origin: &str| {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,content-type\r\nConnection: close\r\n\r\n"
        );
        proxy.whole(head.as_bytes()).to_ascii_lowercase()
    };
    let allowed = "access-control-allow-origin: http://localhost:3000";
    let preflight = ask("OPTIONS", "/search", "http://localhost:3000");
    assert!(
        preflight.starts_with("http/1.1 204") && preflight.contains(allowed),
        "{preflight}"
    );
    assert!(preflight.contains("access-control-allow-headers: authorization, content-type"));
    assert!(ask("GET", "/healthz", "http://localhost:3000").contains(allowed));
    let other = ask("OPTIONS", "/search", "http://evil.example");
    assert!(!other.contains("allow-origin"), "{other}");
    assert_eq!(proxy.get("/healthz").0, 200);
    // The server accepts this option too.
    let open = "@local --key @owner.pub --plaintext --anyone --allow-origin http://localhost:3000";
    let served = Served::new(&place.line(open));
    let asked = |origin: &str| {
        let mut tcp = TcpStream::connect(&served.address).unwrap();
        let head = format!(
            "OPTIONS /sordino.v1.Search/Call HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n"
        );
        tcp.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        tcp.read_to_string(&mut reply).unwrap();
        reply.to_ascii_lowercase()
    };
    assert!(asked("http://localhost:3000").contains(allowed));
    assert!(!asked("http://evil.example").contains("allow-origin"));
}
