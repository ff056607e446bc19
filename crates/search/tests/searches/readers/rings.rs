//! Rings that differ from what the owner wrote, and entries for other readers.

use sordino_search::manifest::PartKind;
use sordino_search::{Client, Error, InProcess};
use sordino_testkit::Hostile;

use super::bed::{Bed, connect, masked, reader, secret};

fn bed() -> Bed {
    let mut bed = Bed::new(masked());
    for name in ["alice", "bob", "carol"] {
        bed.grant(name, &[name], &[]);
    }
    bed
}

/// The number of bytes of a ring's head: the file's head and three lengths.
const HEAD: usize = 20;

fn len(ring: &[u8], at: usize) -> usize {
    u32::from_le_bytes(ring[8 + 4 * at..][..4].try_into().unwrap()) as usize
}

/// The position of the first entry, and the length of an entry.
fn shape(ring: &[u8]) -> (usize, usize) {
    let start = HEAD + len(ring, 2);
    (start, (ring.len() - start) / len(ring, 0))
}

fn changed(bed: &Bed, change: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
    let mut ring = bed.part(PartKind::Ring, None).to_vec();
    change(&mut ring);
    reader("bob")
        .contents(&bed.manifest(), Some(&ring))
        .map(drop)
}

#[test]
fn a_ring_shows_how_many_readers_there_are_up_to_a_factor_of_two() {
    let bed = bed();
    let ring = bed.part(PartKind::Ring, None);
    assert_eq!((len(&ring, 0), len(&ring, 1)), (4, 2));
    let (_, each) = shape(&ring);
    assert_eq!(each, 1120 + 2 * 36 + 16);
    // Names, labels and public keys are sealed.
    let has = |piece: &[u8]| ring.windows(piece.len()).any(|it| it == piece);
    assert!(!has(b"alice") && !has(&secret("alice").public().as_bytes()[..16]));
}

#[test]
fn a_ring_that_was_changed_gives_nothing_and_does_no_harm() {
    let bed = bed();
    assert!(changed(&bed, |_| ()).is_ok());
    let ring = bed.part(PartKind::Ring, None).to_vec();
    let (start, each) = shape(&ring);
    for len in (0..ring.len())
        .step_by(97)
        .chain([0, 7, 8, 19, 20, ring.len() - 1])
    {
        let cut = changed(&bed, |ring| ring.truncate(len));
        assert!(
            matches!(cut, Err(Error::Malformed { what: "ring", .. })),
            "{len}: {cut:?}"
        );
    }
    assert!(changed(&bed, |ring| ring.push(0)).is_err());
    for at in 0..3 {
        for wrong in [0, 1, 3, 1025, 1 << 24, u32::MAX] {
            let lied = changed(&bed, |ring| {
                ring[8 + 4 * at..][..4].copy_from_slice(&wrong.to_le_bytes());
            });
            assert!(lied.is_err(), "length {at} of {wrong}");
        }
    }
    // Each entry is bound to its place, so no entry opens if their order changes.
    let turned = changed(&bed, |ring| ring[start..].rotate_left(each));
    assert!(matches!(turned, Err(Error::NoReader)), "{turned:?}");
    // Changes a bit of the reader's own entry: in X25519's half, in ML-KEM's half, and in the
    // sealed part.
    let mut refused = 0;
    for entry in 0..4 {
        for at in [0, 500, 1087, 1088, 1119, 1120, each - 1] {
            let flipped = changed(&bed, |ring| ring[start + entry * each + at] ^= 1);
            refused += usize::from(matches!(flipped, Err(Error::NoReader)));
            assert!(flipped.is_ok() || matches!(flipped, Err(Error::NoReader)));
        }
    }
    assert_eq!(refused, 7);
    // With a point of zeros, every secret gives zero, so readers refuse it.
    let empty = changed(&bed, |ring| {
        for entry in 0..4 {
            ring[start + entry * each + 1088..][..32].fill(0);
        }
    });
    assert!(matches!(empty, Err(Error::NoReader)));
}

#[test]
fn a_ring_of_another_index_or_version_gives_nothing() {
    let mut bed = bed();
    let (manifest, ring) = (bed.manifest(), bed.part(PartKind::Ring, None));
    // A ring of another index gives nothing, even with the same names and keys.
    let mut other = Bed::new(masked());
    for name in ["bob", "alice"] {
        other.grant(name, &["hr"], &[]);
    }
    let foreign = other.part(PartKind::Ring, None);
    let refused = reader("bob").contents(&manifest, Some(&foreign));
    assert!(matches!(refused, Err(Error::NoReader)), "{refused:?}");
    bed.grant("dave", &[], &[]);
    let refused = reader("bob").contents(&bed.manifest(), Some(&ring));
    assert!(matches!(refused, Err(Error::NoReader)), "{refused:?}");
}

#[test]
fn an_older_ring_under_a_newer_manifest_is_refused_and_an_older_manifest_is_a_rollback() {
    let mut bed = bed();
    let older = bed.part(PartKind::Ring, None).to_vec();
    let before = bed.server();
    let labels = super::bed::words(&["carol"]);
    bed.change(sordino_search::Change::group("board", &labels))
        .unwrap();
    let newer = bed.part(PartKind::Ring, None).to_vec();
    let server = bed.server();
    let pin = connect(&server, &reader("alice")).unwrap().pin();
    assert_eq!(older.len(), newer.len());
    // The server replays the ring of an older version.
    let mut replays = Hostile::new(&server, |_, reply| {
        let at = reply.windows(newer.len()).position(|it| it == &newer[..]);
        if let Some(at) = at {
            reply[at..][..newer.len()].copy_from_slice(&older);
        }
    });
    let refused = Client::connect(&mut replays, &reader("bob"), None);
    assert!(
        matches!(refused, Err(Error::Digest { what: "ring" })),
        "{refused:?}"
    );
    let back = Client::connect(&mut InProcess::new(&before), &reader("alice"), Some(&pin));
    assert!(matches!(back, Err(Error::Rollback { .. })), "{back:?}");
}
