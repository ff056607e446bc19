//! Selective failure: a server changes some records, answers from them, and sees by the client's next message whether
//! they were wanted. By halving the changed set, it finds the wanted record in as few tries as its number has bits.

use std::ops::Range;

use sordino_search::payload::FetchKind;
use sordino_search::{Client, Error, Id, Index, Server};
use sordino_testkit::{ASKED, FETCH_PAYLOADS, Hostile, connect, kind, rng};

use super::bed::{K, fetched_by};
use super::changed_pages::ChangedPages;

const N: usize = 700;
/// The number of messages of a client that fetches records in two requests.
const ALL: usize = 2;
/// The record that the client wants.
const WANTED: u64 = 123;

struct Game {
    index: Index,
    server: Server,
    client: Client,
    keys: Vec<u8>,
    /// True if the client stops at the first wrong reply.
    hasty: bool,
}

impl Game {
    fn new(way: FetchKind, hasty: bool) -> Self {
        let index = fetched_by(way, N, |_| 900);
        let server = Server::new(index.clone()).unwrap();
        let client = connect(&server);
        Self {
            index,
            server,
            client,
            keys: Vec::new(),
            hasty,
        }
    }

    /// The number of messages of a client that fetches one record, and then others. The server answers the first
    /// request from pages whose `changed` range is zeros.
    fn messages(&mut self, changed: Range<usize>) -> usize {
        let keys = std::mem::take(&mut self.keys);
        let mut liar = ChangedPages::new(&self.index, keys, |pages, len| {
            pages[changed.start * len..changed.end * len].fill(0);
        });
        let mut fetches = 0;
        let mut transport = Hostile::new(&self.server, |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == FETCH_PAYLOADS {
                fetches += 1;
                let changed = liar.answer(request);
                if fetches == 1 {
                    *reply = changed;
                }
            }
        });
        let ids: Vec<Id> = [WANTED; K]
            .into_iter()
            .chain(1..=K as u64)
            .map(Id::Number)
            .collect();
        let (rng, transport_of) = (&mut rng(2), &mut transport);
        if self.hasty {
            for ids in ids.chunks(K) {
                match self.client.payloads(rng, transport_of, ids) {
                    Ok(_) => {}
                    Err(Error::BadReply) => break,
                    Err(other) => panic!("{other}"),
                }
            }
        } else {
            let found = self.client.payloads(rng, transport_of, &ids);
            assert!(matches!(found, Ok(_) | Err(Error::BadReply)));
        }
        let sent = transport.requests.len();
        self.keys = liar.keys;
        sent
    }

    fn pages(&self) -> usize {
        let payloads = self.index.manifest().payloads.as_ref().unwrap();
        payloads.pages as usize
    }

    /// The eighth of the pages that the server believes to hold the wanted page. The server halves the changed pages: if
    /// the client sends fewer messages than usual, the wanted page is among them.
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
    // With a hint, a changed page spoils all pages in its rows, so this game uses no hint.
    let mut game = Game::new(FetchKind::Hintless, true);
    let pages = game.guess();
    assert_eq!(game.messages(pages.clone()), 1);
    for others in [0..pages.start, pages.end..game.pages()] {
        assert_eq!(game.messages(others), ALL);
    }
}

#[test]
fn a_client_that_sends_all_its_messages_shows_nothing() {
    for way in ASKED {
        let mut game = Game::new(way, false);
        let all = game.pages();
        for changed in [0..all / 2, all / 2..all] {
            assert_eq!(game.messages(changed), ALL);
        }
        // The guess is then the same for every record.
        assert_eq!(game.guess().end, all);
    }
}
