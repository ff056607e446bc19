//! Records, owners, and an index in a store.

use std::sync::Arc;
use std::time::Duration;

use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use sordino_index::manifest::Packing;
use sordino_objects::{Address, Objects, RetryPolicy};
use sordino_search::{Batch, Error, Form, Id, Index, OwnerKeys, Spec, synthetic};
use tokio_stream::StreamExt;

const DIM: usize = 16;

pub(crate) fn address() -> Address {
    "s3://bucket/a/base.index".parse().unwrap()
}

/// A short retry policy for tests.
pub(crate) fn patience() -> RetryPolicy {
    RetryPolicy {
        request: Duration::from_secs(20),
        attempts: 3,
        pause: Duration::from_millis(1),
    }
}

pub(crate) fn objects(store: Arc<dyn ObjectStore>) -> Objects {
    let objects = Objects::over(store, &address()).unwrap();
    objects.with_patience(patience())
}

pub(crate) fn spec() -> Spec {
    Spec::new(Form::Masked(Packing::T4))
}

/// Records with the ids from `first` on.
pub(crate) fn batch(first: u64, count: usize) -> Batch {
    let vectors = synthetic::uniform(count, DIM, first + 1);
    Batch::new((first..first + count as u64).map(Id::Number), vectors).unwrap()
}

/// The version that a server reads, and the number of its records.
pub(crate) fn served(disk: &Objects, keys: &OwnerKeys) -> Vec<u64> {
    let index = open(disk, keys).unwrap();
    vec![index.manifest().version, index.manifest().n.into()]
}

pub(crate) fn open(disk: &Objects, keys: &OwnerKeys) -> Result<Index, Error> {
    Index::open_on(disk.clone(), disk.root(), &keys.public())
}

/// The objects below a folder of the index.
pub(crate) fn names(store: &InMemory, dir: &str) -> Vec<Key> {
    let dir = Key::from(format!("a/base.index/{dir}"));
    wait(async {
        let all = store.list(Some(&dir)).map(|entry| entry.unwrap().location);
        let mut names: Vec<Key> = all.collect().await;
        names.sort();
        names
    })
}

pub(crate) fn count(store: &InMemory, dir: &str) -> usize {
    names(store, dir).len()
}

pub(crate) fn get_raw(store: &InMemory, key: &Key) -> Vec<u8> {
    let all = async { store.get(key).await.unwrap().bytes().await.unwrap() };
    wait(all).to_vec()
}

/// Writes an object directly, as an attacker with the store can.
pub(crate) fn put_raw(store: &InMemory, name: &str, bytes: &[u8]) {
    let key = Key::from(format!("a/base.index/{name}"));
    wait(store.put(&key, bytes.to_vec().into())).unwrap();
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}
