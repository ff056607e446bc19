//! Readers of an index in each mode, and a server that changes its answers.

use std::ops::Range;

use rand::prelude::*;
use rand::rngs::StdRng;
use sordino_ckks::column::{Query, Segments};
use sordino_index::checks::{self, balance};
use sordino_index::columns::{Rows, Scheme};
use sordino_search::manifest::{Checking, Columns, Mode, Packing, PartKind};
use sordino_search::{
    Client, Error, Form, Hit, InProcess, Index, OwnerKeys, Server, Spec, Transport, Vectors, Wish,
    build, synthetic,
};
use sordino_testkit::{SCORE, keys, kind, rng};

use super::promise::Promise;
use super::words::Words;

/// Two groups of check rows. The second group is incomplete.
const N: usize = 2000;
const DIM: usize = 16;
pub(crate) const K: usize = 5;

const HEAD: usize = 16;
const EDITION: usize = 24;

/// The answers of a reply, and everything that a liar needs to change them.
pub(crate) struct Liar<'a> {
    pub(crate) words: Words,
    pub(crate) rng: StdRng,
    pub(crate) place: Place,
    pub(crate) promise: Promise,
    /// The answers to the query before, and the answers to a query that the server made.
    pub(crate) before: &'a Words,
    pub(crate) other: &'a Words,
    /// An older version, if the server has one, and the query.
    older: Option<(&'a Older, &'a [u8])>,
}

/// The positions of the answers that a lie changes.
#[derive(Clone)]
pub(crate) struct Place {
    /// The position of the wanted record, or of a random record.
    pub(crate) at: usize,
    /// The positions of the records around it, and of the records that are checked together with it.
    pub(crate) rows: Range<usize>,
    pub(crate) group: Range<usize>,
    /// The positions of its check rows, if the server stores check rows.
    pub(crate) checks: Range<usize>,
}

/// An older version of an index, from which a liar answers.
enum Older {
    /// Older rows, under this version's seed.
    Rows(Segments),
    /// A server of the older version, and that version's edition.
    Server(Box<Server>, Vec<u8>),
}

impl Liar<'_> {
    /// The answers that an older version of the rows gives to this query.
    pub(crate) fn older(&self) -> Option<Words> {
        let (older, request) = self.older?;
        let reply = match older {
            Older::Rows(segments) => {
                let query = Query::from_bytes(&request[HEAD + EDITION..]).unwrap();
                segments.score_batch(&[query]).unwrap().remove(0).to_bytes()
            }
            Older::Server(server, edition) => {
                let mut request = request.to_vec();
                request[HEAD..][..EDITION].copy_from_slice(edition);
                InProcess::new(server).call(&request, usize::MAX).unwrap()
            }
        };
        Some(Words::read(
            &reply,
            self.words.modulus,
            self.words.all.len(),
        ))
    }
}

/// The layout of a reply, and the changes that checks must refuse in it.
#[derive(Clone, Debug)]
struct Layout {
    modulus: u64,
    count: usize,
    promise: Promise,
}

pub(crate) struct Bed {
    server: Server,
    client: Client,
    vectors: Vectors,
    rng: StdRng,
    layout: Layout,
    older: Option<Older>,
    /// The position of each record, if the test knows it.
    positions: Vec<usize>,
    /// The number of rows of a group of clusters, and how many of them hold records.
    group: Option<(usize, usize)>,
    /// The seed of the secrets that the next search draws.
    seed: u64,
    /// The last request and its answer.
    answered: (Vec<u8>, Vec<u8>),
    /// The honest answers to the last search, to the last search with other secrets, and to a query that the
    /// server made.
    last: Words,
    before: Words,
    other: Words,
}

fn spec(form: Form, checking: Checking) -> Spec {
    Spec::new(form).k(K).checking(checking)
}

fn index(seed: u64, form: Form, checking: Checking, vectors: &Vectors) -> Index {
    let (rng, keys, spec) = (&mut rng(seed), keys(), spec(form, checking));
    let batches = [Ok(vectors.clone().into())];
    build::in_memory(rng, &keys, &spec, batches, &mut |_| ()).unwrap()
}

