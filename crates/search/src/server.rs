//! The server: it holds an index, answers messages, and learns nothing from them.

use sordino_ckks::{column, dot};
use sordino_pir::simple;

use crate::index::{self, Index};
use crate::manifest::{Columns, Masked, Mode, Routing, SignedManifest};
use crate::wire::Message;
use crate::{Error, code, columns};

/// An index that is ready to answer.
///
/// # Security
/// What a request makes the server do, and how much it sends back, is fixed by the manifest.
/// Handling takes the same path for every well-formed request of a kind.
#[derive(Debug)]
pub struct Server {
    manifest: SignedManifest,
    /// What clients download once.
    setup: Vec<u8>,
    kind: Kind,
}

/// What queries are answered from.
#[derive(Debug)]
enum Kind {
    Sealed(Sealed),
    /// Nothing is asked after the download.
    Local,
    /// Open and masked mode: all vectors, encoded for scoring.
    Columns(column::Database),
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
        let Index { manifest, content } = index;
        let (setup, kind) = match (&manifest.mode, content) {
            (
                Mode::Sealed(mode),
                index::Content::Sealed {
                    buckets,
                    digests,
                    centroids,
                    hint,
                },
            ) => {
                let params = index::pir_params(mode)?;
                let database = sordino_pir::Database::from_records(
                    &params,
                    buckets.chunks_exact(mode.layout.sealed_len()),
                )?;
                let pir =
                    simple::Server::new(database, &params, &sordino_pir::Seed(mode.pir_seed))?;
                let mut setup = digests;
                let plaintexts = match mode.routing {
                    Routing::Downloaded | Routing::Hashed => {
                        setup.extend(centroids);
                        None
                    }
                    Routing::Encrypted => {
                        let dim = manifest.dim as usize;
                        let decoded: Vec<f32> = centroids
                            .chunks_exact(dim)
                            .flat_map(code::unit_from_int8)
                            .collect();
                        let params = dot::Params::rlwe_2048_50();
                        Some(dot::Plaintexts::encode(&params, &decoded, dim)?)
                    }
                };
                setup.extend(hint);
                let probes = mode.probes as usize;
                let kind = Kind::Sealed(Sealed {
                    probes,
                    pir,
                    centroids: plaintexts,
                });
                (setup, kind)
            }
            (Mode::Local(_), index::Content::Local { chunks }) => (chunks, Kind::Local),
            (Mode::Open(mode), index::Content::Columns { rows }) => {
                let dim = manifest.dim as usize;
                let encoded = columns::encode_open(mode.packing, mode.seed, dim, &rows)?;
                ready(mode, encoded)?
            }
            (Mode::Masked(Masked { columns: mode, .. }), index::Content::Columns { rows }) => {
                let dim = manifest.dim as usize;
                let encoded = columns::encode_masked(mode.packing, mode.seed, dim, &rows)?;
                ready(mode, encoded)?
            }
            (mode, _) => {
                return Err(Error::Mode {
                    found: mode.name(),
                    expected: "the content's",
                });
            }
        };
        Ok(Self {
            manifest,
            setup,
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
    /// If the request is malformed, or not one that the manifest's mode has.
    pub fn handle(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        match Message::read(request)? {
            (Message::GetManifest, []) => Ok(Message::Manifest.with(self.manifest.to_bytes())),
            (Message::GetSetup, []) => Ok(Message::Setup.with(&self.setup)),
            (Message::Score, body) => self.score(body),
            (Message::Fetch, body) => self.fetch(body),
            (kind, body) => Err(Error::Malformed {
                what: "message",
                why: format!("{kind:?} of {} bytes is no request", body.len()),
            }),
        }
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
                    found: "centroids that clients know",
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

/// Encoded rows as a server's parts, if the hint that clients will check is the one they give.
fn ready(
    mode: &Columns,
    (database, hint): (column::Database, column::Hint),
) -> Result<(Vec<u8>, Kind), Error> {
    let hint = hint.to_bytes();
    index::check_digest("hint", &hint, &mode.hint)?;
    Ok((hint, Kind::Columns(database)))
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
