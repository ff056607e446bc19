//! All refusals at all moments of a search. What a session sends after a refusal does not depend on whether an earlier reply
//! was bad.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sordino_search::manifest::{Packing, Routing};
use sordino_search::payload::FetchKind;
use sordino_search::{
    Batch, Error, Form, InProcess, Index, Kind, OwnerKeys, Question, Retry, Server, Session,
    SessionOptions, Spec, Store, Transport, Vectors, synthetic,
};
use sordino_testkit::{ASKED, by, keys, kind, rng};

const N: usize = 3000;
const DIM: usize = 16;

/// The number of bytes of a reply's head, and a few more.
const HEAD: usize = 24;

/// The number of the first refused message, the refusal, and the count of refused messages.
type Refused = (usize, fn() -> Error, usize);

/// A server's plan for the messages of a session, and the messages that it has seen.
#[derive(Default)]
struct Script {
    /// The kind and the length of each message.
    sent: Vec<(u16, usize)>,
    /// The number of the message whose reply is bad.
    bad: Option<usize>,
    refused: Option<Refused>,
}

#[derive(Clone)]
struct Scripted<'a> {
    server: &'a Server,
    script: Arc<Mutex<Script>>,
}

impl Transport for Scripted<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        let mut script = self.script.lock().expect("no thread panics");
        let at = script.sent.len();
        let kind = kind(request);
        script.sent.push((kind, request.len()));
        if let Some((from, refusal, count)) = script.refused
            && (from..from + count).contains(&at)
        {
            return Err(refusal());
        }
        let mut reply = InProcess::new(self.server).call(request, limit)?;
        if script.bad == Some(at) {
            reply[HEAD..].iter_mut().for_each(|byte| *byte ^= 0x55);
        }
        Ok(reply)
    }
}

fn refusals() -> [(fn() -> Error, Kind); 7] {
    [
        (|| Error::transport(Kind::Busy, "busy"), Kind::Busy),
        (|| Error::transport(Kind::Away, "cut"), Kind::Away),
        (|| Error::transport(Kind::Refused, "key"), Kind::Refused),
        (|| Error::transport(Kind::Local, "no name"), Kind::Local),
        (|| Error::Signature, Kind::Untrusted),
        (|| Error::Fork { version: 7 }, Kind::Untrusted),
        (
            || Error::Stale {
                found: 1,
                serving: 2,
            },
            Kind::Stale,
        ),
    ]
}

