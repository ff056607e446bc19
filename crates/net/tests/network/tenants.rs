//! A server has several indexes at one address, and clients distinguish them by name.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use prost::Message;
use sordino_net::schema::search_client::SearchClient;
use sordino_net::schema::step::Kind;
use sordino_net::schema::{ChangeRequest, Nothing, RequestSignature, Step, StepReply};
use sordino_net::{
    Access, ClientKey, Connection, Endpoint, Error, IndexName, Indexes, Limits, Listen, Policy,
    Refusal, Running,
};
use sordino_search::{Client, OwnerKeys, Server, build, manifest::Packing};
use sordino_testkit::{GET_MANIFEST, SCORE, Set, keys, rng};
use sordino_token::{Action, SigningKey, Token};
use tonic::Status;

use crate::hostile_client::{now, refusal};
use crate::logins::{Raw, claims, issuer};
use crate::parties::{K, client_key, endpoint, loopback, message, open_door, server, set, until};

fn name(name: &str) -> IndexName {
    IndexName::new(name).unwrap()
}

/// Serves two indexes of one owner, a and b, to clients with this access.
fn serve(access: &Access, limits: Limits, policy: Option<Policy>) -> (Running<Indexes>, Set) {
    let set = set();
    let indexes = Indexes::new(access, limits).unwrap();
    indexes.open(&name("a"), server(3, &set), None).unwrap();
    indexes.open(&name("b"), server(2, &set), policy).unwrap();
    (indexes.listen(&Listen::on(loopback())).unwrap(), set)
}

fn listed() -> Access {
    let keys = [client_key(), ClientKey::from_seed(&[7; 32])];
    Access::Keys(keys.iter().map(|key| key.public().clone()).collect())
}

fn at(running: &Running<Indexes>, name: &str) -> Endpoint {
    Endpoint::new(format!("http://{}/{name}", running.address()))
}

fn ask(endpoint: Endpoint, kind: u16) -> Result<Vec<u8>, Error> {
    Connection::open(endpoint)?.exchange(&message(kind, b""), 1 << 20)
}

#[test]
fn each_index_is_found_by_its_name_and_no_other() {
    let (running, set) = serve(&Access::Anyone, Limits::default(), None);
    let (reader, query) = (keys().reader(), set.queries.row(0).to_vec());
    for (name, mode) in [("a", "open"), ("b", "local")] {
        let mut connection = Connection::open(at(&running, name)).unwrap();
        let client = Client::connect(&mut connection, &reader, None).unwrap();
        assert_eq!(client.manifest().mode.kind().name(), mode);
        let found = client.search(&mut rng(1), &mut connection, &query).unwrap();
        assert!(!found.hits.is_empty());
    }
    for wrong in ["c", "A", "a-"] {
        assert_eq!(
            refusal(ask(at(&running, wrong), GET_MANIFEST)),
            Refusal::Index
        );
    }
    // A server with several indexes refuses a client that names none. A server with one index refuses a client that
    // names one, and answers a client that names none.
    let none = Endpoint::new(format!("http://{}", running.address()));
    assert_eq!(refusal(ask(none, GET_MANIFEST)), Refusal::Index);
    let single = open_door(server(2, &set), Limits::default());
    let named = Endpoint::new(format!("http://{}/a", single.address()));
    assert_eq!(refusal(ask(named, GET_MANIFEST)), Refusal::Index);
    assert!(ask(endpoint(&single), GET_MANIFEST).is_ok());
    running.stop().unwrap();
}

