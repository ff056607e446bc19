//! Clients of a server over shards get right answers or refusals, whatever the shards do.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use sordino_net::schema::CallReply;
use sordino_net::{
    Access, Connection, Endpoint, Error, Limits, Listen, Refusal, Running, Service, Shards,
};
use sordino_search::manifest::Packing;
use sordino_search::{
    Client, Form, OpenOptions, Server, Shard, Spec, Store, Transport, Vectors, synthetic,
};
use sordino_testkit::{SCORE, keys, rng};
use tonic::Status;

use crate::hostile_server::{CHUNK, Lying, Replies, parts};
use crate::parties::{connect, loopback, message, until, until_metric};

const DIM: usize = 16;
const K: usize = 3;

/// An index of two segments in a folder.
struct Bed {
    dir: tempfile::TempDir,
    store: Store,
    queries: Vectors,
}

fn bed(form: Form) -> Bed {
    let dir = tempfile::tempdir().unwrap();
    let (base, queries) = synthetic::clustered(1200, 8, DIM, 3);
    let spec = Spec::new(form).k(K);
    let batches = [Ok(base.into())];
    let store = Store::create(
        dir.path(),
        &mut rng(1),
        &keys(),
        &spec,
        batches,
        &mut |_| (),
    );
    let mut bed = Bed {
        dir,
        store: store.unwrap(),
        queries,
    };
    bed.add(1200);
    bed
}

impl Bed {
    /// Adds 40 records.
    fn add(&mut self, first: u32) {
        let (more, _) = synthetic::clustered(40, 1, DIM, first.into());
        let ids: Vec<u32> = (first..first + 40).collect();
        self.store
            .upsert(&mut rng(first.into()), &ids, &more)
            .unwrap();
    }

    fn shard(&self, number: u16, of: u16) -> Server {
        open(self.dir.path(), number, of)
    }

    /// A server of the newest version, opened after this server's version.
    fn after(&self, server: &Server) -> Server {
        let owner = keys().public();
        let options = OpenOptions::new(&owner).after(server);
        options.open_dir(self.dir.path()).unwrap()
    }

    fn one(&self) -> Server {
        Server::open_dir(self.dir.path(), &keys().public()).unwrap()
    }
}

fn open(dir: &Path, number: u16, of: u16) -> Server {
    let (owner, shard) = (keys().public(), Shard::new(number, of).unwrap());
    let options = OpenOptions::new(&owner).shard(Some(shard));
    options.open_dir(dir).unwrap()
}

/// Short enough for a quick refusal without a shard, and long enough for a busy machine.
fn limits() -> Limits {
    Limits::default().request(Duration::from_secs(9))
}

fn serve(server: Server) -> Running {
    let service = Service::new(server, &Access::Anyone, Limits::default()).unwrap();
    service.listen(&Listen::on(loopback())).unwrap()
}

fn shards(urls: &[String]) -> Shards {
    let endpoints = urls.iter().map(Endpoint::new);
    Shards::new(endpoints, &keys().public(), &limits()).unwrap()
}

fn url(running: &Running) -> String {
    format!("http://{}", running.address())
}

fn gather(urls: &[String]) -> Running {
    let shards = shards(urls);
    let server = shards.open().unwrap();
    let service = Service::over(shards, server, &Access::Anyone, limits()).unwrap();
    service.listen(&Listen::on(loopback())).unwrap()
}

fn client(connection: &mut Connection) -> Client {
    Client::connect(connection, &keys().reader(), None).unwrap()
}

/// A transport that keeps the last request.
struct Kept<'a>(&'a mut Connection, Vec<u8>);

impl Transport for Kept<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, sordino_search::Error> {
        request.clone_into(&mut self.1);
        self.0.call(request, limit)
    }
}

/// The request of a search, and its whole reply.
fn exchange(connection: &mut Connection, client: &Client, query: &[f32]) -> Vec<u8> {
    let mut kept = Kept(connection, Vec::new());
    client.search(&mut rng(8), &mut kept, query).unwrap();
    kept.1
}

