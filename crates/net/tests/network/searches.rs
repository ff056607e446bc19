//! Clients make whole searches over the network. The tests check the results, and what an observer sees.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;

use sordino_net::{
    Access, Connection, Endpoint, Error, Exporter, Limits, Listen, Service, Traffic,
};
use sordino_search::manifest::Packing;
use sordino_search::{Client, InProcess, Server, build};
use sordino_testkit::{keys, rng};

use crate::parties::{
    DIM, FORMS, K, certificate, client_key, connect, connect_tls, endpoint, locked_door, loopback,
    open_door, server, set,
};

#[test]
fn every_mode_finds_over_the_network_what_it_finds_in_process() {
    let set = set();
    let certificate = certificate();
    for (form, (name, least)) in FORMS.into_iter().enumerate() {
        let local = server(form, &set);
        let mut in_process = InProcess::new(&local);
        let near = Client::connect(&mut in_process, &keys().reader(), None).unwrap();

        let running = locked_door(server(form, &set), &certificate);
        let mut connection = connect_tls(&running, &certificate);
        let far = Client::connect(&mut connection, &keys().reader(), None).unwrap();
        assert_eq!(near.bytes_once(), far.bytes_once());

        let mut recall = 0.0;
        for (at, query) in set.queries.rows().enumerate() {
            let seed = at as u64;
            let near = near.search(&mut rng(seed), &mut in_process, query).unwrap();
            let far = far.search(&mut rng(seed), &mut connection, query).unwrap();
            assert_eq!(near.hits, far.hits, "{name}");
            recall += set.truth.recall(at, K, far.numbers()) / set.queries.len() as f64;
        }
        assert!(recall > least, "{name}: recall {recall}");
        running.stop().unwrap();
    }
}

fn since(now: Traffic, before: Traffic) -> Traffic {
    Traffic {
        calls: now.calls - before.calls,
        up: now.up - before.up,
        down: now.down - before.down,
        wire_up: now.wire_up - before.wire_up,
        wire_down: now.wire_down - before.wire_down,
    }
}

#[test]
fn an_observer_sees_the_same_for_every_query() {
    let set = set();
    let certificate = certificate();
    for (form, (name, _)) in FORMS.into_iter().enumerate() {
        let running = locked_door(server(form, &set), &certificate);
        let mut connection = connect_tls(&running, &certificate);
        let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
        let mut one = vec![0.0; DIM];
        one[DIM - 1] = 1.0;
        let extremes = [vec![1e30; DIM], vec![-1e-30; DIM], one];
        let queries = set.queries.rows().take(6).map(<[f32]>::to_vec);
        let mut seen = Vec::new();
        for query in extremes.into_iter().chain(queries) {
            let before = connection.traffic();
            client.search(&mut rng(2), &mut connection, &query).unwrap();
            seen.push(since(connection.traffic(), before));
        }
        let calls = [1, 2, 0, 1, 1, 1][form];
        for traffic in &seen {
            let first = seen[0];
            assert_eq!(traffic.calls, calls, "{name}");
            assert_eq!((traffic.up, traffic.down), (first.up, first.down), "{name}");
            // HTTP/2 adds pings and window updates at its own times, and shortens headers that it
            // has sent before.
            assert!(traffic.wire_up.abs_diff(first.wire_up) < 1500, "{name}");
            assert!(traffic.wire_down.abs_diff(first.wire_down) < 1500, "{name}");
            assert!(traffic.wire_up >= traffic.up && traffic.wire_down >= traffic.down);
        }
    }
}

#[test]
fn sixteen_clients_at_once_get_their_own_answers() {
    const CLIENTS: usize = 16;
    const SEARCHES: usize = 6;
    let set = set();
    for form in [1, 4] {
        let local = server(form, &set);
        let running = open_door(server(form, &set), Limits::default());
        let start = Barrier::new(CLIENTS);
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let (set, local, running, start) = (&set, &local, &running, &start);
                scope.spawn(move || {
                    let mut in_process = InProcess::new(local);
                    let mut connection = connect(running);
                    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
                    start.wait();
                    for at in 0..SEARCHES {
                        let query = set.queries.row((number + at) % set.queries.len());
                        let seed = (number * 1000 + at) as u64;
                        let far = client
                            .search(&mut rng(seed), &mut connection, query)
                            .unwrap();
                        let near = client
                            .search(&mut rng(seed), &mut in_process, query)
                            .unwrap();
                        assert_eq!(far.hits, near.hits, "client {number}, search {at}");
                    }
                });
            }
        });
        let metrics = running.service().metrics();
        let scans = value(&metrics, "sordino_batch_count");
        let requests = value(&metrics, "sordino_batch_sum");
        let calls = if form == 1 { 2 } else { 1 };
        assert_eq!(requests, (CLIENTS * SEARCHES * calls) as f64);
        assert!(scans < requests, "{scans} scans of {requests} requests");
        running.stop().unwrap();
    }
}

