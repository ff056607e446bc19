//! Format-preserving encryption: AES-128, 8-byte tweak, digits in and digits out.
//!
//! Group: the operation. Function: algorithm and implementation; `-batch` is a batch of 1,024
//! records (divide, or read the throughput), `-fpe-crate` is the published crate `fpe`. `ff1` has a plan for
//! the length, made once; `ff1-no-plan` prepares the length in each call, as the `fpe` crate does.
//! Parameter: decimal digits. `riffpe-N` uses radix N, and `riffpex-N` the best bases of at least N. A
//! row is missing if no string of this radix has exactly the values of this number of decimal digits.

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use fpe::ff1::{FF1, FlexibleNumeralString};
use sordino_fpe::{
    AesKey, Alphabet, DigitOrder, Ff1, Ff3, Ff3_1, NumeralCipher, Riffpe, RiffpeX, Tweaks,
    find_best_bases,
};
use std::hint::black_box;

mod settings;

const KEY: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
const TWEAK: [u8; 8] = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
const DIGITS: [usize; 3] = [6, 9, 16];
const RECORDS: usize = 1024;

/// Digits in an irregular order.
fn text(len: usize) -> Vec<u8> {
    let digit = |i: usize| b'0' + u8::try_from((i * i * 7 + i / 3) % 97 % 10).unwrap_or(0);
    (0..len).map(digit).collect()
}

fn both(c: &mut Criterion) {
    let key = AesKey::new_128(&KEY);
    for (direction, encrypt) in [("encrypt", true), ("decrypt", false)] {
        let mut group = c.benchmark_group(format!("fpe/{direction}"));
        group.throughput(Throughput::Elements(1));
        ff1(&mut group, &key, encrypt);
        ff3(&mut group, &key, encrypt);
        riffpe(&mut group, &key, encrypt);
        group.throughput(Throughput::Elements(RECORDS as u64));
        batches(&mut group, &key, encrypt);
        group.finish();
    }
}

fn ff1(group: &mut BenchmarkGroup<'_, WallTime>, key: &AesKey, encrypt: bool) {
    for digits in DIGITS.into_iter().chain([1000]) {
        let cipher = Ff1::new(key, 10).expect("parameters");
        let plan = cipher.plan(digits, TWEAK.len()).expect("parameters");
        let mut x = text(digits);
        group.bench_function(BenchmarkId::new("ff1", digits), |b| {
            b.iter(|| {
                let x = black_box(&mut x[..]);
                if encrypt {
                    plan.encrypt_ascii(&Alphabet::DECIMAL, &TWEAK, x)
                } else {
                    plan.decrypt_ascii(&Alphabet::DECIMAL, &TWEAK, x)
                }
            });
        });

        // The other crate has no plans. So the row for comparison prepares everything in each call.
        let mut x = text(digits);
        group.bench_function(BenchmarkId::new("ff1-no-plan", digits), |b| {
            b.iter(|| {
                let x = black_box(&mut x[..]);
                if encrypt {
                    cipher.encrypt_ascii(&Alphabet::DECIMAL, &TWEAK, x)
                } else {
                    cipher.decrypt_ascii(&Alphabet::DECIMAL, &TWEAK, x)
                }
            });
        });

        let ff1 = FF1::<aes::Aes128>::new(&KEY, 10).expect("parameters");
        let text = text(digits);
        group.bench_function(BenchmarkId::new("ff1-fpe-crate", digits), |b| {
            b.iter(|| {
                let numerals: Vec<u16> =
                    black_box(&text).iter().map(|x| (x - b'0').into()).collect();
                let numerals = FlexibleNumeralString::from(numerals);
                let out = if encrypt {
                    ff1.encrypt(&TWEAK, &numerals)
                } else {
                    ff1.decrypt(&TWEAK, &numerals)
                };
                let out: Vec<u16> = out.expect("digits").into();
                out.iter()
                    .map(|&x| b'0' + x.to_le_bytes()[0])
                    .collect::<Vec<u8>>()
            });
        });
    }
}