#[test]
fn indexes_are_opened_replaced_and_closed_while_others_are_searched() {
    let (running, set) = serve(&Access::Anyone, Limits::default(), None);
    let (indexes, reader) = (running.service(), keys().reader());
    let mut connection = Connection::open(at(&running, "a")).unwrap();
    let client = Client::connect(&mut connection, &reader, None).unwrap();
    let query = set.queries.row(0).to_vec();
    let mut search = |seed| client.search(&mut rng(seed), &mut connection, &query);
    search(1).unwrap();
    let metrics = indexes.metrics();
    assert!(
        metrics.contains("sordino_index_answered_total{name=\"a\"}"),
        "{metrics}"
    );
    assert!(!metrics.contains("{name=\"c\"}"));

    // The third index belongs to another owner.
    let other = OwnerKeys::from_master([6; 32]);
    let built = build::open(&mut rng(9), &other, &set.base, K, Packing::T4, &mut |_| ());
    let of_other = Server::new(built.unwrap()).unwrap();
    assert_eq!(
        refusal(ask(at(&running, "c"), GET_MANIFEST)),
        Refusal::Index
    );
    indexes.open(&name("c"), of_other, None).unwrap();
    let mut third = Connection::open(at(&running, "c")).unwrap();
    assert!(Client::connect(&mut third, &reader, None).is_err());
    let theirs = Client::connect(&mut third, &other.reader(), None).unwrap();
    theirs.search(&mut rng(2), &mut third, &query).unwrap();
    assert!(
        indexes
            .metrics()
            .contains("sordino_index_records{name=\"c\"} 3000")
    );

    assert!(indexes.replace(&name("b"), server(3, &set)));
    let mode = |name: &str| {
        let mut connection = Connection::open(at(&running, name)).unwrap();
        Client::connect(&mut connection, &reader, None)
            .unwrap()
            .manifest()
            .mode
            .kind()
            .name()
    };
    assert_eq!(mode("b"), "open");
    assert!(indexes.close(&name("c")) && !indexes.close(&name("c")));
    assert!(theirs.search(&mut rng(3), &mut third, &query).is_err());
    assert!(!indexes.metrics().contains("name=\"c\""));
    assert!(!indexes.replace(&name("c"), server(3, &set)));
    search(4).unwrap();
    running.stop().unwrap();
}

#[test]
fn a_service_without_an_index_says_so() {
    let indexes = Indexes::new(&listed(), Limits::default()).unwrap();
    let running = indexes.listen(&Listen::on(loopback())).unwrap();
    for kind in [GET_MANIFEST, SCORE] {
        let asked = ask(at(&running, "a").key(client_key()), kind);
        assert_eq!(refusal(asked), Refusal::Index);
    }
    running.stop().unwrap();
}

/// Everything that a client sees of a refusal.
fn seen(endpoint: Endpoint, kind: u16) -> String {
    let error = ask(endpoint, kind).unwrap_err();
    format!("{error:?}")
}

#[test]
fn an_index_that_is_not_for_a_client_is_as_one_that_is_not_there() {
    let open = Arc::new(AtomicBool::new(false));
    let (door, alice) = (Arc::clone(&open), client_key().public().id());
    let policy = Policy::new(move |client, action| {
        client == Some(&alice) && action != Action::Payload && door.load(Ordering::Relaxed)
    });
    let (running, _) = serve(&listed(), Limits::default(), Some(policy));
    let as_alice = |name: &str| at(&running, name).key(client_key());
    let as_bob = |name: &str| at(&running, name).key(ClientKey::from_seed(&[7; 32]));
    let as_mallory = |name: &str| at(&running, name).key(ClientKey::from_seed(&[8; 32]));
    assert!(ask(as_alice("a"), GET_MANIFEST).is_ok());
    // Messages of all kinds, and of a kind that does not exist.
    for kind in [GET_MANIFEST, SCORE, 99] {
        assert!(seen(as_alice("b"), kind).contains("Index"));
        assert_eq!(seen(as_alice("b"), kind), seen(as_alice("none"), kind));
        assert_eq!(seen(as_bob("b"), kind), seen(as_bob("none"), kind));
        // Strangers get the same refusal for every name, before the name is looked up.
        for name in ["a", "b", "none"] {
            assert_eq!(refusal(ask(as_mallory(name), kind)), Refusal::Key);
            assert_eq!(refusal(ask(at(&running, name), kind)), Refusal::Unsigned);
        }
    }
    // A request that is too long for an index gets the same refusal for every name.
    let long = |name: &str, len: usize| {
        let mut connection = Connection::open(as_alice(name)).unwrap();
        format!(
            "{:?}",
            connection.exchange(&vec![0; len], 1 << 20).unwrap_err()
        )
    };
    for len in [100, 3000, 30_000, 1 << 20] {
        assert_eq!(long("b", len), long("none", len), "{len}");
    }
    open.store(true, Ordering::Relaxed);
    assert!(ask(as_alice("b"), GET_MANIFEST).is_ok());
    assert_eq!(refusal(ask(as_bob("b"), GET_MANIFEST)), Refusal::Index);
    running.service().set_policy(&name("b"), None);
    assert!(ask(as_bob("b"), GET_MANIFEST).is_ok());
    running.stop().unwrap();
}

