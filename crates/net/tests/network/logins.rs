//! Clients log in: this crate's client, and a client that was written from docs/protocol alone.

use bytes::Bytes;
use ml_kem::kem::{Encapsulate, Key};
use ml_kem::{EncapsulationKey, MlKem768};
use sordino_mldsa::ml_dsa::{self, signature::Keypair};
use sordino_net::schema::search_client::SearchClient;
use sordino_net::schema::{CallRequest, HelloRequest, LoginRequest, RequestSignature, RequestTag};
use sordino_net::{
    Access, ClientKey, Connection, Error, Limits, Listen, Refusal, Running, Service,
};
use sordino_search::{Client, Kind, Session, SessionOptions};
use sordino_testkit::{GET_MANIFEST, SCORE, keys, rng};
use sordino_token::{Algorithm, Claims, PublicKey, SigningKey, Token};
use tonic::transport::Channel;

use crate::hostile_client::{now, refusal, still_serves};
use crate::parties::{
    client_key, endpoint, loopback, message, open_door, parts_request, server, set, signed_door,
};

/// A client that logs in, written from the protocol's text.
pub(crate) struct Raw {
    calls: SearchClient<Channel>,
    pub(crate) instance: Vec<u8>,
    pub(crate) kem_key: Vec<u8>,
    /// The name of the index, if the server has several.
    pub(crate) name: Option<&'static str>,
    runtime: tokio::runtime::Runtime,
}

/// A login's name and request key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedIn {
    login: u64,
    key: [u8; 32],
}

impl LoggedIn {
    pub(crate) fn new(login: u64, key: [u8; 32]) -> Self {
        Self { login, key }
    }
}

/// A request for the index of this name.
fn to<T>(name: Option<&'static str>, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    if let Some(name) = name {
        let name = name.parse().unwrap();
        request.metadata_mut().insert("sordino-index", name);
    }
    request
}

impl Raw {
    pub(crate) fn open(running: &Running) -> Self {
        Self::at(running.address(), None)
    }

    /// A client for an index with this name, if the server has several.
    pub(crate) fn at(address: std::net::SocketAddr, name: Option<&'static str>) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let address = format!("http://{address}");
        let (calls, hello) = runtime.block_on(async {
            let endpoint = Channel::from_shared(address).unwrap();
            let mut calls = SearchClient::new(endpoint.connect().await.unwrap());
            let hello = calls.hello(to(name, HelloRequest {})).await.unwrap();
            (calls, hello.into_inner())
        });
        let run: [u8; 32] = hello.instance[..].try_into().unwrap();
        let named = name.map(|name| *blake3::keyed_hash(&run, name.as_bytes()).as_bytes());
        Self {
            calls,
            instance: named.unwrap_or(run).to_vec(),
            kem_key: hello.kem_key.to_vec(),
            name,
            runtime,
        }
    }

    /// Makes a login that names the KEM key `shown` and encapsulates to it. Returns it with the
    /// request key.
    pub(crate) fn ask(&self, shown: &[u8], nonce: u8) -> (LoginRequest, [u8; 32]) {
        self.ask_at(shown, nonce, now())
    }

    /// Makes the same login, signed at this time.
    fn ask_at(&self, shown: &[u8], nonce: u8, time: u64) -> (LoginRequest, [u8; 32]) {
        let kem = Key::<EncapsulationKey<MlKem768>>::try_from(shown).unwrap();
        let kem = EncapsulationKey::<MlKem768>::new(&kem).unwrap();
        let (ciphertext, secret) = kem.encapsulate_with_rng(&mut rng(nonce.into()));
        let key = ml_dsa::SigningKey::<ml_dsa::MlDsa65>::from_seed(&[6; 32].into());
        let id = blake3::hash(&key.verifying_key().encode());
        let nonce = [nonce; 16];
        let statement = [
            &self.instance[..],
            id.as_bytes(),
            &time.to_le_bytes(),
            &nonce,
            blake3::hash(&[shown, &ciphertext].concat()).as_bytes(),
        ]
        .concat();
        let expanded = key.expanded_key();
        let signature = expanded.sign_deterministic(&statement, b"sordino login 1");
        let request = LoginRequest {
            ciphertext: Bytes::copy_from_slice(&ciphertext),
            signature: Some(RequestSignature {
                key: Bytes::copy_from_slice(id.as_bytes()),
                time,
                nonce: Bytes::copy_from_slice(&nonce),
                signature: Bytes::copy_from_slice(&signature.unwrap().encode()),
            }),
            token: Bytes::new(),
        };
        let keyed = [&secret[..], &statement].concat();
        (
            request,
            blake3::derive_key("sordino 2026 request key", &keyed),
        )
    }

