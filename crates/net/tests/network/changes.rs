//! The server refuses steps of a change that no owner signed, and steps that do not fit together.

use std::path::Path;

use bytes::Bytes;
use prost::Message;
use rand::Rng;
use sordino_mldsa::{MlDsa87, Params};
use sordino_net::schema::search_client::SearchClient;
use sordino_net::schema::step::Kind;
use sordino_net::schema::{
    ChangeRequest, HelloRequest, Nothing, Put, RequestSignature, Step, StepReply,
};
use sordino_net::{Access, Limits, Listen, Running, Service};
use sordino_search::manifest::PartKind;
use sordino_search::{Form, Index, OwnerKeys, Server, Spec, Store, synthetic};
use sordino_testkit::{keys, rng};
use tonic::{Code, Status};

use crate::parties::loopback;

/// A server that accepts changes, and a client that sends it steps one by one.
struct Attempt {
    folder: tempfile::TempDir,
    running: Running,
    runtime: tokio::runtime::Runtime,
    store: Store,
}

impl Attempt {
    fn new(most: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (base, _) = synthetic::clustered(300, 1, 16, 1);
        let spec = Spec::new(Form::Local);
        let local = folder.path().join("local");
        let store = Store::create(
            &local,
            &mut rng(1),
            &keys(),
            &spec,
            [Ok(base.into())],
            &mut |_| (),
        );
        let remote = folder.path().join("remote");
        Index::backup(&local, &remote, &keys().public()).unwrap();
        let server = Server::open_dir(&remote, &keys().public()).unwrap();
        let service = Service::new(server, &Access::Anyone, Limits::default()).unwrap();
        service
            .accept_changes(&remote, &keys().public(), most)
            .unwrap();
        let running = service.listen(&Listen::on(loopback())).unwrap();
        Self {
            folder,
            running,
            runtime: tokio::runtime::Runtime::new().unwrap(),
            store: store.unwrap(),
        }
    }

    fn ask(&self, request: ChangeRequest) -> Result<StepReply, Status> {
        let url = format!("http://{}", self.running.address());
        self.runtime.block_on(async {
            let endpoint = tonic::transport::Endpoint::from_shared(url).unwrap();
            let mut client = SearchClient::new(endpoint.connect().await.unwrap());
            Ok(client.change(request).await?.into_inner())
        })
    }

    fn instance(&self) -> Vec<u8> {
        let url = format!("http://{}", self.running.address());
        self.runtime.block_on(async {
            let endpoint = tonic::transport::Endpoint::from_shared(url).unwrap();
            let mut client = SearchClient::new(endpoint.connect().await.unwrap());
            client
                .hello(HelloRequest {})
                .await
                .unwrap()
                .into_inner()
                .instance
                .to_vec()
        })
    }

    /// A step, signed with these keys as the schema says.
    fn signed(&self, keys: &OwnerKeys, step: Vec<u8>) -> ChangeRequest {
        self.signed_before(keys, step, 0)
    }

    /// A step that was signed this number of milliseconds ago.
    fn signed_before(&self, keys: &OwnerKeys, step: Vec<u8>, ago: u64) -> ChangeRequest {
        let key = *blake3::hash(&keys.public().to_bytes()).as_bytes();
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap();
        let time = u64::try_from(since.as_millis()).unwrap() - ago;
        let mut nonce = [0; 16];
        rand::rng().fill_bytes(&mut nonce);
        let digest = blake3::hash(&step);
        let statement = [
            &self.instance()[..],
            &key,
            &time.to_le_bytes(),
            &nonce,
            digest.as_bytes(),
        ]
        .concat();
        let signature = RequestSignature {
            key: Bytes::copy_from_slice(&key),
            time,
            nonce: Bytes::copy_from_slice(&nonce),
            signature: keys.sign_change(&statement).into(),
        };
        ChangeRequest {
            step: step.into(),
            signature: Some(signature),
        }
    }

    fn step(&self, kind: Kind) -> Result<StepReply, Status> {
        let step = Step { kind: Some(kind) }.encode_to_vec();
        self.ask(self.signed(&keys(), step))
    }

