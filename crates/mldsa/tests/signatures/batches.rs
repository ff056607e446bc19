//! Batches of every size from 1 to 33 with one bad item at each position, on every backend and by
//! every method.

use crate::signer::{Signer, Signs};
use sordino_mldsa::{
    Backend, BatchError, BatchVerifier, Error, ExpandedKey, Item, Key, Message, MlDsa44, MlDsa65,
    MlDsa87,
};

const MOST: usize = 33;

struct Signed {
    public_key: Vec<u8>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// `MOST` signatures by three keys, on messages of increasing length.
fn signed<P: Signs>() -> Vec<Signed> {
    let signers: Vec<Box<dyn Signer>> = (0..3).map(|seed| P::signer([seed; 32])).collect();
    (0..MOST)
        .map(|i| {
            let signer = &signers[i % 3];
            let message = b"batch ".repeat(i * 4);
            Signed {
                public_key: signer.public_key().to_vec(),
                signature: signer.sign(&message, b"batch"),
                message,
            }
        })
        .collect()
}

/// A faulty copy of a signature, of this kind, and the error that verification must give.
fn spoil<P: Signs>(signed: &Signed, kind: usize) -> (Vec<u8>, Error) {
    let mut signature = signed.signature.clone();
    let len = signature.len();
    match kind % 4 {
        0 => {
            signature[0] ^= 1;
            (signature, Error::Mismatch)
        }
        1 => {
            // The count of the last row exceeds omega.
            signature[len - 1] = 255;
            (signature, Error::HintEncoding)
        }
        2 => {
            // The first coefficient of z becomes gamma_1.
            let z = if P::NAME == "ML-DSA-44" {
                32
            } else if P::NAME == "ML-DSA-65" {
                48
            } else {
                64
            };
            signature[z..z + 3].fill(0);
            (signature, Error::ZNorm)
        }
        _ => {
            signature.pop();
            (
                signature,
                Error::SignatureLength {
                    expected: len,
                    found: len - 1,
                },
            )
        }
    }
}

fn one_bad_item<P: Signs>() {
    let signed = signed::<P>();
    let keys: Vec<ExpandedKey<P>> = signed[..3]
        .iter()
        .map(|s| ExpandedKey::from_bytes(&s.public_key).unwrap())
        .collect();
    let bad: Vec<[(Vec<u8>, Error); 4]> = signed
        .iter()
        .map(|s| core::array::from_fn(|kind| spoil::<P>(s, kind)))
        .collect();
    for backend in Backend::available() {
        let mut verifier = BatchVerifier::<P>::with_keys_on(backend, 16);
        // Every other item brings its key in expanded form.
        let good: Vec<Item<'_, P>> = (0..MOST)
            .map(|i| {
                let s = &signed[i];
                let key: Key<'_, P> = if i % 2 == 0 {
                    (&keys[i % 3]).into()
                } else {
                    s.public_key[..].into()
                };
                Item::new(key, &s.message, b"batch", &s.signature)
            })
            .collect();
        for size in 1..=MOST {
            // Arm code may run under emulation, so only sizes at and around full rounds of lanes
            // are tested.
            if !cfg!(target_arch = "x86_64") && ![1, 2, 7, 8, 9, 16, 17, 33].contains(&size) {
                continue;
            }
            let mut items = good[..size].to_vec();
            let mut verdicts = vec![Err(Error::Mismatch); size];
            verifier.verify_each_into(&items, &mut verdicts).unwrap();
            assert_eq!(verdicts, vec![Ok(()); size], "{}", backend.name());
            assert_eq!(verifier.verify_all(&items), Ok(()));
            for at in 0..size {
                let (signature, reason) = &bad[at][(at + size) % 4];
                items[at].signature = signature;
                let mut expected = vec![Ok(()); size];
                expected[at] = Err(*reason);
                verdicts.fill(Err(Error::HintEncoding));
                verifier.verify_each_into(&items, &mut verdicts).unwrap();
                assert_eq!(verdicts, expected, "{}, {size}, {at}", backend.name());
                let failure = BatchError::Invalid {
                    index: at,
                    reason: *reason,
                };
                assert_eq!(verifier.verify_all(&items), Err(failure));
                items[at] = good[at];
            }
        }
    }
}

#[test]
fn one_bad_item_44() {
    one_bad_item::<MlDsa44>();
}

#[test]
fn one_bad_item_65() {
    one_bad_item::<MlDsa65>();
}

#[test]
fn one_bad_item_87() {
    one_bad_item::<MlDsa87>();
}

#[test]
fn nothing_is_not_valid() {
    let mut verifier = BatchVerifier::<MlDsa44>::new();
    assert_eq!(verifier.verify_all(&[]), Err(BatchError::Empty));
    assert!(verifier.verify_each(&[]).is_empty());
}