    pub(crate) fn log_in(&self, request: LoginRequest, key: [u8; 32]) -> Result<LoggedIn, Error> {
        let mut calls = self.calls.clone();
        let reply = self
            .runtime
            .block_on(calls.login(to(self.name, request)))?
            .into_inner();
        assert_eq!(reply.seconds, 3600);
        let login = reply.login;
        Ok(LoggedIn { login, key })
    }

    pub(crate) fn logged_in(&self, nonce: u8) -> LoggedIn {
        let (request, key) = self.ask(&self.kem_key, nonce);
        self.log_in(request, key).unwrap()
    }

    pub(crate) fn call(&self, message: &[u8], tag: RequestTag) -> Result<usize, Error> {
        let mut calls = self.calls.clone();
        let request = to(self.name, request(message, tag));
        self.runtime.block_on(async move {
            let mut stream = calls.call(request).await?.into_inner();
            let mut len = 0;
            while let Some(part) = stream.message().await? {
                len += part.chunk.len();
            }
            Ok(len)
        })
    }

    /// Makes a call over a new connection with a small window, and reads nothing of the reply.
    pub(crate) fn hold(
        &self,
        address: std::net::SocketAddr,
        message: &[u8],
        tag: RequestTag,
    ) -> impl Drop + use<> {
        let reply = self.runtime.block_on(async {
            let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
            let endpoint = endpoint.initial_stream_window_size(1000);
            let calls = SearchClient::new(endpoint.connect().await.unwrap());
            let mut calls = calls.max_decoding_message_size(1 << 20);
            let reply = calls.call(request(message, tag)).await.unwrap();
            (calls, reply)
        });
        UnreadReply(Some(reply))
    }
}

/// A reply that the client does not read.
struct UnreadReply<T>(Option<T>);

impl<T> Drop for UnreadReply<T> {
    fn drop(&mut self) {
        self.0 = None;
    }
}

/// A tagged request.
pub(crate) fn request(message: &[u8], tag: RequestTag) -> CallRequest {
    CallRequest {
        message: Bytes::copy_from_slice(message),
        tag: Some(tag),
    }
}

impl LoggedIn {
    pub(crate) fn tag(self, number: u64, message: &[u8]) -> RequestTag {
        let keyed = [message, &number.to_le_bytes()].concat();
        RequestTag {
            login: self.login,
            number,
            tag: Bytes::copy_from_slice(blake3::keyed_hash(&self.key, &keyed).as_bytes()),
        }
    }
}

#[test]
fn a_tagged_request_is_answered_once() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let raw = Raw::open(&running);
    let login = raw.logged_in(1);
    let (manifest, parts) = (message(GET_MANIFEST, b""), parts_request(&server(4, &set)));
    let tag = login.tag(1, &manifest);
    assert!(raw.call(&manifest, tag.clone()).unwrap() > 4000);
    assert_eq!(refusal(raw.call(&manifest, tag.clone())), Refusal::Replayed);
    // A login is valid on all connections, and a repeated tag is refused on all of them.
    let other = Raw::open(&running);
    assert_eq!(refusal(other.call(&manifest, tag)), Refusal::Replayed);
    assert!(other.call(&manifest, login.tag(3, &manifest)).is_ok());
    assert!(raw.call(&manifest, login.tag(2, &manifest)).is_ok());
    // The server refuses a tag for another message, with another number, truncated, or far behind the newest number.
    let borrowed = login.tag(4, &manifest);
    assert_eq!(
        refusal(raw.call(&parts, borrowed.clone())),
        Refusal::Signature
    );
    let mut moved = borrowed.clone();
    moved.number = 5;
    assert_eq!(refusal(raw.call(&manifest, moved)), Refusal::Signature);
    let mut cut = borrowed.clone();
    cut.tag = cut.tag.slice(1..);
    assert_eq!(refusal(raw.call(&manifest, cut)), Refusal::Malformed);
    assert!(raw.call(&manifest, login.tag(100, &manifest)).is_ok());
    assert_eq!(refusal(raw.call(&manifest, borrowed)), Refusal::Replayed);
    assert!(raw.call(&manifest, login.tag(37, &manifest)).is_ok());
    still_serves(&running);
}

