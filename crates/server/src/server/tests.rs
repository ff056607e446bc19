//! Requests that a server refuses with a named error, before it computes anything.

use super::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use sordino_index::Index;
use sordino_index::manifest::Packing;
use sordino_owner::build;
use sordino_vault::OwnerKeys;
use sordino_vectors::synthetic;

fn masked() -> Server {
    let (keys, rng) = (
        OwnerKeys::from_master([6; 32]),
        &mut StdRng::seed_from_u64(1),
    );
    let base = synthetic::uniform(60, 16, 4);
    let index = build::masked(rng, &keys, &base, 5, Packing::T4, &mut |_| ());
    Server::new(index.expect("an index")).expect("a server")
}

fn local() -> Index {
    let (keys, rng) = (
        OwnerKeys::from_master([6; 32]),
        &mut StdRng::seed_from_u64(1),
    );
    let base = synthetic::uniform(60, 16, 4);
    build::local(rng, &keys, &base, 5, &mut |_| ()).expect("an index")
}

#[test]
fn a_query_of_another_length_is_refused_with_both() {
    let server = masked();
    let longest = server.longest_request().expect("a length");
    let expected = longest - message_len(EDITION_LEN);
    for found in [0, 1, expected - 1, expected + 1] {
        let request = Message::Score.about(server.edition, &vec![0; found]);
        let refused = server.handle(&request).unwrap_err().to_string();
        let said = format!("Score of {found} bytes, expected {expected}");
        assert!(refused.ends_with(&said), "{refused}");
    }
}

#[test]
fn a_request_about_another_version_is_refused_with_both() {
    let server = masked();
    let own = server.manifest.version;
    let newer = Edition::new(own + 1, &server.manifest.digest());
    // This edition has the same number and another digest, so it names another version.
    let other = Edition::new(own, &[7; 32]);
    let kinds = [
        Message::GetParts,
        Message::GetHistory,
        Message::Score,
        Message::Fetch,
        Message::FetchPayloads,
    ];
    for kind in kinds {
        for edition in [newer, other] {
            let refused = server.handle(&kind.about(edition, &[0; 100])).unwrap_err();
            assert!(
                matches!(refused, Error::Stale { found, serving } if (found, serving) == (edition.version, own)),
                "{kind:?}: {refused}"
            );
        }
        let unnamed = server
            .handle(&kind.with(&[0; EDITION_LEN - 1]))
            .unwrap_err();
        assert!(
            unnamed.to_string().contains("names no version"),
            "{unnamed}"
        );
    }
}

#[test]
fn a_request_that_the_mode_does_not_have_is_refused_with_the_mode() {
    let server = Server::new(local()).expect("a server");
    for kind in [Message::Score, Message::Fetch, Message::FetchPayloads] {
        let refused = server.handle(&kind.about(server.edition, &[])).unwrap_err();
        assert!(
            matches!(refused, Error::Mode { found: "local", .. }),
            "{kind:?}: {refused}"
        );
    }
    for kind in [Message::Manifest, Message::Parts, Message::Scored] {
        let refused = server.handle(&kind.with(&[])).unwrap_err().to_string();
        assert!(refused.ends_with("of 0 bytes is no request"), "{refused}");
    }
}

#[test]
fn parts_are_given_once_each_and_in_their_order() {
    let server = Server::new(local()).expect("a server");
    let count = u16::try_from(server.given.len()).expect("few parts");
    assert!(count > 1);
    let ask = |numbers: &[u16]| {
        let body: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        server.handle(&Message::GetParts.about(server.edition, &body))
    };
    let all: Vec<u16> = (0..count).collect();
    let given: usize = server.given.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(ask(&all).expect("all parts").len(), message_len(given));
    for wrong in [&[][..], &[0, 0], &[1, 0], &[count], &[0, u16::MAX]] {
        assert!(ask(wrong).is_err(), "{wrong:?}");
    }
    // The body ends after one byte of a two-byte number, so it is refused.
    assert!(
        server
            .handle(&Message::GetParts.about(server.edition, &[0, 0, 0]))
            .is_err()
    );
}

#[test]
fn requests_of_a_batch_do_not_depend_on_one_another() {
    let server = masked();
    let manifest = Message::GetManifest.with(&[]);
    let parts = Message::GetParts.about(server.edition, &[0, 0]);
    let wrong = Message::Score.about(server.edition, b"wrong");
    let requests = [&wrong[..], &manifest, b"", &parts, &wrong, &manifest];
    let replies = server.handle_batch(&requests);
    let good: Vec<bool> = replies.iter().map(Result::is_ok).collect();
    assert_eq!(good, [false, true, false, true, false, true]);
    for (request, reply) in requests.iter().zip(replies) {
        assert_eq!(server.handle(request).ok(), reply.ok());
    }
}