    fn version(&self) -> u64 {
        self.running.service().server().manifest().version
    }

    fn remote(&self) -> std::path::PathBuf {
        self.folder.path().join("remote")
    }

    /// Changes the store. Returns the new version's manifest and its list of deletions, with that
    /// part's digest.
    fn changed(&mut self) -> (Bytes, Bytes, Bytes) {
        self.store
            .delete(&mut rng(2), &[u32::try_from(self.store.version()).unwrap()])
            .unwrap();
        newest(&self.store, &self.folder.path().join("local"))
    }
}

/// A store's manifest and its list of deletions, with that part's digest.
fn newest(store: &Store, dir: &Path) -> (Bytes, Bytes, Bytes) {
    let manifest = store.manifest();
    let part = manifest.part(PartKind::Deleted, None).unwrap();
    let name: String = part
        .digest
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let bytes = std::fs::read(dir.join("parts").join(name)).unwrap();
    let manifest = Bytes::copy_from_slice(manifest.to_bytes());
    (manifest, Bytes::copy_from_slice(&part.digest), bytes.into())
}

fn code(result: Result<StepReply, Status>) -> (Code, String) {
    let status = result.expect_err("a refusal");
    (status.code(), status.message().to_owned())
}

fn put(part: &Bytes, offset: u64, bytes: &[u8]) -> Kind {
    Kind::Put(Put {
        part: part.clone(),
        offset,
        bytes: Bytes::copy_from_slice(bytes),
    })
}

#[test]
fn only_the_owner_takes_steps_and_each_once() {
    let attempt = Attempt::new(1 << 30);
    let state = || {
        Step {
            kind: Some(Kind::State(Nothing {})),
        }
        .encode_to_vec()
    };
    let good = attempt.signed(&keys(), state());
    assert_eq!(attempt.ask(good.clone()).unwrap().version, 1);
    assert!(code(attempt.ask(good.clone())).1.contains("seen before"));
    let stranger = OwnerKeys::from_master([9; 32]);
    assert!(
        code(attempt.ask(attempt.signed(&stranger, state())))
            .1
            .contains("not known")
    );
    let mut claimed = attempt.signed(&stranger, state());
    claimed.signature.as_mut().unwrap().key = good.signature.as_ref().unwrap().key.clone();
    let mut moved = attempt.signed(&keys(), state());
    moved.step = Step {
        kind: Some(Kind::Missing(Nothing {})),
    }
    .encode_to_vec()
    .into();
    // Each of these steps has a signature of other bytes, so it is refused.
    let mut other = attempt.signed(&keys(), state());
    other.signature.as_mut().unwrap().signature = keys().sign(b"anything").into();
    for forged in [claimed, moved, other] {
        assert!(code(attempt.ask(forged)).1.contains("signature is wrong"));
    }
    let mut moved = attempt.signed(&keys(), state());
    moved.signature.as_mut().unwrap().time -= 3_600_000;
    assert!(code(attempt.ask(moved)).1.contains("signature is wrong"));
    let late = attempt.signed_before(&keys(), state(), 3_600_000);
    assert!(code(attempt.ask(late)).1.contains("time"));
    let mut short = attempt.signed(&keys(), state());
    let signature = short.signature.as_mut().unwrap();
    signature.signature = signature.signature.slice(..MlDsa87::SIGNATURE_LEN - 1);
    assert_eq!(code(attempt.ask(short)).0, Code::Unauthenticated);
    let unsigned = ChangeRequest {
        step: state().into(),
        signature: None,
    };
    assert_eq!(code(attempt.ask(unsigned)).0, Code::Unauthenticated);
    // Signed steps are refused if they cannot be decoded, have no kind or are too long.
    for step in [vec![0xff; 40], Vec::new(), vec![0x22, 0x7f]] {
        let refused = attempt.ask(attempt.signed(&keys(), step));
        assert_eq!(code(refused).0, Code::InvalidArgument);
    }
    let long = attempt.signed(&keys(), vec![0; 2 << 20]);
    assert_eq!(code(attempt.ask(long)).0, Code::OutOfRange);
    assert_eq!(attempt.version(), 1);
}

