//! Checks the seeds. A fuzzer that starts from messages of another form reaches a decoder slowly or never.
//!
//! `SORDINO_WRITE_SEEDS=1` writes the seeds of messages, histories and rings again.

use std::path::{Path, PathBuf};

use chacha20::rand_core::SeedableRng;
use sordino_ckks::column::{self, Combination, Database, Hint, HintDelta};
use sordino_ckks::dot::{self, Plaintexts};
use sordino_ckks::slot;
use sordino_fuzz::{
    added, changed_server, current, fields, owner, page_list, servers, with_fields,
};
use sordino_hash::merkle::{Extension, Proof};
use sordino_index::look;
use sordino_index::payload::PageForm;
use sordino_index::wire;
use sordino_lsh::{Codes, E2Lsh, SimHash, Tables};
use sordino_search::manifest::SignedManifest;
use sordino_search::{
    Blueprint, Centroids, Client, Error, Filter, InProcess, Metric, Nearest, Piece, Pin, Transport,
};
use sordino_vault::decompression::Decompressor;
use sordino_vault::directory::{Change, Directory};
use sordino_vault::frame::{Frame, RowScale, most_bases};
use sordino_vault::numbers::Numbers;
use sordino_vault::page_list::PageList;
use sordino_vault::{ReaderSecret, ring};

fn seed_path(target: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target)
        .join(name)
}

fn seed(target: &str, name: &str) -> Vec<u8> {
    let path = seed_path(target, name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    if std::env::var_os("SORDINO_WRITE_SEEDS").is_some() {
        std::fs::write(seed_path(target, name), bytes).unwrap();
    }
}

#[test]
fn what_primitives_read_is_read() {
    type Reads = fn(&[u8]) -> bool;
    let seeds: [(&str, &str, Reads); 19] = [
        ("ckks_column", "database", |b| {
            Database::from_bytes(b).is_ok()
        }),
        ("ckks_column", "delta", |b| HintDelta::from_bytes(b).is_ok()),
        ("ckks_column", "hint", |b| Hint::from_bytes(b).is_ok()),
        ("ckks_column", "query", |b| {
            column::Query::from_bytes(b).is_ok()
        }),
        ("ckks_column", "reply", |b| {
            column::Reply::from_bytes(b).is_ok()
        }),
        ("ckks_column", "reply_whole", |b| {
            column::Reply::from_bytes(b).is_ok()
        }),
        ("ckks_dot", "plaintexts", |b| {
            Plaintexts::from_bytes(b).is_ok()
        }),
        ("ckks_dot", "query", |b| dot::Query::from_bytes(b).is_ok()),
        ("ckks_dot", "reply", |b| dot::Reply::from_bytes(b).is_ok()),
        ("lwe_query", "query", |b| {
            sordino_lwe::Query::from_bytes(b).is_ok()
        }),
        ("lwe_query", "other_epoch", |b| {
            sordino_lwe::Query::from_bytes(b).is_ok()
        }),
        ("lsh_decode", "codes", |b| Codes::from_bytes(b).is_ok()),
        ("lsh_decode", "simhash", |b| SimHash::from_bytes(b).is_ok()),
        ("lsh_decode", "tables", |b| {
            Tables::<E2Lsh>::from_bytes(b).is_ok()
        }),
        ("hash_proof", "nine", |b| Proof::from_bytes(b).is_ok()),
        ("hash_proof", "three", |b| Proof::from_bytes(b).is_ok()),
        ("hash_extension", "four", |b| {
            Extension::from_bytes(b).is_ok()
        }),
        ("hash_extension", "three", |b| {
            Extension::from_bytes(b).is_ok()
        }),
        ("search_filter", "range", |b| {
            Filter::parse(std::str::from_utf8(b).unwrap()).is_ok()
        }),
    ];
    let whole = column::Params::real_t4().whole();
    let combination = Combination::empty(&whole, 3).unwrap();
    write("ckks_column", "combination", &combination.to_bytes());
    let read = Combination::from_bytes(&seed("ckks_column", "combination"));
    assert!(read.is_ok(), "{:?}", read.err());
    let (database, hint) = Database::encode(&whole, [1; 32], &[0.5; 15], 3).unwrap();
    let client = column::Client::new(&whole, [1; 32], 3, 5, &hint).unwrap();
    let rng = &mut chacha20::ChaCha20Rng::from_seed([1; 32]);
    let (_, query) = client.encrypt(rng, &[0.5; 3]).unwrap();
    let reply = database.score(&query).unwrap().to_bytes();
    write("ckks_column", "reply_whole", &reply);
    for (target, name, reads) in seeds {
        assert!(reads(&seed(target, name)), "{target}/{name}");
    }
    let params = slot::Params::new(2048, &[33_574_913], 67_153_921, 1024.0).unwrap();
    for name in ["fresh", "computed"] {
        assert!(slot::Ciphertext::from_bytes(&params, &seed("ckks_slot", name)).is_ok());
    }
    assert!(slot::GaloisKey::from_bytes(&params, &seed("ckks_slot", "key")).is_ok());
}

#[test]
fn pieces_of_builds_are_read() {
    let keys = owner();
    for name in [
        "blueprint",
        "piece",
        "sums",
        "attributes",
        "centroids",
        "centroids_mean",
        "nearest",
    ] {
        let bytes = seed("search_pieces", name);
        let tagged = |kind: &[u8]| {
            let tag = keys.ids().id(&[0; 32], kind, &bytes, std::iter::empty());
            [&bytes[..], &tag].concat()
        };
        let read = match name {
            "blueprint" => Blueprint::from_bytes(&tagged(b"blueprint"), &keys).is_ok(),
            "centroids" | "centroids_mean" => {
                Centroids::from_bytes(&tagged(b"centroids"), &keys).is_ok()
            }
            "nearest" => Nearest::from_bytes(&tagged(b"nearest"), &keys).is_ok(),
            _ => Piece::from_bytes(&tagged(b"piece"), &keys).is_ok(),
        };
        assert!(read, "{name}");
    }
}

#[test]
fn rings_and_lists_are_read() {
    let mut bytes = seed("search_ring", "ring");
    bytes[4..6].copy_from_slice(&wire::VERSION.to_le_bytes());
    write("search_ring", "ring", &bytes);
    assert!(ring::list(&seed("search_ring", "ring")).is_ok());
    // Two labels, a group, a reader, and a reader that was removed from the list.
    let (labels, groups) = (
        ["finance", "health"].map(str::to_owned),
        ["board".to_owned()],
    );
    let [alice, bob] = [2, 3].map(|seed| ReaderSecret::from_bytes([seed; 32]).public());
    let mut directory = Directory::unsalted();
    for change in [
        Change::group("board", &labels),
        Change::grant("alice", Some(&alice), &[], &groups),
        Change::grant("bob", Some(&bob), &labels[..1], &[]),
        Change::revoke("bob"),
    ] {
        let salt = |number: u32, _: &[u8]| [number.to_le_bytes()[0]; 16];
        directory.change(change, salt).unwrap();
    }
    write("search_ring", "list", &directory.to_bytes().unwrap());
    let list = Directory::from_bytes(&seed("search_ring", "list"));
    assert_eq!(list.unwrap(), directory);
}

/// A transport that keeps the messages sent.
struct Recorded<'a> {
    inner: InProcess<'a>,
    requests: Vec<Vec<u8>>,
    replies: Vec<Vec<u8>>,
}

