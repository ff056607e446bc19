//! FF1 in a separate process under memcheck. The test marks the key as undefined memory. So all outputs of a round are
//! undefined, and memcheck reports every branch and every address that depends on them.
//!
//! `scripts/constant_time.sh` runs this test. Outside valgrind the marks do nothing, and the test only checks that
//! decryption inverts encryption. The numerals themselves are not marked: a branch checks that they are below the radix, and
//! its outcome is public. Ciphertexts are public.
#![cfg(all(target_arch = "x86_64", not(miri)))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

use sordino_fpe::{Alphabet, Ff1, NumeralCipher, Tweaks};
use sordino_memcheck::{is_watching, public, secret};

#[path = "ciphers/key.rs"]
mod key;
use key::aes;

/// FF1 under a secret key.
fn ff1(bytes: usize, radix: u32) -> Ff1 {
    let key = std::hint::black_box([7u8; 32]);
    secret(&key);
    Ff1::new(&aes(&key[..bytes]), radix).unwrap()
}

#[test]
fn the_marks_are_seen_when_valgrind_runs() {
    // Fails if the script asked for valgrind and the test does not run under it.
    if !is_watching() {
        println!("not under valgrind: secrets are not tracked");
    }
}

#[test]
fn numerals_of_machine_integers() {
    // Halves of up to 32, 64 and 128 bits, `b` of 16 bytes, and tweaks that take additional blocks.
    for (bytes, radix, len) in [
        (16, 10, 6),
        (24, 10, 9),
        (32, 10, 16),
        (16, 10, 30),
        (16, 10, 60),
        (32, 2, 254),
        (16, 36, 12),
        (16, 65536, 8),
    ] {
        for tweak_len in [8, 40] {
            let tweak = vec![3; tweak_len];
            let plan = ff1(bytes, radix).plan(len, 8).unwrap();
            let plain: Vec<u16> = (0u16..).take(len).map(|i| i % 2).collect();
            let mut x = plain.clone();
            plan.encrypt_numerals(&tweak, &mut x).unwrap();
            public(&x);
            assert_ne!(x, plain);
            plan.decrypt_numerals(&tweak, &mut x).unwrap();
            public(&x);
            assert_eq!(x, plain);
        }
    }
}

#[test]
fn decimal_text_alone_and_in_batches() {
    for len in [6, 9, 16, 33] {
        let plan = ff1(16, 10).plan(len, 8).unwrap();
        let plain: Vec<u8> = b"0123456789"
            .iter()
            .copied()
            .cycle()
            .take(11 * len)
            .collect();
        let mut x = plain.clone();
        for record in x.chunks_mut(len) {
            plan.encrypt_ascii(&Alphabet::DECIMAL, b"a tweak.", record)
                .unwrap();
        }
        let mut batch = plain.clone();
        let tweaks = Tweaks::One(b"a tweak.");
        plan.encrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, &mut batch)
            .unwrap();
        public(&x);
        public(&batch);
        assert_eq!(x, batch);
        plan.decrypt_ascii_batch(&Alphabet::DECIMAL, tweaks, &mut batch)
            .unwrap();
        public(&batch);
        assert_eq!(batch, plain);
    }
}
