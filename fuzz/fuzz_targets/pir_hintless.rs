#![no_main]
//! Every message of retrieval without a hint: decoding never panics, and what decodes can be used.

use std::sync::OnceLock;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use libfuzzer_sys::fuzz_target;
use sordino_pir::Seed;
use sordino_pir::hintless::{
    Answer, Client, Database, Evaluation, Keys, Params, Query, Server, Session, Sessions,
};

const SEED: Seed = Seed([9; 32]);

struct Deployed {
    params: Params,
    server: Server,
    client: Client,
    session: Session,
    keys: Evaluation,
}

fn deployed() -> &'static Deployed {
    static DEPLOYED: OnceLock<Deployed> = OnceLock::new();
    DEPLOYED.get_or_init(|| {
        // The slots of several rows.
        let params = Params::new(300, 1792, 2).expect("served");
        let all = vec![[7; 1792]; 300];
        let database = Database::from_records(&params, &SEED, all).expect("300 records");
        let (session, keys) = Session::new(&mut ChaCha20Rng::from_seed([1; 32]));
        Deployed {
            params,
            server: Server::from(database),
            client: Client::new(&params, &SEED),
            session,
            keys: Evaluation::from(&keys),
        }
    })
}

fuzz_target!(|data: &[u8]| {
    let deployed = deployed();
    if let Ok(keys) = Keys::from_bytes(data) {
        assert_eq!(keys.to_bytes(), data);
        assert_eq!(Sessions::new(1).insert(&keys).digest(), &keys.digest());
    }
    if let Ok(query) = Query::from_bytes(&deployed.params, data) {
        assert_eq!(query.to_bytes(), data);
        let _ = deployed.server.answer(&deployed.keys, &query);
    }
    if let Ok(answer) = Answer::from_bytes(&deployed.params, data) {
        assert_eq!(answer.to_bytes(), data);
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let asked = deployed.client.query(&mut rng, &deployed.session, &[3, 4]);
        let (asked, _) = asked.expect("in range");
        let _ = deployed.client.recover(&deployed.session, asked, &answer);
    }
    // Layouts of arbitrary numbers are refused, or keep the failure bound.
    if let Some((numbers, _)) = data.split_first_chunk::<17>() {
        let number = |at: usize| {
            let bytes = std::array::from_fn(|i| numbers[at + i]);
            usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        if let Ok(params) = Params::new(number(0), number(8), numbers[16].into()) {
            assert!(params.log2_failure() <= -40.0);
        }
    }
});
