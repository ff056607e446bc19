//! The servers that `search_message` and `search_history` ask, which the test of their seeds asks too.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand_core::SeedableRng;
use sordino_index::payload::{PageForm, PageGroup};
use sordino_index::wire;
use sordino_search::manifest::Packing;
use sordino_search::{
    Index, OwnerKeys, Plan, Routing, Server, Spec, Store, Wish, build, synthetic,
};

/// The owner of all of them.
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

/// The same message in the form of today and about the version that is served: one of another is refused at once.
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
    // Of this call alone: tests make theirs at one time.
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

/// Bytes before the code of a list: the length of pages, records and pages.
const SIZES: usize = 6;

/// The form and the sizes of a list of where records lie in pages, and its code.
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
