//! The records of a store's segments, read back.

use sordino_index::code::Codec;
use sordino_index::folder::Folder;
use sordino_index::ids::IdSet;
use sordino_index::keys::ReaderKeys;
use sordino_index::manifest::{Manifest, Mode, PartKind, Segment};
use sordino_index::purpose::Purpose;
use sordino_index::{Disk, Error, columns, residue};
use sordino_vectors::Vectors;
use sordino_vectors::recall::number;

/// The ids of each segment, and those of each that are deleted.
pub(super) fn read<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    reader: &ReaderKeys,
) -> Result<(Vec<IdSet>, Vec<IdSet>), Error> {
    let segments = manifest.segments();
    let mut sets = Vec::with_capacity(segments.len());
    for (at, segment) in segments.iter().enumerate() {
        let sealed = folder.part(&manifest.part(PartKind::Ids, Some(at))?)?;
        sets.push(reader.open_ids(segment, &sealed)?);
    }
    let sealed = folder.part(&manifest.part(PartKind::Deleted, None)?)?;
    let dead = reader.open_deleted(&manifest.deleted, segments.len(), &sealed)?;
    let within = sets
        .iter()
        .zip(&dead)
        .all(|(ids, dead)| dead.iter().all(|id| ids.contains(id)));
    if !within {
        return Err(Error::Malformed {
            what: "deleted",
            why: "it names records that are not there".to_owned(),
        });
    }
    Ok((sets, dead))
}

/// The rotated unit vectors of a segment in the order of their ids. What is stored of them is exactly
/// what storing these again makes: nothing is lost by moving records from segment to segment.
pub(super) fn units<D: Disk>(
    folder: &Folder<D>,
    manifest: &Manifest,
    reader: &ReaderKeys,
    at: usize,
) -> Result<Vectors, Error> {
    let segment = manifest.segments()[at];
    let width = manifest.width() as usize;
    let units = match &manifest.mode {
        Mode::Open(_) => {
            let rows = folder.part(&manifest.part(PartKind::Rows, Some(at))?)?;
            columns::open_vectors(&rows)
        }
        Mode::Masked(_) => {
            let rows = folder.part(&manifest.part(PartKind::Rows, Some(at))?)?;
            let codes = reader.unmask(segment, width, &rows);
            codes.into_iter().map(residue::coordinate).collect()
        }
        Mode::Local(_) | Mode::Sealed(_) => {
            let chunks = folder.part(&manifest.part(PartKind::Chunks, Some(at))?)?;
            decode(segment, (width, manifest.chunk_codec()), reader, &chunks)?
        }
    };
    Ok(Vectors::new(width, units)?)
}

fn decode(
    segment: &Segment,
    (width, codec): (usize, Codec),
    reader: &ReaderKeys,
    chunks: &[u8],
) -> Result<Vec<f32>, Error> {
    let layout = segment.layout(number(width), codec);
    let seal = reader.seal(Purpose::Chunk, &segment.id, segment.version);
    let mut units = Vec::with_capacity(segment.n as usize * width);
    for (chunk, sealed) in (0..).zip(chunks.chunks_exact(layout.sealed_len())) {
        layout.open_units(&seal, chunk, sealed, &mut units)?;
    }
    Ok(units)
}
