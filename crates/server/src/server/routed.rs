//! Routed mode: clusters that the server scores under encryption, and additions.

use std::sync::Arc;

use sordino_ckks::column::{self, Segments};
use sordino_index::columns::Rows;
use sordino_index::manifest::{self, Grid, Manifest, Mode, Part, PartKind};
use sordino_index::shard::Shard;
use sordino_index::table::{self, Filling};
use sordino_index::wire::Message;
use sordino_index::wire::routed::{Lens, Query, Reply};
use sordino_index::{Bytes, Error, digest};
use sordino_lwe::{self as lwe, Table};

use super::columns::Columns;
use super::encodings::Shelf;
use super::pass::{check_packing, in_one_pass};
use super::read::{Read, Source};
use super::{Kind, Server};

/// The clusters, and the segments that were added later.
#[derive(Debug)]
pub(super) struct Routed {
    pub(super) base: Arc<Base>,
    pub(super) tail: Columns,
    lens: Lens,
}

/// The clusters, or a shard's groups of them. The servers of all versions that have them share them.
#[derive(Debug)]
pub(super) struct Base {
    table: Table,
    /// The table's hint, encoded for multiplication with encrypted secrets.
    hint: Segments,
    /// The hint of the encoded hint, which clients download.
    given: Bytes,
}

impl Base {
    fn new(
        manifest: &Manifest,
        mode: &manifest::Routed,
        shard: Shard,
        read: &mut dyn Read,
        shelf: &mut Shelf<'_>,
    ) -> Result<Self, Error> {
        let all = mode.grid.groups as usize;
        let groups = shard.range(all);
        if groups.is_empty() {
            return Err(Error::Mode {
                found: manifest.mode.kind().name(),
                expected: "one with at least one group of clusters for each shard",
            });
        }
        let part = manifest.part(PartKind::Table, Some(0))?;
        let group = part.len / all as u64;
        let own = groups.start as u64 * group..groups.end as u64 * group;
        let hint = table::segments(mode)?;
        let width = manifest.stored_dim() as usize;
        let mut table = Filling::new(mode, width, groups.clone())?;
        read.pieces(&part, own.into(), &mut |bytes| table.take(bytes))?;
        let table = table.finish()?;
        let names = names(&part, mode, groups, &hint, shelf);
        let (mut hint, mut given) = hint_of(&table, hint, &names, shelf)?;
        if table.shape().groups() == all {
            let checked = digest::check(PartKind::RowsHint.name(), &given, &mode.hint);
            // Files name the hint of each group, but only the manifest can prove the hint of all.
            if checked.is_err() && shelf.distrust(&names) {
                (hint, given) = hint_of(&table, table::segments(mode)?, &names, shelf)?;
            }
            digest::check(PartKind::RowsHint.name(), &given, &mode.hint)?;
        }
        Ok(Self {
            table,
            hint,
            given: Bytes::from(given),
        })
    }
}

impl Routed {
    /// The clusters and segments of a version. It shares what `before` holds.
    pub(super) fn new(
        manifest: &Manifest,
        mode: &manifest::Routed,
        shard: Shard,
        before: Option<&Server>,
        source: Source<'_, '_>,
    ) -> Result<Self, Error> {
        let Source { read, shelf } = source;
        let same = before.and_then(|before| shared(before, manifest, mode));
        let base = match same {
            Some(base) => {
                let part = manifest.part(PartKind::Table, Some(0))?;
                let groups = shard.range(mode.grid.groups as usize);
                names(&part, mode, groups, &base.hint, shelf);
                base.hint.databases().for_each(|it| shelf.share(it));
                base
            }
            None => Arc::new(Base::new(manifest, mode, shard, read, shelf)?),
        };
        let columns = before.and_then(|before| match &before.kind {
            Kind::Routed(routed) => Some(&routed.tail),
            _ => None,
        });
        let (tail, source) = (&mode.tail, Source { read, shelf });
        Ok(Self {
            base,
            tail: Columns::new(Rows::Masked, 1, tail, manifest, shard, columns, source)?,
            lens: lens(manifest, mode)?,
        })
    }

    /// The hint of a segment that clients download. The clusters count as the first segment.
    pub(super) fn hint(&self, segment: usize) -> Option<Bytes> {
        match segment.checked_sub(1) {
            None => Some(self.base.given.clone()),
            Some(at) => self.tail.hint(at),
        }
    }

