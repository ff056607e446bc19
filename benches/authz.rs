//! Authorization: `authz/check` (one decision; parameter = number of policies), `authz/similar` (policies of similar
//! meaning; parameter = number of policies), `authz/token` (tokens verified; parameter = tokens at a time) and `authz/request` (requests of a
//! client that has logged in; parameter = bytes of the message).
//!
//! Teams may search their own folders. In every request, one reader of one team asks for one index in one folder. The
//! 64 readers take turns, and a tenth of the requests are denied. `sordino` evaluates policies. `sordino cached` finds
//! the decision in the cache. `sordino lookup` measures the cache alone, without the engine's state. In `conditions
//! only`, the policies have nothing in their scopes, so no index helps. Peers: `cedar-policy` on the same policies, and
//! `casbin` on a model of grants to teams on folders, without the conditions.

use std::hint::black_box;

use casbin::{CoreApi, DefaultModel, Enforcer, MemoryAdapter, MgmtApi, RbacApi};
use cedar_policy::PolicySet;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_authz::{Authorizer, Context, Engine, Request, Schema, Similar, Uid, Value};
use sordino_net::Rehearsal;
use sordino_token::{Algorithm, Claims, SigningKey, Token, Verifier};

mod settings;

const READERS: usize = 64;
const SCHEMA: &str = "
    entity Team;
    entity Folder;
    entity Reader in [Team] = { level: Long, admin: Bool };
    entity Index in [Folder] = { level: Long, locked: Bool, owner: Reader };
    action search, payload, download appliesTo { principal: Reader, resource: Index, context: { results: Long } };";