#[test]
fn a_token_is_for_the_indexes_that_it_names() {
    let access = Access::Tokens {
        keys: Vec::new(),
        audience: "here".to_owned(),
        issuers: vec![issuer().public().clone()],
    };
    let (running, _) = serve(&access, Limits::default(), None);
    let alice = ClientKey::from_seed(&[41; 32]);
    let a = running.service().server(&name("a")).unwrap();
    let only = |actions: &str| {
        let claims = sordino_token::Claims {
            actions: actions.parse().unwrap(),
            ..claims(a.manifest().index, &alice)
        };
        Token::issue(&claims, &issuer()).unwrap()
    };
    let asked = |name: &str, token: &Token, kind| {
        let key = ClientKey::from_seed(&[41; 32]);
        ask(at(&running, name).key(key).token(token.as_bytes()), kind)
    };
    let token = only("download");
    assert!(asked("a", &token, GET_MANIFEST).is_ok());
    assert_eq!(refusal(asked("a", &token, SCORE)), Refusal::Token);
    for kind in [GET_MANIFEST, SCORE, 99] {
        assert_eq!(refusal(asked("b", &token, kind)), Refusal::Index);
        assert_eq!(refusal(asked("none", &token, kind)), Refusal::Index);
    }
    // A forged token is refused at every index.
    let forged = SigningKey::from_seed(sordino_token::Algorithm::MlDsa65, &[1; 32]);
    let forged = Token::issue(&claims(a.manifest().index, &alice), &forged).unwrap();
    for name in ["a", "b", "none"] {
        assert_eq!(refusal(asked(name, &forged, GET_MANIFEST)), Refusal::Token);
    }
    running.stop().unwrap();
}

#[test]
fn a_policy_is_asked_about_each_holder_of_a_token() {
    let access = Access::Tokens {
        keys: Vec::new(),
        audience: "here".to_owned(),
        issuers: vec![issuer().public().clone()],
    };
    let keys = [41, 42].map(|seed| ClientKey::from_seed(&[seed; 32]));
    let ids = [0, 1].map(|at| keys[at].public().id());
    let forbidden = Arc::new(AtomicUsize::new(2));
    let now = Arc::clone(&forbidden);
    let policy = Policy::new(move |client, _| {
        let forbidden = ids.get(now.load(Ordering::Relaxed));
        client.is_some() && client != forbidden
    });
    let (running, _) = serve(&access, Limits::default(), Some(policy));
    let index = running.service().server(&name("b")).unwrap();
    let token = Token::issue(&claims(index.manifest().index, &keys[0]), &issuer()).unwrap();
    let handed = sordino_token::Claims {
        holder: keys[1].public().for_tokens(),
        ..token.claims()[0].clone()
    };
    let alices = SigningKey::from_seed(sordino_token::Algorithm::MlDsa65, &keys[0].seed());
    let handed = token.attenuate(&handed, &alices).unwrap();
    let asked = |at_: usize, token: &Token| {
        let key = ClientKey::from_seed(&keys[at_].seed());
        let endpoint = at(&running, "b").key(key).token(token.as_bytes());
        ask(endpoint, GET_MANIFEST)
    };
    // The policy forbids no client, then the first holder, then the client that asks.
    for (who, allowed) in [(2, [true, true]), (0, [false, false]), (1, [true, false])] {
        forbidden.store(who, Ordering::Relaxed);
        for (at_, token) in [&token, &handed].into_iter().enumerate() {
            let found = asked(at_, token);
            match allowed[at_] {
                true => drop(found.unwrap()),
                false => assert_eq!(refusal(found), Refusal::Index),
            }
        }
    }
    running.stop().unwrap();
}

