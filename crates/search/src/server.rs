//! The server: it holds an index, answers messages, and learns nothing from them.

use rayon::prelude::*;
use sordino_ckks::{column, dot};
use sordino_pir::simple;

use crate::columns::Rows;
use crate::index::{self, Index};
use crate::manifest::{self, Columns, Holder, Manifest, Mode, Routing, SignedManifest};
use crate::store::Bytes;
use crate::wire::{EDITION_LEN, Edition, Message, message_len};
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

    /// The longest request that this server answers.
    ///
    /// # Errors
    /// If the index's parameters have no such length.
    pub fn longest_request(&self) -> Result<usize, Error> {
        let parts = self.given.len() * size_of::<u16>();
        let query = match &self.kind {
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
        Ok(message_len(EDITION_LEN + query.max(parts)))
    }

    /// The reply to `request`, if it is one that every client gets and that is ready: it can be
    /// sent from where it lies, however long it is.
    #[must_use]
    pub fn prepared(&self, request: &[u8]) -> Option<Prepared<'_>> {
        match Message::read(request) {
            Ok((Message::GetManifest, [])) => Some(Prepared::new(
                Message::Manifest,
                vec![self.manifest.to_bytes()],
            )),
            Ok((Message::GetParts, body)) => {
                let parts = self.edition.strip(body).and_then(|body| self.parts(body));
                Some(Prepared::new(Message::Parts, parts.ok()?))
            }
            _ => None,
        }
    }

    /// The parts asked for, each at most once, in the manifest's order.
    fn parts(&self, body: &[u8]) -> Result<Vec<&[u8]>, Error> {
        let (numbers, rest) = body.as_chunks();
        let numbers: Vec<u16> = numbers.iter().copied().map(u16::from_le_bytes).collect();
        let parts: Option<Vec<&[u8]>> = numbers
            .iter()
            .map(|&number| Some(&self.given.get(usize::from(number))?[..]))
            .collect();
        let ascending = rest.is_empty() && numbers.is_sorted_by(|a, b| a < b);
        parts
            .filter(|parts| ascending && !parts.is_empty())
            .ok_or_else(|| {
                let count = self.given.len();
                malformed(format!("not some of {count} parts in their order"))
            })
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
                match self.reads(request) {
                    Ok(Asked::Prepared(reply)) => return Some(Ok(reply.to_vec())),
                    Ok(Asked::Score(body)) => scores.push(at, body),
                    Ok(Asked::Fetch(body)) => fetches.push(at, body),
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

    /// What a request asks for.
    fn reads<'a>(&'a self, request: &'a [u8]) -> Result<Asked<'a>, Error> {
        if let Some(reply) = self.prepared(request) {
            return Ok(Asked::Prepared(reply));
        }
        match Message::read(request)? {
            (Message::Score, body) => Ok(Asked::Score(self.edition.strip(body)?)),
            (Message::Fetch, body) => Ok(Asked::Fetch(self.edition.strip(body)?)),
            (Message::GetParts, body) => {
                // These were not prepared, so this says why.
                let parts = self.parts(self.edition.strip(body)?)?;
                Ok(Asked::Prepared(Prepared::new(Message::Parts, parts)))
            }
            (kind, body) => Err(malformed(format!(
                "{kind:?} of {} bytes is no request",
                body.len()
            ))),
        }
    }

    /// Scores all vectors or all centroids under encryption, in one pass for all queries.
    fn score(&self, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        let centroids = match &self.kind {
            Kind::Columns(database) => return score_all(database, bodies),
            Kind::Sealed(sealed) => sealed.centroids.as_ref(),
            Kind::Local => None,
        };
        let Some(centroids) = centroids else {
            return self.refuse(bodies.len(), "one in which the server scores");
        };
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

/// A reply that every client gets, in the pieces in which the server holds it.
#[derive(Clone, Debug)]
pub struct Prepared<'a> {
    head: Vec<u8>,
    pieces: Vec<&'a [u8]>,
}

impl<'a> Prepared<'a> {
    fn new(kind: Message, pieces: Vec<&'a [u8]>) -> Self {
        let head = kind.head(pieces.iter().map(|piece| piece.len()).sum());
        Self { head, pieces }
    }

    /// Bytes of the whole reply.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a reply has a head")]
    pub fn len(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }

    /// At most `len` bytes of it, from byte `at` on.
    #[must_use]
    pub fn range(&self, at: usize, len: usize) -> Vec<u8> {
        let mut range = Vec::with_capacity(len.min(self.len().saturating_sub(at)));
        let mut skip = at;
        for piece in self.pieces() {
            let (_, rest) = piece.split_at(skip.min(piece.len()));
            range.extend_from_slice(&rest[..rest.len().min(len - range.len())]);
            skip = skip.saturating_sub(piece.len());
        }
        range
    }

    fn to_vec(&self) -> Vec<u8> {
        self.range(0, usize::MAX)
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.head[..]).chain(self.pieces.iter().copied())
    }
}

/// What a request asks for.
enum Asked<'a> {
    Prepared(Prepared<'a>),
    Score(&'a [u8]),
    Fetch(&'a [u8]),
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

/// Scores all vectors under encryption.
fn score_all(database: &column::Database, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
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
