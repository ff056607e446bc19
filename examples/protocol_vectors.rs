//! Prints test vectors of the wire protocol (`docs/protocol`) as JSON: keys, pads, orders, the rotation, encrypted
//! scores under each parameter set, and whole searches in each mode, message by message.
//!
//! All randomness has fixed seeds, and the bytes that a client draws are printed with what it makes of them. Bytes
//! are in hexadecimal digits. Numbers in single precision are printed in the same way, by their bits in
//! little-endian order.
//!
//! `cargo run --example protocol_vectors > vectors.json`

use std::convert::Infallible;

use rand::rand_core::{TryCryptoRng, TryRng};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use sordino_ckks::column::{self, Params};
use sordino_search::manifest::{Checking, Packing};
use sordino_search::rotation::Rotation;
use sordino_search::{
    Batch, Client, Error, Form, InProcess, Index, Memory, Metric, OwnerKeys, Routing, Server, Spec,
    Store, Transport, Vectors, synthetic,
};
use sordino_vault::purpose::Purpose;

/// The master secret from which all printed values are derived.
const MASTER: [u8; 32] = [7; 32];
/// The id of a segment that does not exist.
const SEGMENT: [u8; 16] = [9; 16];
const VERSION: u64 = 3;

const K: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vectors = json!({
        "keys": keys(),
        "orders": [order(10), order(1000)],
        "pad": pad(),
        "rotations": [rotation(8), rotation(13)],
        "columns": columns()?,
        "searches": searches()?,
    });
    println!("{}", serde_json::to_string_pretty(&vectors)?);
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn floats(values: &[f32]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    hex(&bytes)
}

/// A generator that records its output.
struct Recorder {
    source: StdRng,
    given: Vec<u8>,
}

impl Recorder {
    fn new(seed: u64) -> Self {
        Self {
            source: StdRng::seed_from_u64(seed),
            given: Vec::new(),
        }
    }
}

