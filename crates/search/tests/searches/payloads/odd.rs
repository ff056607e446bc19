//! Unusual servers and versions. If a failure follows a wrong reply, the error names both. Clients follow a
//! version with another number of results.

use super::*;
use sordino_index::folder::Folder;
use sordino_search::{Files, OpenOptions, SignedManifest, Transport};

/// A server that fails when payloads are fetched. If `cut` is true, it also truncates its scores.
struct Failing<'a> {
    inner: InProcess<'a>,
    cut: bool,
    asked: usize,
}

impl Transport for Failing<'_> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        self.asked += 1;
        if kind(request) == FETCH_PAYLOADS {
            return Err(Error::transport(sordino_search::Kind::Busy, "busy"));
        }
        let mut reply = self.inner.call(request, limit)?;
        if self.cut {
            reply.truncate(reply.len() - 1);
        }
        Ok(reply)
    }
}

#[test]
fn a_wrong_reply_is_told_also_where_the_message_after_it_fails() {
    let (base, queries) = synthetic::clustered(N, 1, DIM, 3);
    let modes = [sealed(Routing::Encrypted), ROUTED].map(|form| (form, FetchKind::Pir));
    let ways = ASKED.map(|way| (Form::Masked(Packing::T4), way));
    for (form, way) in modes.into_iter().chain(ways) {
        let dir = tempfile::tempdir().unwrap();
        drop(store_for(way, dir.path(), &base, K, form, LONGEST));
        let server = serve(dir.path());
        let client = connect(&server);
        let search = |cut| {
            let mut transport = Failing {
                inner: InProcess::new(&server),
                cut,
                asked: 0,
            };
            let found = client.search(&mut rng(8), &mut transport, queries.row(0));
            (found.unwrap_err(), transport.asked)
        };
        let (busy, asked) = search(false);
        assert!(matches!(busy, Error::Transport { .. }), "{busy}");
        let (wrong, as_many) = search(true);
        // The error names both faults. Whether to try again depends only on what the server knows.
        assert!(
            matches!(&wrong, Error::AfterBadReply(then) if matches!(**then, Error::Transport { .. })),
            "{wrong}"
        );
        assert!(matches!(wrong.seen(), Some(Error::Transport { .. })));
        // The client sends the same messages in both cases.
        assert_eq!(asked, as_many);
    }
}

/// A version that an owner's tools do not make: it has more results, and everything else is unchanged. The hint of a scan is
/// for a fixed number of pages.
#[test]
fn a_version_with_more_results_is_served_and_searched_with_payloads_as_they_were() {
    let (base, queries) = synthetic::clustered(N, 1, DIM, 3);
    let (pir, hintless) = (FetchKind::Pir, FetchKind::Hintless);
    for (form, fetched) in [
        (Form::Masked(Packing::T4), pir),
        (Form::Masked(Packing::T4), hintless),
        (Form::Local, hintless),
        (sealed(Routing::Downloaded), pir),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = store_for(fetched, dir.path(), &base, K, form, LONGEST);
        let mut manifest = (**store.manifest()).clone();
        manifest.version += 1;
        manifest.previous = store.manifest().digest();
        manifest.k = 7;
        manifest.payloads.as_mut().unwrap().fetched += 5;
        drop(store);
        let server = serve(dir.path());
        let mut client = connect(&server);
        let search = |client: &Client, server: &Server| {
            client.search(&mut rng(8), &mut InProcess::new(server), queries.row(0))
        };
        assert_eq!(search(&client, &server).unwrap().hits.len(), K);
        let manifest = SignedManifest::sign(manifest, &keys());
        let folder = Folder::new(dir.path(), Files);
        folder.put_manifest(&manifest).unwrap();
        folder.prepare(&manifest).unwrap();
        folder.switch().unwrap();
        let public = keys().public();
        let options = OpenOptions::new(&public).after(&server);
        let next = options.open_dir(dir.path()).unwrap();
        assert!(client.refresh(&mut InProcess::new(&next)).unwrap());
        for server in [&next, &serve(dir.path())] {
            let found = search(&client, server).unwrap();
            assert_eq!(found.hits.len(), 7);
            for (hit, found) in found.hits.iter().zip(&found.payloads) {
                assert_eq!(*found, payload(row(hit), LONGEST));
            }
        }
    }
}
