//! The share of pages in a search: pages of payloads and of a second look.

use crate::delivery::Fetched;
use serde::Serialize;
use sordino_search::Error;
use sordino_search::manifest::Manifest;
use sordino_search::plan::{Bytes, Way};
use std::fmt;

/// The last message of a search, and its time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Pages {
    pub(super) bytes_up: u64,
    pub(super) bytes_down: u64,
    /// The milliseconds of server and client together.
    pub(super) ms: f64,
}

/// A second look's part in the figures of a search.
#[derive(Debug, Serialize)]
pub(super) struct SecondLook {
    pub(super) candidates: u32,
    #[serde(flatten)]
    pub(super) pages: Pages,
}

impl SecondLook {
    pub(super) fn of(manifest: &Manifest, pages: Pages) -> Option<Self> {
        let candidates = manifest.second_look()?.candidates;
        Some(Self { candidates, pages })
    }
}

/// The part of payloads in the figures of a search.
#[derive(Debug, Serialize)]
pub(super) struct Payloads {
    #[serde(flatten)]
    fetched: Fetched,
    #[serde(flatten)]
    pages: Pages,
    /// The server's memory for payloads.
    server_bytes: u64,
}

impl Payloads {
    pub(super) fn of(manifest: &Manifest, pages: Pages) -> Result<Option<Self>, Error> {
        let payloads = manifest.payloads.as_ref().filter(|it| it.form.payloads);
        let (Some(payloads), Some(fetched)) = (payloads, Fetched::of(manifest)?) else {
            return Ok(None);
        };
        Ok(Some(Self {
            fetched,
            pages,
            server_bytes: Way::of_payloads(payloads)?.memory(),
        }))
    }
}

impl fmt::Display for Payloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pages {
            bytes_up,
            bytes_down,
            ms,
        } = self.pages;
        write!(
            f,
            "{}; {} up and {} down a query, {ms:.2} ms, {} of the server's memory",
            self.fetched,
            Bytes(bytes_up),
            Bytes(bytes_down),
            Bytes(self.server_bytes)
        )
    }
}