/// The policies: two apply to all requests, each other policy to one team and one folder.
fn policies(count: usize, scopes: bool) -> String {
    let mut text = String::from(
        "@id(\"locked\") forbid(principal, action, resource) when { resource.locked && !principal.admin };
         @id(\"owner\") permit(principal, action, resource) when { resource.owner == principal };\n",
    );
    for i in 0..count - 2 {
        let (team, folder) = (format!("Team::\"{i}\""), format!("Folder::\"{i}\""));
        let actions = "[Action::\"search\", Action::\"payload\"]";
        let rest = "context.results <= 100 && resource.level <= principal.level";
        text += &if scopes {
            format!(
                "@id(\"team {i}\") permit(principal in {team}, action in {actions}, resource in {folder}) when {{ {rest} }};\n"
            )
        } else {
            format!(
                "@id(\"team {i}\") permit(principal, action, resource) when {{ principal in {team} && action in {actions} && resource in {folder} && {rest} }};\n"
            )
        };
    }
    text
}

fn entities(policies: usize) -> String {
    let uid = |kind: &str, id: usize| serde_json::json!({"type": kind, "id": id.to_string()});
    let of = |reader: usize| reader % (policies - 2);
    let mut list = Vec::new();
    for i in 0..READERS {
        list.push(
            serde_json::json!({"uid": uid("Reader", i), "parents": [uid("Team", of(i))],
            "attrs": {"level": 3, "admin": i % 2 == 0}}),
        );
        list.push(serde_json::json!({"uid": uid("Index", i), "parents": [uid("Folder", of(i))],
            "attrs": {"level": i % 4, "locked": i % 10 == 9, "owner": {"__entity": uid("Reader", i % 7)}}}));
    }
    serde_json::Value::from(list).to_string()
}

/// The names of readers and indexes.
fn names() -> Vec<String> {
    (0..READERS).map(|i| i.to_string()).collect()
}

fn request<'a>(name: &'a str, context: &'a Context) -> Request<'a> {
    let (reader, index) = (Uid::new("Reader", name), Uid::new("Index", name));
    Request::new(reader, Uid::new("Action", "search"), index).with(context)
}

fn cedar(name: &str) -> cedar_policy::Request {
    let uid = |kind: &str, id: &str| format!("{kind}::\"{id}\"").parse().expect("an entity");
    let context = serde_json::json!({"results": 10});
    let context = cedar_policy::Context::from_json_value(context, None).expect("a record");
    cedar_policy::Request::new(
        uid("Reader", name),
        uid("Action", "search"),
        uid("Index", name),
        context,
        None,
    )
    .expect("no schema")
}

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("authz/check");
    group.throughput(Throughput::Elements(1));
    let names = names();
    let context = Context::new([("results", Value::Long(10))]).expect("short");
    for (count, scopes) in [(3, true), (101, true), (10_000, true), (101, false)] {
        let (text, world) = (policies(count, scopes), entities(count));
        let schema = Schema::parse(SCHEMA).expect("valid");
        let engine = Engine::new(schema, &text, &world).expect("valid");
        let set: PolicySet = text.parse().expect("valid");
        let world = cedar_policy::Entities::from_json_str(&world, None).expect("valid");
        let authorizer = cedar_policy::Authorizer::new();
        for name in &names {
            let theirs = authorizer.is_authorized(&cedar(name), &set, &world);
            let theirs = theirs.decision() == cedar_policy::Decision::Allow;
            assert_eq!(engine.check(&request(name, &context)).is_allowed(), theirs);
        }
        let suffix = if scopes { "" } else { ", conditions only" };
        let mut next = names.iter().cycle();
        let mut next = || request(next.next().expect("cycle"), &context);
        group.bench_function(BenchmarkId::new(format!("sordino{suffix}"), count), |b| {
            b.iter(|| engine.decide(black_box(&next())));
        });
        if scopes {
            group.bench_function(BenchmarkId::new("sordino cached", count), |b| {
                b.iter(|| engine.check(black_box(&next())));
            });
            group.bench_function(BenchmarkId::new("sordino lookup", count), |b| {
                b.iter(|| engine.cached(black_box(&next())).is_some());
            });
        }
        let requests: Vec<_> = names.iter().map(|name| cedar(name)).collect();
        let mut requests = requests.iter().cycle();
        group.bench_function(
            BenchmarkId::new(format!("cedar-policy{suffix}"), count),
            |b| {
                b.iter(|| authorizer.is_authorized(requests.next().expect("cycle"), &set, &world));
            },
        );
    }
    for count in [3, 101] {
        let enforcer = casbin(count);
        let mut next = names.iter().cycle();
        group.bench_function(BenchmarkId::new("casbin", count), |b| {
            b.iter(|| {
                let name = next.next().expect("cycle").as_str();
                enforcer.enforce((name, name, "search")).expect("valid")
            });
        });
    }
    group.finish();
}

/// In this model teams are roles of readers, and folders are roles of resources.
const MODEL: &str = "
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.sub, p.sub) && g2(r.obj, p.obj) && r.act == p.act
";

fn casbin(count: usize) -> Enforcer {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a thread");
    runtime.block_on(async {
        let model = DefaultModel::from_str(MODEL).await.expect("valid");
        let mut enforcer = Enforcer::new(model, MemoryAdapter::default())
            .await
            .expect("valid");
        let of = |i: usize| i % (count - 2);
        for i in 0..count - 2 {
            let grant = vec![
                format!("team {i}"),
                format!("folder {i}"),
                "search".to_owned(),
            ];
            enforcer.add_policy(grant).await.expect("new");
        }
        for i in 0..READERS {
            let name = i.to_string();
            enforcer
                .add_role_for_user(&name, &format!("team {}", of(i)), None)
                .await
                .expect("new");
            let folder = vec![name, format!("folder {}", of(i))];
            enforcer
                .add_named_grouping_policy("g2", folder)
                .await
                .expect("new");
        }
        enforcer
    })
}