#[test]
fn verdicts_too_few_or_too_many_are_refused_and_none_is_written() {
    let signed = signed::<MlDsa44>();
    let item = |s: &'_ Signed| (s.public_key.clone(), s.message.clone(), s.signature.clone());
    let owned: Vec<_> = signed[..2].iter().map(item).collect();
    let items: Vec<Item<'_, MlDsa44>> = owned
        .iter()
        .map(|(key, message, signature)| Item::new(&key[..], message, b"batch", signature))
        .collect();
    let mut verifier = BatchVerifier::new();
    for found in [0, 1, 3] {
        let mut verdicts = vec![Err(Error::ZNorm); found];
        let wrong = BatchError::Verdicts { found, expected: 2 };
        assert_eq!(verifier.verify_each_into(&items, &mut verdicts), Err(wrong));
        #[cfg(feature = "rayon")]
        assert_eq!(
            verifier.par_verify_each_into(&items, &mut verdicts),
            Err(wrong)
        );
        assert_eq!(verdicts, vec![Err(Error::ZNorm); found]);
    }
    assert_eq!(verifier.verify_each(&items), [Ok(()); 2]);
    #[cfg(feature = "rayon")]
    assert_eq!(verifier.par_verify_each(&items), [Ok(()); 2]);
}

#[cfg(feature = "rayon")]
#[test]
fn threads_change_nothing() {
    let signed = signed::<MlDsa44>();
    let items: Vec<Item<'_, MlDsa44>> = signed
        .iter()
        .cycle()
        .take(200)
        .map(|s| Item::new(&s.public_key[..], &s.message, b"batch", &s.signature))
        .collect();
    let (wrong, _) = spoil::<MlDsa44>(&signed[0], 0);
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let mut verifier = BatchVerifier::<MlDsa44>::new();
        pool.install(|| {
            assert_eq!(verifier.par_verify_all(&[]), Err(BatchError::Empty));
            for size in [1, 2, 8, 9, 17, 64, 65, 199, 200] {
                assert_eq!(verifier.par_verify_all(&items[..size]), Ok(()));
                for bad in [
                    &[0][..],
                    &[size - 1],
                    &[size / 2, size - 1],
                    &[size / 3, size / 2],
                ] {
                    let mut items = items[..size].to_vec();
                    bad.iter().for_each(|&at| items[at].signature = &wrong);
                    let mut verdicts = vec![Err(Error::HintEncoding); size];
                    verifier
                        .par_verify_each_into(&items, &mut verdicts)
                        .unwrap();
                    for (at, verdict) in verdicts.iter().enumerate() {
                        let expected = if bad.contains(&at) {
                            Err(Error::Mismatch)
                        } else {
                            Ok(())
                        };
                        assert_eq!(*verdict, expected);
                    }
                    let failure = BatchError::Invalid {
                        index: bad[0],
                        reason: Error::Mismatch,
                    };
                    assert_eq!(verifier.par_verify_all(&items), Err(failure));
                }
            }
        });
    }
}

#[test]
fn lengths_are_told() {
    let signer = MlDsa65::signer([9; 32]);
    let signature = signer.sign(b"message", b"");
    let key = signer.public_key();
    let pure = |context| Message::Pure {
        message: b"message",
        context,
    };
    let check = |key: &[u8], message, signature: &[u8]| {
        sordino_mldsa::verify::<MlDsa65>(key, message, signature)
    };
    assert_eq!(check(key, pure(b""), &signature), Ok(()));
    let long = [0; 256];
    assert_eq!(
        check(key, pure(&long), &signature),
        Err(Error::ContextLength { found: 256 })
    );
    assert_eq!(
        check(key, pure(&long[1..]), &signature),
        Err(Error::Mismatch)
    );
    let wrong = Error::PublicKeyLength {
        expected: 1952,
        found: 1951,
    };
    assert_eq!(check(&key[1..], pure(b""), &signature), Err(wrong));
    let wrong = Error::SignatureLength {
        expected: 3309,
        found: 0,
    };
    assert_eq!(check(key, pure(b""), &[]), Err(wrong));
    let hash = sordino_mldsa::HashFunction::Sha2_256;
    let digest = Message::Digest {
        hash,
        digest: &[0; 31],
        context: b"",
    };
    let wrong = Error::DigestLength {
        expected: 32,
        found: 31,
    };
    assert_eq!(check(key, digest, &signature), Err(wrong));
    // If there are two faults, the first one in the list of errors is returned.
    let digest = Message::Digest {
        hash,
        digest: &[0; 31],
        context: &[0; 256],
    };
    assert_eq!(check(key, digest, &signature), Err(wrong));
    // A batch gives the same error.
    let items = [Item::<MlDsa65>::new(&key[1..], b"message", b"", &signature)];
    assert_eq!(
        BatchVerifier::new().verify_each(&items),
        [Err(Error::PublicKeyLength {
            expected: 1952,
            found: 1951
        })]
    );
}
