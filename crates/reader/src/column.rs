//! The exchange that open and masked mode share, in which the server scores all vectors.

use sordino_ckks::column::{Client, Hint, Query, Reply};
use sordino_index::Error;
use sordino_index::columns::{Rows, Scheme};
use sordino_index::manifest::{Checking, ColumnSegment, Columns, Segment};
use sordino_index::wire::Message;
use sordino_vault::contents::ContentKeys;
use sordino_vault::frame::{FrameQuery, RowScale};
use sordino_vault::residue;
use sordino_vectors::Metric;
use sordino_vectors::recall::TopK;
use sordino_vectors::u32_of;

use crate::download::Download;
use crate::exact::ExactCheck;
use crate::question::{Passing, Wanted};
use crate::round::Round;
use crate::stages::{Stages, time, waited};
use crate::transport::AsyncTransport;
use crate::update::Update;
use crate::verdict::{Ranked, Verdict};

/// All segments of an index, with the data for reading their scores.
pub(crate) struct ScoredSegments {
    pub(crate) column: Client,
    /// The segments, in the order of their positions among the scores.
    pub(crate) segments: Vec<Positions>,
    pub(crate) scheme: Scheme,
    exact: Option<ExactCheck>,
}

/// A segment's positions among the scores. Segments begin blocks, so there are positions between them without a row.
pub(crate) struct Positions {
    pub(crate) segment: Segment,
    pub(crate) first: usize,
    /// The number of rows. The first of them belong to the segment's records.
    pub(crate) stored: usize,
    /// The place of its first record among all records.
    place: u32,
    /// For each position the base and the scale of its record.
    scales: Vec<RowScale>,
    /// For each position, true if its record is deleted. Empty if none is.
    dead: Vec<bool>,
    /// False if the segment's key is not known. A search finds nothing in it then.
    visible: bool,
}

impl ScoredSegments {
    pub(crate) fn new(mode: &Columns, rows: Rows, width: usize) -> Result<Self, Error> {
        let scheme = Scheme::new(rows, mode);
        let params = scheme.params();
        Ok(Self {
            column: Client::empty(&params, mode.seed, width)?,
            segments: Vec::new(),
            scheme,
            exact: ExactCheck::new(mode, &params, width)?,
        })
    }

    /// Keeps the first `kept` of these segments, takes the others from the download, and updates the deleted records.
    /// `row` gives the row that a segment stores at a position. After an error nothing has changed.
    pub(crate) fn update(
        &mut self,
        mode: &Columns,
        update: Update<'_>,
        row: impl Fn(usize, u32) -> u32,
    ) -> Result<(), Error> {
        let Update {
            keys,
            kept,
            dead,
            metric,
            download,
        } = update;
        let fresh = || mode.segments.iter().skip(kept);
        let exact = self.exact.as_ref().map(|exact| {
            let (params, width) = (self.column.params(), self.column.dim());
            exact.fresh(mode, params, width, keys, kept, download)
        });
        let exact = exact.transpose()?;
        let scales = mode.segments.iter().enumerate().map(|(at, column)| {
            let segment = &column.segment;
            let scales = fresh_scales(metric, segment, keys, download)?;
            match scales.is_none() && at >= kept && keys.of(segment).is_some() {
                true => Err(Error::BadReply),
                false => Ok(scales),
            }
        });
        let scales: Result<FreshScales, Error> = scales.collect();
        let scales = scales?;
        let hints: Result<Vec<Hint>, Error> = fresh()
            .map(|column| Ok(Hint::from_vec(download.take(&column.hint)?)?))
            .collect();
        let hints = hints?;
        for (hint, ColumnSegment { segment, .. }) in hints.iter().zip(fresh()) {
            let stored = self.scheme.stored(segment.n as usize, self.column.dim());
            if hint.len() != stored {
                let why = format!("of {} rows, expected {stored}", hint.len());
                return Err(Error::Malformed { what: "hint", why });
            }
        }
        let stays = self.segments.get(..kept).unwrap_or(&self.segments);
        let end = stays.last().map_or(0, Positions::end);
        self.column.replace_after(end, &hints)?;
        if let (Some(check), Some(exact)) = (&mut self.exact, exact) {
            check.follow(kept, exact);
        }
        self.segments.truncate(kept);
        self.add(fresh());
        let all = self.segments.iter_mut().zip(dead).zip(scales);
        for (at, ((positions, dead), scales)) in all.enumerate() {
            positions.visible = keys.of(&positions.segment).is_some();
            if let Some(scales) = scales {
                let rows = (0..positions.segment.n).map(|position| row(at, position));
                positions.scales = rows.map(|row| scales[row as usize]).collect();
            }
            positions.dead.clear();
            if !dead.is_empty() {
                let rows = (0..positions.segment.n).map(|position| row(at, position));
                positions.dead = rows.map(|row| dead.contains(row)).collect();
            }
        }
        Ok(())
    }