#[test]
fn a_login_is_for_one_run_and_one_kem_key() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let again = signed_door(server(4, &set), Limits::default());
    let (raw, mut next) = (Raw::open(&running), Raw::open(&again));
    let manifest = message(GET_MANIFEST, b"");
    let login = raw.logged_in(1);
    let tag = login.tag(1, &manifest);
    assert_eq!(refusal(next.call(&manifest, tag)), Refusal::Login);
    // An attacker in the network shows its own KEM key and passes the login on.
    let (request, key) = raw.ask(&next.kem_key, 2);
    assert_eq!(refusal(raw.log_in(request, key)), Refusal::Signature);
    // An attacker replays a login that was signed for another run of the server.
    next.instance.clone_from(&raw.instance);
    let (request, key) = next.ask(&raw.kem_key, 3);
    assert_eq!(refusal(next.log_in(request, key)), Refusal::Signature);
    // The server refuses a login that is sent again, that is truncated, or that has no signature.
    let (request, key) = raw.ask(&raw.kem_key, 4);
    assert!(raw.log_in(request.clone(), key).is_ok());
    assert_eq!(refusal(raw.log_in(request.clone(), key)), Refusal::Replayed);
    let mut cut = request.clone();
    cut.ciphertext = cut.ciphertext.slice(1..);
    assert_eq!(refusal(raw.log_in(cut, key)), Refusal::Malformed);
    let mut unsigned = request.clone();
    unsigned.signature = None;
    assert_eq!(refusal(raw.log_in(unsigned, key)), Refusal::Unsigned);
    let mut other = request;
    let mut ciphertext = other.ciphertext.to_vec();
    ciphertext[5] ^= 1;
    other.ciphertext = ciphertext.into();
    assert_eq!(refusal(raw.log_in(other, key)), Refusal::Replayed);
    for skew in [-120_000i64, 120_000] {
        let (request, key) = raw.ask_at(&raw.kem_key, 5, now().saturating_add_signed(skew));
        assert_eq!(refusal(raw.log_in(request, key)), Refusal::Time);
    }
    // A server for everyone accepts no logins.
    let open = open_door(server(4, &set), Limits::default());
    assert!(Raw::open(&open).kem_key.is_empty());
    still_serves(&running);
}

#[test]
fn a_key_that_is_taken_off_the_list_is_logged_out() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let raw = Raw::open(&running);
    let manifest = message(GET_MANIFEST, b"");
    let login = raw.logged_in(1);
    assert!(raw.call(&manifest, login.tag(1, &manifest)).is_ok());
    let access = Access::Keys(Vec::new());
    running
        .service()
        .change(&access, &Limits::default())
        .unwrap();
    let tag = login.tag(2, &manifest);
    assert_eq!(refusal(raw.call(&manifest, tag)), Refusal::Login);
}

/// A request of this crate's client takes 54 bytes more than one without a login. The client logs in to the server's next
/// run by itself.
#[test]
fn a_connection_logs_in_once_and_again_at_the_next_run() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let open = open_door(server(4, &set), Limits::default());
    let request = message(GET_MANIFEST, b"");
    let mut connection = Connection::open(endpoint(&running).key(client_key())).unwrap();
    let mut stranger = Connection::open(endpoint(&open)).unwrap();
    let sent = |connection: &mut Connection| {
        let before = connection.traffic().up;
        connection.exchange(&request, 1 << 20).unwrap();
        connection.traffic().up - before
    };
    let (first, bare) = (sent(&mut connection), sent(&mut stranger));
    let next = sent(&mut connection);
    assert_eq!(next, bare + 54);
    assert!((4000..5000).contains(&(first - next)), "{first} and {next}");
    let address = running.address();
    running.stop().unwrap();
    let key = client_key();
    let access = Access::Keys(vec![key.public().clone()]);
    let service = Service::new(server(4, &set), &access, Limits::default()).unwrap();
    let running = service.listen(&Listen::on(address)).unwrap();
    let lost = connection.exchange(&request, 1 << 20);
    let lost = lost
        .err()
        .or_else(|| connection.exchange(&request, 1 << 20).err());
    assert!(lost.is_some_and(|error| error.is_passing()));
    crate::parties::until(|| connection.exchange(&request, 1 << 20).is_ok());
    let reader = keys().reader();
    Client::connect(&mut connection, &reader, None).unwrap();
    running.stop().unwrap();
}

