//! The server: it holds an index, answers messages, and learns nothing from them.

use sordino_ckks::{column, dot};
use sordino_pir::simple;

use crate::columns::Rows;
use crate::index::{self, Index};
use crate::manifest::{self, Columns, Holder, Manifest, Mode, Routing, SignedManifest};
use crate::store::Bytes;
use crate::wire::{Edition, Message};
use crate::{Error, code};

/// One version of an index that is ready to answer.
///
/// A server does not change. One that runs on while the index is changed makes a new one of the new
/// version and puts it in the place of the old; requests about another version than the one that is
/// served are refused, so that no query meets two versions.
///
/// # Security
/// What a request makes the server do, and how much it sends back, is fixed by the manifest.
/// Handling takes the same path for every well-formed request of a kind.
#[derive(Debug)]
pub struct Server {
    manifest: SignedManifest,
    edition: Edition,
    /// What clients download once, in the manifest's order.
    given: Vec<Bytes>,
    kind: Kind,
}

/// What queries are answered from.
#[derive(Debug)]
enum Kind {
    Sealed(Box<Sealed>),
    /// Nothing is asked after the download.
    Local,
    /// Open and masked mode: all vectors, encoded for scoring.
    Columns(Box<column::Database>),
}

/// What sealed mode answers queries from.
#[derive(Debug)]
struct Sealed {
    probes: usize,
    pir: simple::Server,
    /// The centroids in the clear, if they are scored here.
    centroids: Option<dot::Plaintexts>,
}

impl Server {
    /// Prepares an index to be served.
    ///
    /// # Errors
    /// If the index's parts do not fit its manifest.
    pub fn new(index: Index) -> Result<Self, Error> {
        let (manifest, served) = index.into_parts();
        let named = |name| part(&manifest, &served, name);
        let (kind, hints) = match &manifest.mode {
            Mode::Sealed(mode) => {
                let sealed = Sealed::new(&manifest, mode, named("buckets")?, named("centroids")?)?;
                (Kind::Sealed(Box::new(sealed)), Vec::new())
            }
            Mode::Local(_) => (Kind::Local, Vec::new()),
            Mode::Open(mode) => columns(Rows::Open, &manifest, mode, &served)?,
            Mode::Masked(mode) => columns(Rows::Masked, &manifest, mode, &served)?,
        };
        let (mut served, mut hints) = (served.into_iter(), hints.into_iter());
        let mut given = Vec::new();
        for part in manifest.parts()? {
            let bytes = match part.holder {
                Holder::Clients => hints.next().map(Bytes::from),
                Holder::Everyone | Holder::Server => served.next(),
                Holder::Owner => None,
            };
            given.extend(bytes.filter(|_| part.holder.is_given()));
        }
        Ok(Self {
            edition: manifest.edition(),
            manifest,
            given,
            kind,
        })
    }

    /// The manifest of the index served.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// Answers one message.
    ///
    /// # Errors
    /// If the request is malformed, or not one that the manifest's mode has; [`Error::Stale`] if it is
    /// about another version of the index.
    pub fn handle(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        match Message::read(request)? {
            (Message::GetManifest, []) => Ok(Message::Manifest.with(self.manifest.to_bytes())),
            (Message::GetParts, body) => self.parts(self.edition.strip(body)?),
            (Message::Score, body) => self.score(self.edition.strip(body)?),
            (Message::Fetch, body) => self.fetch(self.edition.strip(body)?),
            (kind, body) => Err(Error::Malformed {
                what: "message",
                why: format!("{kind:?} of {} bytes is no request", body.len()),
            }),
        }
    }

    /// The parts asked for, each at most once, in the manifest's order.
    fn parts(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let (numbers, rest) = body.as_chunks();
        let numbers: Vec<u16> = numbers.iter().copied().map(u16::from_le_bytes).collect();
        let parts: Option<Vec<&Bytes>> = numbers
            .iter()
            .map(|&number| self.given.get(usize::from(number)))
            .collect();
        let ascending = rest.is_empty() && numbers.is_sorted_by(|a, b| a < b);
        let Some(parts) = parts.filter(|parts| ascending && !parts.is_empty()) else {
            let why = format!("not some of {} parts in their order", self.given.len());
            return Err(Error::Malformed {
                what: "message",
                why,
            });
        };
        let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        Ok(Message::Parts.with(&parts.concat()))
    }

