//! Compares eight clients at once with one client.
//!
//! Server and clients share the machine. The server alone is measured first: queries are made in
//! advance, each is sent once, and replies are dropped. Then whole searches are measured, in which
//! the clients' own cryptography runs on the same cores.

use std::error::Error;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_net::Connection;
use sordino_search::{Client, OwnerKeys, Vectors, synthetic};

use crate::party::Party;
use crate::processor::used;
use crate::{Args, Capture, Mode};

const CLIENTS: usize = 8;

pub(crate) fn measure(args: &Args) -> Result<(), Box<dyn Error>> {
    let n = args.n.unwrap_or(100_000);
    let (base, queries) = synthetic::clustered(n, 64, args.dim, 7);
    let keys = OwnerKeys::generate(&mut rand::rng());
    if !args.json {
        println!(
            "{n} vectors of {} dimensions, {CLIENTS} clients, loopback, TLS, tagged; processor time of one request",
            args.dim
        );
        println!(
            "mode    what      clients  per second  p50 ms  p99 ms  requests per scan  scan ms  server ms  client ms"
        );
    }
    for mode in [Mode::Masked, Mode::Open] {
        let index = mode.build(&keys, &base)?;
        let name = index.manifest().mode.kind().name();
        let party = Party::start(&index, &keys)?;
        drop(index);
        let mut ratios = Vec::new();
        for what in ["requests", "searches"] {
            let run = |clients: usize| -> Result<Load, Box<dyn Error>> {
                let work = Work::prepare(&party, &keys, &queries, what, clients, args.requests)?;
                let before = (scans(&party)?, Processor::of(&party));
                let load = work.run()?;
                let used = Processor::of(&party).since(before.1, load.times.len());
                let (before, after) = (before.0, scans(&party)?);
                let [count, requests, seconds] = [0, 1, 2].map(|i| after[i] - before[i]);
                let scans = (requests / count.max(1.0), seconds * 1e3 / count.max(1.0));
                load.print(args.json, (n, name), (what, clients), scans, used);
                Ok(load)
            };
            // A warm-up, since the first requests pay for threads and pages.
            let _ = Work::prepare(&party, &keys, &queries, what, CLIENTS, 32)?.run()?;
            let (one, many) = (run(1)?, run(CLIENTS)?);
            ratios.push((what, many.throughput() / one.throughput()));
        }
        party.end()?;
        if !args.json {
            for (what, ratio) in ratios {
                println!("        {what}: {CLIENTS} clients do {ratio:.2} times what one does");
            }
        }
    }
    Ok(())
}

/// The scans so far, the requests that they answered, and the seconds that they took.
fn scans(party: &Party) -> Result<[f64; 3], Box<dyn Error>> {
    let metrics = party.metrics()?;
    let value = |series: &str| -> Result<f64, Box<dyn Error>> {
        let line = metrics.lines().find_map(|line| line.strip_prefix(series));
        Ok(line.ok_or("no such count")?.trim().parse()?)
    };
    Ok([
        value("sordino_batch_count ")?,
        value("sordino_batch_sum ")?,
        value("sordino_scan_seconds_sum ")?,
    ])
}

/// The processor time of the server's process and of this one, if the system counts it.
#[derive(Clone, Copy)]
struct Processor {
    server: Option<Duration>,
    clients: Option<Duration>,
}

impl Processor {
    fn of(party: &Party) -> Self {
        Self {
            server: used(party.process()),
            clients: used(std::process::id()),
        }
    }

    /// The processor time of one request, given the times before and the number of requests since
    /// then.
    fn since(self, before: Self, requests: usize) -> Self {
        let each = |now: Option<Duration>, before: Option<Duration>| {
            Some(now?.saturating_sub(before?).div_f64(requests as f64))
        };
        Self {
            server: each(self.server, before.server),
            clients: each(self.clients, before.clients),
        }
    }
}

