//! Reads saved codes, functions and tables. The target must not panic. An object that is read can
//! be used, and is written back as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_lsh::{
    Codes, CrossPolytope, E2Lsh, Family, Lookup, Nearest, SimHash, SimHashTables, Tables,
};

fn tables<F: Family>(data: &[u8]) {
    if let Ok(tables) = Tables::<F>::from_bytes(data) {
        assert_eq!(tables.to_bytes(), data);
        let x = vec![1.0; tables.family().dim()];
        assert!(
            tables
                .candidates(&x, 3, &mut Lookup::default())
                .expect("one vector")
                .len()
                <= tables.len()
        );
    }
    if let Ok(family) = F::from_bytes(data) {
        assert_eq!(family.to_bytes(), data);
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(codes) = Codes::from_bytes(data) {
        assert_eq!(codes.to_bytes(), data);
        let found = codes
            .nearest(&vec![0; codes.bits() / 64], 5, &mut Nearest::default())
            .expect("a code of that length")
            .len();
        assert_eq!(found, codes.len().min(5));
    }
    if let Ok(hash) = SimHash::from_bytes(data) {
        assert_eq!(hash.to_bytes(), data);
    }
    tables::<SimHashTables>(data);
    tables::<CrossPolytope>(data);
    tables::<E2Lsh>(data);
});
