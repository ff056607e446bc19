//! The servers that `search_message` and `search_history` ask, and the version that `search_added` adds to. The test of their
//! seeds uses them, too.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand_core::SeedableRng;
use sordino_index::payload::{PageForm, PageGroup};
use sordino_index::wire;
use sordino_search::manifest::{Packing, SignedManifest};
use sordino_search::{
    Batch, Change, Form, Index, Memory, OwnerKeys, Plan, Routing, Server, Spec, Store, Wish,
    WriterKeys, WriterSecret, WriterStore, build, synthetic,
};

/// The owner of all indexes here.
#[must_use]
pub fn owner() -> OwnerKeys {
    OwnerKeys::from_master([1; 32])
}

/// A server in each mode.
///
/// # Panics
/// If an index cannot be built.
#[must_use]
pub fn servers() -> Vec<Server> {
    let keys = owner();
    let rng = &mut chacha20::ChaCha20Rng::from_seed([2; 32]);
    let base = synthetic::uniform(200, 8, 1);
    let mut indexes = Vec::new();
    for routing in Routing::ALL {
        let wish = Wish::default()
            .k(3)
            .recall(0.9)
            .queries(1)
            .routing(Some(routing));
        let plan = Plan::new(200, 8, wish).expect("a plan");
        let built = build::sealed(rng, &keys, &base, &plan, &mut |_| ());
        indexes.push(built.expect("an index").index);
    }
    indexes.push(build::local(rng, &keys, &base, 3, &mut |_| ()).expect("an index"));
    let packing = Packing::T8;
    indexes.push(build::open(rng, &keys, &base, 3, packing, &mut |_| ()).expect("an index"));
    indexes.push(build::masked(rng, &keys, &base, 3, packing, &mut |_| ()).expect("an index"));
    let wish = Wish::default().k(3).queries(1);
    let routed = build::routed(rng, &keys, &base, wish, &mut |_| ());
    indexes.push(routed.expect("an index").index);
    indexes
        .into_iter()
        .map(|index| Server::new(index).expect("a server"))
        .collect()
}

/// The same message in the current form, for the version that is served. A message for another version is refused at once.
#[must_use]
pub fn current(server: &Server, message: &[u8]) -> Vec<u8> {
    let (manifest, mut message) = (server.manifest(), message.to_vec());
    if let Some(head) = message.get_mut(..6) {
        head[..4].copy_from_slice(&wire::MAGIC);
        head[4..].copy_from_slice(&wire::VERSION.to_le_bytes());
    }
    if let Some(edition) = message.get_mut(16..40) {
        edition[..8].copy_from_slice(&manifest.version.to_le_bytes());
        edition[8..].copy_from_slice(&manifest.digest()[..16]);
    }
    message
}

/// A server of an index that was changed three times.
///
/// # Panics
/// If there is no room for its files.
#[must_use]
pub fn changed_server() -> Server {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let (keys, rng) = (owner(), &mut chacha20::ChaCha20Rng::from_seed([2; 32]));
    // Each call has its own folder, since tests run at the same time.
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("search_history_{}_{call}", std::process::id()));
    let batches = [Ok(synthetic::uniform(20, 8, 1).into())];
    let store = Store::create(&dir, rng, &keys, &Spec::default(), batches, &mut |_| ());
    let mut store = store.expect("a store");
    for id in 0..3u32 {
        store.delete(rng, &[id]).expect("a version");
    }
    let index = Index::open_dir(&dir, &keys.public()).expect("an index");
    std::fs::remove_dir_all(dir).expect("a directory of ours");
    Server::new(index).expect("a server")
}

/// The writer of the version to which records are added.
#[must_use]
pub fn writer() -> WriterKeys {
    WriterKeys::new(WriterSecret::from_bytes([3; 32]), owner().public())
}

/// A version with a writer, of records with payloads, and the version with an addition.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn added() -> (SignedManifest, SignedManifest) {
    let (keys, rng) = (owner(), &mut chacha20::ChaCha20Rng::from_seed([2; 32]));
    let batch = |first: u64| {
        let batch = Batch::new(first..first + 20, synthetic::uniform(20, 8, first));
        let payloads = (0..20).map(|at: u8| vec![at; 9]).collect();
        batch.and_then(|batch| batch.with_payloads(payloads))
    };
    let spec = Spec::new(Form::Masked(Packing::T8)).k(3).own_readers(true);
    let disk = Memory::default();
    let batches = [batch(0)];
    let store = Store::create_on(disk.clone(), "", rng, &keys, &spec, batches, &mut |_| ());
    let mut store = store.expect("a store");
    let public = writer().secret().public();
    let grant = Change::grant_writer("writer", Some(&public), &[], u64::MAX);
    store.change_access(rng, grant).expect("a version");
    let base = store.manifest().clone();
    drop(store);
    let mut store = WriterStore::open_on(disk, "", &writer(), None).expect("a writer's");
    let added = store.add(rng, 1, None, [batch(100)], &mut |_| ());
    added.expect("an addition");
    (base, store.manifest().clone())
}

/// The bytes of a signature.
const SIGNATURE: usize = 4627;

/// The fields of the addition in a version with one.
#[must_use]
pub fn fields<'a>(base: &SignedManifest, added: &'a SignedManifest) -> &'a [u8] {
    let bytes = added.to_bytes();
    // Before them are the head, three lengths and the number of the writer.
    &bytes[8 + 4 + base.to_bytes().len() + 4 + 2..bytes.len() - SIGNATURE]
}

/// The version with an addition of these fields to this base. The writer signs it.
#[must_use]
pub fn with_fields(base: &SignedManifest, fields: &[u8]) -> Vec<u8> {
    let mut message = [&[0; 2], fields].concat();
    // Version and time come before the digest of the version before.
    if let Some(previous) = message.get_mut(18..50) {
        previous.copy_from_slice(&base.digest());
    }
    let signature = writer().secret().sign_addition(&message);
    let len = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
    let base = base.to_bytes();
    let whole = message.len() + signature.len();
    [
        b"SRDN\x0d\x00\x06\x00",
        &len(base.len())[..],
        base,
        &len(whole),
        &message,
        &signature,
    ]
    .concat()
}

/// The bytes before the code of a list: the length of a page, the number of records, and the number of pages.
const SIZES: usize = 6;

/// The form and the sizes of a list of the records' positions in pages, and the list's code.
#[must_use]
pub fn page_list(data: &[u8]) -> Option<(PageForm, PageGroup, &[u8])> {
    let (sizes, code) = data.split_first_chunk::<SIZES>()?;
    let number = |at: usize| u32::from(u16::from_le_bytes([sizes[at], sizes[at + 1]]));
    let form = PageForm {
        page_len: number(0) * 16,
        payloads: true,
        look: None,
    };
    let group = PageGroup {
        key: 0,
        records: number(2),
        pages: number(4),
    };
    (form.exists() && group.records > 0 && group.pages > 0).then_some((form, group, code))
}