fn similar(c: &mut Criterion) {
    let mut group = c.benchmark_group("authz/similar");
    let mut rng = StdRng::seed_from_u64(4);
    let mut vector = |of: &[f32]| -> Vec<f32> {
        (0..128)
            .map(|i| of.get(i).unwrap_or(&0.0) * 2.0 + rng.random_range(-1.0..1.0_f32))
            .collect()
    };
    let centres: Vec<Vec<f32>> = (0..200).map(|_| vector(&[])).collect();
    for count in [1_000, 100_000] {
        let policies = (0..count).map(|i| (i.to_string(), vector(&centres[i % 200])));
        let similar = Similar::new(128, policies.collect::<Vec<_>>()).expect("numbers");
        let query = vector(&centres[7]);
        group.bench_function(BenchmarkId::new("sordino top10", count), |b| {
            b.iter(|| similar.find(black_box(&query), 10));
        });
    }
    group.finish();
}

/// Verifies 1, 8 or 32 tokens at once, from one issuer for different holders. `issue` and `attenuate` make one token.
fn token(c: &mut Criterion) {
    let mut group = c.benchmark_group("authz/token");
    let now = 1_800_000_000;
    for algorithm in [Algorithm::MlDsa65, Algorithm::MlDsa44] {
        let key = |seed: u8| SigningKey::from_seed(algorithm, &[seed; 32]);
        let (issuer, name) = (key(255), algorithm.name());
        let claims = |holder: &SigningKey| Claims {
            audience: "search.example".to_owned(),
            holder: holder.public().clone(),
            indexes: vec![[7; 16]],
            actions: "search,payload".parse().expect("actions"),
            rate: 600,
            not_before: now,
            expiry: now + 60,
        };
        let holders: Vec<SigningKey> = (0..32).map(key).collect();
        let issued = holders
            .iter()
            .map(|holder| Token::issue(&claims(holder), &issuer));
        let tokens: Vec<Token> = issued.collect::<Result<_, _>>().expect("claims in bounds");
        let narrowed = tokens[0].attenuate(&claims(&holders[1]), &holders[0]);
        let narrowed = narrowed.expect("the same claims");
        let mut verifier = Verifier::new("search.example", &[issuer.public().clone()]);
        for count in [1, 8, 32] {
            let batch: Vec<&[u8]> = tokens[..count].iter().map(Token::as_bytes).collect();
            group.throughput(Throughput::Elements(count as u64));
            group.bench_function(BenchmarkId::new(format!("sordino {name}"), count), |b| {
                b.iter(|| {
                    let grants = verifier.verify_each(black_box(&batch), now);
                    assert!(grants.iter().all(Result::is_ok));
                });
            });
        }
        group.throughput(Throughput::Elements(1));
        group.bench_function(
            BenchmarkId::new(format!("sordino {name}, narrowed once"), 1),
            |b| {
                b.iter(|| {
                    verifier
                        .verify(black_box(narrowed.as_bytes()), now)
                        .expect("good")
                });
            },
        );
        group.bench_function(BenchmarkId::new(format!("sordino {name}, issue"), 1), |b| {
            b.iter(|| Token::issue(black_box(&claims(&holders[0])), &issuer).expect("in bounds"));
        });
    }
    group.finish();
}

/// The tag of a request, made by the client and checked by the server, which also looks up the login, its numbers and its rate.
fn tagged(c: &mut Criterion) {
    let mut group = c.benchmark_group("authz/request");
    group.throughput(Throughput::Elements(1));
    for len in [1 << 10, 1 << 14, 1 << 16] {
        let message = vec![7; len];
        let mut both = Rehearsal::new(&mut StdRng::seed_from_u64(5)).expect("a login");
        group.bench_function(BenchmarkId::new("sordino tag", len), |b| {
            b.iter(|| both.tag(black_box(&message)));
        });
        group.bench_function(BenchmarkId::new("sordino check", len), |b| {
            b.iter_custom(|count| {
                // The tags are made before the clock starts.
                let tags: Vec<_> = (0..count).map(|_| both.tag(&message)).collect();
                let start = std::time::Instant::now();
                for tag in &tags {
                    assert!(both.check(black_box(tag), &message));
                }
                start.elapsed()
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = check, similar, token, tagged
}
criterion_main!(benches);