impl Transport for Recorded<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        self.requests.push(request.to_vec());
        let reply = self.inner.call(request, limit)?;
        self.replies.push(reply.clone());
        Ok(reply)
    }
}

/// A search in each mode, and the messages of all other requests.
#[test]
fn messages_are_answered() {
    let servers = servers();
    let names = ["sealed", "encrypted", "local", "open", "masked", "routed"];
    let mut kinds = std::collections::BTreeSet::new();
    for (name, server) in names.into_iter().zip(&servers) {
        let mut transport = Recorded {
            inner: InProcess::new(server),
            requests: Vec::new(),
            replies: Vec::new(),
        };
        let client = Client::connect(&mut transport, &owner().reader(), None).unwrap();
        let rng = &mut chacha20::ChaCha20Rng::from_seed([3; 32]);
        client.search(rng, &mut transport, &[1.0; 8]).unwrap();
        for request in transport.requests {
            let kind = u16::from_le_bytes([request[6], request[7]]);
            let name = format!("{name}_{kind}");
            // This message is too long for a fuzzer to change it usefully. `lwe_query` has short messages
            // of this kind.
            if request.len() > 1 << 14 {
                continue;
            }
            write("search_message", &name, &request);
            let seed = seed("search_message", &name);
            // The manifest of another index with the same sizes.
            assert!(server.handle(&current(server, &seed)).is_ok(), "{name}");
            kinds.insert(kind);
        }
    }
    assert_eq!(
        kinds.into_iter().collect::<Vec<u16>>(),
        [101, 103, 105, 107]
    );
}

