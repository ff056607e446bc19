//! The manifest: everything public about one version of an index, signed by its owner.
//!
//! Whatever a server could observe of a search is a constant in here: how many buckets are
//! fetched, how large they are, how the route is found. Nothing of it depends on a query.

use serde::{Deserialize, Serialize};
use sordino_ckks::column::Params;

use crate::bucket::Layout;
use crate::keys::{OwnerKeys, OwnerPublicKey};
use crate::sketch::Sketch;
use crate::wire;
use crate::{Error, code::Codec};

/// The largest dimension of a vector.
pub const MAX_DIM: u32 = 4096;

/// The most results of one search.
pub const MAX_K: u32 = 1024;

/// Length of an encoded manifest's signature: ML-DSA-87's.
const SIGNATURE_LEN: usize = 4627;

/// An encoded manifest without its signature is never longer.
const MAX_LEN: usize = 4096;

/// A BLAKE3 digest.
pub type Digest = [u8; 32];

/// One version of one index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Random, new for every build: names the index and separates its keys.
    pub index: [u8; 16],
    /// Grows with every change; a client refuses to go back.
    pub version: u64,
    /// The digest of the signed manifest before this one; zeros in the first version.
    pub previous: Digest,
    /// Vectors in the index.
    pub n: u32,
    /// Coordinates of a vector.
    pub dim: u32,
    /// Results of a search.
    pub k: u32,
    /// The seed of the public rotation that vectors and queries go through.
    pub rotation: [u8; 32],
    /// How the index is searched.
    pub mode: Mode,
}

/// How an index is searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// A fixed number of sealed buckets by private information retrieval.
    Sealed(Sealed),
    /// Everything is downloaded once, sealed, and searched by the client.
    Local(Local),
    /// The server holds the vectors in the clear and scores all of them under encryption.
    Open(Columns),
    /// The server holds the vectors under pads and scores all of them under encryption.
    Masked(Masked),
}

impl Mode {
    /// The mode's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sealed(_) => "sealed",
            Self::Local(_) => "local",
            Self::Open(_) => "open",
            Self::Masked(_) => "masked",
        }
    }
}

/// Sealed mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// Buckets, one for each cluster.
    pub clusters: u32,
    /// Buckets that every search fetches.
    pub probes: u32,
    /// The shape of a bucket.
    pub layout: Layout,
    /// How a client finds the buckets it wants.
    pub routing: Routing,
    /// The seed of the PIR matrix A.
    pub pir_seed: [u8; 32],
    /// The digest of the list of all sealed buckets' digests.
    pub buckets: Digest,
    /// The digest of the PIR hint.
    pub hint: Digest,
    /// The digest of the centroids, or the mean, in the form that `routing` gives out.
    pub centroids: Digest,
}

/// How a client finds the buckets it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Routing {
    /// The centroids are downloaded once, sealed, and scored by the client: the server does not
    /// see them and takes no part.
    Downloaded,
    /// The server holds the centroids in the clear and scores them under encryption, for every
    /// query: nothing to download first.
    Encrypted,
    /// Buckets are those of a keyed hash: a client knows them from its key and the vectors' mean,
    /// which it downloads, sealed. The server takes no part.
    Hashed,
}

impl Routing {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Downloaded, Self::Encrypted, Self::Hashed];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Downloaded => "downloaded",
            Self::Encrypted => "encrypted",
            Self::Hashed => "hashed",
        }
    }
}

/// Local mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Local {
    /// The shape of a chunk of consecutive vectors.
    pub layout: Layout,
    /// The digest of all sealed chunks, one after the other.
    pub chunks: Digest,
    /// How clients choose the vectors that they score; without it they score all.
    pub sketch: Option<Sketch>,
}

impl Local {
    /// Chunks of an index of `n` vectors.
    #[must_use]
    pub fn count(&self, n: u32) -> u32 {
        n.div_ceil(self.layout.slots)
    }
}

/// The constants of an index that is scored whole, in columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// How vectors share polynomials.
    pub packing: Packing,
    /// The seed of the public polynomials of queries and hint.
    pub seed: [u8; 32],
    /// The digest of the stored rows.
    pub rows: Digest,
    /// The digest of the hint.
    pub hint: Digest,
}

/// How vectors share polynomials: more coordinates in one mean shorter queries and a longer hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Packing {
    /// Four coordinates share a polynomial.
    T4,
    /// Eight coordinates share a polynomial.
    T8,
}

impl Packing {
    /// All packings.
    pub const ALL: [Self; 2] = [Self::T4, Self::T8];