/// A server of an index named a in this directory, which accepts its owner's changes.
fn changing(dir: &Path) -> Running<Indexes> {
    let spec = sordino_search::Spec::default().form(sordino_search::Form::Local);
    let batch = [Ok(set().base.into())];
    let made = sordino_search::Store::create(dir, &mut rng(1), &keys(), &spec, batch, &mut |_| ());
    drop(made.unwrap());
    let indexes = Indexes::new(&Access::Anyone, Limits::default()).unwrap();
    open_to_changes(&indexes, dir);
    indexes.listen(&Listen::on(loopback())).unwrap()
}

fn open_to_changes(indexes: &Indexes, dir: &Path) {
    let public = keys().public();
    let served = Server::open_dir(dir, &public).unwrap();
    let accepting = indexes.accepting(dir, &public, 1 << 30).unwrap();
    let opened = indexes.open_to_changes(&name("a"), served, None, accepting);
    opened.unwrap();
}

/// The answer to a step of a change of this index.
fn change(
    running: &Running<Indexes>,
    index: &str,
    request: ChangeRequest,
) -> Result<StepReply, Status> {
    let mut request = tonic::Request::new(request);
    let index = index.parse().unwrap();
    request.metadata_mut().insert("sordino-index", index);
    let url = format!("http://{}", running.address());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let endpoint = tonic::transport::Endpoint::from_shared(url).unwrap();
        let mut client = SearchClient::new(endpoint.connect().await.unwrap());
        client
            .change(request)
            .await
            .map(tonic::Response::into_inner)
    })
}

/// A step that asks for the state of an index, signed by its owner.
fn state_of(instance: &[u8], time: u64) -> ChangeRequest {
    let step = Step {
        kind: Some(Kind::State(Nothing {})),
    };
    let step = step.encode_to_vec();
    let key = *blake3::hash(&keys().public().to_bytes()).as_bytes();
    let (nonce, digest) = ([5; 16], blake3::hash(&step));
    let parts: [&[u8]; 5] = [
        instance,
        &key,
        &time.to_le_bytes(),
        &nonce,
        digest.as_bytes(),
    ];
    let signature = RequestSignature {
        key: key.to_vec().into(),
        time,
        nonce: nonce.to_vec().into(),
        signature: keys().sign_change(&parts.concat()).into(),
    };
    ChangeRequest {
        step: step.into(),
        signature: Some(signature),
    }
}

/// An index that is closed and opened again keeps the run for which a step was signed.
#[test]
fn a_step_is_taken_once_though_its_index_was_closed_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a");
    let running = changing(&dir);
    let raw = Raw::at(running.address(), Some("a"));
    let request = state_of(&raw.instance, now());
    assert_eq!(change(&running, "a", request.clone()).unwrap().version, 1);
    let again = |running| change(running, "a", request.clone()).unwrap_err();
    assert!(again(&running).message().contains("seen before"));
    assert!(running.service().close(&name("a")));
    assert!(again(&running).message().contains("not known"));
    open_to_changes(running.service(), &dir);
    assert!(again(&running).message().contains("seen before"));
    running.stop().unwrap();
}

