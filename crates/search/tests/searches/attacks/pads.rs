//! Two contents under one keystream reveal their difference. A restored machine writes other content to the same rows of
//! the same version, with the same randomness.

use sordino_search::manifest::Packing;
use sordino_search::{Form, Index, Memory, Spec, Store, Vectors, synthetic};
use sordino_testkit::{keys, rng};

use super::bed::{DIM, K, vectors};

/// The number of records that the change writes.
const CHANGED: u32 = 40;

/// The share of the differences between two contents that are as small as differences of codes: at most twice the
/// largest code. For uniform numbers mod 2^26 the share is about 1 in 2,900.
fn in_the_clear(a: &[i32], b: &[i32]) -> f64 {
    const MOST: u32 = 2 * 5722;
    assert_eq!(a.len(), b.len());
    let small = |(a, b): (&i32, &i32)| (a.wrapping_sub(*b) << 6 >> 6).unsigned_abs() <= MOST;
    let count = a.iter().zip(b).filter(|&pair| small(pair)).count();
    count as f64 / a.len() as f64
}

/// The rows of the newest segment, which the server has.
fn newest_rows(disk: &Memory) -> Vec<i32> {
    let index = Index::open_on(disk.clone(), "", &keys().public()).unwrap();
    let (manifest, parts) = index.into_parts();
    let digest = manifest.segments().last().unwrap().rows;
    let rows = parts.iter().find(|(part, _)| part.digest == digest);
    let (words, _) = rows.unwrap().1.as_chunks();
    words.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

fn changed(seed: u64) -> Vectors {
    synthetic::uniform(CHANGED as usize, DIM, seed)
}

#[test]
fn a_restored_owner_with_the_same_randomness_shows_no_difference() {
    let rows = |content: u64| {
        let disk = Memory::default();
        let spec = Spec::new(Form::Masked(Packing::T4)).k(K);
        let (first, keys) = (&mut rng(1), keys());
        let batches = [Ok(vectors(50).into())];
        let made = Store::create_on(disk.clone(), "", first, &keys, &spec, batches, &mut |_| ());
        let mut store = made.unwrap();
        let ids: Vec<u32> = (100..100 + CHANGED).collect();
        store.upsert(&mut rng(2), &ids, &changed(content)).unwrap();
        assert_eq!(store.version(), 2);
        newest_rows(&disk)
    };
    // Equal content gives equal rows, because the machine's state is the same in all runs.
    assert_eq!(rows(1), rows(1));
    let clear = in_the_clear(&rows(1), &rows(2));
    assert!(clear < 0.02, "{clear} of the differences are in the clear");
}

/// If two contents had the same id, the attack would succeed. Real ids depend on the contents, which prevents the
/// attack.
#[test]
fn one_id_for_two_contents_shows_their_difference() {
    let reader = keys().shared();
    let rows = |content: u64| -> Vec<i32> {
        let pad = reader.pad(&[7; 16], 2);
        let vectors = changed(content);
        let rows = (0..CHANGED).zip(vectors.rows()).flat_map(|(at, row)| {
            let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            let unit: Vec<f32> = row.iter().map(|x| x / norm).collect();
            let mut codes: Vec<i32> = sordino_vault::residue::codes(&unit).collect();
            pad.mask(at, &mut codes);
            codes
        });
        rows.collect()
    };
    assert!(in_the_clear(&rows(1), &rows(2)) > 0.99);
}
