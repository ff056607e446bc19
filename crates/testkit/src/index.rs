//! Indexes in each mode, in memory and in folders, their servers and their clients.

use std::path::Path;

use sordino_search::manifest::{Manifest, Packing};
use sordino_search::payload::{Fetch, FetchKind};
use sordino_search::plan::Conditions;
use sordino_search::recall::{self, Truth};
use sordino_search::{
    Batch, Client, Error, Form, InProcess, Index, Routing, Server, Spec, Store, Vectors, build,
    synthetic,
};
use tempfile::TempDir;

use crate::{keys, rng};

/// Routed mode, for clients that make some searches.
pub const ROUTED: Form = Form::Routed {
    recall: 0.9,
    queries: 20,
};

/// Sealed mode, for clients that make some searches.
#[must_use]
pub const fn sealed(routing: Routing) -> Form {
    Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: Some(routing),
    }
}

/// Every mode, and both forms of sealed mode.
#[must_use]
pub const fn forms() -> [Form; 6] {
    [
        Form::Masked(Packing::T4),
        Form::Open(Packing::T8),
        ROUTED,
        Form::Local,
        sealed(Routing::Downloaded),
        sealed(Routing::Encrypted),
    ]
}

/// Every way for clients to get payloads.
pub const WAYS: [FetchKind; 4] = [
    FetchKind::Download,
    FetchKind::Pir,
    FetchKind::Hintless,
    FetchKind::Scan,
];

/// The ways in which a search asks a server for payloads.
pub const ASKED: [FetchKind; 3] = [FetchKind::Pir, FetchKind::Hintless, FetchKind::Scan];

/// The same spec, with payloads that are fetched in this way.
#[must_use]
pub fn by(way: FetchKind, spec: Spec) -> Spec {
    spec.conditions(Conditions::default().prefer(way))
}

/// The same spec, with scanned pages. They are dealt into slots if a search fetches twelve pages or more. The link
/// is so slow, and searches so frequent, that only bytes count.
#[must_use]
pub fn dealt(spec: Spec) -> Spec {
    let conditions = Conditions::default().prefer(FetchKind::Scan);
    spec.conditions(conditions.line(1e5).searches(1_000_000))
}

/// The number of copies of an index's scanned pages, or 0 if they are not dealt.
#[must_use]
pub fn copies(manifest: &Manifest) -> u8 {
    match manifest.payloads.as_ref().map(|it| &it.fetch) {
        Some(Fetch::Scan { copies, .. }) => *copies,
        _ => 0,
    }
}

/// Vectors, queries close to some of them, and the true neighbours.
#[derive(Debug)]
pub struct Set {
    /// The vectors.
    pub base: Vectors,
    /// The queries.
    pub queries: Vectors,
    /// The `k` nearest neighbours of each query.
    pub truth: Truth,
}

impl Set {
    /// `n` vectors in clusters, and `queries` queries.
    #[must_use]
    pub fn clustered(n: usize, queries: usize, dim: usize, k: usize) -> Self {
        let (base, queries) = synthetic::clustered(n, queries, dim, 11);
        let truth = recall::exact(&base, &queries, k);
        Self {
            base,
            queries,
            truth,
        }
    }
}

/// An index in memory, for searches for the `k` nearest.
#[must_use]
pub fn index(form: Form, k: usize, base: &Vectors) -> Index {
    let spec = Spec::new(form).k(k);
    let batches = [Ok(base.clone().into())];
    build::in_memory(&mut rng(1), &keys(), &spec, batches, &mut |_| ()).expect("an index")
}

/// A store of these records in a folder of its own.
#[must_use]
pub fn create(spec: &Spec, batch: Result<Batch, Error>) -> (TempDir, Store) {
    let dir = tempfile::tempdir().expect("a folder");
    let store = Store::create(dir.path(), &mut rng(1), &keys(), spec, [batch], &mut |_| ());
    (dir, store.expect("a store"))
}

/// A server of the newest version in a folder.
#[must_use]
pub fn serve(dir: &Path) -> Server {
    Server::open_dir(dir, &keys().public()).expect("a server")
}

/// A connected client without a pin.
#[must_use]
pub fn connect(server: &Server) -> Client {
    let client = Client::connect(&mut InProcess::new(server), &keys().reader(), None);
    client.expect("a client")
}
