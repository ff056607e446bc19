#![no_main]
//! Messages of row packing: decoding never panics, and what decodes can be used.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rand_core::SeedableRng;
use sordino_ckks::dot::{self, Params, Plaintexts, Query, Reply};

const DIM: usize = 3;
const COUNT: usize = 5;

fn plaintexts() -> &'static Plaintexts {
    static PLAINTEXTS: OnceLock<Plaintexts> = OnceLock::new();
    PLAINTEXTS.get_or_init(|| {
        Plaintexts::encode(&Params::rlwe_2048_50(), &[0.5; COUNT * DIM], DIM)
            .expect("short vectors")
    })
}

fuzz_target!(|data: &[u8]| {
    if let Ok(query) = Query::from_bytes(data) {
        assert_eq!(query.to_bytes(), data);
        let _ = plaintexts().score(&query);
    }
    if let Ok(plaintexts) = Plaintexts::from_bytes(data) {
        let mut again = Vec::new();
        plaintexts.write_to(&mut again).expect("into memory");
        assert_eq!(again, data);
    }
    if let Ok(reply) = Reply::from_bytes(data) {
        assert_eq!(reply.to_bytes(), data);
        let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let (secret, _) =
            dot::encrypt(&mut rng, &Params::rlwe_2048_50(), &[0.5; DIM]).expect("a short query");
        let _ = secret.decrypt(COUNT, &reply);
    }
});
