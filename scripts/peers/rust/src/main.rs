//! Measures AWS-LC on the inputs of the bench `mldsa`, and prints one JSON object per measurement:
//! {"group", "function", "parameter", "median_ns"}.
//!
//! `fresh` starts from the encoded key, `parsed` from AWS-LC's form of it. That form holds the encoded key, which each
//! verification expands. `many keys` is the call of `fresh`, once for each signature of a batch.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aws_lc_rs::signature::{
    ML_DSA_44, ML_DSA_65, ML_DSA_87, ParsedPublicKey, PqdsaVerificationAlgorithm, UnparsedPublicKey,
};
use ml_dsa::signature::Keypair;
use ml_dsa::{MlDsa44, MlDsa65, MlDsa87, MlDsaParams, SigningKey};

const WINDOWS: usize = 5;
/// The samples of a window
const SAMPLES: usize = 5;
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

/// A row of the output, and the call that it times.
struct Row {
    group: &'static str,
    function: &'static str,
    set: &'static str,
    parameter: String,
    verifications: usize,
    call: Box<dyn FnMut()>,
    /// The least median of the windows so far
    ns: f64,
}

impl Row {
    fn each(&self) -> f64 {
        self.ns / self.verifications as f64
    }

    /// Whether the row times verifications that each start from an encoded key.
    fn encoded(&self) -> bool {
        matches!(self.function, "fresh" | "many keys")
    }
}

/// Measures all rows once for each window and prints them. All other rows lie between two windows of a row, so that a
/// slow moment of the machine counts in few of them.
fn measure(mut rows: Vec<Row>) {
    for _ in 0..WINDOWS {
        for row in &mut rows {
            row.ns = row.ns.min(window(&mut row.call));
        }
    }
    for row in &rows {
        // `fresh` and `many keys` time the same call, so that its least time counts for both.
        let same = |other: &&Row| row.encoded() && other.encoded() && row.set == other.set;
        let each = rows.iter().filter(same).map(Row::each);
        let ns = each.fold(row.each(), f64::min) * row.verifications as f64;
        println!(
            r#"{{"group":"{}","function":"aws-lc-rs {}","parameter":"{}","median_ns":{ns}}}"#,
            row.group, row.function, row.parameter
        );
    }
}

/// The median time of one call of `f`, over samples of many calls each.
fn window(f: &mut dyn FnMut()) -> f64 {
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
    times[SAMPLES / 2]
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

fn verify<P: MlDsaParams>(
    rows: &mut Vec<Row>,
    set: &'static str,
    algorithm: &'static PqdsaVerificationAlgorithm,
) {
    check::<P>(algorithm);
    let mut add = |function, call| {
        rows.push(Row {
            group: "mldsa/verify",
            function,
            set,
            parameter: set.into(),
            verifications: 1,
            call,
            ns: f64::INFINITY,
        });
    };
    // The rows are measured until the program ends.
    let signed: Vec<_> = (1..=16).map(|seed| Signed::new::<P>(seed, 0)).collect();
    let signed: &'static [Signed] = signed.leak();
    let mut next = signed.iter().cycle();
    let fresh = move || black_box(next.next().expect("cycle")).verify(algorithm);
    add("fresh", Box::new(fresh));
    let key = signed[0].key(algorithm);
    let parsed = move || black_box(&signed[0]).verify_by(&key);
    add("parsed", Box::new(parsed));
}

fn batch<P: MlDsaParams>(
    rows: &mut Vec<Row>,
    set: &'static str,
    algorithm: &'static PqdsaVerificationAlgorithm,
    sizes: &[usize],
) {
    let one: Vec<_> = (0..128).map(|i| Signed::new::<P>(0, i)).collect();
    let many: Vec<_> = (0..128).map(|i| Signed::new::<P>(i + 1, 0)).collect();
    let (one, many): (&'static [Signed], &'static [Signed]) = (one.leak(), many.leak());
    for &n in sizes {
        let mut add = |function, call| {
            rows.push(Row {
                group: "mldsa/batch",
                function,
                set,
                parameter: format!("{set}x{n}"),
                verifications: n,
                call,
                ns: f64::INFINITY,
            });
        };
        let one_key = move || {
            let key = one[0].key(algorithm);
            for signed in black_box(&one[..n]) {
                signed.verify_by(&key);
            }
        };
        add("one key", Box::new(one_key));
        let many_keys = move || {
            for signed in black_box(&many[..n]) {
                signed.verify(algorithm);
            }
        };
        add("many keys", Box::new(many_keys));
    }
}

fn main() {
    let mut rows = Vec::new();
    verify::<MlDsa44>(&mut rows, "ML-DSA-44", &ML_DSA_44);
    verify::<MlDsa65>(&mut rows, "ML-DSA-65", &ML_DSA_65);
    verify::<MlDsa87>(&mut rows, "ML-DSA-87", &ML_DSA_87);
    batch::<MlDsa44>(&mut rows, "ML-DSA-44", &ML_DSA_44, &[32]);
    batch::<MlDsa65>(&mut rows, "ML-DSA-65", &ML_DSA_65, &[32]);
    batch::<MlDsa87>(&mut rows, "ML-DSA-87", &ML_DSA_87, &[8, 32, 64, 128]);
    measure(rows);
}