/// The forms whose searches have several messages.
fn forms() -> [(&'static str, Form, Option<u32>); 3] {
    [
        ("masked", Form::Masked(Packing::T4), Some(8)),
        ("open", Form::Open(Packing::T4), None),
        (
            "sealed",
            Form::Sealed {
                recall: 0.9,
                queries: 20,
                routing: Some(Routing::Encrypted),
            },
            None,
        ),
    ]
}

fn served(form: Form, second_look: Option<u32>, way: FetchKind) -> (Server, OwnerKeys, Vectors) {
    let keys = keys();
    let (vectors, _) = synthetic::clustered(N, 1, DIM, 4);
    let spec = by(way, Spec::new(form).k(5).second_look(second_look));
    let dir = tempfile::tempdir().expect("a folder");
    let payloads = (0..N).map(|row| vec![row.to_le_bytes()[0]; 400]).collect();
    let batch = Batch::from(vectors.clone()).with_payloads(payloads);
    let rng = &mut rng(1);
    let store = Store::create(dir.path(), rng, &keys, &spec, [batch], &mut |_| ());
    drop(store.expect("an index"));
    let index = Index::open_dir(dir.path(), &keys.public()).expect("an index");
    (Server::new(index).expect("a server"), keys, vectors)
}

struct Outcome {
    sent: Vec<(u16, usize)>,
    first: Result<Vec<u64>, Error>,
    second: Result<Vec<u64>, Error>,
}

/// Makes two searches in one batch, and returns the messages.
fn searched(
    served: &(Server, OwnerKeys, Vectors),
    retry: Retry,
    bad: Option<usize>,
    refused: Option<Refused>,
) -> Outcome {
    let (server, keys, vectors) = served;
    let script = Arc::new(Mutex::new(Script::default()));
    let dial = {
        let script = Arc::clone(&script);
        move || {
            let script = Arc::clone(&script);
            Ok(Scripted { server, script })
        }
    };
    let options = SessionOptions::default().retry(retry);
    let session = Session::open(dial, &keys.reader(), options).expect("a session");
    *script.lock().expect("no thread panics") = Script {
        sent: Vec::new(),
        bad,
        refused,
    };
    let batch = session.batch().expect("a batch");
    let ask = |row| {
        let question = Question::new(vectors.row(row));
        let found = session.call(&batch, |client, rng, transport| {
            client.ask(rng, transport, &question)
        });
        found.map(|found| found.numbers().collect())
    };
    let first = ask(3);
    let second = match batch.is_over() {
        true => Ok(Vec::new()),
        false => ask(4),
    };
    // The session ends after the batch, not during it.
    assert!(session.batch().is_ok());
    drop(batch);
    let sent = script.lock().expect("no thread panics").sent.clone();
    assert_eq!(
        session.batch().is_err(),
        [&first, &second]
            .iter()
            .any(|found| found.as_ref().is_err_and(Error::is_bad_reply))
    );
    let again = session.ask(&Question::new(vectors.row(5)));
    if session.batch().is_err() {
        assert!(matches!(again, Err(Error::BadReply)));
        assert_eq!(
            script.lock().expect("no thread panics").sent.len(),
            sent.len()
        );
    }
    Outcome {
        sent,
        first,
        second,
    }
}

#[test]
fn what_is_sent_after_a_refusal_does_not_tell_of_a_bad_reply_before_it() {
    let long = Retry::all(Duration::from_secs(3600));
    let without_hint = forms().map(|form| (form, FetchKind::Hintless));
    let others = ASKED.into_iter().filter(|way| *way != FetchKind::Hintless);
    let others = others.map(|way| (forms()[0], way));
    for ((name, form, second_look), way) in without_hint.into_iter().chain(others) {
        let served = served(form, second_look, way);
        let honest = searched(&served, Retry::default(), None, None);
        let messages = honest.sent.len() / 2;
        assert!(messages > 1, "{name}: {:?}", honest.sent);
        assert_eq!(honest.first.unwrap()[0], 3, "{name}");
        // If there is only a bad reply, the batch's other search is still made, and then the
        // session ends.
        for bad in 0..messages {
            let only = searched(&served, long, Some(bad), None);
            assert_eq!(only.sent, honest.sent, "{name}, {bad}");
            assert!(matches!(only.first, Err(Error::BadReply)), "{name}, {bad}");
            assert_eq!(only.second.unwrap()[0], 4);
        }
        for (refusal, kind) in refusals() {
            for retry in [Retry::default(), long] {
                for at in 1..messages {
                    let refused = Some((at, refusal, 1));
                    let right = searched(&served, retry, None, refused);
                    for bad in 0..at {
                        let place = format!("{name}, {kind:?}, {bad} before {at}");
                        let wrong = searched(&served, retry, Some(bad), refused);
                        assert_eq!(right.sent, wrong.sent, "{place}");
                        let error = wrong.first.unwrap_err();
                        assert!(error.is_bad_reply(), "{place}: {error}");
                        match &right.first {
                            Err(right) => assert_eq!(error.kind(), right.kind(), "{place}"),
                            Ok(_) => assert!(matches!(error, Error::BadReply), "{place}"),
                        }
                    }
                    let mended = match kind {
                        Kind::Busy | Kind::Away => retry.busy == long.busy,
                        kind => kind == Kind::Stale,
                    };
                    assert_eq!(right.first.is_ok(), mended, "{name}, {kind:?}, {at}");
                    assert!(right.second.is_ok());
                }
            }
        }
    }
}

/// The refusals continue while the session follows the index.
#[test]
fn a_refusal_of_the_next_version_is_the_same_with_and_without_a_bad_reply() {
    let served = served(Form::Masked(Packing::T4), Some(8), FetchKind::Scan);
    let stale: fn() -> Error = || Error::Stale {
        found: 1,
        serving: 2,
    };
    let retry = Retry::all(Duration::from_secs(3600));
    for count in [1, 2, 3, 7] {
        let refused = Some((1, stale, count));
        let [right, wrong] = [None, Some(0)].map(|bad| searched(&served, retry, bad, refused));
        assert_eq!(right.sent, wrong.sent);
        assert!(wrong.first.unwrap_err().is_bad_reply());
    }
}

#[test]
fn a_batch_is_over_once_it_is_stopped() {
    let stopped = Arc::new(true.into());
    let batch = sordino_search::SearchBatch::default().stopped_by(&stopped);
    assert!(batch.is_over());
    stopped.store(false, Ordering::Relaxed);
    assert!(!batch.is_over());
}
