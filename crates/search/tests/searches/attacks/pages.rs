//! Pages that are not the owner's: changed, swapped, or of another version. A client refuses them with one error after the
//! messages of an honest search. Pages that the client fetches without need do not reveal how many records it wants.

use std::collections::BTreeSet;

use sordino_search::manifest::PartKind;
use sordino_search::payload::FetchKind;
use sordino_search::{Error, Exchange, Id, Index, Server};
use sordino_testkit::{FETCH_PAYLOADS, GET_PARTS, Hostile, connect, keys, kind, rng};

use super::bed::{K, fetched_by, of_all_ways};
use super::changed_pages::ChangedPages;

const N: usize = 300;

/// Payloads of records, some of which may not exist.
type Read = Result<Vec<Option<Vec<u8>>>, Error>;

/// Fetches records from a server of changed pages. Returns the result and the messages.
fn fetch(
    index: &Index,
    ids: &[u64],
    seed: u64,
    change: impl FnOnce(&mut Vec<u8>, usize),
) -> (Read, Vec<Exchange>) {
    let mut liar = ChangedPages::new(index, Vec::new(), change);
    let server = Server::new(index.clone()).unwrap();
    let client = connect(&server);
    let mut transport = Hostile::new(&server, |request: &[u8], reply: &mut Vec<u8>| {
        if kind(request) == FETCH_PAYLOADS {
            *reply = liar.answer(request);
        }
    });
    let ids: Vec<Id> = ids.iter().copied().map(Id::Number).collect();
    let found = client.payloads(&mut rng(seed), &mut transport, &ids);
    (found, transport.inner.take_exchanges())
}

fn is_refused<T: std::fmt::Debug>(found: Result<T, Error>) -> bool {
    match found {
        Ok(_) => false,
        Err(Error::BadReply) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn pages_that_are_not_the_owners_are_refused_after_the_same_messages() {
    let others = of_all_ways(N, another);
    for ((way, index), (_, other)) in of_all_ways(N, |_| 900).into_iter().zip(others) {
        // The pages of an index with the same records, except that one payload differs.
        let (_, parts) = other.into_parts();
        let mut parts = parts.into_iter();
        let other = parts.find(|(part, _)| part.kind == PartKind::Payloads);
        let other = other.unwrap().1;
        let ids: Vec<u64> = (0..3 * K as u64).collect();
        let (honest, messages) = fetch(&index, &ids, 1, |_, _| ());
        assert_eq!(honest.unwrap().len(), ids.len());
        type Change<'a> = Box<dyn FnOnce(&mut Vec<u8>, usize) + 'a>;
        let changes: [(&str, Change<'_>); 4] = [
            ("zeros", Box::new(|pages, _| pages.fill(0))),
            (
                "a bit of each",
                Box::new(|pages, len| pages.chunks_mut(len).for_each(|page| page[len / 2] ^= 1)),
            ),
            (
                "each in the place of its neighbour",
                Box::new(|pages, len| pages.rotate_left(len)),
            ),
            (
                "of another version",
                Box::new(|pages, _| {
                    let len = pages.len().min(other.len());
                    pages[..len].copy_from_slice(&other[..len]);
                }),
            ),
        ];
        for (name, change) in changes {
            let (found, seen) = fetch(&index, &ids, 1, change);
            assert!(is_refused(found), "{way}, {name}");
            assert_eq!(seen, messages, "{way}, {name}");
        }
        // Changes one page, which the client may want or not.
        for page in [0, 7, N / 8] {
            let (found, seen) = fetch(&index, &ids, 1, |pages, len| {
                let at = page * len % pages.len();
                pages[at] ^= 1;
            });
            if let Ok(found) = found {
                assert!(
                    found
                        .iter()
                        .all(|payload| payload.as_ref().unwrap().len() == 900)
                );
            }
            assert_eq!(seen, messages, "{way}, page {page}");
        }
    }
}

/// The length of a record's payload. One record's length differs from all others.
fn another(row: usize) -> usize {
    if row == 5 { 899 } else { 900 }
}

/// A fetch of one record also asks for pages that are not wanted. If these were always one fixed page, a server that
/// changes this page would notice.
#[test]
fn no_one_page_stands_where_none_is_wanted() {
    let index = fetched_by(FetchKind::Hintless, N, |_| 900);
    let payloads = index.manifest().payloads.as_ref().unwrap();
    let pages = payloads.pages as usize;
    let mut refusing = BTreeSet::new();
    for page in (0..pages).step_by(pages / 8) {
        let refused = (0..4).filter(|&seed| {
            let change = |pages: &mut Vec<u8>, len: usize| pages[page * len] ^= 1;
            is_refused(fetch(&index, &[9], seed, change).0)
        });
        if refused.count() == 4 {
            refusing.insert(page);
        }
    }
    // Only the page of the record itself may cause refusals.
    assert!(refusing.len() <= 1, "{refusing:?}");
    // If all pages are changed, the fetch is refused only if it wanted a record.
    for ids in [&[9][..], &[N as u64], &[]] {
        let (found, _) = fetch(&index, ids, 1, |pages, _| pages.fill(0));
        assert_eq!(is_refused(found), !ids.is_empty());
    }
}

#[test]
fn replies_of_another_length_are_refused_after_the_same_messages() {
    for (way, index) in of_all_ways(N, |_| 900) {
        let server = Server::new(index).unwrap();
        let client = connect(&server);
        let ask = |more: isize| {
            let mut transport =
                Hostile::new(&server, move |request: &[u8], reply: &mut Vec<u8>| {
                    if kind(request) == FETCH_PAYLOADS {
                        let body = (reply.len() - 16).checked_add_signed(more).unwrap();
                        reply.resize(16 + body, 0);
                        reply[8..16].copy_from_slice(&(body as u64).to_le_bytes());
                    }
                });
            let ids: Vec<Id> = (0..2 * K as u64).map(Id::Number).collect();
            let found = client.payloads(&mut rng(1), &mut transport, &ids);
            (found, transport.inner.take_exchanges())
        };
        // The first request brings the keys.
        ask(0).0.unwrap();
        let (honest, messages) = ask(0);
        honest.unwrap();
        for more in [-1, 1, -16, 4096] {
            let (found, seen) = ask(more);
            assert!(is_refused(found), "{way}, {more}");
            assert_eq!(seen, messages, "{way}, {more}");
        }
    }
}

#[test]
fn a_hint_of_another_version_is_refused_before_any_query() {
    let others = of_all_ways(N, another);
    for ((_, index), (_, other)) in of_all_ways(N, |_| 900).into_iter().zip(others) {
        let server = Server::new(index).unwrap();
        let other = Server::new(other).unwrap();
        let edition = other.manifest().edition().to_bytes();
        let mut transport = Hostile::new(&server, |request: &[u8], reply: &mut Vec<u8>| {
            if kind(request) == GET_PARTS {
                let mut request = request.to_vec();
                request[16..40].copy_from_slice(&edition);
                *reply = other.handle(&request).unwrap();
            }
        });
        let reader = keys().reader();
        let refused = sordino_search::Client::connect(&mut transport, &reader, None);
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Digest { .. } | Error::BadReply | Error::Malformed { .. }
            ),
            "{error}"
        );
        assert!(
            transport
                .requests
                .iter()
                .all(|it| kind(it) != FETCH_PAYLOADS)
        );
    }
}
