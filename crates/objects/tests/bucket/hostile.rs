//! Stores that fail, lie, stall, and forget.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, Error as Fault, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use sordino_index::{Disk, Error};
use sordino_objects::RetryPolicy;
use sordino_search::{Assembly, OpenOptions, Shard, Store};
use sordino_testkit::{keys, rng};

use crate::fixture::{
    batch, count, get_raw, names, objects, open, patience, put_raw, served, spec,
};

type Stream<T> = std::pin::Pin<Box<dyn futures_core::Stream<Item = Result<T>> + Send>>;

/// The ways in which a store is bad.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ways {
    Good,
    /// Every body lacks its last byte.
    Short,
    /// This number of answers are incomplete; later answers are complete.
    ShortAtFirst(usize),
    /// Bodies go on without an end.
    Endless,
    /// The length is said to be a petabyte.
    Huge,
    /// The answer has another range than was asked for.
    Elsewhere,
    /// Errors, always.
    Broken,
    /// No answer.
    Silent,
    /// Lists show nothing.
    ListsNothing,
    /// Lists never end.
    ListsEndlessly,
    /// Conditions are not kept.
    Unconditional,
    /// An object that has changed is written over all the same.
    Unmatched,
    /// The write is done, and its reply lost.
    LosesReplies,
}

struct Hostile {
    inner: Arc<InMemory>,
    ways: Mutex<Ways>,
    asked: AtomicUsize,
}

impl Hostile {
    fn new(inner: &Arc<InMemory>, ways: Ways) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            ways: Mutex::new(ways),
            asked: AtomicUsize::new(0),
        })
    }

    fn ways(&self) -> Ways {
        *self.ways.lock().unwrap()
    }
}

impl fmt::Debug for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hostile")
    }
}

/// The same answer without its last byte.
async fn short(found: GetResult) -> Result<GetResult> {
    let (meta, range) = (found.meta.clone(), found.range.clone());
    let (attributes, extensions) = (found.attributes.clone(), found.extensions.clone());
    let all = found.bytes().await?;
    let some = all.slice(..all.len() - 1);
    let body = tokio_stream::once(Ok(some));
    Ok(GetResult {
        payload: GetResultPayload::Stream(Box::pin(body)),
        meta,
        range,
        attributes,
        extensions,
    })
}

fn broken() -> Fault {
    let source = "an error of the store".into();
    let store = "hostile";
    Fault::Generic { store, source }
}