#[test]
fn steps_that_do_not_fit_change_nothing() {
    let mut attempt = Attempt::new(1 << 30);
    let (second, part, bytes) = attempt.changed();
    let (third, last, end) = attempt.changed();
    let digest = |manifest: &Bytes| Bytes::copy_from_slice(blake3::hash(manifest).as_bytes());
    // No manifest was offered yet, and the third version does not follow the first.
    assert!(
        code(attempt.step(put(&part, 0, &bytes)))
            .1
            .contains("lacks")
    );
    assert!(
        code(attempt.step(Kind::Commit(digest(&second))))
            .1
            .contains("its manifest was not offered")
    );
    assert!(
        code(attempt.step(Kind::Manifest(third.clone())))
            .1
            .contains("does not follow")
    );
    for cut in [0, 100, second.len() - 1] {
        assert_eq!(
            code(attempt.step(Kind::Manifest(second.slice(..cut)))).0,
            Code::InvalidArgument
        );
    }
    attempt.step(Kind::Manifest(second.clone())).unwrap();
    attempt.step(Kind::Manifest(third.clone())).unwrap();
    let missing = attempt.step(Kind::Missing(Nothing {})).unwrap().missing;
    assert_eq!(missing.len(), 1, "the newest version's alone");
    assert_eq!((&missing[0].part, missing[0].len), (&last, 0));
    // A version that is offered again becomes the newest offered version. Otherwise another push could
    // continue from it.
    attempt.step(Kind::Manifest(second.clone())).unwrap();
    let other = attempt.step(Kind::Missing(Nothing {})).unwrap().missing;
    assert_eq!(other[0].part, part);
    attempt.step(Kind::Manifest(third.clone())).unwrap();
    // The server refuses parts that the version lacks, pieces out of order, too many bytes, no bytes and wrong bytes.
    assert!(
        code(attempt.step(put(&part, 0, &bytes)))
            .1
            .contains("lacks")
    );
    assert!(
        code(attempt.step(put(&last, 1, &end[1..])))
            .1
            .contains("from 0 on")
    );
    assert_eq!(
        code(attempt.step(put(&last, 0, b""))).0,
        Code::InvalidArgument
    );
    let long = [&end[..], b"x"].concat();
    assert_eq!(
        code(attempt.step(put(&last, 0, &long))).0,
        Code::InvalidArgument
    );
    let mut wrong = end.to_vec();
    wrong[5] ^= 1;
    assert!(
        code(attempt.step(put(&last, 0, &wrong)))
            .1
            .contains("wrong digest")
    );
    let (half, rest) = end.split_at(end.len() / 2);
    attempt.step(put(&last, 0, half)).unwrap();
    assert!(
        code(attempt.step(Kind::Commit(digest(&third))))
            .1
            .contains("bytes are here")
    );
    assert_eq!(attempt.version(), 1);
    // The server has begun with the third version, so it does not accept the second.
    assert!(
        code(attempt.step(Kind::Commit(digest(&second))))
            .1
            .contains("another change has begun")
    );
    let held = attempt.step(Kind::Missing(Nothing {})).unwrap().missing[0].len;
    assert_eq!(held, half.len() as u64);
    attempt.step(put(&last, held, rest)).unwrap();
    assert_eq!(
        attempt.step(Kind::Commit(digest(&third))).unwrap().version,
        3
    );
    // The same step again has the same reply. An older version is refused.
    assert_eq!(
        attempt.step(Kind::Commit(digest(&third))).unwrap().version,
        3
    );
    assert!(
        code(attempt.step(Kind::Manifest(second)))
            .1
            .contains("the server has version 3")
    );
    assert_eq!(attempt.version(), 3);
    let verified = Store::verify_dir(attempt.remote(), &keys().reader()).unwrap();
    assert_eq!((verified.version, verified.versions), (3, 3));
}