/// The value of a series without labels.
fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics
        .lines()
        .find(|line| line.split(' ').next() == Some(series));
    let line = line.unwrap_or_else(|| panic!("{series} in {metrics}"));
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_replaced_index_serves_the_next_connections() {
    let set = set();
    let running = open_door(server(4, &set), Limits::default());
    let mut connection = connect(&running);
    let before = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let keys = keys();
    let other = build::masked(&mut rng(2), &keys, &set.base, K, Packing::T4, &mut |_| ()).unwrap();
    let id = other.manifest().index;
    assert_ne!(before.manifest().index, id);
    running.service().replace(Server::new(other).unwrap());

    // The client of the earlier index gets an error that says so.
    let late = before.search(&mut rng(1), &mut connection, set.queries.row(0));
    assert!(matches!(late, Err(sordino_search::Error::Stale { .. })));
    let after = Client::connect(&mut connection, &keys.reader(), None).unwrap();
    assert_eq!(after.manifest().index, id);
    let found = after.search(&mut rng(1), &mut connection, set.queries.row(0));
    assert_eq!(found.unwrap().hits.len(), K);
}

#[test]
fn metrics_are_sums_and_nothing_else() {
    let set = set();
    let certificate = certificate();
    let running = locked_door(server(4, &set), &certificate);
    let address = running.metrics_address().unwrap();
    let mut connection = connect_tls(&running, &certificate);
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let series = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect()
    };
    let before = http_get(address, "/metrics");
    assert!(before.starts_with("HTTP/1.1 200"), "{before}");
    let body = |reply: &str| reply.split_once("\r\n\r\n").unwrap().1.to_owned();
    let names = series(&body(&before));
    for query in set.queries.rows().take(4) {
        client.search(&mut rng(3), &mut connection, query).unwrap();
    }
    let after = body(&http_get(address, "/metrics"));
    // Queries add no series. The only labels are reasons, bounds of buckets, the index's name and the certificate's number.
    assert_eq!(series(&after), names);
    for name in &names {
        let labels = name.split_once('{').map_or("", |(_, labels)| labels);
        assert!(
            ["reason=", "le=", "index=", "serial="]
                .iter()
                .any(|label| labels.starts_with(label))
                || labels.is_empty(),
            "{name}"
        );
        assert!(!labels.contains(','), "{name}");
    }
    let id: String = client_key()
        .public()
        .id()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert!(!after.contains(&id) && !after.contains("127.0.0.1"));
    // These are the login, two requests that download parts once, and four searches.
    assert_eq!(value(&after, "sordino_answered_total"), 7.0);
    assert_eq!(value(&after, "sordino_in_flight"), 0.0);
    let name: String = client.manifest().index[..4]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(
        value(&after, &format!("sordino_index{{index=\"{name}\"}}")),
        1.0
    );
    assert_eq!(value(&after, "sordino_version"), 1.0);
    assert_eq!(value(&after, "sordino_records"), 3000.0);
    assert!(value(&after, "sordino_uptime_seconds") > 0.0);
    if cfg!(target_os = "linux") {
        assert!(value(&after, "sordino_resident_bytes") > 1e6);
    }
    assert_eq!(value(&after, "sordino_scan_seconds_count"), 4.0);
    assert!(http_get(address, "/").starts_with("HTTP/1.1 404"));
    for (path, word) in [
        ("/healthz", "alive"),
        ("/readyz", "serving"),
        ("/health", "serving"),
    ] {
        let health = http_get(address, path);
        assert!(health.starts_with("HTTP/1.1 200") && health.ends_with(&format!("{word}\n")));
    }
    let head = http(address, "HEAD", "/metrics");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    assert!(http(address, "POST", "/metrics").starts_with("HTTP/1.1 405"));
}