/// A session draws fresh secrets and logs in again by itself. It waits for nothing, since its options allow no time.
#[test]
fn a_session_survives_a_restart_without_waiting() {
    let set = set();
    let running = signed_door(server(4, &set), Limits::default());
    let address = running.address();
    let dial = endpoint(&running).key(client_key());
    let session = Session::open(dial, &keys().reader(), SessionOptions::default()).unwrap();
    assert!(!session.refresh().unwrap());
    running.stop().unwrap();
    let access = Access::Keys(vec![client_key().public().clone()]);
    let service = Service::new(server(4, &set), &access, Limits::default()).unwrap();
    let running = service.listen(&Listen::on(address)).unwrap();
    // Calls may find the old connection broken. The new run alone fails none.
    crate::parties::until(|| match session.refresh() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), Kind::Away, "{error}");
            false
        }
    });
    running.stop().unwrap();
}

pub(crate) fn issuer() -> SigningKey {
    SigningKey::from_seed(Algorithm::MlDsa65, &[40; 32])
}

/// The claims of a token for this holder.
pub(crate) fn claims(index: [u8; 16], holder: &ClientKey) -> Claims {
    Claims {
        audience: "here".to_owned(),
        holder: holder.public().for_tokens(),
        indexes: vec![index],
        actions: "search,payload,download".parse().unwrap(),
        rate: 6000,
        not_before: now() / 1000 - 100,
        expiry: now() / 1000 + 1000,
    }
}

fn access(issuers: Vec<PublicKey>) -> Access {
    Access::Tokens {
        keys: vec![client_key().public().clone()],
        audience: "here".to_owned(),
        issuers,
    }
}

fn token_door(issuers: Vec<PublicKey>) -> Running {
    let service = Service::new(server(4, &set()), &access(issuers), Limits::default()).unwrap();
    service.listen(&Listen::on(loopback())).unwrap()
}

#[test]
fn a_token_lets_its_holder_do_what_it_says_and_nothing_else() {
    let running = token_door(vec![issuer().public().clone()]);
    let index = running.service().server().manifest().index;
    let (alice, bob) = (
        ClientKey::from_seed(&[41; 32]),
        ClientKey::from_seed(&[42; 32]),
    );
    let token = Token::issue(&claims(index, &alice), &issuer()).unwrap();
    let narrow = Claims {
        actions: "download".parse().unwrap(),
        holder: bob.public().for_tokens(),
        ..token.claims()[0].clone()
    };
    let alices = SigningKey::from_seed(Algorithm::MlDsa65, &alice.seed());
    let narrowed = token.attenuate(&narrow, &alices).unwrap();
    let open = |key: &ClientKey, token: &[u8]| {
        let key = ClientKey::from_seed(&key.seed());
        Connection::open(endpoint(&running).key(key).token(token)).unwrap()
    };
    let (manifest, score) = (message(GET_MANIFEST, b""), message(SCORE, b""));

    let mut connection = open(&alice, token.as_bytes());
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    let query = set().queries.row(0).to_vec();
    client.search(&mut rng(1), &mut connection, &query).unwrap();

    let mut connection = open(&bob, narrowed.as_bytes());
    Client::connect(&mut connection, &keys().reader(), None).unwrap();
    assert_eq!(
        refusal(connection.exchange(&score, 1 << 20)),
        Refusal::Token
    );
    let unknown = connection.exchange(&message(99, b""), 1 << 20);
    assert!(matches!(unknown, Err(Error::Status { code, .. }) if code == "InvalidArgument"));

    // The server refuses logins with another client's key, without a token, with a token for another index or service,
    // and with a token of another issuer.
    let first =
        |key: &ClientKey, token: &[u8]| refusal(open(key, token).exchange(&manifest, 1 << 20));
    assert_eq!(first(&bob, token.as_bytes()), Refusal::Key);
    assert_eq!(first(&alice, b""), Refusal::Key);
    assert_eq!(first(&alice, b"token"), Refusal::Token);
    let with = |change: fn(&mut Claims), issuer: &SigningKey| {
        let mut claims = claims(index, &alice);
        change(&mut claims);
        first(&alice, Token::issue(&claims, issuer).unwrap().as_bytes())
    };
    assert_eq!(
        with(|it| it.indexes = vec![[1; 16]], &issuer()),
        Refusal::Token
    );
    assert_eq!(
        with(|it| it.audience = "there".to_owned(), &issuer()),
        Refusal::Token
    );
    assert_eq!(
        with(|it| it.expiry = now() / 1000 - 1, &issuer()),
        Refusal::Token
    );
    assert_eq!(with(|_| (), &alices), Refusal::Token);
    still_serves(&running);
}

