//! The round that open and masked mode share, in which the server scores all vectors.

use sordino_ckks::column::{Client, Hint, Query, Reply};
use sordino_index::columns::Rows;
use sordino_index::manifest::{ColumnSegment, Columns, Segment};
use sordino_index::numbers::Numbers;
use sordino_index::wire::{Edition, Message, message_len};
use sordino_index::{Error, residue};
use sordino_vectors::recall::{Scored, TopK};
use sordino_vectors::u32_of;

use crate::checked::{Checked, Wrong};
use crate::download::Download;
use crate::question::Wanted;
use crate::stages::{Stages, time};
use crate::transport::Transport;

/// All segments of an index, with what reads their scores.
pub(crate) struct View {
    pub(crate) column: Client,
    /// In the order of their positions among the scores.
    pub(crate) segments: Vec<Positions>,
    rows: Rows,
}

/// A segment's place among the scores. Segments begin blocks, so there are positions between them
/// that are nobody's.
pub(crate) struct Positions {
    pub(crate) segment: Segment,
    pub(crate) first: usize,
    /// Rows, of which the segment's records are the first.
    pub(crate) stored: usize,
    /// The place of its first record among all.
    place: u32,
    /// For each position true if its record is deleted; empty if none is.
    dead: Vec<bool>,
}

/// The downloaded parts of a segment.
pub(crate) struct Fresh {
    segment: Segment,
    hint: Hint,
}

/// The segments after the first `kept`, from the download.
pub(crate) fn fresh(
    mode: &Columns,
    kept: usize,
    download: &mut Download,
) -> Result<Vec<Fresh>, Error> {
    let columns = mode.segments.iter().skip(kept);
    columns.map(|column| Fresh::new(column, download)).collect()
}

impl Fresh {
    fn new(column: &ColumnSegment, download: &mut Download) -> Result<Self, Error> {
        Ok(Self {
            hint: Hint::from_bytes(&download.take(&column.hint)?)?,
            segment: column.segment.clone(),
        })
    }
}

impl View {
    pub(crate) fn new(mode: &Columns, rows: Rows, width: usize) -> Result<Self, Error> {
        Ok(Self {
            column: Client::empty(&rows.params(mode.packing), mode.seed, width)?,
            segments: Vec::new(),
            rows,
        })
    }

    /// Keeps the first `kept` segments, adds the fresh ones, and learns who is deleted. `row` gives
    /// the row that a segment stores at a position.
    pub(crate) fn update(
        &mut self,
        kept: usize,
        fresh: Vec<Fresh>,
        dead: &[Numbers],
        row: impl Fn(usize, u32) -> u32,
    ) -> Result<(), Error> {
        self.segments.truncate(kept);
        let end = self.segments.last().map_or(0, Positions::end);
        self.column.truncate(end)?;
        let before = self.segments.iter().map(|positions| positions.segment.n);
        let mut place = before.sum();
        for Fresh { segment, hint } in fresh {
            let block = self.column.params().block_vectors();
            let first = self.column.len().next_multiple_of(block);
            self.column.extend(&hint)?;
            let n = segment.n;
            let stored = self.rows.stored(n as usize, self.column.dim());
            self.segments.push(Positions {
                segment,
                first,
                stored,
                place,
                dead: Vec::new(),
            });
            place += n;
        }
        for (at, (positions, dead)) in self.segments.iter_mut().zip(dead).enumerate() {
            positions.dead.clear();
            if !dead.is_empty() {
                let rows = (0..positions.segment.n).map(|position| row(at, position));
                positions.dead = rows.map(|row| dead.contains(row)).collect();
            }
        }
        Ok(())
    }

    /// A truth about each row, by position.
    pub(crate) fn positions_of(
        &self,
        rows: &[Vec<bool>],
        row: impl Fn(usize, u32) -> u32,
    ) -> Vec<Vec<bool>> {
        let segments = rows.iter().enumerate().map(|(segment, rows)| {
            let positions = 0..u32_of(rows.len());
            let rows = positions.map(|at| rows[row(segment, at) as usize]);
            rows.collect()
        });
        segments.collect()
    }

