//! ML-DSA verification: one signature at a time, and batches, compared with the peers.
//!
//! `mldsa/verify`, parameter = parameter set: `fresh` starts from the encoded key, `expanded` from whatever the
//! implementation can keep of a key. `mldsa/batch`, parameter = parameter set x batch size: `one key` and `many keys`
//! (a new key for each signature). No key of a batch was seen before, so the time includes its expansion. `rayon` is a
//! batch on all threads of the global pool. `scripts/peers` measures AWS-LC. `pqcrypto-mldsa` is no peer: its code
//! (PQClean's) accepts signatures whose z is too long, so its time is for less than a verification. Messages have 64
//! bytes, contexts are empty. `SORDINO_BENCH_LONG` adds the batches of the other sets and backends at all sizes.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use fips204::traits::{SerDes, Verifier};
use sordino_mldsa::ml_dsa::{self, signature::Keypair};
use sordino_mldsa::{
    Backend, BatchVerifier, Error, ExpandedKey, Item, Message, MlDsa44, MlDsa65, MlDsa87, Params,
};

mod settings;

/// The number of signers: more than the number of keys that the benched verifiers keep, and the size of the largest
/// batch.
const KEYS: u8 = 128;
const SIZES: [usize; 4] = [8, 32, 64, 128];

/// A public key, a message and its signature.
struct Signed {
    public_key: Vec<u8>,
    message: [u8; 64],
    signature: Vec<u8>,
}

impl Signed {
    fn item<P: Params>(&self) -> Item<'_, P> {
        Item::new(&self.public_key[..], &self.message, &[], &self.signature)
    }
}

/// A parameter set and the peers' verifiers of it.
trait Set: Params {
    fn sign(seed: [u8; 32], count: u8) -> Vec<Signed>;
    fn peers(group: &mut BenchmarkGroup<'_, WallTime>, signed: &[Signed]);
    fn peer_batches(group: &mut BenchmarkGroup<'_, WallTime>, one: &[Signed], many: &[Signed]);
}

macro_rules! set {
    ($set:ident, $module:ident, $key:ident, $signature:ident) => {
        impl Set for $set {
            fn sign(seed: [u8; 32], count: u8) -> Vec<Signed> {
                let key = ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&seed.into());
                let public_key = key.verifying_key().encode().to_vec();
                let sign = |i| {
                    let message = [i; 64];
                    let signature = key.expanded_key().sign_deterministic(&message, &[]);
                    let signature = signature.expect("the context is empty").encode().to_vec();
                    Signed {
                        public_key: public_key.clone(),
                        message,
                        signature,
                    }
                };
                (0..count).map(sign).collect()
            }

            fn peers(group: &mut BenchmarkGroup<'_, WallTime>, signed: &[Signed]) {
                let set = Self::NAME;
                let mut next = signed.iter().cycle();
                let mut next = || next.next().expect("cycle");
                group.bench_function(BenchmarkId::new("ml-dsa fresh", set), |b| {
                    b.iter(|| assert!(rustcrypto::<ml_dsa::$set>(black_box(next()))));
                });
                let first = &signed[0];
                let key = ml_dsa::VerifyingKey::<ml_dsa::$set>::decode(&array(&first.public_key));
                group.bench_function(BenchmarkId::new("ml-dsa expanded", set), |b| {
                    b.iter(|| assert!(rustcrypto_by(&key, black_box(first))));
                });
                group.bench_function(BenchmarkId::new("libcrux fresh", set), |b| {
                    b.iter(|| assert!($module::libcrux(black_box(next()))));
                });
                group.bench_function(BenchmarkId::new("fips204 fresh", set), |b| {
                    b.iter(|| assert!($module::fips204(black_box(next()))));
                });
                let key = $module::fips204_key(first);
                let signature: [u8; Self::SIGNATURE_LEN] = sized(&first.signature);
                group.bench_function(BenchmarkId::new("fips204 expanded", set), |b| {
                    b.iter(|| assert!(key.verify(black_box(&first.message), &signature, &[])));
                });
            }

            fn peer_batches(
                group: &mut BenchmarkGroup<'_, WallTime>,
                one: &[Signed],
                many: &[Signed],
            ) {
                let id = |name, n| BenchmarkId::new(name, format!("{}x{n}", Self::NAME));
                let n = one.len();
                group.throughput(Throughput::Elements(n as u64));
                group.bench_function(id("ml-dsa one key", n), |b| {
                    b.iter(|| {
                        let key = ml_dsa::VerifyingKey::<ml_dsa::$set>::decode(&array(
                            &one[0].public_key,
                        ));
                        assert!(
                            black_box(one)
                                .iter()
                                .all(|signed| rustcrypto_by(&key, signed))
                        );
                    });
                });
                group.bench_function(id("libcrux many keys", n), |b| {
                    b.iter(|| assert!(black_box(many).iter().all($module::libcrux)));
                });
            }
        }

        mod $module {
            use super::{SerDes, Signed, Verifier, sized};
            use libcrux_ml_dsa::$module::{verify, $key, $signature};

            pub(super) fn libcrux(signed: &Signed) -> bool {
                let key = $key::new(sized(&signed.public_key));
                let signature = $signature::new(sized(&signed.signature));
                verify(&key, &signed.message, &[], &signature).is_ok()
            }

            pub(super) fn fips204_key(signed: &Signed) -> ::fips204::$module::PublicKey {
                let key = ::fips204::$module::PublicKey::try_from_bytes(sized(&signed.public_key));
                key.expect("a key of the right length")
            }

            pub(super) fn fips204(signed: &Signed) -> bool {
                fips204_key(signed).verify(&signed.message, &sized(&signed.signature), &[])
            }
        }
    };
}
set!(MlDsa44, ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature);
set!(MlDsa65, ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature);
set!(MlDsa87, ml_dsa_87, MLDSA87VerificationKey, MLDSA87Signature);

fn sized<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("as long as its set says")
}

