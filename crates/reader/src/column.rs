//! The round that open and masked mode share, in which the server scores all vectors.

use sordino_ckks::column::{Client, Hint, Query, Reply};
use sordino_index::columns::Rows;
use sordino_index::manifest::{ColumnSegment, Columns, Segment};
use sordino_index::numbers::Numbers;
use sordino_index::wire::{Edition, Message, message_len};
use sordino_index::{Error, residue};
use sordino_vectors::recall::{Scored, TopK, number};

use crate::download::Download;
use crate::question::Wanted;
use crate::stages::{Stages, Wrong};
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
            let positions = 0..number(rows.len());
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
    ) -> Result<Vec<Scored>, Wrong> {
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
) -> Result<Result<Reply, Wrong>, Error> {
    let len = Reply::encoded_len(client.params(), client.dim(), client.len())?;
    let request = Message::Score.about(edition, &query.to_bytes());
    let reply = stages.time(
        |stages| &mut stages.scores,
        || transport.call(&request, message_len(len)),
    )?;
    let read = Message::Scored
        .expect(&reply, Some(len))
        .and_then(|body| Ok(Reply::from_bytes(body)?));
    Ok(read.map_err(|_| Wrong))
}