    /// The word for it in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::T4 => "t = 4",
            Self::T8 => "t = 8",
        }
    }

    /// The parameter set of open mode.
    #[must_use]
    pub fn open(self) -> Params {
        match self {
            Self::T4 => Params::real_t4(),
            Self::T8 => Params::real_t8(),
        }
    }

    /// The parameter set of masked mode.
    #[must_use]
    pub fn masked(self) -> Params {
        match self {
            Self::T4 => Params::modular_26_t4(),
            Self::T8 => Params::modular_26_t8(),
        }
    }
}

/// Masked mode's constants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masked {
    /// How the masked rows are stored and scored.
    pub columns: Columns,
    /// The version that every row's pad belongs to: the manifest's when the rows were masked.
    pub row_version: u64,
}

/// A manifest with its encoding and the owner's signature on that.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedManifest {
    manifest: Manifest,
    bytes: Vec<u8>,
}

impl SignedManifest {
    /// Signs a manifest.
    pub(crate) fn sign(manifest: Manifest, keys: &OwnerKeys) -> Self {
        let mut bytes = wire::file_head(wire::MANIFEST);
        bincode::serde::encode_into_std_write(&manifest, &mut bytes, config())
            .expect("a vector accepts all bytes");
        let signature = keys.sign(&bytes);
        bytes.extend(signature);
        Self { manifest, bytes }
    }

    /// Reads a manifest and checks its signature and that its parts agree.
    ///
    /// # Errors
    /// If it is not signed by `owner`, or not a manifest that this version can serve.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed {
            what: "manifest",
            why,
        };
        let body = wire::strip_file_head(wire::MANIFEST, bytes)?;
        let head_len = bytes.len() - body.len();
        let Some(len) = body
            .len()
            .checked_sub(SIGNATURE_LEN)
            .filter(|&len| len <= MAX_LEN)
        else {
            return Err(malformed(format!(
                "{} bytes, expected {SIGNATURE_LEN} to {}",
                body.len(),
                SIGNATURE_LEN + MAX_LEN
            )));
        };
        // Nothing in it is looked at before the signature is known to be the owner's.
        owner.verify(&bytes[..head_len + len], &body[len..])?;
        let (manifest, read): (Manifest, usize) =
            bincode::serde::decode_from_slice(&body[..len], config())
                .map_err(|error| malformed(error.to_string()))?;
        if read != len {
            return Err(malformed(format!("{} bytes after its end", len - read)));
        }
        manifest.check().map_err(malformed)?;
        Ok(Self {
            manifest,
            bytes: bytes.to_vec(),
        })
    }

    /// The signed encoding.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest that the next version names as its predecessor.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *blake3::hash(&self.bytes).as_bytes()
    }
}

impl std::ops::Deref for SignedManifest {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

impl Manifest {
    /// What is wrong with these constants, if anything: every size that is computed from them
    /// later is bounded by what is checked here.
    fn check(&self) -> Result<(), String> {
        let require = |holds: bool, what: &str| holds.then_some(()).ok_or(what.to_owned());
        require(self.n > 0, "no vectors")?;
        require(
            (1..=MAX_DIM).contains(&self.dim),
            "a dimension outside 1 to 4096",
        )?;
        require(
            (1..=self.n.min(MAX_K)).contains(&self.k),
            "k outside 1 to n",
        )?;
        match &self.mode {
            Mode::Sealed(sealed) => {
                require(
                    (1..=self.n).contains(&sealed.clusters),
                    "clusters outside 1 to n",
                )?;
                require(
                    (1..=sealed.clusters).contains(&sealed.probes),
                    "probes outside 1 to clusters",
                )?;
                require(
                    sealed.layout.dim == self.dim,
                    "buckets of another dimension",
                )?;
                require(
                    (1..=self.n).contains(&sealed.layout.slots),
                    "slots outside 1 to n",
                )?;
                let places = u64::from(sealed.clusters) * u64::from(sealed.layout.slots);
                require(places >= u64::from(self.n), "fewer places than vectors")
            }
            Mode::Local(local) => {
                require(local.layout.dim == self.dim, "chunks of another dimension")?;
                require(local.layout.codec == Codec::Int8, "chunks of another codec")?;
                require(
                    (1..=self.n).contains(&local.layout.slots),
                    "slots outside 1 to n",
                )?;
                let Some(Sketch { bits, candidates }) = local.sketch else {
                    return Ok(());
                };
                require(
                    bits.is_multiple_of(64) && (64..=1024).contains(&bits),
                    "codes of no length from 64 to 1024",
                )?;
                require(
                    (self.k..=self.n).contains(&candidates),
                    "candidates outside k to n",
                )
            }
            Mode::Open(_) => Ok(()),
            Mode::Masked(masked) => require(
                (1..=self.version).contains(&masked.row_version),
                "rows of a version outside 1 to the manifest's",
            ),
        }
    }
}

/// Numbers of fixed size, so that a manifest's length depends on its mode alone.
fn config() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<MAX_LEN>()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sealed() -> Manifest {
        let layout = Layout {
            dim: 128,
            slots: 98,
            codec: Codec::Int8,
        };
        Manifest {
            index: [1; 16],
            version: 7,
            previous: [2; 32],
            n: 100_000,
            dim: 128,
            k: 10,
            rotation: [3; 32],
            mode: Mode::Sealed(Sealed {
                clusters: 2048,
                probes: 20,
                layout,
                routing: Routing::Downloaded,
                pir_seed: [4; 32],
                buckets: [5; 32],
                hint: [6; 32],
                centroids: [7; 32],
            }),
        }
    }