/// RustCrypto's form of [`sized`].
fn array<T: for<'a> TryFrom<&'a [u8]>>(bytes: &[u8]) -> T {
    T::try_from(bytes).ok().expect("as long as its set says")
}

fn rustcrypto<P: ml_dsa::MlDsaParams>(signed: &Signed) -> bool {
    rustcrypto_by(
        &ml_dsa::VerifyingKey::<P>::decode(&array(&signed.public_key)),
        signed,
    )
}

fn rustcrypto_by<P: ml_dsa::MlDsaParams>(key: &ml_dsa::VerifyingKey<P>, signed: &Signed) -> bool {
    let signature = ml_dsa::Signature::decode(&array(&signed.signature));
    signature.is_some_and(|signature| key.verify_with_context(&signed.message, &[], &signature))
}

/// Many signatures by one key, and one by each of many keys.
fn inputs<P: Set>() -> (Vec<Signed>, Vec<Signed>) {
    let many = (1..=KEYS).flat_map(|seed| P::sign([seed; 32], 1)).collect();
    (P::sign([0; 32], KEYS), many)
}

fn verify(c: &mut Criterion) {
    fn set<P: Set>(group: &mut BenchmarkGroup<'_, WallTime>) {
        let many: Vec<_> = (1..=16).flat_map(|seed| P::sign([seed; 32], 1)).collect();
        let mut next = many.iter().cycle();
        group.bench_function(BenchmarkId::new("sordino fresh", P::NAME), |b| {
            b.iter(|| {
                let signed = black_box(next.next().expect("cycle"));
                let message = Message::Pure {
                    message: &signed.message,
                    context: &[],
                };
                sordino_mldsa::verify::<P>(&signed.public_key, message, &signed.signature)
                    .expect("valid");
            });
        });
        let key = ExpandedKey::<P>::from_bytes(&many[0].public_key).expect("a key");
        let message = Message::Pure {
            message: &many[0].message,
            context: &[],
        };
        group.bench_function(BenchmarkId::new("sordino expanded", P::NAME), |b| {
            b.iter(|| {
                key.verify(black_box(message), &many[0].signature)
                    .expect("valid");
            });
        });
        P::peers(group, &many);
    }
    let mut group = c.benchmark_group("mldsa/verify");
    group.throughput(Throughput::Elements(1));
    set::<MlDsa44>(&mut group);
    set::<MlDsa65>(&mut group);
    set::<MlDsa87>(&mut group);
}

