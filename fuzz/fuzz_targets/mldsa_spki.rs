//! DER of any content. The target must not panic, and it finds a key exactly if `ml-dsa` finds one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_mldsa::ml_dsa::{self, pkcs8::DecodePublicKey};
use sordino_mldsa::{ExpandedKey, MlDsa44, MlDsa65, MlDsa87};

fuzz_target!(|data: &[u8]| {
    macro_rules! same {
        ($set:ident) => {
            let theirs = ml_dsa::VerifyingKey::<ml_dsa::$set>::from_public_key_der(data);
            let ours = ExpandedKey::<$set>::from_public_key_der(data);
            assert_eq!(ours.is_ok(), theirs.is_ok());
        };
    }
    same!(MlDsa44);
    same!(MlDsa65);
    same!(MlDsa87);
});
