//! Authorization: decisions with their reasons, an audit log, and latencies while policies change.
//!
//! `cargo run --release -p sordino-authz --example authz [SECONDS] [--json]`: two threads ask for SECONDS (one by
//! default), while all policies are replaced ten times a second. With `--json`, the example prints the latencies alone.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sordino_authz::{AuditKey, AuditLog, Authorizer, Context, Engine, Request, Schema, Uid, Value};

const SCHEMA: &str = "
    entity Team in [Team];
    entity Reader in [Team] = { level: Long };
    entity Index = { level: Long, owner: Reader };
    action search, payload, delete appliesTo { principal: Reader, resource: Index, context: { results: Long } };";

const ENTITIES: &str = r#"[
    {"uid": {"type": "Team", "id": "research"}, "attrs": {}, "parents": []},
    {"uid": {"type": "Reader", "id": "ann"}, "attrs": {"level": 3}, "parents": [{"type": "Team", "id": "research"}]},
    {"uid": {"type": "Reader", "id": "bob"}, "attrs": {"level": 1}, "parents": []},
    {"uid": {"type": "Index", "id": "mail"}, "attrs": {"level": 2, "owner": {"type": "Reader", "id": "bob"}}, "parents": []}
]"#;

/// Three policies that decide, and others for teams that nobody is in.
fn policies(generation: usize) -> String {
    let mut text = String::from(
        r#"@id("research") permit(principal in Team::"research", action in [Action::"search", Action::"payload"], resource)
               when { context.results <= 100 && resource.level <= principal.level };
           @id("owner") permit(principal, action, resource) when { resource.owner == principal };
           @id("nothing is deleted") forbid(principal, action == Action::"delete", resource);"#,
    );
    for i in 0..98 {
        text += &format!(
            "@id(\"team {i} of {generation}\") permit(principal in Team::\"{i}\", action, resource) when {{ principal.level > {generation} }};"
        );
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = arguments.len();
    arguments.retain(|argument| argument != "--json");
    let json = arguments.len() < all;
    let seconds = arguments.first().map_or(Ok(1.0), |text| text.parse())?;
    let engine = Engine::new(Schema::parse(SCHEMA)?, &policies(0), ENTITIES)?;
    if !json {
        decisions(&engine)?;
        let share = engine.share();
        println!(
            "{} of {} policies are compiled",
            share.compiled, share.policies
        );
    }
    changing(&engine, Duration::from_secs_f64(seconds), json)
}

/// Prints some requests and their decisions, and checks the log of these decisions.
fn decisions(engine: &Engine) -> Result<(), Box<dyn Error>> {
    let (mut log, mut stored) = (AuditLog::new(), Vec::new());
    let context = Context::new([("results", Value::Long(10))])?;
    for (who, what) in [
        ("ann", "search"),
        ("bob", "payload"),
        ("ann", "delete"),
        ("eve", "search"),
        ("ann", "fly"),
    ] {
        let request = Request::new(
            Uid::new("Reader", who),
            Uid::new("Action", what),
            Uid::new("Index", "mail"),
        );
        let request = request.with(&context);
        let decision = engine.check(&request);
        println!("{who} {what} mail: {decision}");
        stored.extend(log.append(1_795_000_000_000, &request, &decision)?);
    }
    let key = AuditKey::from_seed(&[7; 32]);
    let head = log.sign(1_795_000_000_001, &key);
    let entries = head.verify(&stored, &key.public_key())?;
    println!(
        "audit log: {} entries in {} bytes, as signed",
        entries.len(),
        stored.len()
    );
    stored[50] ^= 1;
    if let Err(error) = head.verify(&stored, &key.public_key()) {
        println!("the same with one bit changed: {error}");
    }
    Ok(())
}

/// Measures the latencies of checks by two threads. They ask 1,000 requests in turn, and now and then a new one, so
/// that the engine remembers 99 in 100.
fn changing(engine: &Engine, time: Duration, json: bool) -> Result<(), Box<dyn Error>> {
    let done = AtomicBool::new(false);
    let (mut latencies, replacements) = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..2)
            .map(|thread| {
                scope.spawn({
                    let done = &done;
                    move || asker(engine, thread, done)
                })
            })
            .collect();
        let (start, mut generation) = (Instant::now(), 0);
        while start.elapsed() < time {
            generation += 1;
            engine
                .replace_policies(&policies(generation))
                .expect("the same policies but for a number");
            std::thread::sleep(Duration::from_millis(100));
        }
        done.store(true, Ordering::Relaxed);
        let latencies = askers
            .into_iter()
            .flat_map(|asker| asker.join().expect("no panic"));
        (latencies.collect::<Vec<u32>>(), generation)
    });
    latencies.sort_unstable();
    let at = |per_mille: usize| latencies[(latencies.len() - 1) * per_mille / 1000];
    if json {
        for (name, part) in [("p50", 500), ("p95", 950), ("p99", 990)] {
            let line = serde_json::json!({"group": "authz/changing", "function": name, "parameter": 101, "median_ns": at(part)});
            println!("{line}");
        }
        return Ok(());
    }
    println!(
        "{} checks by two threads, {replacements} replacements: p50 {} ns, p95 {} ns, p99 {} ns, p99.9 {} ns",
        latencies.len(),
        at(500),
        at(950),
        at(990),
        at(999)
    );
    Ok(())
}

fn asker(engine: &Engine, thread: usize, done: &AtomicBool) -> Vec<u32> {
    let name = |i: usize| i.to_string();
    let known: Vec<String> = (0..1000).map(name).collect();
    let context = Context::new([("results", Value::Long(10))]).expect("short");
    let (mut latencies, mut asked) = (Vec::with_capacity(1 << 22), 0);
    while !done.load(Ordering::Relaxed) && latencies.len() < 1 << 22 {
        asked += 1;
        let new = (asked % 100 == 0).then(|| name(1_000_000 * (thread + 1) + asked));
        let index = new.as_ref().unwrap_or(&known[asked % known.len()]);
        let request = Request::new(
            Uid::new("Reader", "ann"),
            Uid::new("Action", "search"),
            Uid::new("Index", index),
        );
        let request = request.with(&context);
        let start = Instant::now();
        let decision = engine.check(&request);
        let took = start.elapsed();
        std::hint::black_box(decision);
        latencies.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
    }
    latencies
}