/// The two batches of a size on all threads of the global pool. `many` has a signature of each of 128 keys.
fn on_all_threads<P: Set>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    one: &[Item<'_, P>],
    many: &[Item<'_, P>],
) {
    let n = one.len();
    let id = |name| BenchmarkId::new(name, format!("{}x{n}", P::NAME));
    let mut verdicts = vec![Err(Error::Mismatch); n];
    for (name, items, others) in [
        ("sordino one key, rayon", one, &many[..n]),
        ("sordino many keys, rayon", &many[..n], one),
    ] {
        group.bench_function(id(name), |b| {
            b.iter_batched_ref(
                || {
                    // Other keys make the memory of each thread, which is no part of a batch's work.
                    let mut verifier = BatchVerifier::<P>::new();
                    let _ = verifier.par_verify_each(others);
                    verifier
                },
                |verifier| {
                    verifier
                        .par_verify_each_into(black_box(items), &mut verdicts)
                        .expect("a verdict for each item");
                },
                BatchSize::PerIteration,
            );
            assert!(verdicts.iter().all(Result::is_ok));
        });
    }
}

fn batch(c: &mut Criterion) {
    fn set<P: Set>(group: &mut BenchmarkGroup<'_, WallTime>, sizes: &[usize]) {
        let long = std::env::var_os("SORDINO_BENCH_LONG").is_some();
        let (one, many) = inputs::<P>();
        let one_items: Vec<Item<'_, P>> = one.iter().map(Signed::item).collect();
        let many_items: Vec<Item<'_, P>> = many.iter().map(Signed::item).collect();
        let mut verdicts = [Err(Error::Mismatch); KEYS as usize];
        for &n in sizes {
            group.throughput(Throughput::Elements(n as u64));
            let id = |name: String| BenchmarkId::new(name, format!("{}x{n}", P::NAME));
            for backend in Backend::available() {
                let fastest = backend.name() == Backend::detect().name();
                if !fastest && !long && n != 32 {
                    continue;
                }
                let name = |case| {
                    if fastest {
                        format!("sordino {case}")
                    } else {
                        format!("sordino {} {case}", backend.name())
                    }
                };
                // The peers decode the key in each iteration. A verifier keeps expanded keys. So each iteration has
                // a new verifier, which expands the key too. The measured time excludes its construction.
                group.bench_function(id(name("one key")), |b| {
                    b.iter_batched_ref(
                        || BatchVerifier::<P>::with_keys_on(backend, 16),
                        |verifier| {
                            verifier
                                .verify_each_into(black_box(&one_items[..n]), &mut verdicts[..n])
                                .expect("a verdict for each item");
                        },
                        BatchSize::PerIteration,
                    );
                    assert!(verdicts[..n].iter().all(Result::is_ok));
                });
                let mut verifier = BatchVerifier::<P>::with_keys_on(backend, 16);
                // The verifier keeps 16 keys, so a walk around 128 keys never meets a kept key.
                let mut walk = many_items.chunks_exact(n).cycle();
                group.bench_function(id(name("many keys")), |b| {
                    b.iter(|| {
                        let items = black_box(walk.next().expect("cycle"));
                        verifier
                            .verify_each_into(items, &mut verdicts[..n])
                            .expect("a verdict for each item");
                    });
                    assert!(verdicts[..n].iter().all(Result::is_ok));
                });
            }
            on_all_threads(group, &one_items[..n], &many_items);
            P::peer_batches(group, &one[..n], &many[..n]);
        }
    }
    let mut group = c.benchmark_group("mldsa/batch");
    let long = std::env::var_os("SORDINO_BENCH_LONG").is_some();
    let sizes = if long { &SIZES[..] } else { &[32] };
    set::<MlDsa44>(&mut group, sizes);
    set::<MlDsa65>(&mut group, sizes);
    set::<MlDsa87>(&mut group, &SIZES);
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = verify, batch
}
criterion_main!(benches);
