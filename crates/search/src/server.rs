//! The server: it holds an index, answers messages, and learns nothing from them.

use rayon::prelude::*;
use sordino_ckks::{column, dot};
use sordino_pir::simple;

use crate::index::{self, Index};
use crate::manifest::{Columns, Masked, Mode, Routing, SignedManifest};
use crate::wire::{Message, message_len};
use crate::{Error, code, columns};

/// An index that is ready to answer.
///
/// # Security
/// What a request makes the server do, and how much it sends back, is fixed by the manifest.
/// Handling takes the same path for every well-formed request of a kind.
#[derive(Debug)]
pub struct Server {
    manifest: SignedManifest,
    /// The replies that are the same for every client: the manifest, and what is downloaded once.
    prepared: [Vec<u8>; 2],
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
                    Routing::Downloaded => {
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
        let prepared = [
            Message::Manifest.with(manifest.to_bytes()),
            Message::Setup.with(&setup),
        ];
        Ok(Self {
            manifest,
            prepared,
            kind,
        })
    }

    /// The manifest of the index served.
    #[must_use]
    pub fn manifest(&self) -> &SignedManifest {
        &self.manifest
    }

    /// The longest request that this server answers.
    ///
    /// # Errors
    /// If the index's parameters have no such length.
    pub fn longest_request(&self) -> Result<usize, Error> {
        let body = match &self.kind {
            Kind::Sealed(sealed) => {
                let scores = sealed.centroids.as_ref();
                let score = scores.map_or(0, |centroids| dot::Query::encoded_len(centroids.dim()));
                score.max(sealed.probes * sealed.pir.params().query_len())
            }
            Kind::Local => 0,
            Kind::Columns(database) => {
                column::Query::encoded_len(database.params(), database.dim())?
            }
        };
        Ok(message_len(body))
    }

    /// The reply to `request`, if it is one that every client gets and that is ready: it can be
    /// sent from where it lies, however long it is.
    #[must_use]
    pub fn prepared(&self, request: &[u8]) -> Option<&[u8]> {
        let [manifest, setup] = &self.prepared;
        match Message::read(request) {
            Ok((Message::GetManifest, [])) => Some(manifest),
            Ok((Message::GetSetup, [])) => Some(setup),
            _ => None,
        }
    }