fn columns(index: &Index) -> (Rows, Columns) {
    match &index.manifest().mode {
        Mode::Open(mode) => (Rows::Open, mode.clone()),
        Mode::Masked(mode) => (Rows::Masked, mode.clone()),
        _ => panic!("an index of rows"),
    }
}

impl Bed {
    pub(crate) fn masked(checking: Checking) -> Self {
        Self::of_rows(Form::Masked(Packing::T4), checking)
    }

    pub(crate) fn open(checking: Checking) -> Self {
        Self::of_rows(Form::Open(Packing::T4), checking)
    }

    fn of_rows(form: Form, checking: Checking) -> Self {
        let (vectors, _) = synthetic::clustered(N, 1, DIM, 4);
        let index = index(1, form, checking, &vectors);
        let (rows, mode) = columns(&index);
        let scheme = Scheme::new(rows, &mode);
        let (params, stored) = (scheme.params(), scheme.stored(N, DIM));
        let promise = match (rows, checking) {
            (_, Checking::Exact) => Promise::exact(N),
            (Rows::Masked, _) => Promise::masked(&params, (N, DIM)),
            (Rows::Open, _) => Promise::open(&params, (N, DIM)),
        };
        let layout = Layout {
            modulus: if params.is_whole() {
                params.modulus()
            } else {
                1 << 15
            },
            count: stored,
            promise,
        };
        let segment = mode.segments[0].segment.clone();
        let positions = match rows {
            Rows::Open => (0..N).collect(),
            Rows::Masked => {
                let order = keys().shared().row_order(&segment.id, segment.n);
                let mut positions = vec![0; N];
                for at in 0..segment.n {
                    positions[order.row(at) as usize] = at as usize;
                }
                positions
            }
        };
        // Other vectors under other pads, like the rows before a compaction.
        let (others, _) = synthetic::clustered(N, 1, DIM, 5);
        let older = self::index(2, form, checking, &others);
        let mut segments = Segments::new(&params, mode.seed, DIM).unwrap();
        let (_, parts) = older.into_parts();
        let (_, bytes) = parts
            .iter()
            .find(|(part, _)| part.kind == PartKind::Rows)
            .unwrap();
        let (database, _) = scheme.encode(&segments, bytes).unwrap();
        segments.push(database.into()).unwrap();
        let mut bed = Self::new(index, vectors, layout);
        (bed.older, bed.positions) = (Some(Older::Rows(segments)), positions);
        bed
    }

    pub(crate) fn routed() -> Self {
        let (vectors, _) = synthetic::clustered(N, 1, DIM, 4);
        let wish = Wish::default().k(K).queries(10);
        let build = |keys: &OwnerKeys| {
            let built = build::routed(&mut rng(1), keys, &vectors, wish, &mut |_| ());
            let index = built.unwrap().index;
            let Mode::Routed(mode) = &index.manifest().mode else {
                panic!("a routed index");
            };
            let grid = mode.grid;
            (index, grid)
        };
        let (index, grid) = build(&keys());
        // The same clusters and seeds under other pads, as if an owner had used seeds twice.
        let before = OwnerKeys::from_master([9; 32]);
        let (older, alike) = build(&before);
        assert_eq!(alike, grid);
        let older = Server::new(older).unwrap();
        let reader = Client::connect(&mut InProcess::new(&older), &before.reader(), None);
        let edition = reader.unwrap().pin().edition().to_bytes().to_vec();
        let layout = Layout {
            modulus: 1 << 16,
            count: grid.scores(),
            promise: Promise::routed(&grid, DIM),
        };
        let mut bed = Self::new(index, vectors, layout);
        bed.older = Some(Older::Server(Box::new(older), edition));
        bed.group = Some((grid.stored(), grid.slots as usize));
        bed
    }

