//! A reader without a label's key has a changed client and all data of a server. The records under the label still
//! look uniform to this reader.

use sordino_search::manifest::PartKind;
use sordino_search::{Batch, Id, Vectors, synthetic};
use sordino_testkit::rng;
use sordino_vault::content_key::ContentKey;
use sordino_vault::residue;

use super::bed::{Bed, DIM, EACH, masked, reader, vectors};

/// The number of additions with the label, which gives enough rows to count.
const PARTS: u64 = 12;

/// Counts the upper four bits of residues mod 2^26.
fn counted(residues: impl Iterator<Item = i32>) -> [u64; 16] {
    let mut counts = [0; 16];
    for residue in residues {
        let at = residue.cast_unsigned() << 6 >> 28;
        counts[at as usize] += 1;
    }
    counts
}

/// Chi squared with 15 degrees of freedom for a uniform distribution. It exceeds 60 once in 400,000
/// times.
fn chi_square(counts: [u64; 16]) -> f64 {
    let all: u64 = counts.iter().sum();
    let expected = all as f64 / 16.0;
    let off = counts.map(|count| (count as f64 - expected).powi(2) / expected);
    off.iter().sum()
}

/// Removes the pads of this key. Returns the products of a segment's rows with a query mod 2^26, as the server computes
/// them, without pads, and all coordinates without pads.
fn bare(bed: &Bed, at: usize, key: &ContentKey, query: &[i32]) -> (Vec<i32>, Vec<i32>) {
    let manifest = bed.manifest();
    let segment = manifest.segments()[at].clone();
    let rows = bed.part(PartKind::Rows, Some(at));
    let n = usize::try_from(segment.n).unwrap();
    let stored: Vec<i32> = rows
        .as_chunks()
        .0
        .iter()
        .map(|word| i32::from_le_bytes(*word))
        .collect();
    let product = |row: &[i32]| {
        let products = row.iter().zip(query).map(|(a, b)| a.wrapping_mul(*b));
        products.fold(0i32, i32::wrapping_add)
    };
    let mut pads = vec![0; n];
    key.pad(&segment.id, segment.version)
        .products(query, &mut pads);
    let scores = stored.chunks_exact(DIM).take(n).zip(pads);
    let scores = scores.map(|(row, pad)| product(row).wrapping_sub(pad.cast_signed()));
    (scores.collect(), key.unmask(&segment, DIM, &rows))
}

#[test]
fn rows_and_scores_of_a_label_are_uniform_to_who_has_no_key_of_it() {
    let mut bed = Bed::new(masked());
    bed.grant("alice", &[], &[]);
    bed.grant("bob", &["finance"], &[]);
    for part in 1..=PARTS {
        bed.add(100 * part, Some("finance"));
    }
    let manifest = bed.manifest();
    let ring = bed.part(PartKind::Ring, None);
    let keys = |name| reader(name).contents(&manifest, Some(&ring)).unwrap();
    let (alice, bob) = (keys("alice"), keys("bob"));
    let segments = manifest.segments();
    assert_eq!(segments.len() as u64, 1 + PARTS);
    // Alice's entry in the ring only has the key of records without a label.
    let finance = segments[1].key;
    assert!(alice.get(finance).is_none() && bob.get(finance).is_some());
    let own = alice.of(segments[0]).unwrap();
    let nobody = ContentKey::from_bytes([0; 32]);
    let query = vectors(100).row(0).to_vec();
    let norm = query.iter().map(|x| x * x).sum::<f32>().sqrt();
    let query: Vec<f32> = query.iter().map(|x| x / norm).collect();
    let query: Vec<i32> = residue::codes(&query).collect();
    let seen = |key: &ContentKey| {
        let parts = (1..segments.len()).map(|at| bare(&bed, at, key, &query));
        let (scores, codes): (Vec<_>, Vec<_>) = parts.unzip();
        let (scores, codes) = (scores.concat(), codes.concat());
        assert_eq!(scores.len() as u64, PARTS * EACH);
        (
            chi_square(counted(scores.into_iter())),
            chi_square(counted(codes.into_iter())),
        )
    };
    for key in [own, &nobody] {
        let (scores, codes) = seen(key);
        assert!(
            scores < 60.0 && codes < 60.0,
            "scores {scores}, codes {codes}"
        );
    }
    // Without the protection, with the right key, both are far from uniform.
    let (scores, codes) = seen(bob.get(finance).unwrap());
    assert!(
        scores > 300.0 && codes > 1000.0,
        "scores {scores}, codes {codes}"
    );
}

/// Every reader has the frame, and with it the recall. A compaction that makes a new frame must not measure records under a label.
#[test]
fn the_recall_of_a_new_frame_says_nothing_of_records_under_a_label() {
    let n = usize::try_from(EACH).unwrap();
    let around = |shift: f32, noise: f32, seed| {
        let rows = synthetic::uniform(n, DIM, seed);
        let all = rows.as_slice().iter().map(|x| shift + noise * x);
        Vectors::new(DIM, all.collect()).unwrap()
    };
    let recall = |hidden: Vectors| {
        let mut bed = Bed::new(masked());
        bed.grant("alice", &[], &[]);
        let mut add = |first: u64, vectors, label| {
            let batch = Batch::new(first..first + EACH, vectors).unwrap();
            let added = bed
                .store
                .add_labelled(&mut rng(first), label, [Ok(batch)], &mut |_| ());
            added.unwrap();
        };
        // The first records go, and those that stay lie elsewhere. So the frame is trained again.
        add(100, around(1.0, 0.2, 3), None);
        add(200, hidden, Some("finance"));
        let first: Vec<Id> = (0..EACH).map(Id::from).collect();
        bed.store.delete(&mut rng(5), &first).unwrap();
        let before = bed.manifest().frame.clone();
        bed.compact();
        assert_ne!(bed.manifest().frame, before, "the frame is new");
        bed.store.recall().unwrap()
    };
    let far = recall(around(-1.0, 0.2, 4));
    // Near copies of the others would be true neighbours that rounding confuses.
    assert!((recall(around(1.0, 0.2, 3)) - far).abs() < 1e-12);
    assert!((recall(around(1.0, 1e-4, 4)) - far).abs() < 1e-12);
}
