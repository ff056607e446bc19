//! Format-preserving encryption: AES-128, 8-byte tweak, digits in and digits out.
//!
//! Group: the operation. Function: algorithm and implementation; `-batch` is the time of one
//! record of a batch of 1,024, `-fpe-crate` is crates.io's `fpe`. Parameter: decimal digits.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fpe::ff1::{FF1, FlexibleNumeralString};
use sordino_fpe::{Alphabet, Ff1, Fpe, Tweaks};
use std::{hint::black_box, time::Duration};

const KEY: [u8; 16] = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef";
const TWEAK: [u8; 8] = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
const DIGITS: [usize; 3] = [6, 9, 16];
const RECORDS: usize = 1024;

/// Digits that look random.
fn text(len: usize) -> Vec<u8> {
    let digit = |i: usize| b'0' + u8::try_from((i * i * 7 + i / 3) % 97 % 10).unwrap_or(0);
    (0..len).map(digit).collect()
}

fn both(c: &mut Criterion) {
    for (direction, encrypt) in [("encrypt", true), ("decrypt", false)] {
        let mut group = c.benchmark_group(format!("fpe/{direction}"));
        group
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(600))
            .sample_size(20)
            .throughput(Throughput::Elements(1));
        for digits in DIGITS.into_iter().chain([1000]) {
            let ff1 = Ff1::new(&KEY, 10).expect("parameters");
            let plan = ff1.plan(digits, TWEAK.len()).expect("parameters");
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
        group.throughput(Throughput::Elements(RECORDS as u64));
        for digits in DIGITS {
            let plan = Ff1::new(&KEY, 10)
                .and_then(|ff1| ff1.plan(digits, TWEAK.len()))
                .expect("parameters");
            let records = text(digits * RECORDS);
            let each = [&TWEAK[..]; RECORDS];
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
        group.finish();
    }
    let _ = BatchSize::SmallInput;
}

criterion_group!(benches, both);
criterion_main!(benches);
