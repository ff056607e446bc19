//! Keys of certificates (RFC 9881), compared with RustCrypto's encoder and decoder.

use ml_dsa::signature::Keypair;
use sordino_mldsa::{ExpandedKey, MlDsa44, MlDsa65, MlDsa87};
use spki::{DecodePublicKey, EncodePublicKey};

macro_rules! round_trip {
    ($name:ident, $set:ident, $other:ident) => {
        #[test]
        fn $name() {
            let key =
                ml_dsa::SigningKey::<ml_dsa::$set>::from_seed(&[5; 32].into()).verifying_key();
            let der = key.to_public_key_der().unwrap();
            let der = der.as_bytes();
            let expected = ExpandedKey::<$set>::from_bytes(&key.encode()).unwrap();
            let found = ExpandedKey::<$set>::from_public_key_der(der).unwrap();
            assert_eq!((found.tr(), &found), (expected.tr(), &expected));
            assert_eq!(found.to_public_key_der().unwrap().as_bytes(), der);
            assert!(ExpandedKey::<$other>::from_public_key_der(der).is_err());
            for len in 0..der.len() {
                assert!(ExpandedKey::<$set>::from_public_key_der(&der[..len]).is_err());
            }
            assert!(ExpandedKey::<$set>::from_public_key_der(&[der, &[0]].concat()).is_err());
            // All bytes before the key itself are fixed.
            let header = der.len() - key.encode().len();
            for bit in 0..8 * header {
                let mut flipped = der.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(ExpandedKey::<$set>::from_public_key_der(&flipped).is_err());
            }
        }
    };
}
round_trip!(ml_dsa_44, MlDsa44, MlDsa65);
round_trip!(ml_dsa_65, MlDsa65, MlDsa87);
round_trip!(ml_dsa_87, MlDsa87, MlDsa44);
