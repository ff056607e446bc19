//! Rights of tokens to payloads: without the right neither a download nor a search brings any.

use sordino_net::{
    Access, ClientKey, Connection, Error, Limits, Listen, Refusal, Running, Service,
};
use sordino_search::payload::FetchKind;
use sordino_search::{Batch, Client, Form, Server, Spec, Store};
use sordino_testkit::{by, keys, rng};
use sordino_token::{Claims, Token};

use crate::logins::{claims, issuer};
use crate::parties::{endpoint, loopback, set};

/// A server for holders of tokens, whose index was built to this specification. Payloads are added in a change, too.
fn served(spec: &Spec, has_payloads: bool) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let batch = |len: usize| {
        let rows: Vec<usize> = (0..len).collect();
        let batch = Batch::from(set().base).select(&rows).unwrap();
        let payloads = (0..len).map(|at| format!("text {at}").into_bytes());
        match has_payloads {
            true => batch.with_payloads(payloads.collect()).unwrap(),
            false => batch,
        }
    };
    let all = [Ok(batch(set().base.len()))];
    let store = Store::create(dir.path(), &mut rng(1), &keys(), spec, all, &mut |_| ());
    let mut store = store.unwrap();
    store.add(&mut rng(2), [Ok(batch(3))], &mut |_| ()).unwrap();
    let server = Server::open_dir(dir.path(), &keys().public()).unwrap();
    let access = Access::Tokens {
        keys: Vec::new(),
        audience: "here".to_owned(),
        issuers: vec![issuer().public().clone()],
    };
    let service = Service::new(server, &access, Limits::default()).unwrap();
    service.listen(&Listen::on(loopback())).unwrap()
}

/// A search by the holder of a token for these actions: the payloads that it brings.
fn searched(running: &Running, actions: &str) -> Result<Vec<Vec<u8>>, sordino_search::Error> {
    let key = || ClientKey::from_seed(&[41; 32]);
    let claims = Claims {
        actions: actions.parse().unwrap(),
        ..claims(running.service().server().manifest().index, &key())
    };
    let token = Token::issue(&claims, &issuer()).unwrap();
    let endpoint = endpoint(running).key(key()).token(token.as_bytes());
    let mut connection = Connection::open(endpoint).unwrap();
    let client = Client::connect(&mut connection, &keys().reader(), None)?;
    let query = set().queries.row(0).to_vec();
    let found = client.search(&mut rng(1), &mut connection, &query)?;
    assert!(!found.hits.is_empty());
    Ok(found.payloads)
}

fn is_refused(found: &Result<Vec<Vec<u8>>, sordino_search::Error>) -> bool {
    let Err(error) = found else { return false };
    matches!(Error::of(error), Some(Error::Refused(Refusal::Token)))
}

#[test]
fn without_the_right_to_payloads_a_token_brings_none() {
    let masked = || Spec::default().k(5);
    for (spec, is_searched) in [
        (by(FetchKind::Download, masked()), true),
        (by(FetchKind::Hintless, masked()), true),
        (by(FetchKind::Download, Spec::new(Form::Local).k(5)), false),
    ] {
        let running = served(&spec, true);
        let with = match is_searched {
            true => "search,payload,download",
            false => "payload,download",
        };
        let payloads = searched(&running, with).unwrap();
        assert!(payloads[0].starts_with(b"text "), "{payloads:?}");
        for without in ["search,download", "download", "search,payload"] {
            assert!(is_refused(&searched(&running, without)), "{without}");
        }
        running.stop().unwrap();
    }
}

/// At the end of such a search, the pages that are fetched hold exact vectors.
#[test]
fn a_second_look_at_records_without_payloads_is_a_search() {
    let spec = by(FetchKind::Hintless, Spec::default().k(5));
    let running = served(&spec.second_look(Some(16)), false);
    assert!(searched(&running, "search,download").unwrap().is_empty());
    assert!(is_refused(&searched(&running, "payload,download")));
    running.stop().unwrap();
}