#[async_trait]
impl ObjectStore for Hostile {
    async fn put_opts(
        &self,
        key: &Key,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        match self.ways() {
            Ways::Unconditional => {
                let options = PutOptions {
                    mode: PutMode::Overwrite,
                    ..options
                };
                self.inner.put_opts(key, payload, options).await
            }
            Ways::Unmatched => {
                let mode = match options.mode {
                    PutMode::Update(_) => PutMode::Overwrite,
                    mode => mode,
                };
                let options = PutOptions { mode, ..options };
                self.inner.put_opts(key, payload, options).await
            }
            // A client that sends the same again is told that its condition does not hold.
            Ways::LosesReplies => {
                let first = self
                    .inner
                    .put_opts(key, payload.clone(), options.clone())
                    .await;
                first?;
                self.inner.put_opts(key, payload, options).await
            }
            Ways::Broken => Err(broken()),
            _ => self.inner.put_opts(key, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        key: &Key,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(key, options).await
    }

    async fn get_opts(&self, key: &Key, options: GetOptions) -> Result<GetResult> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let head = options.head;
        let mut found = self.inner.get_opts(key, options).await?;
        let ways = self.ways();
        if head && !matches!(ways, Ways::Silent | Ways::Broken) {
            return Ok(found);
        }
        match ways {
            Ways::Short => short(found).await,
            Ways::ShortAtFirst(count) if asked % (count + 1) < count => short(found).await,
            Ways::Endless => {
                let piece = Bytes::from(vec![7; 1 << 20]);
                let body = tokio_stream::iter(std::iter::repeat_with(move || Ok(piece.clone())));
                found.payload = GetResultPayload::Stream(Box::pin(body));
                Ok(found)
            }
            Ways::Huge => {
                found.meta.size = 1 << 50;
                Ok(found)
            }
            Ways::Elsewhere => {
                found.range = found.range.start + 1..found.range.end + 1;
                Ok(found)
            }
            Ways::Broken => Err(broken()),
            Ways::Silent => std::future::pending().await,
            _ => Ok(found),
        }
    }

    fn delete_stream(&self, keys: Stream<Key>) -> Stream<Key> {
        self.inner.delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Key>) -> Stream<ObjectMeta> {
        match self.ways() {
            Ways::ListsNothing => Box::pin(tokio_stream::empty()),
            Ways::ListsEndlessly => {
                let meta = ObjectMeta {
                    location: prefix.unwrap().clone().join("x"),
                    last_modified: std::time::SystemTime::now().into(),
                    size: 1,
                    e_tag: None,
                    version: None,
                };
                let entries = std::iter::repeat_with(move || Ok(meta.clone()));
                Box::pin(tokio_stream::iter(entries))
            }
            _ => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// An index of two versions in memory.
fn built() -> Arc<InMemory> {
    let memory = Arc::new(InMemory::new());
    let disk = objects(memory.clone());
    let store = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(1),
        &keys(),
        &spec(),
        [Ok(batch(0, 300))],
        &mut |_| (),
    );
    let mut store = store.unwrap();
    store
        .add(&mut rng(2), [Ok(batch(300, 20))], &mut |_| ())
        .unwrap();
    memory
}

#[test]
fn what_a_bad_store_answers_is_an_error_and_never_an_index() {
    let memory = built();
    for ways in [
        Ways::Short,
        Ways::Endless,
        Ways::Huge,
        Ways::Elsewhere,
        Ways::Broken,
        Ways::Silent,
    ] {
        let disk = objects(Hostile::new(&memory, ways)).with_patience(RetryPolicy {
            request: Duration::from_millis(200),
            ..patience()
        });
        let begun = Instant::now();
        let error = open(&disk, &keys()).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{ways:?}: {error}");
        // A part, and not only the name of the newest version.
        let part = names(&memory, "parts")[0].clone();
        let name = part.filename().unwrap();
        let read = disk.read(&disk.root().join("parts").join(name), 1 << 30);
        assert!(read.is_err(), "{ways:?}");
        let public = keys().public();
        let options = OpenOptions::new(&public).shard(Shard::new(1, 2));
        let shard = options.open(&disk.folder());
        assert!(shard.is_err(), "{ways:?}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{ways:?}");
    }
}

#[test]
fn an_answer_that_comes_in_part_is_asked_for_again() {
    let memory = built();
    let hostile = Hostile::new(&memory, Ways::ShortAtFirst(2));
    assert_eq!(served(&objects(hostile.clone()), &keys()), vec![2, 320]);
    assert!(hostile.asked.load(Ordering::Relaxed) > 12);
}

#[test]
fn each_object_that_is_changed_swapped_or_gone_is_found_by_its_name() {
    let memory = built();
    let disk = objects(memory.clone());
    let (manifests, parts) = (names(&memory, "manifests"), names(&memory, "parts"));
    assert!(manifests.len() == 2 && parts.len() > 4);
    let short = |key: &Key| {
        format!(
            "{}/{}",
            key.parts().nth(2).unwrap().as_ref(),
            key.filename().unwrap()
        )
    };
    for key in manifests.iter().skip(1).chain(&parts) {
        let good = get_raw(&memory, key);
        let mut wrong = good.clone();
        wrong[good.len() / 2] ^= 1;
        let other = get_raw(
            &memory,
            if key == &parts[0] {
                &parts[1]
            } else {
                &parts[0]
            },
        );
        for bad in [
            &wrong,
            &other,
            &good[..good.len() - 1].to_vec(),
            &[&good[..], b"x"].concat(),
        ] {
            put_raw(&memory, &short(key), bad);
            let read = open(&disk, &keys());
            // The parts that only owners read are not a server's.
            let read = read.map(|_| {
                Store::open_on(disk.clone(), disk.root(), &keys(), None).and_then(|s| s.verify())
            });
            let whole = matches!(&read, Ok(Ok(_)));
            let named = get_raw(&memory, &"a/base.index/CURRENT".into());
            assert!(!whole || unnamed(&disk, key), "{key}: {named:?}");
        }
        put_raw(&memory, &short(key), &good);
        assert!(open(&disk, &keys()).is_ok());
    }
}

/// True of a part that the newest version does not name.
fn unnamed(disk: &sordino_objects::Objects, key: &Key) -> bool {
    let index = open(disk, &keys()).unwrap();
    let parts = index.manifest().parts().unwrap();
    let name = key.filename().unwrap();
    parts.iter().all(|part| {
        let hex: String = part
            .digest
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        hex != name
    })
}

/// A store that shows an older version is believed by an owner who does not remember a newer one; all of what it shows is of that.
#[test]
fn a_store_that_goes_back_shows_one_whole_version() {
    let memory = Arc::new(InMemory::new());
    let disk = objects(memory.clone());
    let create = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(1),
        &keys(),
        &spec(),
        [Ok(batch(0, 300))],
        &mut |_| (),
    );
    let mut store = create.unwrap();
    let old = get_raw(&memory, &"a/base.index/CURRENT".into());
    let public = keys().public();
    let server = OpenOptions::new(&public).open(&disk.folder()).unwrap();
    store
        .add(&mut rng(2), [Ok(batch(300, 20))], &mut |_| ())
        .unwrap();
    let options = OpenOptions::new(&public).after(&server);
    let newer = options.open(&disk.folder()).unwrap();
    assert_eq!(newer.manifest().version, 2);
    put_raw(&memory, "CURRENT", &old);
    assert_eq!(served(&disk, &keys()), vec![1, 300]);
    // The owner who has made the newer one does not go on from there.
    let late = store.add(&mut rng(3), [Ok(batch(320, 20))], &mut |_| ());
    assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    for wrong in [&b""[..], b"7", b"00000000000000000002 x\n", &[b'0'; 4096]] {
        put_raw(&memory, "CURRENT", wrong);
        assert!(open(&disk, &keys()).is_err());
    }
}

#[test]
fn nothing_depends_on_lists() {
    let memory = built();
    let hostile = Hostile::new(&memory, Ways::ListsNothing);
    let disk = objects(hostile.clone());
    assert_eq!(served(&disk, &keys()), vec![2, 320]);
    // An index is there, though no list shows it.
    let again = Store::create_on(
        disk.clone(),
        disk.root(),
        &mut rng(3),
        &keys(),
        &spec(),
        [Ok(batch(0, 300))],
        &mut |_| (),
    );
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    let sample = sordino_search::synthetic::uniform(4, 16, 1);
    let (root, random) = (disk.root(), &mut rng(3));
    let begun = Assembly::begin_on(disk.clone(), root, random, &keys(), &spec(), &sample);
    assert!(matches!(begun, Err(Error::Exists { .. })));
    assert_eq!(served(&disk, &keys()), vec![2, 320]);
    let mut store = Store::open_on(disk.clone(), disk.root(), &keys(), None).unwrap();
    store
        .add(&mut rng(4), [Ok(batch(400, 20))], &mut |_| ())
        .unwrap();
    assert_eq!(served(&objects(memory.clone()), &keys()), vec![3, 340]);
    // A number that a change has used that did not come to its end, and that no list shows, is not given to another content.
    let taken = format!("manifests/{:020}", 4);
    put_raw(&memory, &taken, b"of a change that was interrupted");
    let late = store.add(&mut rng(5), [Ok(batch(500, 20))], &mut |_| ());
    assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    assert_eq!(
        get_raw(&memory, &Key::from(format!("a/base.index/{taken}"))),
        b"of a change that was interrupted"
    );
    store
        .add(&mut rng(6), [Ok(batch(500, 20))], &mut |_| ())
        .unwrap();
    *hostile.ways.lock().unwrap() = Ways::Good;
    store.verify().unwrap();
    // A version that never ends is not kept.
    *hostile.ways.lock().unwrap() = Ways::ListsEndlessly;
    let error = Store::open_on(disk.clone(), disk.root(), &keys(), None).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

#[test]
fn a_store_without_conditions_is_refused_when_an_owner_begins() {
    let memory = built();
    for (ways, condition) in [
        (Ways::Unconditional, "If-None-Match"),
        (Ways::Unmatched, "If-Match"),
    ] {
        let disk = objects(Hostile::new(&memory, ways));
        let error = Store::open_on(disk.clone(), disk.root(), &keys(), None).unwrap_err();
        let unsupported = |error: &std::io::Error| {
            error.kind() == std::io::ErrorKind::Unsupported && error.to_string().contains(condition)
        };
        assert!(
            matches!(&error, Error::File { source, .. } if unsupported(source)),
            "{error}"
        );
        // Readers do not mind.
        assert_eq!(served(&disk, &keys()), vec![2, 320]);
    }
}

#[test]
fn a_change_whose_reply_was_lost_is_made_once() {
    let memory = built();
    let hostile = Hostile::new(&memory, Ways::Good);
    let disk = objects(hostile.clone());
    let mut store = Store::open_on(disk.clone(), disk.root(), &keys(), None).unwrap();
    *hostile.ways.lock().unwrap() = Ways::LosesReplies;
    assert_eq!(store.delete(&mut rng(3), &[1u64]).unwrap(), 3);
    assert_eq!(store.delete(&mut rng(4), &[2u64]).unwrap(), 4);
    *hostile.ways.lock().unwrap() = Ways::Good;
    assert_eq!(store.verify().unwrap().records, 318);
    // A change that fails leaves the previous version, and the owner can continue.
    *hostile.ways.lock().unwrap() = Ways::Broken;
    assert!(store.delete(&mut rng(5), &[4u64]).is_err());
    *hostile.ways.lock().unwrap() = Ways::Good;
    assert_eq!(served(&disk, &keys())[0], 4);
    assert!(store.delete(&mut rng(6), &[4u64]).unwrap() > 4);
    assert!(count(&memory, "manifests") >= 5);
}