    fn new(index: Index, vectors: Vectors, layout: Layout) -> Self {
        let server = Server::new(index).unwrap();
        let client = Client::connect(&mut InProcess::new(&server), &keys().reader(), None);
        let none = Words {
            all: Vec::new(),
            modulus: layout.modulus,
        };
        let mut bed = Self {
            client: client.unwrap(),
            server,
            vectors,
            rng: rng(7),
            layout,
            older: None,
            positions: Vec::new(),
            group: None,
            seed: 0,
            answered: (Vec::new(), Vec::new()),
            last: none.clone(),
            before: none.clone(),
            other: none,
        };
        // The first answers belong to a query that the server made.
        bed.ask(N / 3, |_| ()).0.unwrap();
        bed.other.clone_from(&bed.last);
        bed.turn();
        bed
    }

    /// A random record.
    pub(crate) fn any_row(&self, trial: u64) -> usize {
        rng(trial).random_range(0..N)
    }

    /// Lets the next search draw new secrets. Until then, searches for one record draw equal secrets.
    pub(crate) fn turn(&mut self) {
        self.seed = self.rng.random();
        self.before.clone_from(&self.last);
    }

    /// Searches for a record and changes the answers. Returns the result and the exchanges.
    pub(crate) fn ask(
        &mut self,
        row: usize,
        lie: impl FnOnce(&mut Liar<'_>),
    ) -> (Result<Vec<Hit>, Error>, Vec<Sizes>) {
        let place = self.place(row);
        let Layout {
            modulus,
            count,
            promise,
        } = self.layout;
        let (mut lie, last) = (Some(lie), &mut self.last);
        let (before, other, older) = (&self.before, &self.other, &self.older);
        let seed = self.rng.random();
        let mut server = Changing {
            inner: InProcess::new(&self.server),
            exchanges: Vec::new(),
            answered: &mut self.answered,
            change: |request: &[u8], reply: &mut Vec<u8>| {
                let words = Words::read(reply, modulus, count);
                last.clone_from(&words);
                let mut liar = Liar {
                    words,
                    rng: rng(seed),
                    place: place.clone(),
                    promise,
                    before,
                    other,
                    older: older.as_ref().map(|older| (older, request)),
                };
                if let Some(lie) = lie.take() {
                    lie(&mut liar);
                }
                liar.words.write(reply);
            },
        };
        let query = self.vectors.row(row);
        let found = self.client.search(&mut rng(self.seed), &mut server, query);
        let exchanges = server.exchanges;
        (found.map(|found| found.hits), exchanges)
    }

    /// In routed mode, the position of a random record in a random group of clusters. In other modes, the
    /// position of this record.
    fn place(&mut self, row: usize) -> Place {
        if let Some((stored, slots)) = self.group {
            let groups = self.layout.count / stored;
            let first = self.rng.random_range(0..groups) * stored;
            let place = self.rng.random_range(0..slots);
            let part = place / balance::PLACES;
            let check = first + slots + part * balance::COUNT;
            return Place {
                at: first + place,
                rows: first..first + slots,
                group: first + part * balance::PLACES
                    ..first + slots.min((part + 1) * balance::PLACES),
                checks: check..check + balance::COUNT,
            };
        }
        let at = self.positions.get(row).copied().unwrap_or(row);
        let (len, group) = (checks::group(DIM), at / checks::group(DIM));
        let check = N + group * checks::COUNT;
        let (group, checks) = match self.layout.count > N {
            true => (
                group * len..N.min((group + 1) * len),
                check..check + checks::COUNT,
            ),
            false => (0..N, N..N),
        };
        Place {
            at,
            rows: 0..N,
            group,
            checks,
        }
    }
}

/// The kind of a message, its length, and the length of its answer.
type Sizes = (u16, usize, usize);

/// A server that changes its scores, and answers a repeated request as before.
struct Changing<'a, F> {
    inner: InProcess<'a>,
    exchanges: Vec<Sizes>,
    answered: &'a mut (Vec<u8>, Vec<u8>),
    change: F,
}

impl<F: FnMut(&[u8], &mut Vec<u8>)> Transport for Changing<'_, F> {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        if request != self.answered.0 {
            *self.answered = (request.to_vec(), self.inner.call(request, limit)?);
        }
        let mut reply = self.answered.1.clone();
        let kind = kind(request);
        self.exchanges.push((kind, request.len(), reply.len()));
        if kind == SCORE {
            (self.change)(request, &mut reply);
        }
        Ok(reply)
    }
}