#[test]
fn clients_cannot_tell_shards_from_one_server() {
    for form in [Form::Masked(Packing::T4), Form::Open(Packing::T8)] {
        let bed = bed(form);
        let one = bed.one();
        let own = serve(bed.one());
        let near = client(&mut connect(&own));
        for of in [2, 4] {
            let running: Vec<Running> = (1..=of).map(|at| serve(bed.shard(at, of))).collect();
            let urls: Vec<String> = running.iter().map(url).collect();
            let front = gather(&urls);
            let mut connection = connect(&front);
            let far = client(&mut connection);
            assert_eq!(near.bytes_once(), far.bytes_once());
            let request = exchange(&mut connection, &far, bed.queries.row(0));
            let reply = connection.exchange(&request, 1 << 20).unwrap();
            assert_eq!(reply, one.handle(&request).unwrap());
            for (seed, query) in (0..).zip(bed.queries.rows()) {
                let far = far.search(&mut rng(seed), &mut connection, query).unwrap();
                let near = near
                    .search(&mut rng(seed), &mut connect(&own), query)
                    .unwrap();
                assert_eq!(near.hits, far.hits);
            }
            // Queries that any server refuses are refused, and no shard is blamed.
            for wrong in [&request[..request.len() - 1], &request[..30]] {
                let refused = connection.exchange(wrong, 100).unwrap_err();
                assert!(
                    matches!(&refused, Error::Status { code, .. } if code == "InvalidArgument"),
                    "{refused}"
                );
            }
            let metrics = front.service().metrics();
            for shard in 1..=of {
                let count = format!("sordino_shard_seconds_count{{shard=\"{shard}\"}} 10");
                assert!(metrics.contains(&count), "{metrics}");
            }
            let quiet = r#"shard_again_total{shard="1"} 0"#;
            assert!(metrics.contains(quiet), "{metrics}");
            // This query has the right length but cannot be decoded. All shards say so, and say so
            // again when they are asked again.
            let mut wrong = request.clone();
            wrong[50] ^= 0xff;
            let refused = connection.exchange(&wrong, 100).unwrap_err();
            assert!(
                matches!(&refused, Error::Status { code, .. } if code == "InvalidArgument"),
                "{refused}"
            );
            let metrics = front.service().metrics();
            let missing = metrics
                .lines()
                .filter(|line| line.contains("missing_total{"));
            assert_eq!(missing.filter(|line| !line.ends_with(" 0")).count(), 0);
        }
    }
}

/// A shard that answers queries with the chosen fault, and everything else as an honest shard.
struct Faulty {
    lying: Lying,
    /// The number of next queries that get the fault.
    faults: Arc<AtomicUsize>,
    /// The number of queries that arrived.
    asked: Arc<AtomicUsize>,
}

type Fault = dyn Fn(Vec<u8>) -> Result<Replies, Status> + Send + Sync;