#[test]
fn only_owners_learn_names_by_steps_of_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, public) = (folder.path().join("a"), keys().public());
    let running = changing(&dir);
    let told = |index: &str, time: u64| {
        let key = *blake3::hash(&public.to_bytes()).as_bytes();
        let signature = RequestSignature {
            key: key.to_vec().into(),
            time,
            nonce: vec![1; 16].into(),
            signature: vec![7; <sordino_mldsa::MlDsa87 as sordino_mldsa::Params>::SIGNATURE_LEN]
                .into(),
        };
        let request = ChangeRequest {
            step: vec![0x0a, 0].into(),
            signature: Some(signature),
        };
        let status = change(&running, index, request).unwrap_err();
        format!(
            "{:?} {} {:?}",
            status.code(),
            status.message(),
            status.details()
        )
    };
    let now = now();
    for time in [now, now - 3_600_000] {
        assert!(told("a", time).contains("not known"), "{}", told("a", time));
        assert_eq!(told("a", time), told("none", time));
    }
    // The owner's push gets an answer. The server holds the folder, so the owner cannot open it as a store. The pushed
    // version is there already.
    let mut store = sordino_search::Store::open(&dir, &keys());
    assert!(
        store
            .as_mut()
            .is_err_and(|error| { matches!(error, sordino_search::Error::Locked { .. }) })
    );
    let pushed = Connection::open(at(&running, "a"))
        .unwrap()
        .push(&dir, &keys());
    assert_eq!(pushed.unwrap().version, 1);
    running.stop().unwrap();
}

#[test]
fn a_login_for_one_index_is_of_no_use_at_another() {
    let (running, _) = serve(&listed(), Limits::default(), None);
    let (manifest, address) = (message(GET_MANIFEST, b""), running.address());
    let mut raw = Raw::at(address, Some("a"));
    let login = raw.logged_in(1);
    assert!(raw.call(&manifest, login.tag(1, &manifest)).is_ok());
    // An attacker exchanges the name on the way.
    raw.name = Some("b");
    let moved = raw.call(&manifest, login.tag(2, &manifest));
    assert_eq!(refusal(moved), Refusal::Login);
    raw.name = Some("none");
    let moved = raw.call(&manifest, login.tag(2, &manifest));
    assert_eq!(refusal(moved), Refusal::Login);
    raw.name = Some("a");
    assert!(raw.call(&manifest, login.tag(2, &manifest)).is_ok());
    // Names of a wrong form are refused like names of no index.
    for wrong in ["", "a/b", "..", "a,b", "\t"] {
        let mut raw = Raw::at(address, Some("a"));
        raw.name = Some(wrong);
        let refused = raw.call(&manifest, login.tag(3, &manifest));
        assert_eq!(refusal(refused), Refusal::Index, "{wrong:?}");
    }
    running.stop().unwrap();
}

#[test]
fn an_index_has_a_rate_of_its_own() {
    // The rate is one request in a quarter of an hour, so only the requests that are allowed at
    // once pass.
    let limits = Limits::default().rate_per_index(0.001);
    let (running, _) = serve(&Access::Anyone, limits, None);
    let counted = |name| {
        let asked = (0..20).map(|_| ask(at(&running, name), GET_MANIFEST));
        asked.filter(Result::is_ok).count()
    };
    assert_eq!(counted("a"), 1);
    let refused = ask(at(&running, "a"), GET_MANIFEST);
    assert!(refused.is_err_and(|error| error.is_passing()));
    // This does not affect the other index. A change of rates reaches open indexes, and indexes that open later.
    assert_eq!(counted("b"), 1);
    let indexes = running.service();
    // This rate is above any machine's, so the refused requests until then do not use it up.
    let many = Limits::default()
        .rate(1e6)
        .rate_per_address(1e6)
        .rate_per_index(1e6);
    indexes.change(&Access::Anyone, &many).unwrap();
    indexes.open(&name("c"), server(2, &set()), None).unwrap();
    until(|| (counted("a"), counted("c")) == (20, 20));
    running.stop().unwrap();
}

#[test]
fn limits_without_a_rate_for_an_index_are_refused() {
    let limits = Limits::default().rate_per_index(0.0);
    assert!(matches!(
        Indexes::new(&Access::Anyone, limits),
        Err(Error::Limits(_))
    ));
}