#[test]
fn a_token_has_a_rate_and_ends_with_its_issuer() {
    let running = token_door(vec![issuer().public().clone()]);
    let index = running.service().server().manifest().index;
    let open = |seed: u8, rate: u32| {
        let key = ClientKey::from_seed(&[seed; 32]);
        let claims = Claims {
            rate,
            ..claims(index, &key)
        };
        let token = Token::issue(&claims, &issuer()).unwrap();
        Connection::open(endpoint(&running).key(key).token(token.as_bytes())).unwrap()
    };
    let manifest = message(GET_MANIFEST, b"");
    // The token allows one request per minute, and 16 at once.
    let mut slow = open(41, 1);
    assert!((0..16).all(|_| slow.exchange(&manifest, 1 << 20).is_ok()));
    assert_eq!(refusal(slow.exchange(&manifest, 1 << 20)), Refusal::Rate);
    let mut quick = open(42, 6000);
    assert!((0..5).all(|_| quick.exchange(&manifest, 1 << 20).is_ok()));
    // The same issuer again changes nothing. Without the issuer, its logins are over and new ones are
    // refused.
    let service = running.service();
    let same = access(vec![issuer().public().clone()]);
    service.change(&same, &Limits::default()).unwrap();
    assert!(quick.exchange(&manifest, 1 << 20).is_ok());
    service
        .change(&access(Vec::new()), &Limits::default())
        .unwrap();
    assert_eq!(refusal(quick.exchange(&manifest, 1 << 20)), Refusal::Login);
    assert_eq!(refusal(quick.exchange(&manifest, 1 << 20)), Refusal::Token);
    still_serves(&running);
}

/// The server verifies a login's token, so such logins have their own rate. Tokens with other rates do not change the first
/// token's rate.
#[test]
fn logins_by_a_token_have_a_rate() {
    let running = token_door(vec![issuer().public().clone()]);
    let index = running.service().server().manifest().index;
    let (alice, bob) = (
        ClientKey::from_seed(&[43; 32]),
        ClientKey::from_seed(&[44; 32]),
    );
    let token = Token::issue(&claims(index, &alice), &issuer()).unwrap();
    let narrow = Claims {
        holder: bob.public().for_tokens(),
        ..token.claims()[0].clone()
    };
    let alices = SigningKey::from_seed(Algorithm::MlDsa65, &alice.seed());
    let narrowed = token.attenuate(&narrow, &alices).unwrap();
    let manifest = message(GET_MANIFEST, b"");
    let asked = |key: &ClientKey, token: &[u8]| {
        let key = ClientKey::from_seed(&key.seed());
        let endpoint = endpoint(&running).key(key).token(token);
        let mut connection = Connection::open(endpoint).unwrap();
        connection.exchange(&manifest, 1 << 20)
    };
    // A client with a narrowed copy of the token has its own 16 requests at once.
    let asked_by_bob: Vec<_> = (0..20).map(|_| asked(&bob, narrowed.as_bytes())).collect();
    assert!(asked_by_bob[..16].iter().all(Result::is_ok));
    let refused = asked_by_bob.into_iter().skip(17).map(refusal);
    assert!(refused.into_iter().all(|refusal| refusal == Refusal::Rate));
    assert!(asked(&alice, token.as_bytes()).is_ok());
    still_serves(&running);
}