    fn owner() -> OwnerKeys {
        OwnerKeys::from_master([9; 32])
    }

    #[test]
    fn a_signed_manifest_reads_back_and_nothing_else_does() {
        let signed = SignedManifest::sign(sealed(), &owner());
        let public = owner().public();
        let read = SignedManifest::from_bytes(signed.to_bytes(), &public).unwrap();
        assert_eq!(read, signed);
        let bytes = signed.to_bytes();
        for at in 0..bytes.len() - SIGNATURE_LEN {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x10;
            assert!(
                SignedManifest::from_bytes(&flipped, &public).is_err(),
                "byte {at}"
            );
        }
        for len in (0..bytes.len()).step_by(41) {
            assert!(
                SignedManifest::from_bytes(&bytes[..len], &public).is_err(),
                "length {len}"
            );
        }
        let long = [bytes, &[0; MAX_LEN]].concat();
        let error = SignedManifest::from_bytes(&long, &public).unwrap_err();
        assert!(
            error.to_string().starts_with("malformed manifest"),
            "{error}"
        );
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let mut bytes = SignedManifest::sign(sealed(), &owner()).to_bytes().to_vec();
        bytes[4] = 200;
        let error = SignedManifest::from_bytes(&bytes, &owner().public()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "manifest of format version 200: expected 1"
        );
    }

    #[test]
    fn a_signed_contradiction_is_refused_too() {
        let with = |change: &dyn Fn(&mut Manifest, &mut Sealed)| {
            let mut manifest = sealed();
            let Mode::Sealed(mut mode) = manifest.mode.clone() else {
                unreachable!()
            };
            change(&mut manifest, &mut mode);
            manifest.mode = Mode::Sealed(mode);
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public())
        };
        assert!(with(&|_, _| ()).is_ok());
        assert!(with(&|m, _| m.n = 0).is_err());
        assert!(with(&|m, _| m.k = 0).is_err());
        assert!(with(&|m, _| m.k = 100_001).is_err());
        assert!(with(&|m, _| m.dim = 127).is_err());
        assert!(with(&|_, s| s.probes = 0).is_err());
        assert!(with(&|_, s| s.probes = 2049).is_err());
        assert!(with(&|_, s| s.clusters = u32::MAX).is_err());
        assert!(with(&|_, s| s.layout.slots = 40).is_err());
        assert!(with(&|_, s| s.layout.slots = u32::MAX).is_err());
    }

    #[test]
    fn a_sketch_is_one_that_clients_can_make() {
        let read = |bits, candidates| {
            let layout = Layout {
                dim: 128,
                slots: 1024,
                codec: Codec::Int8,
            };
            let mode = Mode::Local(Local {
                layout,
                chunks: [4; 32],
                sketch: Some(Sketch { bits, candidates }),
            });
            let manifest = Manifest { mode, ..sealed() };
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public()).is_ok()
        };
        assert!(read(64, 10) && read(1024, 100_000));
        for (bits, candidates) in [(0, 10), (65, 10), (1088, 10), (64, 9), (64, 100_001)] {
            assert!(!read(bits, candidates), "{bits} {candidates}");
        }
    }

    #[test]
    fn masked_rows_are_of_a_version_that_has_been() {
        let read = |row_version| {
            let columns = Columns {
                packing: Packing::T4,
                seed: [4; 32],
                rows: [5; 32],
                hint: [6; 32],
            };
            let mode = Mode::Masked(Masked {
                columns,
                row_version,
            });
            let manifest = Manifest { mode, ..sealed() };
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public()).map(|read| {
                assert_eq!(read, signed);
            })
        };
        assert!(read(1).is_ok() && read(7).is_ok());
        assert!(read(0).is_err() && read(8).is_err());
    }
}
