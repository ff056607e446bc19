//! A server that answers requests for payloads from pages that it has changed.

use sordino_index::digest;
use sordino_index::wire::{INDEX, Message, file_head};
use sordino_search::manifest::{Manifest, PartKind, SignedManifest};
use sordino_search::payload::{Fetch, FetchKind};
use sordino_search::{Index, KEYS_LEN, Server};
use sordino_testkit::keys;

/// The bytes before a request's body: the message's head and the edition.
const HEADS: usize = 16 + 24;

/// A server of changed pages. It gets the honest server's requests, and keeps the keys that it has seen.
pub(crate) struct ChangedPages {
    server: Server,
    pub(crate) keys: Vec<u8>,
}

impl ChangedPages {
    /// A server of an index whose pages are changed. `change` gets all pages and a page's length, and `keys` are a
    /// client's keys, if any.
    pub(crate) fn new(
        index: &Index,
        keys: Vec<u8>,
        change: impl FnOnce(&mut Vec<u8>, usize),
    ) -> Self {
        let server = Server::new(changed(index, change)).unwrap();
        Self { server, keys }
    }

    /// The reply of this server to a request that was made for the honest server.
    pub(crate) fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let mut body = request[HEADS..].to_vec();
        let manifest = self.server.manifest();
        let payloads = manifest.payloads.as_ref().unwrap();
        if payloads.fetch.kind() == FetchKind::Hintless {
            if body.len() > KEYS_LEN {
                self.keys = body.drain(..KEYS_LEN).collect();
            }
            body.splice(..0, self.keys.iter().copied());
        }
        let request = Message::FetchPayloads.about(manifest.edition(), &body);
        self.server.handle(&request).unwrap()
    }
}

/// The index with changed pages, with a manifest as if its owner had signed them.
pub(crate) fn changed(index: &Index, change: impl FnOnce(&mut Vec<u8>, usize)) -> Index {
    let (signed, mut parts) = index.clone().into_parts();
    let mut manifest: Manifest = (*signed).clone();
    let payloads = manifest.payloads.as_mut().unwrap();
    let of_pages = parts
        .iter()
        .find(|(part, _)| part.kind == PartKind::Payloads);
    let mut pages = of_pages.unwrap().1.to_vec();
    change(&mut pages, payloads.form.sealed_len());
    payloads.content = digest::of(&pages);
    let scan = payloads.scan().unwrap();
    if let (
        Some(scan),
        Fetch::Scan {
            seed,
            hint_seed,
            hint,
            ..
        },
    ) = (scan, &mut payloads.fetch)
    {
        // The server answers with the hint of its own pages.
        let table = scan.table(*seed, &pages).unwrap();
        let made = scan.downloaded(&table, *hint_seed).unwrap();
        *hint = digest::of(&made);
        let of_hint = parts
            .iter_mut()
            .find(|(part, _)| part.kind == PartKind::PayloadHint);
        of_hint.unwrap().1 = made.into();
    }
    let of_pages = parts
        .iter_mut()
        .find(|(part, _)| part.kind == PartKind::Payloads);
    of_pages.unwrap().1 = pages.into();
    let signed = SignedManifest::sign(manifest, &keys());
    let len = (signed.to_bytes().len() as u64).to_le_bytes();
    let mut file = [&file_head(INDEX)[..], &len, signed.to_bytes()].concat();
    parts
        .iter()
        .for_each(|(_, part)| file.extend_from_slice(part));
    Index::from_bytes(&file, &keys().public()).unwrap()
}