#[test]
fn histories_are_read() {
    let server = changed_server();
    let mut transport = Recorded {
        inner: InProcess::new(&server),
        requests: Vec::new(),
        replies: Vec::new(),
    };
    let pin = Pin {
        index: server.manifest().index,
        version: 1,
        manifest: [1; 32],
    };
    assert!(Client::connect(&mut transport, &owner().reader(), Some(&pin)).is_err());
    let reply = transport
        .replies
        .iter()
        .find(|reply| reply[6..8] == 112u16.to_le_bytes());
    write("search_history", "chain", &reply.unwrap()[16..]);
    let chain = seed("search_history", "chain");
    let len = u32::from_le_bytes(*chain.first_chunk().unwrap()) as usize;
    assert!(SignedManifest::from_bytes(&chain[4..4 + len], &owner().public()).is_ok());
}

/// Additions with and without fields that a writer may not set.
#[test]
fn additions_are_read() {
    let (base, version) = added();
    let honest = fields(&base, &version).to_vec();
    write("search_added", "addition", &honest);
    let read = |fields: &[u8]| {
        let bytes = with_fields(&base, fields);
        SignedManifest::from_bytes(&bytes, &owner().public())
    };
    assert_eq!(read(&honest).unwrap(), version);
    assert!(read(&seed("search_added", "addition")).is_ok());
    // Uses another key: the writer's number follows version, time and digest.
    let mut other = honest;
    other[48] ^= 1;
    write("search_added", "other_label", &other);
    let refused = read(&seed("search_added", "other_label"));
    assert!(matches!(refused, Err(Error::Malformed { .. })));
}

#[test]
fn frames_scales_and_residuals_are_read() {
    let target = "search_records";
    for metric in Metric::ALL {
        let name = metric.name().replace(' ', "_");
        let dim = 4;
        let width = dim + metric.added() as usize;
        let bases = most_bases(metric).min(2);
        let numbers = |count: usize| (0..count).map(|at| at as f32 - 2.5).collect();
        let frame = Frame::new(metric, [3; 32], numbers(dim), numbers(width * bases));
        let bytes = frame.with_bound(9.0).with_recall(Some(0.97)).to_bytes();
        write(
            target,
            &format!("frame_{name}"),
            &[&[3], &bytes[..]].concat(),
        );
        let read = &seed(target, &format!("frame_{name}"))[1..];
        assert!(Frame::from_bytes(metric, [3; 32], dim, read).is_ok());
        let row: &[u8] = match metric {
            Metric::Cosine => &[7, 3],
            Metric::InnerProduct => &[0, 9],
            Metric::Euclidean => &[1, 9, 0, 0, 0x80, 0x3f],
        };
        let head = [0, 0, if metric == Metric::Cosine { 14 } else { 1 }];
        let scales = [&[3][..], &head, &row.repeat(3)].concat();
        write(target, &format!("scales_{name}"), &scales);
        let read = &seed(target, &format!("scales_{name}"))[1..];
        assert!(RowScale::read_all(metric, 3, read).is_ok());
    }
    let code = look::code(1, &[0.5, -0.25, 2.0]);
    write(target, "residual", &[&[3], &code[..]].concat());
    assert!(look::residual(&seed(target, "residual")[1..]).is_some());
}

/// A list of pages with a dictionary, and a payload that is compressed, as an owner writes them.
#[test]
fn lists_of_pages_and_compressed_payloads_are_read() {
    let form = PageForm {
        page_len: 64,
        payloads: true,
        look: None,
    };
    let list = PageList {
        places: Numbers::range(20),
        starts: (0..20).map(|at| at * 50).collect(),
        dictionary: vec![7; 40],
    };
    let code = list.to_bytes(&form, 16);
    let sizes = [4u16, 20, 16].map(u16::to_le_bytes).concat();
    write("search_pages", "list", &[sizes, code].concat());
    let seed = seed("search_pages", "list");
    let (form, group, code) = page_list(&seed).unwrap();
    let read = PageList::read(&form, &group, code).unwrap();
    assert_eq!((read.places, read.starts), (list.places, list.starts));
    // A frame without its first four bytes. The frame has 15 bytes, in one uncompressed block.
    let frame = [&[0x20, 15, 0x79, 0, 0][..], b"fifteen letters"].concat();
    write("search_pages", "frame", &frame);
    let mut decompressor = Decompressor::new(&[]).unwrap();
    let text = decompressor.read(&self::seed("search_pages", "frame"), false);
    assert_eq!(text.unwrap(), b"fifteen letters");
}
