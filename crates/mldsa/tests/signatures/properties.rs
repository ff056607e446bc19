//! Properties of any input: the verdicts of two independent implementations.

use crate::signer::Signs;
use proptest::collection::vec;
use proptest::prelude::*;
use sordino_mldsa::{
    Backend, BatchVerifier, ExpandedKey, Item, Message, MlDsa44, MlDsa65, MlDsa87, Mu,
};

/// A set that two other implementations verify.
trait Oracle: Signs {
    /// Both verdicts, RustCrypto's first. Lengths must be right.
    fn verdicts(public_key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> [bool; 2];
}

macro_rules! oracle {
    ($set:ident, $libcrux:ident, $key:ident, $signature:ident) => {
        impl Oracle for $set {
            fn verdicts(key: &[u8], message: &[u8], context: &[u8], signature: &[u8]) -> [bool; 2] {
                let rustcrypto =
                    ml_dsa::VerifyingKey::<ml_dsa::$set>::decode(&key.try_into().unwrap());
                let rustcrypto = ml_dsa::Signature::decode(&signature.try_into().unwrap())
                    .is_some_and(|s| rustcrypto.verify_with_context(message, context, &s));
                let key = libcrux_ml_dsa::$libcrux::$key::new(key.try_into().unwrap());
                let signature =
                    libcrux_ml_dsa::$libcrux::$signature::new(signature.try_into().unwrap());
                let libcrux = libcrux_ml_dsa::$libcrux::verify(&key, message, context, &signature);
                [rustcrypto, libcrux.is_ok()]
            }
        }
    };
}
oracle!(MlDsa44, ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature);
oracle!(MlDsa65, ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature);
oracle!(MlDsa87, ml_dsa_87, MLDSA87VerificationKey, MLDSA87Signature);

/// A change to a valid signature, its message, context or key.
#[derive(Clone, Debug)]
enum Change {
    Nothing,
    /// A byte of the signature, counted from its end (where the hint is) if negative.
    Signature(isize, u8),
    /// Swaps two bytes of the hint.
    Hint(usize, usize),
    Message,
    Context,
    PublicKey(usize, u8),
    /// Random bytes for the whole signature.
    Random(u64),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Nothing),
        (-90_isize..4000, any::<u8>()).prop_map(|(at, xor)| Change::Signature(at, xor)),
        (0_usize..88, 0_usize..88).prop_map(|(a, b)| Change::Hint(a, b)),
        Just(Change::Message),
        Just(Change::Context),
        (0_usize..2592, any::<u8>()).prop_map(|(at, xor)| Change::PublicKey(at, xor)),
        any::<u64>().prop_map(Change::Random),
    ]
}

struct Case {
    public_key: Vec<u8>,
    message: Vec<u8>,
    context: Vec<u8>,
    signature: Vec<u8>,
}

fn case<P: Oracle>(seed: u8, message: Vec<u8>, context: Vec<u8>, change: &Change) -> Case {
    let signer = P::signer([seed; 32]);
    let signature = signer.sign(&message, &context);
    let mut case = Case {
        public_key: signer.public_key().to_vec(),
        message,
        context,
        signature,
    };
    let len = case.signature.len();
    match *change {
        Change::Nothing => {}
        Change::Signature(at, xor) => {
            let at = at.rem_euclid(len.cast_signed()).cast_unsigned();
            case.signature[at] ^= xor;
        }
        Change::Hint(a, b) => case.signature.swap(len - 1 - a, len - 1 - b),
        Change::Message => case.message.push(0),
        Change::Context => case.context = case.context[1.min(case.context.len())..].to_vec(),
        Change::PublicKey(at, xor) => {
            let at = at % case.public_key.len();
            case.public_key[at] ^= xor;
        }
        Change::Random(seed) => {
            let mut state = seed;
            for byte in &mut case.signature {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                *byte = state.to_be_bytes()[0];
            }
        }
    }
    case
}

/// Our verdicts on all cases, on every backend, against both oracles'.
fn agree<P: Oracle>(cases: &[Case]) {
    let items: Vec<Item<'_, P>> = cases
        .iter()
        .map(|c| Item::new(&c.public_key[..], &c.message, &c.context, &c.signature))
        .collect();
    let expected: Vec<bool> = cases
        .iter()
        .map(|c| {
            let [a, b] = P::verdicts(&c.public_key, &c.message, &c.context, &c.signature);
            assert_eq!(a, b, "the oracles disagree");
            a
        })
        .collect();
    for backend in Backend::available() {
        let verdicts = BatchVerifier::<P>::with_keys_on(backend, 16).verify_each(&items);
        let found: Vec<bool> = verdicts.iter().map(Result::is_ok).collect();
        assert_eq!(found, expected, "{}: {verdicts:?}", backend.name());
    }
}

fn cases<P: Oracle>() -> impl Strategy<Value = Vec<Case>> {
    let one = (
        any::<u8>(),
        vec(any::<u8>(), 0..600),
        vec(any::<u8>(), 0..=255),
        change(),
    )
        .prop_map(|(seed, message, context, change)| {
            case::<P>(seed % 4, message, context, &change)
        });
    vec(one, 1..20)
}

macro_rules! same_verdicts {
    ($name:ident, $set:ident) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(24))]
            #[test]
            fn $name(cases in cases::<$set>().no_shrink()) {
                agree::<$set>(&cases);
            }
        }
    };
}
same_verdicts!(same_verdicts_44, MlDsa44);
same_verdicts!(same_verdicts_65, MlDsa65);
same_verdicts!(same_verdicts_87, MlDsa87);

impl core::fmt::Debug for Case {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Case")
            .field("public_key", &hex::encode(&self.public_key))
            .field("message", &hex::encode(&self.message))
            .field("context", &hex::encode(&self.context))
            .field("signature", &hex::encode(&self.signature))
            .finish()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn pieces_are_the_whole(
        message in vec(any::<u8>(), 0..700),
        context in vec(any::<u8>(), 0..=255),
        cuts in vec(0_usize..700, 0..6),
    ) {
        let signer = MlDsa44::signer([7; 32]);
        let signature = signer.sign(&message, &context);
        let key = ExpandedKey::<MlDsa44>::from_bytes(signer.public_key()).unwrap();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (message.len() + 1)).collect();
        cuts.extend([0, message.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|w| &message[w[0]..w[1]]).collect();
        prop_assert_eq!(key.verify(Message::Parts { parts: &parts, context: &context }, &signature), Ok(()));
        let mut mu = Mu::new(&key, &context).unwrap();
        parts.iter().for_each(|part| mu.update(part));
        prop_assert_eq!(key.verify(Message::Mu(&mu.finish()), &signature), Ok(()));
    }
}

/// Every truncation, extension and single-bit flip of the parts that are decoded.
#[test]
fn hostile_signatures() {
    let signer = MlDsa44::signer([3; 32]);
    let signature = signer.sign(b"m", b"");
    let key = ExpandedKey::<MlDsa44>::from_bytes(signer.public_key()).unwrap();
    let verify = |s: &[u8]| {
        key.verify(
            Message::Pure {
                message: b"m",
                context: b"",
            },
            s,
        )
    };
    assert_eq!(verify(&signature), Ok(()));
    for len in 0..signature.len() {
        assert!(verify(&signature[..len]).is_err());
    }
    assert!(verify(&[&signature[..], &[0]].concat()).is_err());
    for bit in 0..8 * signature.len() {
        let mut flipped = signature.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&flipped).is_err(), "bit {bit}");
    }
}