    /// Gives segments their positions, after those that earlier segments have.
    fn add<'a>(&mut self, segments: impl Iterator<Item = &'a ColumnSegment>) {
        let block = self.column.params().block_vectors();
        for ColumnSegment { segment, .. } in segments {
            let last = self.segments.last();
            let n = segment.n;
            let positions = Positions {
                first: last.map_or(0, Positions::end).next_multiple_of(block),
                stored: self.scheme.stored(n as usize, self.column.dim()),
                place: last.map_or(0, |last| last.place + last.segment.n),
                scales: vec![RowScale::default(); n as usize],
                dead: Vec::new(),
                segment: segment.clone(),
                visible: false,
            };
            self.segments.push(positions);
        }
    }

    /// For each position, whether its record passes.
    pub(crate) fn positions_of(
        &self,
        rows: &[Vec<bool>],
        row: impl Fn(usize, u32) -> u32,
    ) -> Passing {
        let segments = rows.iter().enumerate().map(|(segment, rows)| {
            let positions = 0..u32_of(rows.len());
            let rows = positions.map(|at| rows[row(segment, at) as usize]);
            rows.collect()
        });
        segments.collect()
    }

    /// The best `k` of all positions whose record is not deleted and, if some are `chosen`, is among these. The result has
    /// their places with their keys, and includes all that are as good as the last.
    ///
    /// If no other check covers the scores, one impossible score for unit vectors refutes the whole reply.
    pub(crate) fn best(
        &self,
        asked: &FrameQuery,
        Wanted { k, chosen }: Wanted<'_>,
        score: impl Fn(usize) -> f32,
        row: impl Fn(usize, u32) -> u32,
    ) -> Ranked {
        let mut best = TopK::with_equal(k);
        let mut possible = true;
        let segments = self.segments.iter().enumerate();
        for (segment, positions) in segments.filter(|(_, it)| it.visible) {
            // Without a filter, every row reads the same value, which lets the row pass.
            let (passes, each) = match chosen {
                Some(chosen) => (&chosen[segment][..], usize::MAX),
                None => (&[true][..], 0),
            };
            for at in 0..positions.segment.n {
                let place = at as usize;
                let score = score(positions.first + place);
                possible &= score.abs() <= residue::LARGEST;
                // Rows that do not count take the same steps as distant rows. Otherwise time would reveal how much a
                // filter selects.
                let counts = (positions.dead.get(place) != Some(&true)) & passes[place & each];
                let key = asked.key(&positions.scales[place], score);
                best.offer_if(counts, key, || positions.place + row(segment, at));
            }
        }
        Ranked {
            hits: best.into_ranked(),
            right: possible || self.scheme.checking != Checking::None,
        }
    }

    /// The reply, unless an exact check refutes it.
    fn held(&self, query: &Query, reply: Reply) -> Verdict<Reply> {
        match &self.exact {
            Some(exact) => {
                let segments = self.segments.iter().map(|it| (it.first, it.stored));
                exact.held(query, reply, segments)
            }
            None => Ok(reply),
        }
    }
}

/// For each segment of a version its scales in the order of its ids, or `None` if they stay unchanged.
type FreshScales = Vec<Option<Vec<RowScale>>>;

/// The downloaded scales of segments: of new segments or, if keys of other segments may be known now, of all.
fn fresh_scales(
    metric: Metric,
    segment: &Segment,
    keys: &ContentKeys,
    download: &mut Download,
) -> Result<Option<Vec<RowScale>>, Error> {
    let digest = segment.scales.ok_or(Error::BadReply)?;
    if !download.has(&digest) {
        return Ok(None);
    }
    let sealed = download.take(&digest)?;
    let key = keys.of(segment);
    let scales = key.map(|key| key.open_scales(metric, segment, &sealed));
    scales.transpose()
}

impl Positions {
    fn end(&self) -> usize {
        self.first + self.stored
    }
}