    /// Scores all centroids or all vectors under encryption, in one pass.
    fn score(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let reply = match &self.kind {
            Kind::Columns(database) => {
                let expected = column::Query::encoded_len(database.params(), database.dim())?;
                check_len(Message::Score, body, expected)?;
                let query = column::Query::from_bytes(body)?;
                database.score(&query)?.to_bytes()
            }
            _ => {
                let centroids = self.sealed()?.centroids.as_ref().ok_or(Error::Mode {
                    found: Routing::Downloaded.name(),
                    expected: Routing::Encrypted.name(),
                })?;
                let query = dot::Query::from_bytes(body)?;
                centroids.score(&query)?.to_bytes()
            }
        };
        Ok(Message::Scored.with(&reply))
    }

    /// Answers the manifest's number of PIR queries in one scan.
    fn fetch(&self, body: &[u8]) -> Result<Vec<u8>, Error> {
        let sealed = self.sealed()?;
        let params = sealed.pir.params();
        let expected = sealed.probes * params.query_len();
        check_len(Message::Fetch, body, expected)?;
        let queries = body.chunks_exact(params.query_len());
        let queries: Result<Vec<_>, _> = queries
            .map(|bytes| simple::Query::from_bytes(params, bytes))
            .collect();
        let answers = sealed.pir.answer_batch(&queries?)?;
        let body: Vec<u8> = answers.iter().flat_map(simple::Answer::to_bytes).collect();
        Ok(Message::Fetched.with(&body))
    }

    fn sealed(&self) -> Result<&Sealed, Error> {
        match &self.kind {
            Kind::Sealed(sealed) => Ok(sealed),
            _ => Err(Error::Mode {
                found: self.manifest.mode.name(),
                expected: "sealed",
            }),
        }
    }
}

impl Sealed {
    fn new(
        manifest: &Manifest,
        mode: &manifest::Sealed,
        buckets: &[u8],
        centroids: &[u8],
    ) -> Result<Self, Error> {
        let params = index::pir_params(mode)?;
        let records = buckets.chunks_exact(mode.layout.sealed_len());
        let database = sordino_pir::Database::from_records(&params, records)?;
        let pir = simple::Server::new(database, &params, &sordino_pir::Seed(mode.pir_seed))?;
        let centroids = match mode.routing {
            Routing::Downloaded => None,
            Routing::Encrypted => {
                let width = manifest.width() as usize;
                let decoded: Vec<f32> = centroids
                    .chunks_exact(width)
                    .flat_map(code::unit_from_int8)
                    .collect();
                let params = dot::Params::rlwe_2048_50();
                Some(dot::Plaintexts::encode(&params, &decoded, width)?)
            }
        };
        Ok(Self {
            probes: mode.probes as usize,
            pir,
            centroids,
        })
    }
}

/// The encoded rows of all segments, and the hints that clients download.
fn columns(
    form: Rows,
    manifest: &Manifest,
    mode: &Columns,
    served: &[Bytes],
) -> Result<(Kind, Vec<Vec<u8>>), Error> {
    let parts = manifest.parts()?;
    let parts = parts.iter().filter(|part| part.holder.is_served());
    let rows = parts
        .zip(served)
        .filter(|(part, _)| part.name == "rows")
        .map(|(_, bytes)| &bytes[..]);
    let (database, hints) = form.encode(mode, manifest.width() as usize, rows)?;
    Ok((Kind::Columns(Box::new(database)), hints))
}

/// The first part of this name.
fn part<'a>(
    manifest: &Manifest,
    served: &'a [Bytes],
    name: &'static str,
) -> Result<&'a [u8], Error> {
    let parts = manifest.parts()?;
    let mut parts = parts.iter().filter(|part| part.holder.is_served());
    let at = parts.position(|part| part.name == name);
    let bytes = at.and_then(|at| served.get(at));
    bytes.map(|bytes| &bytes[..]).ok_or(Error::Malformed {
        what: "index",
        why: format!("no {name}"),
    })
}

/// Refuses a request of another length than the manifest fixes.
fn check_len(kind: Message, body: &[u8], expected: usize) -> Result<(), Error> {
    if body.len() == expected {
        return Ok(());
    }
    let why = format!("{kind:?} of {} bytes, expected {expected}", body.len());
    Err(Error::Malformed {
        what: "message",
        why,
    })
}
