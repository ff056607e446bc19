//! Measures AWS-LC on the inputs of the bench `mldsa`, and prints one JSON object per measurement:
//! {"group", "function", "parameter", "median_ns"}.
//!
//! `fresh` starts from the encoded key, `parsed` from AWS-LC's form of it. That form holds the encoded key, which each
//! verification expands.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{
    ML_DSA_44, ML_DSA_65, ML_DSA_87, ParsedPublicKey, PqdsaVerificationAlgorithm, UnparsedPublicKey,
};
use ml_dsa::signature::Keypair;
use ml_dsa::{MlDsa44, MlDsa65, MlDsa87, MlDsaParams, SigningKey};

const SAMPLES: usize = 25;
const SAMPLE_TIME: Duration = Duration::from_millis(20);

/// A public key, a message of 64 bytes and its signature, as in the Criterion bench.
struct Signed {
    public_key: Vec<u8>,
    message: [u8; 64],
    signature: Vec<u8>,
}

impl Signed {
    fn new<P: MlDsaParams>(seed: u8, message: u8) -> Self {
        let key = SigningKey::<P>::from_seed(&[seed; 32].into());
        let message = [message; 64];
        let signature = key.expanded_key().sign_deterministic(&message, &[]);
        Self {
            public_key: key.verifying_key().encode().to_vec(),
            message,
            signature: signature.expect("the context is empty").encode().to_vec(),
        }
    }

    fn key(&self, set: &'static PqdsaVerificationAlgorithm) -> ParsedPublicKey {
        ParsedPublicKey::new(set, &self.public_key).expect("a key of the set")
    }

    fn verify(&self, set: &'static PqdsaVerificationAlgorithm) {
        UnparsedPublicKey::new(set, &self.public_key)
            .verify(&self.message, &self.signature)
            .expect("a valid signature");
    }

    fn verify_by(&self, key: &ParsedPublicKey) {
        key.verify_sig(&self.message, &self.signature)
            .expect("a valid signature");
    }
}

/// Prints the median time of one call of `f`, over samples of many calls each.
fn bench(group: &str, function: &str, parameter: &str, mut f: impl FnMut()) {
    f();
    let start = Instant::now();
    f();
    let calls = SAMPLE_TIME.as_nanos() / (start.elapsed().as_nanos() + 1) + 1;
    let mut times = [0.0; SAMPLES];
    for time in &mut times {
        let start = Instant::now();
        for _ in 0..calls {
            f();
        }
        *time = start.elapsed().as_nanos() as f64 / calls as f64;
    }
    times.sort_by(f64::total_cmp);
    println!(
        r#"{{"group":"{group}","function":"aws-lc-rs {function}","parameter":"{parameter}","median_ns":{}}}"#,
        times[SAMPLES / 2]
    );
}

/// A valid signature must be accepted, and refused for another message.
fn check<P: MlDsaParams>(set: &'static PqdsaVerificationAlgorithm) {
    let mut signed = Signed::new::<P>(1, 0);
    let key = signed.key(set);
    signed.verify(set);
    signed.verify_by(&key);
    signed.message[0] ^= 1;
    let unparsed = UnparsedPublicKey::new(set, &signed.public_key);
    assert!(unparsed.verify(&signed.message, &signed.signature).is_err());
    assert!(key.verify_sig(&signed.message, &signed.signature).is_err());
}

fn verify<P: MlDsaParams>(name: &str, set: &'static PqdsaVerificationAlgorithm) {
    check::<P>(set);
    let signed: Vec<_> = (1..=16).map(|seed| Signed::new::<P>(seed, 0)).collect();
    let mut next = signed.iter().cycle();
    bench("mldsa/verify", "fresh", name, || {
        black_box(next.next().expect("cycle")).verify(set);
    });
    let key = signed[0].key(set);
    bench("mldsa/verify", "parsed", name, || {
        black_box(&signed[0]).verify_by(&key);
    });
}

fn batch<P: MlDsaParams>(name: &str, set: &'static PqdsaVerificationAlgorithm, sizes: &[usize]) {
    let one: Vec<_> = (0..128).map(|i| Signed::new::<P>(0, i)).collect();
    let many: Vec<_> = (0..128).map(|i| Signed::new::<P>(i + 1, 0)).collect();
    for &n in sizes {
        let parameter = format!("{name}x{n}");
        bench("mldsa/batch", "one key", &parameter, || {
            let key = one[0].key(set);
            for signed in black_box(&one[..n]) {
                signed.verify_by(&key);
            }
        });
        bench("mldsa/batch", "many keys", &parameter, || {
            for signed in black_box(&many[..n]) {
                signed.verify(set);
            }
        });
    }
}

fn main() {
    verify::<MlDsa44>("ML-DSA-44", &ML_DSA_44);
    verify::<MlDsa65>("ML-DSA-65", &ML_DSA_65);
    verify::<MlDsa87>("ML-DSA-87", &ML_DSA_87);
    batch::<MlDsa44>("ML-DSA-44", &ML_DSA_44, &[32]);
    batch::<MlDsa65>("ML-DSA-65", &ML_DSA_65, &[32]);
    batch::<MlDsa87>("ML-DSA-87", &ML_DSA_87, &[8, 32, 64, 128]);
}