    /// The best `k` of all positions whose record is not deleted and, where some are `chosen`, among these,
    /// as places, with those that are as good as the last.
    ///
    /// A score that no two unit vectors have refutes the whole reply.
    pub(crate) fn best(
        &self,
        Wanted { k, chosen }: Wanted<'_>,
        score: impl Fn(usize) -> f32,
        row: impl Fn(usize, u32) -> u32,
    ) -> Checked<Vec<Scored>> {
        let mut best = TopK::with_equal(k);
        let mut possible = true;
        for (segment, positions) in self.segments.iter().enumerate() {
            let chosen = chosen.map(|chosen| &chosen[segment][..]);
            for at in 0..positions.segment.n {
                let place = at as usize;
                let score = score(positions.first + place);
                possible &= score.abs() <= residue::LARGEST;
                let counts = positions.dead.get(place) != Some(&true);
                if counts && chosen.is_none_or(|chosen| chosen[place]) {
                    best.offer_with(score, || positions.place + row(segment, at));
                }
            }
        }
        if !possible {
            return Err(Wrong);
        }
        Ok(best.into_ranked())
    }
}

impl Positions {
    fn end(&self) -> usize {
        self.first + self.stored
    }
}

/// The round: the encrypted query goes, the encrypted scores come.
pub(crate) fn score(
    transport: &mut impl Transport,
    edition: Edition,
    client: &Client,
    query: &Query,
    stages: &mut Stages,
) -> Result<Checked<Reply>, Error> {
    let len = Reply::encoded_len(client.params(), client.dim(), client.len())?;
    let request = Message::Score.about(edition, &query.to_bytes());
    let reply = time(&mut stages.scores, || {
        transport.call(&request, message_len(len))
    })?;
    let read = Message::Scored
        .expect(&reply, Some(len))
        .and_then(|body| Ok(Reply::from_bytes(body)?));
    Ok(read.map_err(|_| Wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_ckks::column::Segments;
    use sordino_index::digest::Coded;
    use sordino_index::manifest::Packing;
    use sordino_vectors::synthetic;

    const N: u32 = 5;
    const DIM: usize = 16;

    /// A server that gives one reply to whatever it is asked.
    struct Replies(Option<Vec<u8>>);

    impl Transport for Replies {
        fn call(&mut self, _: &[u8], _: usize) -> Result<Vec<u8>, Error> {
            self.0.clone().ok_or(Error::Search)
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
        let honest = segments.score_batch(std::slice::from_ref(&query)).unwrap();
        let honest = Message::Scored.with(&honest[0].to_bytes());
        let read = |reply: Option<Vec<u8>>| {
            let (edition, stages) = (Edition::new(1, &[0; 32]), &mut Stages::default());
            score(&mut Replies(reply), edition, &client, &query, stages)
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
        // No reply at all is the transport's error, which ends a search.
        assert!(matches!(read(None), Err(Error::Search)));
    }

    fn view(dead: Vec<bool>) -> View {
        let ids = Coded::default();
        let segment = Segment::new([0; 16], 1, N, [0; 32], ids);
        View {
            column: Client::empty(&Packing::T4.open(), [1; 32], DIM).unwrap(),
            segments: vec![Positions {
                segment,
                first: 0,
                stored: N as usize,
                place: 10,
                dead,
            }],
            rows: Rows::Open,
        }
    }

    #[test]
    fn an_impossible_score_refutes_the_reply_wherever_it_stands() {
        let all = Wanted { k: 2, chosen: None };
        let row = |_, at| at;
        let scores = [0.1, 0.9, -0.5, 0.7, 0.3];
        let deleted = vec![false, true, false, false, false];
        let best = |view: &View, wanted, scores: [f32; 5]| {
            let best = view.best(wanted, |at| scores[at], row);
            best.map(|best| best.iter().map(|hit| hit.id).collect::<Vec<_>>())
        };
        assert_eq!(best(&view(Vec::new()), all, scores), Ok(vec![11, 13]));
        assert_eq!(best(&view(deleted.clone()), all, scores), Ok(vec![13, 14]));
        let chosen = [vec![true, true, true, false, false]];
        let some = Wanted {
            k: 2,
            chosen: Some(&chosen),
        };
        assert_eq!(best(&view(deleted.clone()), some, scores), Ok(vec![10, 12]));
        // Also that of a record that is deleted, or that was not asked for.
        for at in 0..5 {
            for impossible in [1.02, -1.02, f32::NAN, f32::INFINITY] {
                let mut scores = scores;
                scores[at] = impossible;
                assert_eq!(
                    best(&view(deleted.clone()), some, scores),
                    Err(Wrong),
                    "{impossible} at {at}"
                );
            }
        }
    }
}
