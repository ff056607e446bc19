//! Selective failure: a server answers from records of which it has changed some, and sees by what the client does next
//! if those were wanted. By halving the changed ones it finds the record in as many tries as
//! its number has bits.

use std::ops::Range;

use rand::Rng;

use sordino_pir::Seed;
use sordino_pir::hintless::{self, Database, Keys, Params, Query, Sessions};
use sordino_search::manifest::{Packing, PartKind, SignedManifest};
use sordino_search::payload::{Fetch, FetchKind};
use sordino_search::plan::Conditions;
use sordino_search::{Bytes, Client, Error, Form, Id, Server, Spec};
use sordino_testkit::{FETCH_PAYLOADS, Hostile, connect, kind, rng};

use super::bed::with_payloads;

const N: usize = 700;
/// Records of a request.
const K: usize = 2;
/// Messages of a client that fetches four records.
const ALL: usize = 2;
/// The record that the client wants.
const WANTED: u64 = 123;
/// Bytes before a request's body, and before a reply's.
const HEADS: usize = 16 + 24;
const HEAD: usize = 16;

/// A part of a server that answers requests from pages of which some are zeros.
struct Corrupt {
    manifest: SignedManifest,
    pages: Bytes,
    sessions: Sessions,
}

impl Corrupt {
    fn params(&self) -> Params {
        let payloads = self.manifest.payloads.as_ref().unwrap();
        payloads.hintless_params().unwrap().expect("no hint")
    }

    /// The query of a request; its keys are kept if they come with it.
    fn query(&mut self, request: &[u8]) -> Query {
        let params = self.params();
        let (keys, query) = request[HEADS..].split_at(request.len() - HEADS - params.query_len());
        if !keys.is_empty() {
            self.sessions.insert(&Keys::from_bytes(keys).unwrap());
        }
        Query::from_bytes(&params, query).unwrap()
    }

    /// The answer from pages of which those in `changed` are zeros.
    fn answer(&mut self, query: &Query, changed: Range<usize>) -> Vec<u8> {
        let payloads = self.manifest.payloads.as_ref().unwrap();
        let Fetch::Hintless { seed } = payloads.fetch else {
            panic!("payloads are fetched without a hint");
        };
        let len = payloads.form.sealed_len();
        let mut pages = self.pages.to_vec();
        pages[changed.start * len..changed.end * len].fill(0);
        let (params, pages) = (self.params(), pages.chunks_exact(len));
        let database = Database::from_records(&params, &Seed(seed), pages).unwrap();
        let keys = self.sessions.get(query.session()).unwrap();
        let answer = hintless::Server::from(database).answer(&keys, query);
        answer.unwrap().to_bytes()
    }
}

struct Game {
    server: Server,
    client: Client,
    corrupt: Corrupt,
    /// True of a client that ends at the first wrong reply.
    hasty: bool,
}

impl Game {
    fn new(hasty: bool) -> Self {
        // Nothing that compresses.
        let payloads = (0..N).map(|row| {
            let mut payload = vec![0; 900];
            rng(row as u64).fill_bytes(&mut payload);
            payload
        });
        let payloads = payloads.collect();
        let spec = Spec::new(Form::Masked(Packing::T4))
            .k(K)
            .conditions(Conditions::default().prefer(FetchKind::Hintless));
        let index = with_payloads(&spec, payloads);
        let (manifest, parts) = index.clone().into_parts();
        let payloads = parts.into_iter().find(|it| it.0.kind == PartKind::Payloads);
        let corrupt = Corrupt {
            manifest,
            pages: payloads.unwrap().1,
            sessions: Sessions::new(4),
        };
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        Self {
            server,
            client,
            corrupt,
            hasty,
        }
    }

    /// The messages of a client that fetches one record, in a request, and then others, where the first request is
    /// answered from changed pages.
    fn messages(&mut self, changed: Range<usize>) -> usize {
        let Self {
            server,
            client,
            corrupt,
            hasty,
        } = self;
        let mut changed = Some(changed);
        let mut transport = Hostile::new(server, |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == FETCH_PAYLOADS {
                let query = corrupt.query(request);
                if let Some(changed) = changed.take() {
                    reply.truncate(HEAD);
                    reply.extend(corrupt.answer(&query, changed));
                }
            }
        });
        let ids = [WANTED, WANTED, 1, 2].map(Id::Number);
        let (rng, transport_of) = (&mut rng(2), &mut transport);
        if *hasty {
            for ids in ids.chunks(K) {
                match client.payloads(rng, transport_of, ids) {
                    Ok(_) => {}
                    Err(Error::BadReply) => break,
                    Err(other) => panic!("{other}"),
                }
            }
        } else {
            let found = client.payloads(rng, transport_of, &ids);
            assert!(matches!(found, Ok(_) | Err(Error::BadReply)));
        }
        transport.requests.len()
    }

    fn pages(&self) -> usize {
        self.corrupt.manifest.payloads.as_ref().unwrap().pages as usize
    }

    /// The eighth of the pages in which the server takes the wanted one to be: it halves the changed pages, and the wanted
    /// one is among them if the client sends fewer messages than to an honest server.
    fn guess(&mut self) -> Range<usize> {
        let mut pages = 0..self.pages();
        while pages.len() > self.pages().div_ceil(8) {
            let half = pages.start..pages.start + pages.len().div_ceil(2);
            if self.messages(half.clone()) < ALL {
                pages = half;
            } else {
                pages.start = half.end;
            }
        }
        pages
    }
}

#[test]
fn a_client_that_ends_at_the_first_wrong_reply_shows_where_the_record_is() {
    let mut game = Game::new(true);
    let pages = game.guess();
    assert_eq!(game.messages(pages.clone()), 1);
    for others in [0..pages.start, pages.end..game.pages()] {
        assert_eq!(game.messages(others), ALL);
    }
}

#[test]
fn a_client_that_sends_all_its_messages_shows_nothing() {
    let mut game = Game::new(false);
    let all = game.pages();
    for changed in [0..all / 2, all / 2..all] {
        assert_eq!(game.messages(changed), ALL);
    }
    // So that the guess is the same for every record.
    assert_eq!(game.guess().end, all);
}