#[test]
fn a_port_that_is_open_says_that_nothing_is_served_yet() {
    let exporter = Exporter::open(loopback()).unwrap();
    let address = exporter.address();
    for path in ["/readyz", "/health", "/metrics"] {
        let early = http_get(address, path);
        assert!(
            early.starts_with("HTTP/1.1 503") && early.ends_with("starting\n"),
            "{early}"
        );
    }
    assert!(http_get(address, "/healthz").starts_with("HTTP/1.1 200"));
    let url = format!("http://{address}");
    let mut connection = Connection::open(Endpoint::new(url)).unwrap();
    let error = Client::connect(&mut connection, &keys().reader(), None).unwrap_err();
    let error = format!("{error:?}");
    assert!(error.contains("port of metrics"), "{error}");
    let service = Service::new(server(2, &set()), &Access::Anyone, Limits::default()).unwrap();
    let listen = Listen::on(loopback()).exporter(exporter);
    let running = service.listen(&listen).unwrap();
    assert_eq!(running.metrics_address(), Some(address));
    for path in ["/readyz", "/health", "/metrics"] {
        assert!(http_get(address, path).starts_with("HTTP/1.1 200"));
    }
}

#[test]
fn silent_connections_keep_nobody_from_the_metrics_port() {
    let exporter = Exporter::open(loopback()).unwrap();
    let address = exporter.address();
    let silent: Vec<_> = (0..200)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    for _ in 0..3 {
        assert!(http_get(address, "/healthz").starts_with("HTTP/1.1 200"));
    }
    // The server has closed the first of the silent connections.
    let mut first = &silent[0];
    assert_eq!(first.read(&mut [0]).unwrap_or(0), 0);
}

fn http_get(address: SocketAddr, path: &str) -> String {
    http(address, "GET", path)
}

pub(crate) fn http(address: SocketAddr, method: &str, path: &str) -> String {
    let mut tcp = TcpStream::connect(address).unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    tcp.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    tcp.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn health_can_be_asked_for() {
    let running = open_door(server(2, &set()), Limits::default());
    let address = format!("http://{}", running.address());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = |service: &str| {
        let (address, service) = (address.clone(), service.to_owned());
        runtime.block_on(async move {
            let channel = tonic::transport::Endpoint::from_shared(address).unwrap();
            let channel = channel.connect().await.unwrap();
            let mut health = tonic_health::pb::health_client::HealthClient::new(channel);
            let request = tonic_health::pb::HealthCheckRequest { service };
            health
                .check(request)
                .await
                .map(|reply| reply.into_inner().status)
        })
    };
    assert_eq!(status("").unwrap(), 1);
    assert_eq!(status("sordino.v1.Search").unwrap(), 1);
    assert!(status("another").is_err());
}

#[test]
fn a_server_without_the_expected_certificate_is_refused() {
    let set = set();
    let (expected, other) = (certificate(), certificate());
    let running = locked_door(server(2, &set), &other);
    let https = format!("https://{}", running.address());
    let open = |endpoint: Endpoint| Connection::open(endpoint.key(client_key()));
    let stranger = open(
        Endpoint::new(&https)
            .roots(expected.pem.as_bytes())
            .name("localhost"),
    );
    assert!(matches!(stranger, Err(Error::Connect(_))), "{stranger:?}");
    let misnamed = open(
        Endpoint::new(&https)
            .roots(other.pem.as_bytes())
            .name("elsewhere"),
    );
    assert!(matches!(misnamed, Err(Error::Connect(_))), "{misnamed:?}");
    let plain = open(endpoint(&running)).and_then(|mut plain| plain.exchange(b"", 0));
    assert!(plain.is_err());
    // If no roots are given, the system's roots are used, which do not include this certificate.
    let untrusted = open(Endpoint::new(&https).name("localhost"));
    assert!(
        matches!(untrusted, Err(Error::Connect(_) | Error::Certificate(_))),
        "{untrusted:?}"
    );
    let useless = open(endpoint(&running).roots(expected.pem.as_bytes()));
    assert!(matches!(useless, Err(Error::Roots)), "{useless:?}");
    assert!(matches!(
        open(Endpoint::new("localhost:1")),
        Err(Error::Address { .. })
    ));
    let nonsense = Endpoint::new(&https).roots("no certificate");
    assert!(open(nonsense).is_err());
}