/// The work of each client.
struct Work<'a> {
    clients: Vec<Doing<'a>>,
}

struct Doing<'a> {
    line: Connection,
    client: Client,
    rng: StdRng,
    queries: &'a Vectors,
    /// The requests that were made in advance; none for whole searches.
    made: Vec<(Vec<u8>, usize)>,
    count: usize,
}

impl<'a> Work<'a> {
    fn prepare(
        party: &Party,
        keys: &OwnerKeys,
        queries: &'a Vectors,
        what: &str,
        clients: usize,
        requests: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let count = requests / clients;
        let doing = (0..clients).map(|_| {
            let mut line = party.connect()?;
            let client = Client::connect(&mut line, &keys.reader(), None)?;
            let mut rng = StdRng::from_rng(&mut rand::rng());
            let mut capture = Capture(Vec::new());
            if what == "requests" {
                for at in 0..count {
                    let query = queries.row(at % queries.len());
                    // The request is captured, so this search finds nothing.
                    let _ = client.search(&mut rng, &mut capture, query);
                }
            }
            Ok(Doing {
                line,
                client,
                rng,
                queries,
                made: capture.0,
                count,
            })
        });
        let clients: Result<_, Box<dyn Error>> = doing.collect();
        Ok(Self { clients: clients? })
    }

    fn run(self) -> Result<Load, Box<dyn Error>> {
        let start = Instant::now();
        let done: Vec<_> = std::thread::scope(|scope| {
            let threads = self.clients.into_iter();
            let threads: Vec<_> = threads.map(|doing| scope.spawn(|| doing.all())).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let whole = start.elapsed();
        let mut times = Vec::new();
        for each in done {
            times.extend(each.map_err(|_| "a client failed")??);
        }
        times.sort_unstable();
        Ok(Load { times, whole })
    }
}

impl Doing<'_> {
    fn all(mut self) -> Result<Vec<Duration>, sordino_search::Error> {
        let mut times = Vec::with_capacity(self.count);
        for at in 0..self.count {
            let start = Instant::now();
            match self.made.get(at) {
                Some((request, limit)) => drop(self.line.exchange(request, *limit)?),
                None => {
                    let query = self.queries.row(at % self.queries.len());
                    self.client.search(&mut self.rng, &mut self.line, query)?;
                }
            }
            times.push(start.elapsed());
        }
        Ok(times)
    }
}

/// The times and the number of failures of all requests.
struct Load {
    times: Vec<Duration>,
    whole: Duration,
}

impl Load {
    fn throughput(&self) -> f64 {
        self.times.len() as f64 / self.whole.as_secs_f64()
    }

    /// A percentile of the times, in milliseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let at = (self.times.len() * percent / 100).min(self.times.len() - 1);
        self.times[at].as_secs_f64() * 1e3
    }

    fn print(
        &self,
        json: bool,
        (n, name): (usize, &str),
        (what, clients): (&str, usize),
        scans: (f64, f64),
        used: Processor,
    ) {
        let ms = |used: Option<Duration>| used.map(|used| used.as_secs_f64() * 1e3);
        let (server, client) = (ms(used.server), ms(used.clients));
        let (rate, p50, p99) = (self.throughput(), self.percentile(50), self.percentile(99));
        if json {
            let line = serde_json::json!({
                "n": n, "mode": name, "what": what, "clients": clients, "per_second": rate,
                "p50_ms": p50, "p99_ms": p99, "requests_per_scan": scans.0, "scan_ms": scans.1,
                "server_processor_ms": server, "client_processor_ms": client,
            });
            println!("{line}");
            return;
        }
        println!(
            "{name:<7} {what:<9} {clients:>7} {rate:>11.1} {p50:>7.2} {p99:>7.2} {:>18.2} {:>8.2} {:>10.2} {:>10.2}",
            scans.0,
            scans.1,
            server.unwrap_or(f64::NAN),
            client.unwrap_or(f64::NAN)
        );
    }
}