fn ff3(group: &mut BenchmarkGroup<'_, WallTime>, key: &AesKey, encrypt: bool) {
    for digits in DIGITS {
        let mut x = text(digits);
        let decimal = Alphabet::DECIMAL;
        let ff3_1 = Ff3_1::new(key, 10)
            .and_then(|ff3| ff3.plan(digits))
            .expect("parameters");
        group.bench_function(BenchmarkId::new("ff3-1", digits), |b| {
            b.iter(|| {
                let x = black_box(&mut x[..]);
                if encrypt {
                    ff3_1.encrypt_ascii(&decimal, &TWEAK[..7], x)
                } else {
                    ff3_1.decrypt_ascii(&decimal, &TWEAK[..7], x)
                }
            });
        });
        let ff3 = Ff3::new(key, 10)
            .and_then(|ff3| ff3.plan(digits))
            .expect("parameters");
        group.bench_function(BenchmarkId::new("ff3", digits), |b| {
            b.iter(|| {
                let x = black_box(&mut x[..]);
                if encrypt {
                    ff3.encrypt_ascii(&decimal, &TWEAK, x)
                } else {
                    ff3.decrypt_ascii(&decimal, &TWEAK, x)
                }
            });
        });
    }
}

fn riffpe(group: &mut BenchmarkGroup<'_, WallTime>, key: &AesKey, encrypt: bool) {
    for digits in DIGITS {
        // In the reference's table, input and output are integers.
        let size = 10u128.pow(u32::try_from(digits).expect("small"));
        let mut x = size / 7;
        for power in 1..=4 {
            let radix = 10u32.pow(power);
            // 10^4 for 16 digits takes about a millisecond.
            let len = digits / power as usize;
            let uneven = digits % power as usize != 0;
            let absent = power == 4 && digits != 16;
            if uneven || absent {
                continue;
            }
            let riffpe = Riffpe::new(key, radix, len).expect("parameters");
            group.bench_function(BenchmarkId::new(format!("riffpe-{radix}"), digits), |b| {
                b.iter(|| {
                    let y = if encrypt {
                        riffpe.encrypt_integer(&TWEAK, x, DigitOrder::Big)
                    } else {
                        riffpe.decrypt_integer(&TWEAK, x, DigitOrder::Big)
                    };
                    x = y.expect("in range");
                });
            });
        }
        for threshold in [16, 25, 50] {
            let bases = find_best_bases(size, threshold).expect("a power of ten");
            let riffpe = RiffpeX::new(key, &bases).expect("parameters");
            group.bench_function(
                BenchmarkId::new(format!("riffpex-{threshold}"), digits),
                |b| {
                    b.iter(|| {
                        let y = if encrypt {
                            riffpe.encrypt_integer(&TWEAK, x, DigitOrder::Big)
                        } else {
                            riffpe.decrypt_integer(&TWEAK, x, DigitOrder::Big)
                        };
                        x = y.expect("in range");
                    });
                },
            );
        }
    }
}

fn batches(group: &mut BenchmarkGroup<'_, WallTime>, key: &AesKey, encrypt: bool) {
    for digits in DIGITS {
        let plan = Ff1::new(key, 10)
            .and_then(|ff1| ff1.plan(digits, TWEAK.len()))
            .expect("parameters");
        let records = text(digits * RECORDS);
        let each = [&TWEAK[..]; RECORDS];
        let digit = |x: &u8| u32::from(x - b'0');
        let mut strings: Vec<u32> = records.iter().map(digit).collect();
        let riffpe = Riffpe::new(key, 10, digits).expect("parameters");
        group.bench_function(BenchmarkId::new("riffpe-10-batch", digits), |b| {
            b.iter(|| {
                let x = black_box(&mut strings[..]);
                if encrypt {
                    riffpe.encrypt_batch(&TWEAK, x)
                } else {
                    riffpe.decrypt_batch(&TWEAK, x)
                }
            });
        });
        for (name, tweaks) in [
            ("ff1-batch", Tweaks::One(&TWEAK)),
            ("ff1-batch-tweak-each", Tweaks::Each(&each)),
        ] {
            let mut x = records.clone();
            group.bench_function(BenchmarkId::new(name, digits), |b| {
                b.iter(|| {
                    let x = black_box(&mut x[..]);
                    if encrypt {
                        plan.encrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, x)
                    } else {
                        plan.decrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, x)
                    }
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = settings::short();
    targets = both
}
criterion_main!(benches);
