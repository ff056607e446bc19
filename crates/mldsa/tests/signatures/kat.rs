//! The published vectors: NIST's ACVP (sigVer, and the keys of keyGen) and Wycheproof.
//!
//! They are in `mldsa/`, in the folder that `SORDINO_VECTORS` names. Every vector runs on every
//! backend, and in every position of a tile.

use serde_json::Value;
use sha2::Digest as _;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use sordino_mldsa::{
    Backend, BatchVerifier, Error, ExpandedKey, HashFunction, Item, Key, Message, MlDsa44, MlDsa65,
    MlDsa87, Mu, Params,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// One vector, with its own data.
struct Case {
    name: String,
    public_key: Vec<u8>,
    message: Owned,
    signature: Vec<u8>,
    valid: bool,
}

enum Owned {
    Pure(Vec<u8>, Vec<u8>),
    Digest(HashFunction, Vec<u8>, Vec<u8>),
    Mu([u8; 64]),
}

impl Case {
    fn item<P: Params>(&self) -> Item<'_, P> {
        let message = match &self.message {
            Owned::Pure(message, context) => Message::Pure { message, context },
            Owned::Digest(hash, digest, context) => Message::Digest {
                hash: *hash,
                digest,
                context,
            },
            Owned::Mu(mu) => Message::Mu(mu),
        };
        Item {
            key: Key::Encoded(&self.public_key),
            message,
            signature: &self.signature,
        }
    }
}

/// Writes to standard error itself, because the test runner hides a passing test's macro output.
fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// The folder of the vectors, if there is one.
fn folder(test: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("SORDINO_VECTORS") else {
        skipped(&format!("{test}, SORDINO_VECTORS is not set"));
        return None;
    };
    // Tests run in the crate's folder, and CI gives the path relative to the workspace.
    let root = Path::new(&root).join("mldsa");
    let root = if root.is_absolute() {
        root
    } else {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(root)
    };
    assert!(root.is_dir(), "{} is missing", root.display());
    Some(root)
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap()
}

/// The bytes of a field, or no bytes if the field is missing.
fn bytes(value: &Value, name: &str) -> Vec<u8> {
    hex::decode(value[name].as_str().unwrap_or("")).unwrap()
}

fn shake256(parts: &[&[u8]]) -> [u8; 64] {
    let mut hasher = shake::Shake256::default();
    parts.iter().for_each(|part| hasher.update(part));
    let mut out = [0; 64];
    hasher.finalize_xof().read(&mut out);
    out
}

fn pre_hash(name: &str, message: &[u8]) -> (HashFunction, Vec<u8>) {
    let mut shake = shake::Shake128::default();
    shake.update(message);
    let mut shake_128 = vec![0; 32];
    shake.finalize_xof().read(&mut shake_128);
    match name {
        "SHA2-224" => (
            HashFunction::Sha2_224,
            sha2::Sha224::digest(message).to_vec(),
        ),
        "SHA2-256" => (
            HashFunction::Sha2_256,
            sha2::Sha256::digest(message).to_vec(),
        ),
        "SHA2-384" => (
            HashFunction::Sha2_384,
            sha2::Sha384::digest(message).to_vec(),
        ),
        "SHA2-512" => (
            HashFunction::Sha2_512,
            sha2::Sha512::digest(message).to_vec(),
        ),
        "SHA2-512/224" => (
            HashFunction::Sha2_512_224,
            sha2::Sha512_224::digest(message).to_vec(),
        ),
        "SHA2-512/256" => (
            HashFunction::Sha2_512_256,
            sha2::Sha512_256::digest(message).to_vec(),
        ),
        "SHA3-224" => (
            HashFunction::Sha3_224,
            sha3::Sha3_224::digest(message).to_vec(),
        ),
        "SHA3-256" => (
            HashFunction::Sha3_256,
            sha3::Sha3_256::digest(message).to_vec(),
        ),
        "SHA3-384" => (
            HashFunction::Sha3_384,
            sha3::Sha3_384::digest(message).to_vec(),
        ),
        "SHA3-512" => (
            HashFunction::Sha3_512,
            sha3::Sha3_512::digest(message).to_vec(),
        ),
        "SHAKE-128" => (HashFunction::Shake128, shake_128),
        "SHAKE-256" => (HashFunction::Shake256, shake256(&[message]).to_vec()),
        other => panic!("unknown hash function {other}"),
    }
}

/// mu of a formatted message M', by a key of the named set.
fn internal(set: &str, public_key: &[u8], m_prime: &[u8]) -> [u8; 64] {
    fn of<P: Params>(public_key: &[u8], m_prime: &[u8]) -> [u8; 64] {
        let mut mu = Mu::internal(&ExpandedKey::<P>::from_bytes(public_key).unwrap());
        mu.update(m_prime);
        mu.finish()
    }
    let mu = match set {
        MlDsa44::NAME => of::<MlDsa44>(public_key, m_prime),
        MlDsa65::NAME => of::<MlDsa65>(public_key, m_prime),
        _ => of::<MlDsa87>(public_key, m_prime),
    };
    assert_eq!(mu, shake256(&[&shake256(&[public_key]), m_prime]));
    mu
}

