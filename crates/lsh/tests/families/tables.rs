//! Tables find exactly the vectors whose keys are probed. Hostile bytes of saved tables are
//! refused.

#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use proptest::prelude::*;
use sordino_lsh::{
    Codes, CrossPolytope, E2Lsh, Error, Family, Kind, Lookup, Nearest, Scratch, Seed, SimHash,
    SimHashTables, Tables, Vertices,
};

/// Groups of 10 points around 20 centres in `dim` dimensions, made by a small generator.
fn clustered(dim: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let centres: Vec<f32> = (0..20 * dim).map(|_| uniform()).collect();
    let centres = centres.chunks_exact(dim).cycle().take(200);
    centres.flatten().map(|x| x + 0.1 * uniform()).collect()
}

fn check<F: Family>(family: F, vectors: &[f32]) {
    let dim = family.dim();
    let tables = Tables::build(family, vectors).unwrap();
    let saved = tables.to_bytes();
    let read = Tables::<F>::from_bytes(&saved).unwrap();
    assert_eq!(read.to_bytes(), saved);
    assert_eq!(
        (read.len(), read.is_empty()),
        (vectors.len() / dim, vectors.is_empty())
    );

    let family =
        F::from_bytes(&Tables::<F>::from_bytes(&saved).unwrap().family().to_bytes()).unwrap();
    let (mut room, mut other) = (Lookup::default(), Lookup::default());
    for x in vectors.chunks_exact(dim).step_by(17) {
        for probes in [0, 1, 2, 9] {
            let mut expected: Vec<u32> = (0..family.tables())
                .flat_map(|table| {
                    let keys = family.keys(x, table, probes, &mut other).unwrap().to_vec();
                    assert!(keys.len() <= probes);
                    let hit = read
                        .buckets(table)
                        .unwrap()
                        .filter(move |(key, _)| keys.contains(key));
                    hit.flat_map(|(_, ids)| ids.to_vec()).collect::<Vec<_>>()
                })
                .collect();
            expected.sort_unstable();
            expected.dedup();
            let mut found = tables.candidates(x, probes, &mut room).unwrap().to_vec();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }
    for (i, x) in vectors.chunks_exact(dim).enumerate() {
        assert!(
            tables
                .candidates(x, 1, &mut room)
                .unwrap()
                .contains(&(i as u32)),
            "a vector finds itself"
        );
    }
    for table in 0..family.tables() {
        let mut ids: Vec<u32> = read
            .buckets(table)
            .unwrap()
            .flat_map(|(_, ids)| ids.to_vec())
            .collect();
        ids.sort_unstable();
        assert!(
            ids.into_iter().eq(0..read.len() as u32),
            "every vector is in one bucket"
        );
    }

    for len in 0..saved.len().min(3000) {
        assert!(Tables::<F>::from_bytes(&saved[..len]).is_err());
    }
    assert!(Tables::<F>::from_bytes(&[saved.as_slice(), &[0]].concat()).is_err());
    for bit in (0..8 * saved.len()).step_by(997) {
        let mut bent = saved.clone();
        bent[bit / 8] ^= 1 << (bit % 8);
        if let Ok(tables) = Tables::<F>::from_bytes(&bent) {
            assert_eq!(tables.to_bytes(), bent);
            let found = tables.candidates(&vectors[..dim.min(vectors.len())], 3, &mut room);
            assert!(found.is_ok());
        }
    }
}

#[test]
fn every_family() {
    let seed = Seed([5; 32]);
    let vectors = clustered(24);
    check(
        SimHashTables::new(24, 4, 7, Kind::Rotation, seed).unwrap(),
        &vectors,
    );
    check(
        SimHashTables::new(24, 1, 64, Kind::Hyperplanes, seed).unwrap(),
        &vectors,
    );
    check(CrossPolytope::new(24, 3, 2, seed).unwrap(), &vectors);
    check(E2Lsh::new(24, 3, 5, 2.0, seed).unwrap(), &vectors);
}

#[test]
fn tables_of_nothing() {
    let family = E2Lsh::new(24, 3, 5, 2.0, Seed([5; 32])).unwrap();
    let tables = Tables::build(family, &[]).unwrap();
    assert!(
        tables.is_empty()
            && tables
                .candidates(&[0.0; 24], 5, &mut Lookup::default())
                .unwrap()
                .is_empty()
    );
    assert!(
        Tables::<E2Lsh>::from_bytes(&tables.to_bytes())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn probing_finds_more_of_the_near() {
    let vectors = clustered(24);
    let family = SimHashTables::new(24, 2, 24, Kind::Rotation, Seed([5; 32])).unwrap();
    let tables = Tables::build(family, &vectors).unwrap();
    let mut room = Lookup::default();
    let mut found = |probes| {
        let near = |i: usize, id: &&u32| **id as usize % 20 == i % 20;
        let all = vectors.chunks_exact(24).enumerate();
        all.map(|(i, x)| {
            tables
                .candidates(x, probes, &mut room)
                .unwrap()
                .iter()
                .filter(|id| near(i, id))
                .count()
        })
        .sum::<usize>()
    };
    // Each of the 200 vectors has 10 near vectors. The counts are the results with this seed,
    // rounded down.
    let (few, many) = (found(1), found(12));
    assert!(
        few > 800 && many > few + few / 4 && many > 1700,
        "{few} {many}"
    );
}

#[test]
fn parameters_out_of_range_are_refused() {
    let seed = Seed([0; 32]);
    assert_eq!(
        SimHash::new(0, 64, Kind::Rotation, seed).unwrap_err(),
        Error::Dim {
            found: 0,
            most: 8194
        }
    );
    assert!(matches!(
        SimHash::new(8195, 64, Kind::Rotation, seed),
        Err(Error::Dim { .. })
    ));
    for bits in [0, 1, 63, 65, 96, 1088] {
        assert_eq!(
            SimHash::new(8, bits, Kind::Hyperplanes, seed).unwrap_err(),
            Error::Bits { found: bits }
        );
    }
    for (tables, functions) in [(0, 1), (1, 0), (1, 65), (17, 64), (usize::MAX, 2)] {
        assert!(matches!(
            SimHashTables::new(8, tables, functions, Kind::Rotation, seed),
            Err(Error::Functions { .. })
        ));
    }
    assert!(matches!(
        CrossPolytope::new(8, 257, 1, seed),
        Err(Error::Functions { .. })
    ));
    for width in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-45] {
        assert_eq!(E2Lsh::new(8, 1, 1, width, seed).unwrap_err(), Error::Width);
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let seed = Seed::from([9; 32]);
    assert_eq!(seed.as_bytes(), &[9; 32]);
    let floats = |found| Error::Floats {
        found,
        expected: 24,
    };
    let vectors = |found| Error::Vectors { found, dim: 24 };
    let hash = SimHash::new(24, 192, Kind::Rotation, seed).unwrap();
    let (mut scratch, mut room) = (Scratch::default(), Lookup::default());
    for found in [0, 1, 23, 25, 48] {
        let x = vec![1.0; found];
        assert_eq!(hash.hash(&x).unwrap_err(), floats(found));
        let polytope = CrossPolytope::new(24, 3, 2, seed).unwrap();
        let keys = polytope.keys(&x, 0, 1, &mut room).map(<[u64]>::to_vec);
        assert_eq!(keys.unwrap_err(), floats(found));
        let vertices = Vertices::new(24, 16, seed).unwrap();
        let scores = vertices.scores(&x, &mut scratch, &mut [0.0; 16]);
        assert_eq!(scores.unwrap_err(), floats(found));
        let scores = vertices.scores(&[1.0; 24], &mut scratch, &mut vec![0.0; found]);
        let expected = 16;
        assert_eq!(scores.unwrap_err(), Error::Floats { found, expected });
        let tables = Tables::build(polytope.clone(), &[1.0; 48]).unwrap();
        let candidates = tables.candidates(&x, 1, &mut room).map(<[u32]>::to_vec);
        assert_eq!(candidates.unwrap_err(), floats(found));
        if found % 24 != 0 {
            assert_eq!(hash.hash_batch(&x).unwrap_err(), vectors(found));
            #[cfg(feature = "rayon")]
            assert_eq!(hash.par_hash_batch(&x).unwrap_err(), vectors(found));
            let tables = Tables::build(polytope, &x).map(|_| ());
            assert_eq!(tables.unwrap_err(), vectors(found));
        }
    }
    for found in [0, 2, 4] {
        let expected = 3;
        let code = hash.hash_into(&[1.0; 24], &mut scratch, &mut vec![0; found]);
        assert_eq!(code.unwrap_err(), Error::Words { found, expected });
        let codes = hash.hash_batch(&[1.0; 48]).unwrap();
        let mut room = Nearest::default();
        let nearest = codes.nearest(&vec![0; found], 1, &mut room);
        assert_eq!(nearest.unwrap_err(), Error::Words { found, expected });
    }
    let whole = Error::WholeCodes { found: 5, words: 3 };
    assert_eq!(Codes::from_words(192, &[0; 5]).unwrap_err(), whole);
    for bits in [0, 63, 65, 1088] {
        let refused = Codes::from_words(bits, &[]).unwrap_err();
        assert_eq!(refused, Error::Bits { found: bits });
    }
    let family = E2Lsh::new(24, 3, 5, 2.0, seed).unwrap();
    let table = Error::Table {
        found: 3,
        tables: 3,
    };
    let keys = family
        .keys(&[1.0; 24], 3, 1, &mut room)
        .map(<[u64]>::to_vec);
    assert_eq!(keys.unwrap_err(), table);
    let tables = Tables::build(family, &[1.0; 48]).unwrap();
    assert_eq!(tables.buckets(3).map(|_| ()).unwrap_err(), table);
}

#[test]
fn saved_codes_and_functions_survive_the_wire_only_whole() {
    let hash = SimHash::new(24, 192, Kind::Rotation, Seed([8; 32])).unwrap();
    let saved = hash.to_bytes();
    let read = SimHash::from_bytes(&saved).unwrap();
    let vectors = clustered(24);
    let codes = hash.hash_batch(&vectors).unwrap();
    assert_eq!(read.hash_batch(&vectors).unwrap(), codes);
    #[cfg(feature = "rayon")]
    assert_eq!(hash.par_hash_batch(&vectors).unwrap(), codes);
    assert_eq!(codes.get(3), hash.hash(&vectors[72..96]).ok());
    assert!(codes.get(200).is_none());
    let bytes = codes.to_bytes();
    assert_eq!(Codes::from_bytes(&bytes).unwrap(), codes);
    for len in 0..bytes.len() {
        assert!(Codes::from_bytes(&bytes[..len]).is_err());
    }
    for len in 0..saved.len() {
        assert!(SimHash::from_bytes(&saved[..len]).is_err());
    }
    // The head claims 2^60 words that do not follow.
    let mut huge = bytes;
    huge[16..24].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    assert!(matches!(
        Codes::from_bytes(&huge),
        Err(Error::Length { .. })
    ));
    assert_eq!(Codes::from_bytes(b"TABL\x01\0\0\0"), Err(Error::Magic));
    assert_eq!(
        Codes::from_bytes(b"CODE\x02\0\0\0"),
        Err(Error::FormatVersion {
            found: 2,
            expected: 1
        })
    );
}

/// Results are equal on every machine, because codes and tables are stored and compared across
/// machines.
#[test]
fn golden_hashes() {
    let x: Vec<f32> = (0..100).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    let [rotation, hyperplanes] = [Kind::Rotation, Kind::Hyperplanes].map(|kind| {
        SimHash::new(100, 128, kind, Seed([1; 32]))
            .unwrap()
            .hash(&x)
            .unwrap()
    });
    let mut room = Lookup::default();
    let polytope = CrossPolytope::new(100, 1, 2, Seed([1; 32])).unwrap();
    let polytope = polytope.keys(&x, 0, 2, &mut room).unwrap().to_vec();
    let e2lsh = E2Lsh::new(100, 1, 4, 10.0, Seed([1; 32])).unwrap();
    let e2lsh = e2lsh.keys(&x, 0, 2, &mut room).unwrap().to_vec();
    assert_eq!([rotation, hyperplanes, polytope, e2lsh], GOLDEN);
}
const GOLDEN: [[u64; 2]; 4] = [
    [11576833069846199693, 13623113859497544165],
    [16250085401572158376, 4794876009670444072],
    [13533191796127693611, 8380710719783212716],
    [14224434030380263973, 17598073570031337605],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn hostile_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..300), small in prop::collection::vec(0..9_u64, 0..12), magic in 0..4_usize) {
        let mut bytes = [b"SIMH", b"CODE", b"TABL", b"FAML"][magic].to_vec();
        bytes.extend_from_slice(&1_u32.to_le_bytes());
        bytes.extend(small.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend_from_slice(&tail);
        let _ = SimHash::from_bytes(&bytes).map(|hash| hash.hash(&vec![1.0; hash.dim()]).unwrap());
        if let Ok(codes) = Codes::from_bytes(&bytes) {
            codes.nearest(&vec![0; codes.bits() / 64], 3, &mut Nearest::default()).unwrap();
        }
        let _ = Tables::<SimHashTables>::from_bytes(&bytes);
        let _ = Tables::<CrossPolytope>::from_bytes(&bytes);
        let _ = Tables::<E2Lsh>::from_bytes(&bytes);
        let _ = E2Lsh::from_bytes(&bytes);
    }
}
