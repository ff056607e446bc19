//! The combinations of all rows, by which clients check scores exactly.

use rand_core::CryptoRng;
use sordino_ckks::column::{Combination, Segments};
use sordino_index::checks::exact;
use sordino_index::columns::{Rows, Scheme};
use sordino_index::folder::Folder;
use sordino_index::manifest::{Checking, Columns, Combined, Manifest, Mode, PartKind, SHARED};
use sordino_index::{Disk, Error, digest};
use sordino_vault::content_key::ContentKey;
use sordino_vault::contents::ContentKeys;
use sordino_vault::purpose::Purpose;
use zeroize::Zeroizing;

use crate::binding::Content;
use crate::build_context::Build;

/// The segments of an index, if it checks scores exactly.
fn checked(mode: &Mode) -> Option<(Rows, &Columns)> {
    let (rows, columns) = match mode {
        Mode::Open(columns) => (Rows::Open, columns),
        Mode::Masked(columns) => (Rows::Masked, columns),
        Mode::Sealed(_) | Mode::Local(_) | Mode::Routed(_) => return None,
    };
    (columns.checking == Checking::Exact).then_some((rows, columns))
}

/// Writes the combinations of a version's rows, if its scores are checked exactly. If segments were only added, it
/// adds their combinations to those from the version before. If nothing is new, it writes nothing.
pub(crate) fn combined<D: Disk, R: CryptoRng + ?Sized>(
    build: &mut Build<'_, D, R>,
    manifest: &Manifest,
    before: &Manifest,
) -> Result<Option<Combined>, Error> {
    let (folder, writer) = (build.folder, build.writer);
    let Some((rows, columns)) = checked(&manifest.mode) else {
        return Ok(None);
    };
    let (scheme, width) = (Scheme::new(rows, columns), manifest.stored_dim() as usize);
    let params = &scheme.params();
    let key = &writer.keys().shared();
    let old = checked(&before.mode).filter(|(_, old)| columns.segments.starts_with(&old.segments));
    let old = old.and_then(|(_, old)| Some((old.combined.as_ref()?, old.segments.len())));
    let (mut all, held) = match old {
        Some((old, held)) if held == columns.segments.len() => return Ok(Some(*old)),
        Some((old, held)) => {
            let part = folder.part(&before.part(PartKind::Combination, None)?)?;
            (key.open_combined(old, params, width, &part)?, held)
        }
        None => (empty(params, width)?, 0),
    };
    add(folder, key, manifest, held, &mut all)?;
    // The buffer has its full size from the start, so that growth leaves no copies behind.
    let each: Vec<_> = all.iter().map(Combination::to_bytes).collect();
    let len = each.iter().map(|it| it.len()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(len));
    each.iter().for_each(|it| bytes.extend_from_slice(it));
    let id = writer.id(build.rng, &Content::Combination, &bytes, std::iter::empty());
    let seal = key.seal(Purpose::Combination, &id, writer.version());
    let sealed = seal.seal(0, &[], &bytes);
    folder.put(&sealed)?;
    let part = digest::of(&sealed);
    Ok(Some(Combined::new(id, writer.version(), part)))
}

/// Checks that combinations belong to the rows.
pub(crate) fn check<D: Disk>(
    folder: &Folder<D>,
    keys: &ContentKeys,
    manifest: &Manifest,
) -> Result<(), Error> {
    let Some((rows, columns)) = checked(&manifest.mode) else {
        return Ok(());
    };
    let params = Scheme::new(rows, columns).params();
    let width = manifest.stored_dim() as usize;
    let key = keys.get(SHARED).ok_or(Error::NoReader)?;
    let mut all = empty(&params, width)?;
    add(folder, key, manifest, 0, &mut all)?;
    let combined = manifest.combined().ok_or(Error::BadReply)?;
    let part = folder.part(&manifest.part(PartKind::Combination, None)?)?;
    let held = key.open_combined(combined, &params, width, &part)?;
    let same = all
        .iter()
        .zip(&held)
        .all(|(a, b)| *a.to_bytes() == *b.to_bytes());
    same.then_some(()).ok_or_else(|| Error::Malformed {
        what: PartKind::Combination.name(),
        why: "not of the rows that are stored".to_owned(),
    })
}

/// The combinations of an empty list of rows.
fn empty(params: &sordino_ckks::column::Params, width: usize) -> Result<Vec<Combination>, Error> {
    let empty = (0..exact::copies(params)).map(|_| Ok(Combination::empty(params, width)?));
    empty.collect()
}

/// Adds the combinations of the rows of all segments except the first `held` segments.
fn add<D: Disk>(
    folder: &Folder<D>,
    key: &ContentKey,
    manifest: &Manifest,
    held: usize,
    all: &mut [Combination],
) -> Result<(), Error> {
    let Some((rows, columns)) = checked(&manifest.mode) else {
        return Ok(());
    };
    let scheme = Scheme::new(rows, columns);
    let segments = Segments::new(
        &scheme.params(),
        columns.seed,
        manifest.stored_dim() as usize,
    )?;
    for (at, column) in columns.segments.iter().enumerate().skip(held) {
        let rows = folder.part(&manifest.part(PartKind::Rows, Some(at))?)?;
        let (database, _) = scheme.encode(&segments, &rows)?;
        let own = key.weights(&column.segment.id).combinations(&database)?;
        for (sum, own) in all.iter_mut().zip(&own) {
            sum.add(own)?;
        }
    }
    Ok(())
}