impl TryRng for Recorder {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut word = [0; 4];
        self.try_fill_bytes(&mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut word = [0; 8];
        self.try_fill_bytes(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.source.fill_bytes(out);
        self.given.extend_from_slice(out);
        Ok(())
    }
}

impl TryCryptoRng for Recorder {}

/// The keys derived from the master secret, an id of content, and something sealed for each purpose.
fn keys() -> Value {
    let owner = OwnerKeys::from_master(MASTER);
    let reader = owner.shared();
    let (fresh, words) = ([1; 32], [1u32, 2, 3]);
    let id = owner
        .ids()
        .id(&fresh, b"binding", b"ids", words.into_iter());
    let purposes = [
        Purpose::Bucket,
        Purpose::Chunk,
        Purpose::Ids,
        Purpose::Deleted,
        Purpose::Centroids,
        Purpose::Payload,
    ];
    let seals = purposes.map(|purpose| {
        let seal = reader.seal(purpose, &SEGMENT, VERSION);
        let sealed = seal.seal(5, b"shape", b"content");
        json!({"purpose": purpose.label(), "sealed": hex(&sealed)})
    });
    json!({
        "master": hex(&MASTER),
        "content": hex(reader.as_bytes()),
        "owner": hex(&owner.public().to_bytes()),
        "manifest_signature": hex(&owner.sign(b"message")),
        "content_id": {"fresh": hex(&fresh), "binding": hex(b"binding"), "ids": hex(b"ids"), "words": words, "id": hex(&id)},
        "segment": hex(&SEGMENT),
        "version": VERSION,
        "part": 5,
        "shape": hex(b"shape"),
        "plain": hex(b"content"),
        "seals": seals,
    })
}

/// The order of the rows and of the payloads of a segment of `n` records.
fn order(n: u32) -> Value {
    let reader = OwnerKeys::from_master(MASTER).shared();
    let (rows, slots) = (
        reader.row_order(&SEGMENT, n),
        reader.slot_order(&SEGMENT, n),
    );
    json!({
        "n": n,
        "rows": (0..n).map(|at| rows.row(at)).collect::<Vec<u32>>(),
        "slots": (0..n).map(|at| slots.row(at)).collect::<Vec<u32>>(),
    })
}

/// The pads of a few rows: their sum with codes of zero, and their products with a query.
fn pad() -> Value {
    let pad = OwnerKeys::from_master(MASTER)
        .shared()
        .pad(&SEGMENT, VERSION);
    let rows: Vec<Vec<i32>> = (0..3)
        .map(|row| {
            let mut codes = vec![0; 10];
            pad.mask(row, &mut codes);
            codes
        })
        .collect();
    let query: Vec<i32> = (0..10).map(|at| 1000 * at - 5000).collect();
    let mut products = vec![0; 3];
    pad.products(&query, &mut products);
    json!({"rows": rows, "query": query, "products": products})
}

fn rotation(dim: usize) -> Value {
    let (seed, vectors) = ([4; 32], synthetic::uniform(1, dim, 5));
    let rotated = Rotation::new(dim, seed).apply(vectors.row(0));
    json!({"seed": hex(&seed), "vector": floats(vectors.row(0)), "rotated": floats(&rotated)})
}

/// Encrypted scores under every parameter set.
fn columns() -> Result<Vec<Value>, sordino_ckks::Error> {
    let real = [
        Params::real_t4(),
        Params::real_t8(),
        Params::real_t4().whole(),
    ];
    let modular = [
        Params::modular_26_t4(),
        Params::modular_26_t8(),
        Params::modular_18_exact(),
        Params::modular_26_t8().whole(),
    ];
    let real = real.iter().map(real_column);
    real.chain(modular.iter().map(modular_column)).collect()
}

const DIM: usize = 10;
const SEED: [u8; 32] = [3; 32];

fn real_column(params: &Params) -> Result<Value, sordino_ckks::Error> {
    let (base, query) = (synthetic::uniform(5, DIM, 1), synthetic::uniform(1, DIM, 2));
    let (base, query) = (units(&base), units(&query));
    let (database, hint) = column::Database::encode(params, SEED, base.as_slice(), DIM)?;
    let client = column::Client::new(params, SEED, DIM, 5, &hint)?;
    let mut rng = Recorder::new(1);
    let (secret, sent) = client.encrypt(&mut rng, query.row(0))?;
    let reply = database.score(&sent)?;
    let scores = client.decrypt(secret, &reply)?;
    Ok(json!({
        "set": params.name(), "dim": DIM, "count": 5, "seed": hex(&SEED), "random": hex(&rng.given),
        "vectors": floats(base.as_slice()), "query": floats(query.row(0)),
        "hint": hex(&hint.to_bytes()), "sent": hex(&sent.to_bytes()), "reply": hex(&reply.to_bytes()),
        "scores": floats(&scores),
    }))
}

fn modular_column(params: &Params) -> Result<Value, sordino_ckks::Error> {
    let half = 1 << (params.log_p().unwrap_or(2) - 1);
    let mut source = StdRng::seed_from_u64(2);
    let mut draw = |count: usize| -> Vec<i32> {
        let words = (0..count).map(|_| source.next_u32().cast_signed());
        words.map(|x| x.rem_euclid(2 * half) - half).collect()
    };
    let (base, query) = (draw(5 * DIM), draw(DIM));
    let (database, hint) = column::Database::encode_modular(params, SEED, &base, DIM)?;
    let client = column::Client::new(params, SEED, DIM, 5, &hint)?;
    let mut rng = Recorder::new(1);
    let (secret, sent) = client.encrypt_modular(&mut rng, &query)?;
    let reply = database.score(&sent)?;
    let scores = client.decrypt_modular(secret, &reply)?;
    Ok(json!({
        "set": params.name(), "dim": DIM, "count": 5, "seed": hex(&SEED), "random": hex(&rng.given),
        "vectors": base, "query": query,
        "hint": hex(&hint.to_bytes()), "sent": hex(&sent.to_bytes()), "reply": hex(&reply.to_bytes()),
        "scores": scores,
    }))
}

fn units(vectors: &Vectors) -> Vectors {
    let units = vectors.clone().normalised();
    units.expect("no vector is zero")
}

/// Searches of indexes of two segments, from which records were deleted, in every mode.
fn searches() -> Result<Vec<Value>, Error> {
    let sealed = |routing| Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: Some(routing),
    };
    let forms = [
        ("masked t4", Form::Masked(Packing::T4), Metric::Cosine),
        ("masked t8", Form::Masked(Packing::T8), Metric::Euclidean),
        ("open t4", Form::Open(Packing::T4), Metric::InnerProduct),
        ("open t8", Form::Open(Packing::T8), Metric::Cosine),
        ("local", Form::Local, Metric::Cosine),
        ("local, 12 bits", Form::Local, Metric::Euclidean),
        (
            "sealed, downloaded",
            sealed(Routing::Downloaded),
            Metric::InnerProduct,
        ),
        (
            "sealed, encrypted",
            sealed(Routing::Encrypted),
            Metric::Cosine,
        ),
    ];
    let forms = forms.into_iter();
    let forms = forms.map(|(name, form, metric)| (name, form, metric, Checking::Sums));
    let (open, masked) = (Form::Open(Packing::T8), Form::Masked(Packing::T4));
    let others = [
        ("open, exact", open, Metric::Cosine, Checking::Exact),
        ("open, no checks", open, Metric::Cosine, Checking::None),
        ("masked, exact", masked, Metric::Euclidean, Checking::Exact),
    ];
    forms
        .chain(others)
        .map(|(name, form, metric, checking)| search(name, (form, checking), metric))
        .collect()
}