    /// The size in bytes of a query.
    pub(super) fn query_len(&self) -> usize {
        self.lens.all()
    }

    /// Scores the chosen clusters and all additions. For all queries together it takes one scan of the clusters, one
    /// product with their hint and one pass over the rest.
    pub(super) fn score(&self, bodies: &[&[u8]]) -> Vec<Result<Vec<u8>, Error>> {
        in_one_pass(
            bodies,
            |body| self.read(body),
            |queries| {
                let words: Vec<lwe::Query> = queries.iter().map(|it| it.words.clone()).collect();
                let scanned = self.base.table.answer_batch(&words)?;
                let onto: Vec<&[u32]> = scanned.iter().map(Vec::as_slice).collect();
                let secrets: Vec<_> = queries.iter().map(|it| it.secret.clone()).collect();
                let replies = self.base.hint.score_onto(&secrets, &onto)?;
                let tail: Vec<_> = queries.iter().filter_map(|it| it.tail.clone()).collect();
                let tail = self.tail.segments.score_batch(&tail)?;
                let mut tail = tail.into_iter();
                let replies = replies.into_iter().map(|clusters| {
                    let tail = tail.next();
                    Message::Scored.with(&Reply { clusters, tail }.to_bytes())
                });
                Ok(replies.collect())
            },
        )
    }

    fn read(&self, body: &[u8]) -> Result<Query, Error> {
        let query = Query::from_bytes(self.lens, body)?;
        let tail = query.tail.as_ref();
        check_packing(tail.is_none_or(|tail| self.tail.segments.check(tail).is_ok()))?;
        check_packing(self.base.table.check(&query.words).is_ok())?;
        check_packing(self.base.hint.check(&query.secret).is_ok())?;
        Ok(query)
    }
}

/// The bytes of the pieces of a query. They are the same for every shard.
pub(super) fn lens(manifest: &Manifest, mode: &manifest::Routed) -> Result<Lens, Error> {
    let width = manifest.stored_dim() as usize;
    let tail = match mode.tail.segments.is_empty() {
        true => 0,
        false => column::Query::encoded_len(&mode.tail.packing.masked(), width)?,
    };
    Ok(Lens {
        words: lwe::Query::encoded_len(mode.grid.shape(width)?),
        secret: column::Query::encoded_len(&mode.grid.packing.params(), Grid::params().n())?,
        tail,
    })
}

/// The encoded hints of the table's groups, and the hints of these encoded hints.
fn hint_of(
    table: &Table,
    mut hint: Segments,
    names: &[String],
    shelf: &mut Shelf<'_>,
) -> Result<(Segments, Vec<u8>), Error> {
    let mut given = Vec::new();
    for (group, name) in names.iter().enumerate() {
        let (database, bytes) =
            shelf.database(name, None, &hint, || table::group_hint(table, &hint, group))?;
        given.extend(bytes);
        hint.push(Arc::new(database))?;
    }
    Ok((hint, given))
}

/// The names of the encoded hints of these groups. They depend on the table and on the seed of the public matrix.
fn names(
    table: &Part,
    mode: &manifest::Routed,
    groups: std::ops::Range<usize>,
    hint: &Segments,
    shelf: &mut Shelf<'_>,
) -> Vec<String> {
    let of = digest::of(&[table.digest, mode.seed].concat());
    let len = table.len / u64::from(mode.grid.groups);
    let ranges = groups.map(|group| group as u64 * len..(group as u64 + 1) * len);
    ranges.map(|range| shelf.name(&of, range, hint)).collect()
}

/// The clusters of the server before, if this version has the same ones.
fn shared(before: &Server, manifest: &Manifest, mode: &manifest::Routed) -> Option<Arc<Base>> {
    let Mode::Routed(old) = &before.manifest.mode else {
        return None;
    };
    let of =
        |mode: &manifest::Routed| (mode.grid, mode.table, mode.seed, mode.hint_seed, mode.hint);
    let same = before.manifest.stored_dim() == manifest.stored_dim() && of(old) == of(mode);
    match &before.kind {
        Kind::Routed(routed) if same => Some(Arc::clone(&routed.base)),
        _ => None,
    }
}
