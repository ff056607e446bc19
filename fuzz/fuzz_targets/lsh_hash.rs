//! Hashes and scans any input. The target must not panic, and every backend gives the bits of the
//! portable definition.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_lsh::{Backend, Codes, Kind, Nearest, Scratch, Seed, SimHash};

fuzz_target!(|data: &[u8]| {
    let Some((&[kind, blocks, k, dim], rest)) = data.split_first_chunk() else {
        return;
    };
    let kind = if kind % 2 == 0 {
        Kind::Rotation
    } else {
        Kind::Hyperplanes
    };
    let (words, dim) = (1 + usize::from(blocks % 16), 1 + usize::from(dim));
    let mut x: Vec<f32> = rest
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    x.resize(dim, 0.5);
    let hash = SimHash::new(dim, 64 * words, kind, Seed([1; 32])).expect("valid");
    let all: Vec<u64> = rest
        .as_chunks()
        .0
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .collect();
    let codes =
        Codes::from_words(64 * words, &all[..all.len() - all.len() % words]).expect("whole codes");
    let mut results = Backend::available().map(|backend| {
        let (mut code, mut room) = (vec![0; words], Nearest::default());
        hash.hash_into_on(backend, &x, &mut Scratch::default(), &mut code)
            .expect("lengths fit");
        let found = codes
            .nearest_on(backend, &code, usize::from(k), &mut room)
            .expect("a code of the hash")
            .to_vec();
        (code, found)
    });
    let portable = results.next();
    assert!(results.all(|result| Some(result) == portable));
});