    /// Answers one message.
    ///
    /// # Errors
    /// If the request is malformed, or not one that the manifest's mode has.
    #[expect(
        clippy::missing_panics_doc,
        reason = "there is a reply for each request"
    )]
    pub fn handle(&self, request: &[u8]) -> Result<Vec<u8>, Error> {
        let mut replies = self.handle_batch(&[request]);
        replies.pop().expect("a reply for each request")
    }

    /// Answers messages of any clients: those that take a pass over the index share one. Each reply
    /// is that of [`handle`](Self::handle), so it does not depend on the other requests.
    #[must_use]
    #[expect(
        clippy::missing_panics_doc,
        reason = "a request is refused, prepared or in a pass"
    )]
    pub fn handle_batch(&self, requests: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        let (mut scores, mut fetches) = (Pass::default(), Pass::default());
        let mut replies: Vec<_> = requests
            .iter()
            .enumerate()
            .map(|(at, request)| {
                if let Some(reply) = self.prepared(request) {
                    return Some(Ok(reply.to_vec()));
                }
                match Message::read(request) {
                    Ok((Message::Score, body)) => scores.push(at, body),
                    Ok((Message::Fetch, body)) => fetches.push(at, body),
                    Ok((kind, body)) => {
                        let why = format!("{kind:?} of {} bytes is no request", body.len());
                        return Some(Err(malformed(why)));
                    }
                    Err(error) => return Some(Err(error)),
                }
                None
            })
            .collect();
        for (pass, answers) in [
            (&scores, self.score(&scores.bodies)),
            (&fetches, self.fetch(&fetches.bodies)),
        ] {
            for (&at, answer) in pass.places.iter().zip(answers) {
                replies[at] = Some(answer);
            }
        }
        let replies = replies.into_iter();
        replies
            .map(|reply| reply.expect("every request is refused or in a pass"))
            .collect()
    }

    /// Scores all vectors or all centroids under encryption, in one pass for all queries.
    fn score(&self, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        match &self.kind {
            Kind::Columns(database) => {
                let read = |body: &[u8]| {
                    let (params, dim) = (database.params(), database.dim());
                    let expected = column::Query::encoded_len(params, dim)?;
                    check_len(Message::Score, body, expected)?;
                    let query = column::Query::from_bytes(body)?;
                    check_packing((query.params(), query.dim()) == (params, dim))?;
                    Ok(query)
                };
                in_one_pass(bodies, read, |queries| {
                    let replies = database.score_batch(queries)?;
                    let replies = replies.iter().map(column::Reply::to_bytes);
                    Ok(replies.map(|body| Message::Scored.with(&body)).collect())
                })
            }
            Kind::Sealed(Sealed {
                centroids: Some(centroids),
                ..
            }) => {
                let read = |body: &[u8]| {
                    let (params, dim) = (centroids.params(), centroids.dim());
                    check_len(Message::Score, body, dot::Query::encoded_len(dim))?;
                    let query = dot::Query::from_bytes(body)?;
                    check_packing((query.params(), query.dim()) == (params, dim))?;
                    Ok(query)
                };
                in_one_pass(bodies, read, |queries| {
                    let replies = centroids.score_batch(queries)?;
                    let replies = replies.iter().map(dot::Reply::to_bytes);
                    Ok(replies.map(|body| Message::Scored.with(&body)).collect())
                })
            }
            _ => self.refuse(bodies.len(), "one in which the server scores"),
        }
    }

    /// Answers the manifest's number of PIR queries of each request, in one pass for all.
    fn fetch(&self, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        let Kind::Sealed(sealed) = &self.kind else {
            return self.refuse(bodies.len(), "sealed");
        };
        let params = sealed.pir.params();
        let read = |body: &[u8]| -> Result<Vec<simple::Query>, Error> {
            check_len(Message::Fetch, body, sealed.probes * params.query_len())?;
            let queries = body.chunks_exact(params.query_len()).map(|bytes| {
                let query = simple::Query::from_bytes(params, bytes)?;
                check_packing(query.version() == sealed.pir.version())?;
                Ok(query)
            });
            queries.collect()
        };
        in_one_pass(bodies, read, |queries| {
            let answers = sealed.pir.answer_batch(&queries.concat())?;
            let answers = answers.chunks_exact(sealed.probes);
            Ok(answers
                .map(|answers| {
                    let body: Vec<u8> = answers.iter().flat_map(simple::Answer::to_bytes).collect();
                    Message::Fetched.with(&body)
                })
                .collect())
        })
    }

    /// Refuses requests that the index's mode does not have.
    fn refuse(&self, count: usize, expected: &'static str) -> Vec<Result<Vec<u8>, Error>> {
        let found = self.manifest.mode.name();
        let refusals = (0..count).map(|_| Err(Error::Mode { found, expected }));
        refusals.collect()
    }
}

/// Requests of one kind, and which of a batch they are.
#[derive(Default)]
struct Pass<'a> {
    places: Vec<usize>,
    bodies: Vec<&'a [u8]>,
}

impl<'a> Pass<'a> {
    fn push(&mut self, place: usize, body: &'a [u8]) {
        self.places.push(place);
        self.bodies.push(body);
    }
}

/// Reads every query, and answers those that are well formed together.
fn in_one_pass<Q: Send>(
    bodies: &[&[u8]],
    read: impl Fn(&[u8]) -> Result<Q, Error> + Sync,
    answer: impl Fn(&[Q]) -> Result<Vec<Vec<u8>>, Error>,
) -> Vec<Result<Vec<u8>, Error>> {
    let read: Vec<Result<Q, Error>> = bodies.par_iter().map(|body| read(body)).collect();
    let mut queries = Vec::with_capacity(bodies.len());
    let mut replies = Vec::with_capacity(bodies.len());
    for query in read {
        replies.push(query.map(|query| {
            queries.push(query);
            Vec::new()
        }));
    }
    if queries.is_empty() {
        return replies;
    }
    let places = replies.iter_mut().filter(|reply| reply.is_ok());
    match answer(&queries) {
        Ok(answers) => {
            for (place, answer) in places.zip(answers) {
                *place = Ok(answer);
            }
        }
        // No query that was read can be at fault, but if one is, the others do not pay for it.
        Err(_) => {
            for (place, query) in places.zip(&queries) {
                *place = answer(std::slice::from_ref(query)).map(|answers| answers.concat());
            }
        }
    }
    replies
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
    Err(malformed(format!(
        "{kind:?} of {} bytes, expected {expected}",
        body.len()
    )))
}

/// Refuses a query that was made for another form of the index.
fn check_packing(same: bool) -> Result<(), Error> {
    let why = || malformed("a query for another packing or version of the index".to_owned());
    same.then_some(()).ok_or_else(why)
}

fn malformed(why: String) -> Error {
    Error::Malformed {
        what: "message",
        why,
    }
}