impl Faulty {
    fn new(server: Server, fault: Box<Fault>) -> Self {
        let (faults, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (left, count) = (Arc::clone(&faults), Arc::clone(&asked));
        let lying = Lying::serve(move |request| {
            let honest = server.handle(request).unwrap();
            let query = request[6..8] == SCORE.to_le_bytes();
            count.fetch_add(query.into(), Ordering::SeqCst);
            let take = |left: usize| left.checked_sub(1);
            let faulty = query
                && left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
                    .is_ok();
            match faulty {
                true => fault(honest),
                false => whole(&honest),
            }
        });
        Self {
            lying,
            faults,
            asked,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.lying.address)
    }
}

/// A reply in the form that an honest server sends.
fn whole(reply: &[u8]) -> Result<Replies, Status> {
    parts(chunks(reply))
}

fn chunks(reply: &[u8]) -> Vec<Result<CallReply, Status>> {
    let chunk = |chunk: &[u8]| {
        Ok(CallReply {
            length: reply.len() as u64,
            chunk: Bytes::copy_from_slice(chunk),
        })
    };
    reply.chunks(CHUNK).map(chunk).collect()
}

/// All faults of shards, except wrong scores, which clients notice.
fn faults(bed: &Bed) -> Vec<(&'static str, Box<Fault>)> {
    let (first, other) = (bed.shard(1, 3), bed.shard(1, 2));
    let (position, place) = (head_of(&first), head_of(&other));
    let with_head = |head: Vec<u8>| {
        move |mut reply: Vec<u8>| {
            reply[16..60].copy_from_slice(&head);
            whole(&reply)
        }
    };
    let mut index = place.clone();
    index[0] ^= 1;
    let mut version = head_of(&bed.shard(2, 2));
    version[16] ^= 1;
    let mut digest = head_of(&bed.shard(2, 2));
    digest[30] ^= 1;
    vec![
        ("of another cut", Box::new(with_head(position))),
        ("of another place", Box::new(with_head(place))),
        ("of another index", Box::new(with_head(index))),
        ("of another version", Box::new(with_head(version))),
        ("of another content", Box::new(with_head(digest))),
        ("nothing", Box::new(|_| parts(vec![]))),
        ("an error", Box::new(|_| Err(Status::internal("no")))),
        ("a stop", Box::new(|_| Err(Status::unavailable("no")))),
        (
            "keys, for a query that has none",
            Box::new(|_| {
                let mut status = Status::failed_precondition("no");
                let name = status
                    .metadata_mut()
                    .insert("sordino-refusal", "session".parse().unwrap());
                assert!(name.is_none());
                Err(status)
            }),
        ),
        (
            "half",
            Box::new(|reply| {
                let mut half = chunks(&reply);
                half.truncate(half.len() / 2);
                parts(half)
            }),
        ),
        (
            "shorter",
            Box::new(|mut reply| {
                reply.pop();
                whole(&reply)
            }),
        ),
        (
            "longer",
            Box::new(|mut reply| {
                reply.push(0);
                whole(&reply)
            }),
        ),
        (
            "a longer message",
            Box::new(|mut reply| {
                reply.push(0);
                let len = (reply.len() - 16) as u64;
                reply[8..16].copy_from_slice(&len.to_le_bytes());
                whole(&reply)
            }),
        ),
        (
            "twice",
            Box::new(|reply| {
                parts(
                    [chunks(&reply), chunks(&reply)]
                        .into_iter()
                        .flatten()
                        .collect(),
                )
            }),
        ),
        (
            "without end",
            Box::new(|_| {
                let chunk = || {
                    Ok(CallReply {
                        length: u64::MAX,
                        chunk: Bytes::from(vec![7; CHUNK]),
                    })
                };
                Ok(Box::pin(tokio_stream::iter(std::iter::repeat_with(chunk))))
            }),
        ),
        (
            "fewer scores",
            Box::new(|mut reply| {
                // Changes the number of scores, in the head of the encrypted reply.
                reply[60..76].rotate_left(1);
                whole(&reply)
            }),
        ),
        (
            "for clients",
            Box::new(|mut reply| {
                // Uses the kind of a single server's reply.
                reply[6] = 106;
                whole(&reply)
            }),
        ),
    ]
}

/// The head of a shard's replies.
fn head_of(server: &Server) -> Vec<u8> {
    let message = message(113, &[]);
    server.handle(&message).unwrap()[16..].to_vec()
}

/// Whatever one shard does, a client gets a complete answer or a refusal. The refusal does not say which shard
/// failed.
#[test]
fn a_shard_that_fails_is_asked_again_once_and_then_the_query_is_refused() {
    let bed = bed(Form::Masked(Packing::T4));
    let one = bed.one();
    let honest = serve(bed.shard(1, 2));
    for (name, fault) in faults(&bed) {
        let faulty = Faulty::new(bed.shard(2, 2), fault);
        let front = gather(&[url(&honest), faulty.url()]);
        let mut connection = connect(&front);
        let client = client(&mut connection);
        let request = exchange(&mut connection, &client, bed.queries.row(1));
        assert_eq!(faulty.asked.swap(0, Ordering::SeqCst), 1);

        faulty.faults.store(1, Ordering::SeqCst);
        let reply = connection.exchange(&request, 1 << 20);
        let reply = reply.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(reply, one.handle(&request).unwrap(), "{name}");
        assert_eq!(faulty.asked.swap(0, Ordering::SeqCst), 2, "{name}");

        faulty.faults.store(2, Ordering::SeqCst);
        let refused = connection.exchange(&request, 1 << 20).unwrap_err();
        assert!(
            matches!(refused, Error::Refused(Refusal::Shard)) && refused.is_passing(),
            "{name}: {refused}"
        );
        assert_eq!(faulty.asked.swap(0, Ordering::SeqCst), 2, "{name}");
        until_metric(&front, "shard_again_total{shard=\"2\"} 2");
        until_metric(&front, "shard_missing_total{shard=\"2\"} 1");
        // The next request is answered.
        client
            .search(&mut rng(3), &mut connection, bed.queries.row(2))
            .unwrap();
    }
}

/// If only one shard calls a query malformed, the client is not told so.
#[test]
fn a_shard_that_finds_a_query_malformed_is_asked_again() {
    let bed = bed(Form::Open(Packing::T4));
    let honest = serve(bed.shard(1, 2));
    let faulty = Faulty::new(
        bed.shard(2, 2),
        Box::new(|_| Err(Status::invalid_argument("no"))),
    );
    let front = gather(&[url(&honest), faulty.url()]);
    let mut connection = connect(&front);
    let client = client(&mut connection);
    faulty.faults.store(1, Ordering::SeqCst);
    client
        .search(&mut rng(3), &mut connection, bed.queries.row(2))
        .unwrap();
    assert_eq!(faulty.asked.load(Ordering::SeqCst), 2);
    until_metric(&front, "shard_again_total{shard=\"2\"} 1");
}

#[test]
fn a_shard_that_is_slow_is_given_up_in_time() {
    let bed = bed(Form::Open(Packing::T4));
    let honest = serve(bed.shard(1, 2));
    let faulty = Faulty::new(
        bed.shard(2, 2),
        Box::new(|_| Ok(Box::pin(tokio_stream::pending()))),
    );
    let urls = [url(&honest), faulty.url()];
    let limits = Limits::default().request(Duration::from_millis(2400));
    let shards = Shards::new(urls.iter().map(Endpoint::new), &keys().public(), &limits).unwrap();
    let server = shards.open().unwrap();
    let service = Service::over(shards, server, &Access::Anyone, limits).unwrap();
    let front = service.listen(&Listen::on(loopback())).unwrap();
    let mut connection = connect(&front);
    let client = client(&mut connection);
    faulty.faults.store(2, Ordering::SeqCst);
    let late = client.search(&mut rng(3), &mut connection, bed.queries.row(2));
    let late = late.unwrap_err().to_string();
    assert!(
        [Refusal::Shard, Refusal::Slow]
            .iter()
            .any(|refusal| late.contains(&refusal.to_string())),
        "{late}"
    );
    client
        .search(&mut rng(3), &mut connection, bed.queries.row(2))
        .unwrap();
}

#[test]
fn shards_that_cannot_be_joined_are_named_at_the_start() {
    let bed = bed(Form::Masked(Packing::T4));
    let (a, b) = (serve(bed.shard(1, 2)), serve(bed.shard(2, 2)));
    let refused = |urls: &[String]| shards(urls).open().unwrap_err();
    let turned = refused(&[url(&b), url(&a)]);
    let said = format!(
        "shard 1, {}: this server holds shard 2/2, expected shard 1/2: name the shards in their order",
        url(&b)
    );
    assert_eq!(turned.to_string(), said);
    assert!(!turned.is_passing());
    for urls in [&[url(&a)][..], &[url(&a), url(&b), url(&b)]] {
        assert!(matches!(refused(urls), Error::Shard { .. }));
    }
    let one = serve(bed.one());
    assert!(!refused(&[url(&one), url(&b)]).is_passing());
    // A shard that does not run yet will run later.
    let gone = url(&b);
    b.stop().unwrap();
    let missing = refused(&[url(&a), gone.clone()]);
    assert!(
        matches!(&missing, Error::Shard { number: 2, address, .. } if *address == gone),
        "{missing}"
    );
    assert!(missing.is_passing(), "{missing}");
    let none = Shards::new([], &keys().public(), &limits()).unwrap_err();
    assert_eq!(none.to_string(), "0 shards: expected 1 to 1024");
}

/// The shards and the server over them change one after the other while clients search. Every answer belongs to one
/// version. A search waits no longer than it takes to learn of the next version.
#[test]
fn versions_change_under_load_without_a_gap() {
    let mut bed = bed(Form::Masked(Packing::T4));
    let running: Vec<Running> = (1..=3).map(|at| serve(bed.shard(at, 3))).collect();
    let urls: Vec<String> = running.iter().map(url).collect();
    let front = gather(&urls);
    let (stop, searches) = (AtomicBool::new(false), AtomicUsize::new(0));
    let queries = bed.queries.clone();
    std::thread::scope(|scope| {
        for number in 0..3_usize {
            let (front, queries, stop, searches) = (&front, &queries, &stop, &searches);
            scope.spawn(move || {
                let mut connection = connect(front);
                let mut client = client(&mut connection);
                let mut turn = number;
                while !stop.load(Ordering::Relaxed) {
                    turn += 3;
                    let query = queries.row(turn % queries.len());
                    match client.search(&mut rng(turn as u64), &mut connection, query) {
                        Ok(found) => {
                            assert_eq!(found.hits.len(), K);
                            searches.fetch_add(1, Ordering::Relaxed);
                        }
                        // The request was about the version before, so the client refreshes to the
                        // next complete version.
                        Err(sordino_search::Error::Stale { .. }) => {
                            assert!(client.refresh(&mut connection).unwrap());
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                client.refresh(&mut connection).unwrap();
                assert_eq!(client.manifest().version, 5);
            });
        }
        let some = || {
            let before = searches.load(Ordering::Relaxed);
            until(|| searches.load(Ordering::Relaxed) > before + 5);
        };
        for change in 0..3 {
            some();
            bed.add(2000 + 40 * change);
            for shard in &running {
                let service = shard.service();
                service.replace(bed.after(&service.server()));
                if shard.address() != running[2].address() {
                    // Not all shards have the version, so it is not served yet. Searches continue.
                    let early = front.service().follow_shards().unwrap_err();
                    assert!(early.is_passing(), "{early}");
                    some();
                }
            }
            assert!(front.service().follow_shards().unwrap());
            assert!(!front.service().follow_shards().unwrap());
        }
        some();
        stop.store(true, Ordering::Relaxed);
    });
}

/// Several servers hold a shard. If one fails, the front server asks another at once. For a while it asks the failed
/// one last.
#[test]
fn where_a_server_of_a_shard_fails_another_is_asked() {
    let mut bed = bed(Form::Masked(Packing::T4));
    let (first, second) = (serve(bed.shard(1, 2)), serve(bed.shard(2, 2)));
    let faulty = Faulty::new(
        bed.shard(2, 2),
        Box::new(|_| Err(Status::unavailable("no"))),
    );
    let lines = [vec![url(&first)], vec![faulty.url(), url(&second)]];
    let lines = lines.map(|urls| urls.into_iter().map(Endpoint::new));
    let shards = Shards::replicated(lines, &keys().public(), &limits()).unwrap();
    let server = shards.open().unwrap();
    let service = Service::over(shards, server, &Access::Anyone, limits()).unwrap();
    let front = service.listen(&Listen::on(loopback())).unwrap();
    let mut connection = connect(&front);
    let mut client = client(&mut connection);
    let request = exchange(&mut connection, &client, bed.queries.row(1));
    let whole = bed.one().handle(&request).unwrap();
    let mut answered = || connection.exchange(&request, 1 << 20);

    faulty.faults.store(usize::MAX, Ordering::SeqCst);
    faulty.asked.store(0, Ordering::SeqCst);
    for _ in 0..6 {
        assert_eq!(answered().unwrap(), whole);
    }
    assert_eq!(faulty.asked.load(Ordering::SeqCst), 1);
    until_metric(&front, "shard_again_total{shard=\"2\"} 1");

    // Other servers take their places. While a shard has no server, no query is answered.
    let third = serve(bed.shard(2, 2));
    let none: [Endpoint; 0] = [];
    service.reach(2, none).unwrap();
    drop(second);
    let refused = answered().unwrap_err();
    assert!(
        matches!(refused, Error::Refused(Refusal::Shard)),
        "{refused}"
    );
    assert!(service.follow_shards().unwrap_err().is_passing());
    let fourth = serve(bed.shard(2, 2));
    let two = [&third, &fourth].map(|running| Endpoint::new(url(running)));
    service.reach(2, two).unwrap();
    assert_eq!(answered().unwrap(), whole);
    assert!(matches!(
        service.reach(3, [Endpoint::new(url(&third))]),
        Err(Error::NoShard { found: 3, most: 2 })
    ));

    // A version is served once each shard has a server of it. A server that stays at an older
    // version is asked last.
    let turn = |running: &Running, bed: &Bed| {
        let server = running.service().server();
        running.service().replace(bed.after(&server));
    };
    for number in [2000, 3000, 4000] {
        bed.add(number);
        assert!(!service.follow_shards().unwrap());
        turn(&first, &bed);
        assert!(!service.follow_shards().is_ok_and(|other| other));
        turn(&third, &bed);
        assert!(service.follow_shards().unwrap());
        assert!(client.refresh(&mut connection).unwrap());
        for seed in 0..6 {
            let found = client.search(&mut rng(seed), &mut connection, bed.queries.row(2));
            assert_eq!(found.unwrap().hits.len(), K);
        }
    }
    // So a front server can start while one server is behind. It asks that server again once it has
    // the version.
    let urls = [vec![url(&first)], vec![url(&fourth), url(&third)]];
    let urls = urls.map(|urls| urls.into_iter().map(Endpoint::new));
    let shards = Shards::replicated(urls, &keys().public(), &limits()).unwrap();
    assert_eq!(shards.open().unwrap().manifest().version, 5);
    turn(&fourth, &bed);
    assert!(!service.follow_shards().unwrap());
    drop(third);
    let found = client.search(&mut rng(9), &mut connection, bed.queries.row(2));
    assert_eq!(found.unwrap().hits.len(), K);
}

/// If an operator restores an older version or another index to the shards' folders, the shards serve it, as one server
/// with this data would.
#[test]
fn what_is_put_into_the_shards_folders_is_served() {
    let mut bed = bed(Form::Masked(Packing::T4));
    let restored = [bed.shard(1, 2), bed.shard(2, 2)];
    bed.add(2000);
    let running = [serve(bed.shard(1, 2)), serve(bed.shard(2, 2))];
    let front = gather(&running.each_ref().map(url));
    let before = front.service().server().manifest().version;
    for (running, server) in running.iter().zip(restored) {
        assert!(!front.service().follow_shards().is_ok_and(|other| other));
        running.service().replace(server);
    }
    assert!(front.service().follow_shards().unwrap());
    assert_eq!(front.service().server().manifest().version, before - 1);
    let other = self::bed(Form::Masked(Packing::T8));
    for (running, number) in running.iter().zip(1..) {
        running.service().replace(other.shard(number, 2));
    }
    assert!(front.service().follow_shards().unwrap());
    let mut connection = connect(&front);
    let client = client(&mut connection);
    let found = client.search(&mut rng(3), &mut connection, other.queries.row(2));
    assert_eq!(found.unwrap().hits.len(), K);
}

/// One server of a shard stops answering. With hedging, no request waits for its time limit, and soon it is asked last.
#[test]
fn where_a_server_of_a_shard_is_late_another_answers() {
    let bed = bed(Form::Masked(Packing::T4));
    let (first, second) = (serve(bed.shard(1, 2)), serve(bed.shard(2, 2)));
    let faulty = Faulty::new(
        bed.shard(2, 2),
        Box::new(|_| Ok(Box::pin(tokio_stream::pending()))),
    );
    let lines = [vec![url(&first)], vec![faulty.url(), url(&second)]];
    let lines = lines.map(|urls| urls.into_iter().map(Endpoint::new));
    // A server that does not answer is given up after half a minute. A request has less time, so an answer shows that a
    // second server was asked.
    let limits = limits().request(Duration::from_secs(20));
    let shards = Shards::replicated(lines, &keys().public(), &limits).unwrap();
    let server = shards.open().unwrap();
    let service = Service::over(shards.hedged(), server, &Access::Anyone, limits).unwrap();
    let front = service.listen(&Listen::on(loopback())).unwrap();
    let mut connection = connect(&front);
    let client = client(&mut connection);
    let request = exchange(&mut connection, &client, bed.queries.row(1));
    let whole = bed.one().handle(&request).unwrap();
    let mut answered = || connection.exchange(&request, 1 << 20);
    // Repeats requests until the budget allows hedging of all later ones. One in twenty answers is late by chance, which
    // spends some of the budget.
    for _ in 0..200 {
        assert_eq!(answered().unwrap(), whole);
    }
    // Then both servers take turns, unless one was late three times by chance, which is forgotten after a
    // while.
    until(|| {
        faulty.asked.store(0, Ordering::SeqCst);
        for _ in 0..4 {
            assert_eq!(answered().unwrap(), whole);
        }
        faulty.asked.load(Ordering::SeqCst) >= 2
    });
    faulty.faults.store(usize::MAX, Ordering::SeqCst);
    let hedged = || {
        let series = front.service().metrics();
        let mut lines = series.lines();
        let hedged =
            lines.find_map(|line| line.strip_prefix("sordino_shard_hedged_total{shard=\"2\"} "));
        hedged.map_or(0, |count| count.parse::<u32>().unwrap())
    };
    let before = hedged();
    until(|| {
        assert_eq!(answered().unwrap(), whole);
        hedged() >= before + 3
    });
    // The faulty server has lost three times in a row. So it takes no turns for a while.
    until(|| {
        faulty.asked.store(0, Ordering::SeqCst);
        for _ in 0..4 {
            assert_eq!(answered().unwrap(), whole);
        }
        faulty.asked.load(Ordering::SeqCst) == 0
    });
    let series = front.service().metrics();
    assert!(series.contains("shard_missing_total{shard=\"2\"} 0"));
}

/// The front server finds a shard again that ended and restarted on its port.
#[test]
fn a_shard_that_comes_back_is_asked_again() {
    let bed = bed(Form::Open(Packing::T4));
    let a = serve(bed.shard(1, 2));
    let b = serve(bed.shard(2, 2));
    let address = b.address();
    let front = gather(&[url(&a), url(&b)]);
    let mut connection = connect(&front);
    let client = client(&mut connection);
    let mut search = || client.search(&mut rng(3), &mut connection, bed.queries.row(2));
    search().unwrap();
    drop(b);
    let refused = search().unwrap_err().to_string();
    assert!(refused.contains(&Refusal::Shard.to_string()), "{refused}");
    let service = Service::new(bed.shard(2, 2), &Access::Anyone, Limits::default()).unwrap();
    let mut again = None;
    until(|| {
        again = service.listen(&Listen::on(address)).ok();
        again.is_some()
    });
    until(|| search().is_ok());
}