#[test]
fn parts_of_a_change_go_when_another_begins() {
    let mut attempt = Attempt::new(1 << 30);
    let other = attempt.folder.path().join("other");
    Index::backup(
        attempt.folder.path().join("local"),
        &other,
        &keys().public(),
    )
    .unwrap();
    let parts = || {
        std::fs::read_dir(attempt.remote().join("parts"))
            .unwrap()
            .count()
    };
    let before = parts();
    let (second, part, bytes) = attempt.changed();
    attempt.step(Kind::Manifest(second)).unwrap();
    attempt.step(put(&part, 0, &bytes)).unwrap();
    let parts = || {
        std::fs::read_dir(attempt.remote().join("parts"))
            .unwrap()
            .count()
    };
    assert_eq!(parts(), before + 1);
    // A different second version, of which no client asks for the missing parts.
    for id in 5u32..8 {
        let again = attempt.folder.path().join(format!("other{id}"));
        Index::backup(&other, &again, &keys().public()).unwrap();
        let mut store = Store::open(&again, &keys()).unwrap();
        store.delete(&mut rng(3), &[id]).unwrap();
        let (manifest, part, bytes) = newest(&store, &again);
        attempt.step(Kind::Manifest(manifest)).unwrap();
        // The server keeps the interrupted change's parts until it knows that this change does not
        // continue.
        assert_eq!(parts(), before + 1);
        attempt.step(put(&part, 0, &bytes)).unwrap();
        assert_eq!(parts(), before + 1);
    }
    attempt.step(Kind::Missing(Nothing {})).unwrap();
    assert_eq!(parts(), before + 1);
}

#[test]
fn a_push_over_several_versions_goes_on_where_it_stopped() {
    let mut attempt = Attempt::new(1 << 30);
    let (second, ..) = attempt.changed();
    let (third, part, bytes) = attempt.changed();
    let offer = || {
        attempt.step(Kind::Manifest(second.clone())).unwrap();
        attempt.step(Kind::Manifest(third.clone())).unwrap();
        attempt.step(Kind::Missing(Nothing {})).unwrap().missing
    };
    assert_eq!(offer()[0].len, 0);
    let half = &bytes[..bytes.len() / 2];
    attempt.step(put(&part, 0, half)).unwrap();
    // The connection breaks, and the push offers the manifests again, oldest first.
    let missing = offer();
    assert_eq!(
        (&missing[0].part, missing[0].len),
        (&part, half.len() as u64)
    );
}

#[test]
fn an_index_has_its_bound_and_its_folder_one_writer() {
    let mut attempt = Attempt::new(100);
    let (second, ..) = attempt.changed();
    assert!(
        code(attempt.step(Kind::Manifest(second)))
            .1
            .contains("takes at most 1 MiB")
    );
    let locked = Store::open(attempt.remote(), &keys());
    assert!(matches!(locked, Err(sordino_search::Error::Locked { .. })));
    let twice = attempt.running.service();
    assert!(
        twice
            .accept_changes(attempt.remote(), &keys().public(), 1)
            .is_err()
    );
    assert!(Path::new(&attempt.remote()).join("CURRENT").exists());
}

#[test]
fn manifests_that_no_client_is_shown_leave_the_folder() {
    let mut attempt = Attempt::new(1 << 30);
    // Each push brings more versions than clients are shown, and continues from the push before.
    for (last, oldest) in [(150, 1), (270, 14), (275, 14)] {
        let mut newest = None;
        while attempt.store.version() < last {
            let (manifest, part, bytes) = attempt.changed();
            attempt.step(Kind::Manifest(manifest.clone())).unwrap();
            newest = Some((manifest, part, bytes));
        }
        let (manifest, part, bytes) = newest.unwrap();
        attempt.step(put(&part, 0, &bytes)).unwrap();
        let digest = Bytes::copy_from_slice(blake3::hash(&manifest).as_bytes());
        attempt.step(Kind::Commit(digest)).unwrap();
        assert_eq!(attempt.version(), last);
        let files = std::fs::read_dir(attempt.remote().join("manifests")).unwrap();
        assert_eq!(files.count() as u64, last - oldest + 1);
    }
    // The remaining manifests follow from one another. A server that opens the folder accepts them
    // too.
    let server = Server::open_dir(attempt.remote(), &keys().public()).unwrap();
    assert_eq!(server.manifest().version, 275);
}