/// Sends the encrypted query, and reads the encrypted scores. Exact checks are made before the scores are decrypted.
pub(crate) async fn score<R: ?Sized>(
    round: &mut Round<'_, R, impl AsyncTransport>,
    rows: &ScoredSegments,
    query: &Query,
    stages: &mut Stages,
) -> Result<Verdict<Reply>, Error> {
    let client = &rows.column;
    let len = Reply::encoded_len(client.params(), client.dim(), client.len())?;
    let body = query.to_bytes();
    let reply = round.ask(Message::Score, &body, len, |body| {
        Ok(Reply::from_bytes(body)?)
    });
    let reply = waited(&mut stages.scores, reply).await?;
    Ok(reply.and_then(|reply| time(&mut stages.open, || rows.held(query, reply))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latch::Latch;
    use crate::transport::{Transport, at_once};
    use crate::verdict::Wrong;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_ckks::column::Segments;
    use sordino_index::digest::Coded;
    use sordino_index::manifest::Packing;
    use sordino_index::wire::Edition;
    use sordino_vault::OwnerKeys;
    use sordino_vault::contents::ContentKeys;
    use sordino_vault::frame::Frame;
    use sordino_vault::numbers::Numbers;
    use sordino_vault::purpose::Purpose;
    use sordino_vectors::synthetic;

    use crate::download::Download;

    const N: u32 = 5;
    const DIM: usize = 16;

    /// A server that gives the same reply to every request.
    struct Replies(Option<Vec<u8>>);

    impl Transport for Replies {
        fn call(&mut self, _: &[u8], _: usize) -> Result<Vec<u8>, Error> {
            self.0.clone().ok_or(Error::BadReply)
        }
    }

    #[test]
    fn a_reply_of_another_form_is_wrong_and_no_error() {
        let (params, rng) = (Packing::T4.open(), &mut StdRng::seed_from_u64(1));
        let mut segments = Segments::new(&params, [1; 32], DIM).unwrap();
        let rows = synthetic::uniform(N as usize, DIM, 1);
        let (database, hint) = segments.encode(rows.as_slice()).unwrap();
        segments.push(database.into()).unwrap();
        let mut client = Client::empty(&params, [1; 32], DIM).unwrap();
        client.extend(&hint).unwrap();
        let (_, query) = client.encrypt(rng, rows.row(0)).unwrap();
        let rows = ScoredSegments {
            column: client,
            ..scored(Vec::new())
        };
        let honest = segments.score_batch(std::slice::from_ref(&query)).unwrap();
        let honest = Message::Scored.with(&honest[0].to_bytes());
        let read = |reply: Option<Vec<u8>>| {
            let mut round = Round {
                rng: &mut (),
                transport: &mut Replies(reply),
                edition: Edition::new(1, &[0; 32]),
                latch: Latch::default(),
            };
            at_once(score(&mut round, &rows, &query, &mut Stages::default()))
        };
        assert!(matches!(read(Some(honest.clone())), Ok(Ok(_))));
        let changed = |change: fn(&mut Vec<u8>)| {
            let mut reply = honest.clone();
            change(&mut reply);
            read(Some(reply))
        };
        let wrong: [fn(&mut Vec<u8>); 6] = [
            |reply| reply.clear(),
            |reply| reply.truncate(reply.len() - 1),
            |reply| reply.push(0),
            |reply| reply[4] = 9,
            |reply| reply[6] ^= 1,
            |reply| *reply = Message::Scored.with(&[0; 9]),
        ];
        for (case, change) in wrong.into_iter().enumerate() {
            assert!(matches!(changed(change), Ok(Err(Wrong))), "case {case}");
        }
        // If there is no reply, the transport's error ends the search.
        assert!(matches!(read(None), Err(Error::BadReply)));
    }

    #[test]
    fn a_hint_that_does_not_fit_changes_nothing() {
        let keys = ContentKeys::shared(OwnerKeys::from_master([5; 32]).shared());
        let segment = |digest| {
            let mut segment = Segment::new([0; 16], 1, N, [0; 32], Coded::default());
            segment.scales = Some([77; 32]);
            ColumnSegment::new(segment, digest)
        };
        let seal = OwnerKeys::from_master([5; 32]).shared();
        let seal = seal.seal(Purpose::Scales, &[0; 16], 1);
        let scales = [&[0, 0, 14][..], &[0, 1].repeat(N as usize)].concat();
        let scales = seal.seal(0, &[], &scales);
        let hint = |seed: [u8; 32], n| {
            let segments = Segments::new(&Packing::T4.open(), seed, DIM).unwrap();
            let rows = synthetic::uniform(n, DIM, 1);
            segments.encode(rows.as_slice()).unwrap().1.to_bytes()
        };
        let n = N as usize;
        let hints = [hint([1; 32], n), hint([2; 32], n), hint([1; 32], n + 1)];
        let digests = [[1; 32], [2; 32], [3; 32]];
        let mode = Columns::new(Packing::T4, [1; 32]);
        let mut scored = ScoredSegments::new(&mode, Rows::Open, DIM).unwrap();
        let mut follow = |kept, wanted: &[usize]| {
            let mut mode = mode.clone();
            mode.segments = wanted.iter().map(|&at| segment(digests[at])).collect();
            let fresh = wanted[kept..].iter();
            let parts = fresh.flat_map(|&at| {
                let scales = ([77; 32], scales.clone());
                [(digests[at], hints[at].clone()), scales]
            });
            let update = Update {
                keys: &keys,
                kept,
                dead: &vec![Numbers::default(); mode.segments.len()],
                metric: Metric::Cosine,
                download: &mut Download::of(parts),
            };
            let done = scored.update(&mode, update, |_, at| at);
            let firsts: Vec<usize> = scored.segments.iter().map(|it| it.first).collect();
            (done.is_ok(), firsts, scored.column.len())
        };
        let block = Packing::T4.open().block_vectors();
        let two = (true, vec![0, block], block + n);
        assert_eq!(follow(0, &[0, 0]), two);
        // A hint for another seed or of another length follows two that fit. The update fails and changes nothing.
        for wrong in [1, 2] {
            for kept in 0..2 {
                let wanted = [0, 0, wrong];
                let refused = (false, two.1.clone(), two.2);
                assert_eq!(follow(kept, &wanted), refused, "{wrong} after {kept}");
            }
        }
        assert_eq!(follow(1, &[0]), (true, vec![0], n));
    }

    /// Rows for whose scores the only check is that they are possible.
    fn scored(dead: Vec<bool>) -> ScoredSegments {
        let mut mode = Columns::new(Packing::T4, [1; 32]);
        mode.checking = Checking::None;
        let ids = Coded::default();
        let segment = Segment::new([0; 16], 1, N, [0; 32], ids);
        ScoredSegments {
            column: Client::empty(&Packing::T4.open(), [1; 32], DIM).unwrap(),
            segments: vec![Positions {
                segment,
                first: 0,
                stored: N as usize,
                place: 10,
                scales: vec![
                    RowScale {
                        scale: 1.0,
                        ..RowScale::default()
                    };
                    N as usize
                ],
                dead,
                visible: true,
            }],
            scheme: Scheme::new(Rows::Open, &mode),
            exact: None,
        }
    }

    #[test]
    fn an_impossible_score_refutes_the_reply_wherever_it_stands() {
        let all = Wanted { k: 2, chosen: None };
        let row = |_, at| at;
        let scores = [0.1, 0.9, -0.5, 0.7, 0.3];
        let deleted = vec![false, true, false, false, false];
        let asked = Frame::origin(Metric::Cosine, [1; 32], DIM).ask(&[1.0; DIM]);
        let asked = asked.unwrap();
        let best = |segments: &ScoredSegments, wanted, scores: [f32; 5]| {
            let best = segments.best(&asked, wanted, |at| scores[at], row);
            let found = best.hits.iter().map(|hit| hit.id);
            best.right.then(|| found.collect::<Vec<_>>())
        };
        assert_eq!(best(&scored(Vec::new()), all, scores), Some(vec![11, 13]));
        assert_eq!(
            best(&scored(deleted.clone()), all, scores),
            Some(vec![13, 14])
        );
        let chosen = [vec![true, true, true, false, false]];
        let some = Wanted {
            k: 2,
            chosen: Some(&chosen),
        };
        assert_eq!(
            best(&scored(deleted.clone()), some, scores),
            Some(vec![10, 12])
        );
        // The score of a deleted or unselected record is checked, too.
        for at in 0..5 {
            for impossible in [1.02, -1.02, f32::NAN, f32::INFINITY] {
                let mut scores = scores;
                scores[at] = impossible;
                assert_eq!(
                    best(&scored(deleted.clone()), some, scores),
                    None,
                    "{impossible} at {at}"
                );
            }
        }
    }
}