fn search(name: &str, (form, checking): (Form, Checking), metric: Metric) -> Result<Value, Error> {
    let (keys, mut rng) = (OwnerKeys::from_master(MASTER), StdRng::seed_from_u64(8));
    let spec = Spec::new(form).k(K).metric(metric).checking(checking);
    let (base, more) = (
        synthetic::uniform(120, DIM, 6),
        synthetic::uniform(30, DIM, 7),
    );
    let payloads = (0..base.len()).map(|id| format!("record {id}").into_bytes());
    let batch = Batch::from(base).with_payloads(payloads.collect());
    let disk = Memory::default();
    let mut store = Store::create_on(
        disk.clone(),
        "",
        &mut rng,
        &keys,
        &spec,
        [batch],
        &mut |_| (),
    )?;
    let ids: Vec<u32> = (100..130).collect();
    store.upsert(&mut rng, &ids, &more)?;
    store.delete(&mut rng, &[4u32, 5, 17, 128])?;
    let server = Server::new(Index::open_on(disk, "", &keys.public())?)?;
    let mut line = Line {
        server: InProcess::new(&server),
        exchanges: Vec::new(),
    };
    let client = Client::connect(&mut line, &keys.reader(), None)?;
    // A vector near a record of the second segment.
    let query = more.row(3);
    let mut rng = Recorder::new(10);
    let found = client.search(&mut rng, &mut line, query)?;
    let hits = found.hits.iter().zip(&found.payloads).map(|(hit, payload)| {
        json!({"id": hit.id.to_string(), "score": floats(&[hit.score]), "payload": hex(payload)})
    });
    Ok(json!({
        "name": name,
        "query": floats(query),
        "random": hex(&rng.given),
        "exchanges": line.exchanges,
        "hits": hits.collect::<Vec<Value>>(),
    }))
}

/// A transport that records the messages.
struct Line<'a> {
    server: InProcess<'a>,
    exchanges: Vec<Value>,
}

impl Transport for Line<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let reply = self.server.call(request, limit)?;
        let exchange = json!({"request": hex(request), "reply": hex(&reply)});
        self.exchanges.push(exchange);
        Ok(reply)
    }
}