fn acvp_sig_ver(root: &Path, set: &str) -> Vec<Case> {
    let prompt = json(&root.join("acvp/sigver/prompt.json"));
    let expected = json(&root.join("acvp/sigver/expectedResults.json"));
    let mut cases = Vec::new();
    for (group, results) in list(&prompt, "testGroups")
        .iter()
        .zip(list(&expected, "testGroups"))
    {
        assert_eq!(group["tgId"], results["tgId"]);
        if group["parameterSet"] != set {
            continue;
        }
        for (test, result) in list(group, "tests").iter().zip(list(results, "tests")) {
            assert_eq!(test["tcId"], result["tcId"]);
            let public_key = bytes(test, "pk");
            let (message, context) = (bytes(test, "message"), bytes(test, "context"));
            let message = if group["signatureInterface"] == "external" {
                if group["preHash"] == "pure" {
                    Owned::Pure(message, context)
                } else {
                    let (hash, digest) = pre_hash(test["hashAlg"].as_str().unwrap(), &message);
                    Owned::Digest(hash, digest, context)
                }
            } else if group["externalMu"] == true {
                Owned::Mu(bytes(test, "mu").try_into().unwrap())
            } else {
                // The internal interface signs M' without domain, context and length.
                Owned::Mu(internal(set, &public_key, &message))
            };
            cases.push(Case {
                name: format!("ACVP {set} {}", test["tcId"]),
                public_key,
                message,
                signature: bytes(test, "signature"),
                valid: result["testPassed"].as_bool().unwrap(),
            });
        }
    }
    assert_eq!(cases.len(), 60);
    cases
}

fn wycheproof(root: &Path, set: &str) -> Vec<Case> {
    let number = set.strip_prefix("ML-DSA-").unwrap();
    let path = root.join(format!("wycheproof/mldsa_{number}_verify_test.json"));
    if set == "ML-DSA-87" && !path.exists() {
        skipped(&format!(
            "Wycheproof {set}, {} is not there",
            path.display()
        ));
        return Vec::new();
    }
    let file = json(&path);
    let mut cases = Vec::new();
    for group in list(&file, "testGroups") {
        for test in list(group, "tests") {
            cases.push(Case {
                name: format!("Wycheproof {set} {}: {}", test["tcId"], test["comment"]),
                public_key: bytes(group, "publicKey"),
                message: Owned::Pure(bytes(test, "msg"), bytes(test, "ctx")),
                signature: bytes(test, "sig"),
                valid: test["result"] == "valid",
            });
        }
    }
    assert_eq!(cases.len() as u64, file["numberOfTests"].as_u64().unwrap());
    cases
}

/// Checks every vector, on every backend, at every position of the tiles of 16.
fn check<P: Params>() {
    let Some(root) = folder(P::NAME) else { return };
    let mut cases = acvp_sig_ver(&root, P::NAME);
    let wycheproof = wycheproof(&root, P::NAME);
    // In ACVP, no signature fails only by its norm.
    let norms = !wycheproof.is_empty();
    cases.extend(wycheproof);
    for backend in Backend::available() {
        for shift in 0..16 {
            cases.rotate_left(1);
            // A cache of 16 keys is always too small, and one of 4,096 keys never. Both must give
            // the right verdicts.
            let keys = if shift % 2 == 0 { 16 } else { 4096 };
            let mut verifier = BatchVerifier::<P>::with_keys_on(backend, keys);
            let items: Vec<_> = cases.iter().map(Case::item).collect();
            let verdicts = verifier.verify_each(&items);
            for (case, verdict) in cases.iter().zip(&verdicts) {
                let name = &case.name;
                let backend = backend.name();
                assert_eq!(
                    verdict.is_ok(),
                    case.valid,
                    "{name} on {backend}: {verdict:?}"
                );
            }
        }
    }
    let reasons = cases.iter().filter_map(|case| {
        sordino_mldsa::verify::<P>(&case.public_key, case.item::<P>().message, &case.signature)
            .err()
    });
    let reasons: Vec<Error> = reasons.collect();
    assert!(reasons.contains(&Error::HintEncoding) && reasons.contains(&Error::Mismatch));
    assert_eq!(reasons.contains(&Error::ZNorm), norms);
}

#[test]
fn ml_dsa_44() {
    check::<MlDsa44>();
}

#[test]
fn ml_dsa_65() {
    check::<MlDsa65>();
}

#[test]
fn ml_dsa_87() {
    check::<MlDsa87>();
}
