//! A manifest with the owner's signature, in the form that is stored and sent. A manifest with additions of writers has another
//! form, which begins with the base that the owner signed:
//!
//! ```text
//! head SRDN | length of the base: 32 bits | base
//!           | for each addition: length of the next two: 32 bits | number of its writer: 16 bits | addition | signature
//! ```
//!
//! The writer signs its number and the addition, which has the digest of all bytes before it. These are the bytes of
//! the base, or of the form that ends before the addition. So a form shows each version since the base, and the bytes
//! of each.

use super::Manifest;
use super::addition::{Addition, MAX_ADDITIONS};
use super::readers::Trailer;
use super::writers::{MAX_WRITABLE, MAX_WRITERS, Writer};
use crate::Error;
use crate::digest::Digest;
use crate::public_key::{OwnerPublicKey, OwnerSigner, PUBLIC_KEY_LEN, SIGNATURE_LEN};
use crate::wire::{self, Edition};

mod added;

/// The largest number of bytes of all writers: a key, a time and two lengths each, and labels.
const WRITERS_LEN: usize = MAX_WRITERS * (PUBLIC_KEY_LEN + 24 + MAX_WRITABLE * 20) + 8;

/// The largest number of bytes of an encoded manifest without its signature and without writers. 1,024 segments take up to
/// 210,000 bytes.
const MAX_WITHOUT_WRITERS: usize = 1 << 18;

/// The largest number of bytes of an encoded manifest without its signature.
pub(super) const MAX_LEN: usize = MAX_WITHOUT_WRITERS + WRITERS_LEN;

/// The largest number of bytes of an encoded addition. 8 segments take up to 1,700 bytes.
const ADDITION_LEN: usize = 1 << 12;

/// The largest number of bytes of all additions of a version.
pub(super) const MAX_ADDED_LEN: usize = 4 + MAX_ADDITIONS * (4 + ADDITION_LEN + SIGNATURE_LEN);

/// A manifest with its encoding, the owner's signature on it, and the additions of writers.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedManifest {
    /// The base, including all additions.
    manifest: Manifest,
    bytes: Vec<u8>,
    additions: Vec<SignedAddition>,
    /// The digest of the version before the base.
    before_base: Digest,
}

/// An earlier version that a newer one includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownVersion {
    /// The number.
    pub version: u64,
    /// The digest of its signed manifest.
    pub manifest: Digest,
}

/// An addition, and the version that it was made for.
#[derive(Clone, Debug, PartialEq)]
struct SignedAddition {
    writer: usize,
    addition: Addition,
    before: ShownVersion,
    /// The range of the form's bytes that are the bytes of that version.
    bytes: std::ops::Range<usize>,
}

impl SignedManifest {
    /// Signs a manifest.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a vector accepts all bytes")]
    pub fn sign(manifest: Manifest, owner: &impl OwnerSigner) -> Self {
        let trailer = Trailer::of(&manifest);
        let version = match (&trailer, manifest.writers.is_empty()) {
            (None, _) => wire::OF_MANIFESTS,
            (Some(_), true) => wire::WITH_READERS,
            (Some(_), false) => wire::WITH_WRITERS,
        };
        let mut bytes = wire::file_head_of(version, wire::MANIFEST);
        let accepts = "a vector accepts all bytes";
        bincode::serde::encode_into_std_write(&manifest, &mut bytes, config()).expect(accepts);
        if let Some(trailer) = trailer {
            bincode::serde::encode_into_std_write(&trailer, &mut bytes, config()).expect(accepts);
        }
        if version == wire::WITH_WRITERS {
            let writers = &manifest.writers;
            bincode::serde::encode_into_std_write(writers, &mut bytes, config()).expect(accepts);
        }
        let signature = owner.sign(&bytes);
        bytes.extend(signature);
        Self::of_base(manifest, bytes)
    }

    fn of_base(manifest: Manifest, bytes: Vec<u8>) -> Self {
        Self {
            before_base: manifest.previous,
            manifest,
            bytes,
            additions: Vec::new(),
        }
    }

    /// Reads a manifest, and checks its signature and that its parts agree. If it has additions, it checks all of them. Each must
    /// be made for the version before it, under a label that its writer may use, and before the writer's end.
    ///
    /// # Errors
    /// [`Error`] if the manifest is not signed by `owner`, an addition is not by a writer that the owner names, or this
    /// version of the program cannot serve the manifest.
    pub fn from_bytes(bytes: &[u8], owner: &OwnerPublicKey) -> Result<Self, Error> {
        match wire::is_added(bytes) {
            true => added::read(bytes, Some(owner)),
            false => Self::read_base(bytes, Some(owner)),
        }
    }

    /// Reads the part that the owner signed. Without a key, the bytes must have been verified before.
    fn read_base(bytes: &[u8], owner: Option<&OwnerPublicKey>) -> Result<Self, Error> {
        let (version, body) = wire::strip_manifest_head(bytes)?;
        let head_len = bytes.len() - body.len();
        let most = match version {
            wire::WITH_WRITERS => MAX_LEN,
            _ => MAX_WITHOUT_WRITERS,
        };
        let Some(len) = body
            .len()
            .checked_sub(SIGNATURE_LEN)
            .filter(|&len| len <= most)
        else {
            return Err(malformed(format!(
                "{} bytes, expected {SIGNATURE_LEN} to {}",
                body.len(),
                SIGNATURE_LEN + most
            )));
        };
        // The content is read only after the signature was verified.
        if let Some(owner) = owner {
            owner.verify(&bytes[..head_len + len], &body[len..])?;
        }
        let (mut manifest, mut read): (Manifest, usize) = decoded(&body[..len])?;
        if version != wire::OF_MANIFESTS {
            let (trailer, more): (Trailer, usize) = decoded(&body[read..len])?;
            trailer.join(&mut manifest).map_err(malformed)?;
            read += more;
        }
        if version == wire::WITH_WRITERS {
            let more;
            (manifest.writers, more) = decoded::<Vec<Writer>>(&body[read..len])?;
            read += more;
            if manifest.writers.is_empty() {
                return Err(malformed("a list of writers without one".to_owned()));
            }
        }
        if read != len {
            return Err(malformed(format!("{} bytes after its end", len - read)));
        }
        manifest.check().map_err(malformed)?;
        // Segments of a higher version than the list of deletions are additions.
        if !manifest.writers.is_empty() && manifest.deleted.version != manifest.version {
            return Err(malformed(
                "writers of a version whose deletions are of another".to_owned(),
            ));
        }
        Ok(Self::of_base(manifest, bytes.to_vec()))
    }

    /// The signed encoding.
    #[must_use]
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The digest by which the next version names this version.
    #[must_use]
    pub fn digest(&self) -> Digest {
        *blake3::hash(&self.bytes).as_bytes()
    }

    /// The edition, by which requests name this version.
    #[must_use]
    pub fn edition(&self) -> Edition {
        Edition::new(self.manifest.version, &self.digest())
    }
}

impl std::ops::Deref for SignedManifest {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

fn malformed(why: String) -> Error {
    Error::Malformed {
        what: "manifest",
        why,
    }
}

/// The value at the front of bytes, and how many bytes it takes.
fn decoded<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), Error> {
    bincode::serde::decode_from_slice(bytes, config()).map_err(|error| {
        malformed(match error {
            bincode::error::DecodeError::OtherString(why) => why,
            other => other.to_string(),
        })
    })
}

/// Numbers have a fixed size, so that a manifest's length depends only on its mode and its number of segments.
fn config() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<MAX_LEN>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Layout;
    use crate::code::Codec;
    use crate::look::SecondLook;
    use crate::manifest::{
        Checking, Coded, ColumnSegment, Columns, Combined, Deleted, FramePart, Grid, Local, Mode,
        Packing, Routed, Routing, Sealed, SecretPacking, Segment,
    };
    use crate::metric::Metric;
    use crate::payload::{Fetch, PageForm, Payloads};
    use crate::public_key::TestOwner;
    use crate::sketch::Sketch;

    fn segment(id: u8, n: u32) -> Segment {
        Segment {
            id: [id; 16],
            version: 7,
            n,
            rows: [id; 32],
            ids: coded(),
            attributes: None,
            scales: None,
            key: crate::manifest::SHARED,
        }
    }

    /// A segment that a server scores.
    fn scored(id: u8, n: u32) -> Segment {
        Segment {
            scales: Some([id; 32]),
            ..segment(id, n)
        }
    }

    fn coded() -> Coded {
        Coded {
            len: 128 + 16,
            digest: [8; 32],
        }
    }

    fn sealed() -> Manifest {
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
            ids: crate::IdKind::Number,
            metric: Metric::Cosine,
            rotation: [3; 32],
            frame: FramePart::new(
                [11; 16],
                7,
                crate::manifest::SHARED,
                Coded {
                    len: 8 + 4 * (128 + 3 * 128) + 16,
                    digest: [12; 32],
                },
            ),
            deleted: Deleted {
                id: [9; 16],
                version: 7,
                rows: coded(),
            },
            payloads: Some(Payloads {
                id: [10; 16],
                version: 7,
                records: 99_990,
                pages: 40_000,
                form: PageForm {
                    page_len: 512,
                    payloads: true,
                    look: None,
                },
                fetched: 12,
                longest: 3,
                fetch: Fetch::Pir {
                    per_column: 20,
                    seed: [4; 32],
                    hint: [6; 32],
                },
                content: [5; 32],
                places: coded(),
                groups: Vec::new(),
            }),
            recent: Vec::new(),
            readers: None,
            writers: Vec::new(),
            mode: Mode::Sealed(Sealed {
                base: segment(1, 99_000),
                tail: vec![segment(2, 1000)],
                clusters: 2048,
                probes: 20,
                layout,
                routing: Routing::Downloaded,
                recall: 950_000,
                queries: 100,
                pir_seed: [4; 32],
                buckets: [5; 32],
                digests: [5; 32],
                hint: Some([6; 32]),
                centroids: [7; 32],
            }),
        }
    }

    fn owner() -> TestOwner {
        TestOwner([9; 32])
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

    /// Forms 6 and 7 had a slot for each payload, and forms 8 to 10 had other pads. The reader does not look behind their heads.
    #[test]
    fn another_version_is_refused_by_name_and_says_what_to_do() {
        let owner = owner();
        for (version, rest) in [
            (200, None),
            (6, Some(150)),
            (7, Some(700)),
            (7, None),
            (8, None),
        ] {
            let whole = SignedManifest::sign(sealed(), &owner).to_bytes().to_vec();
            let mut bytes = whole[..whole.len() - SIGNATURE_LEN].to_vec();
            bytes[4] = version;
            bytes.truncate(rest.unwrap_or(bytes.len()));
            let signature = owner.sign(&bytes);
            bytes.extend(signature);
            let refused = SignedManifest::from_bytes(&bytes, &owner.public());
            let error = refused.unwrap_err().to_string();
            let expected = format!(
                "manifest of format version {version}, and this program reads version 11: use one release everywhere, and build \
                 indexes of other releases again"
            );
            assert_eq!(error, expected);
        }
    }

    /// Indexes of an earlier build may have buckets by a keyed hash. No other routing has that number.
    #[test]
    fn a_routing_that_is_served_no_more_is_refused_by_name() {
        let encoded = |routing| {
            let mut manifest = sealed();
            if let Mode::Sealed(mode) = &mut manifest.mode {
                mode.routing = routing;
            }
            SignedManifest::sign(manifest, &owner()).to_bytes().to_vec()
        };
        let (mut bytes, other) = (encoded(Routing::Downloaded), encoded(Routing::Encrypted));
        let unsigned = bytes.len() - SIGNATURE_LEN;
        let mut differing = (0..unsigned).filter(|&at| bytes[at] != other[at]);
        let at = differing.next().unwrap();
        assert_eq!((differing.next(), bytes[at], other[at]), (None, 0, 1));
        for (number, why) in [(2, "buckets by a keyed hash"), (3, "routing 3")] {
            bytes.truncate(unsigned);
            bytes[at] = number;
            let signature = owner().sign(&bytes);
            bytes.extend(signature);
            let refused = SignedManifest::from_bytes(&bytes, &owner().public());
            let error = refused.unwrap_err().to_string();
            assert!(error.starts_with("malformed manifest"), "{error}");
            assert!(error.contains(why), "{error}");
        }
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
        assert!(with(&|m, _| m.k = 1025).is_err());
        assert!(with(&|m, _| m.dim = 127).is_err());
        assert!(with(&|_, s| s.probes = 0).is_err());
        assert!(with(&|_, s| s.probes = 2049).is_err());
        assert!(with(&|_, s| s.clusters = u32::MAX).is_err());
        assert!(with(&|_, s| s.layout.slots = 40).is_err());
        assert!(with(&|_, s| s.layout.slots = u32::MAX).is_err());
        assert!(with(&|m, _| m.version = 0).is_err());
        assert!(with(&|m, _| m.n = 99_000).is_err());
        assert!(with(&|m, _| m.metric = Metric::Euclidean).is_err());
        assert!(with(&|m, _| m.frame.id = [1; 16]).is_err());
        assert!(with(&|m, _| m.frame.version = 8).is_err());
        assert!(with(&|m, _| m.frame.part.len += 4).is_err());
        assert!(with(&|m, _| m.frame.part.len = 8 + 4 * 128 + 16).is_err());
        assert!(with(&|m, _| m.deleted.id = [1; 16]).is_err());
        assert!(with(&|m, _| m.deleted.version = 8).is_err());
        assert!(with(&|m, _| m.deleted.rows.len = u64::MAX).is_err());
        assert!(with(&|_, s| s.tail[0].id = [1; 16]).is_err());
        assert!(with(&|_, s| s.tail[0].n = 0).is_err());
        assert!(with(&|_, s| s.tail[0].version = 8).is_err());
        assert!(with(&|_, s| s.tail[0].version = 0).is_err());
        assert!(with(&|_, s| s.tail[0].ids.len = 128).is_err());
        assert!(with(&|_, s| s.tail[0].ids.len = (1 << 20) + 16).is_err());
        assert!(with(&|_, s| s.tail[0].attributes = Some(coded())).is_ok());
        assert!(with(&|_, s| s.tail[0].attributes = Some(Coded::default())).is_err());
        assert!(with(&|m, _| m.ids = crate::IdKind::Uuid).is_ok());
        assert!(with(&|_, s| s.recall = 1_000_000).is_err());
        let too_long = with(&|m, s| {
            m.n += (1 << 31) - s.base.n;
            (s.base.n, s.clusters, s.layout.slots) = (1 << 31, 1 << 31, 1 << 31);
        });
        let why = format!("{}", too_long.unwrap_err());
        assert!(why.contains("2^48"), "{why}");
    }

    /// Short codes lose too much recall if a metric brings scores closer together.
    #[test]
    fn buckets_have_a_code_that_serves_the_metric() {
        for metric in Metric::ALL {
            for codec in Codec::ALL {
                let mut manifest = sealed();
                manifest.metric = metric;
                let width = manifest.stored_dim();
                let frame = super::super::frame_len(128, width as usize, 3);
                manifest.frame.part.len = (frame + crate::TAG_LEN) as u64;
                if let Mode::Sealed(mode) = &mut manifest.mode {
                    (mode.layout.codec, mode.layout.dim) = (codec, width);
                }
                let signed = SignedManifest::sign(manifest, &owner());
                let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
                let serves = metric == Metric::Cosine || codec == Codec::Int8;
                match read {
                    Ok(_) => assert!(serves, "{metric:?} {codec:?}"),
                    Err(Error::Malformed { why, .. }) => {
                        assert!(!serves && why.contains("build the index again"), "{why}");
                    }
                    Err(other) => panic!("{metric:?} {codec:?}: {other}"),
                }
            }
        }
    }

    #[test]
    fn payloads_are_ones_that_clients_can_fetch() {
        let with = |change: &dyn Fn(&mut Payloads)| {
            let mut manifest = sealed();
            change(manifest.payloads.as_mut().unwrap());
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public()).is_ok()
        };
        let fetch = |per_column| Fetch::Pir {
            per_column,
            seed: [4; 32],
            hint: [6; 32],
        };
        assert!(with(&|_| ()) && with(&|p| p.fetch = Fetch::Download));
        assert!(!with(&|p| p.id = [9; 16]));
        assert!(!with(&|p| p.version = 8));
        assert!(!with(&|p| p.version = 0));
        for records in [0, 100_001, 40_000 * 512 + 1] {
            assert!(!with(&|p| p.records = records), "{records}");
        }
        for pages in [0, 100, 1 << 28] {
            assert!(!with(&|p| p.pages = pages), "{pages}");
        }
        for fetched in [0, 9, 1025, u32::MAX] {
            assert!(!with(&|p| p.fetched = fetched), "{fetched}");
        }
        for longest in [0, 40_001, u32::MAX] {
            assert!(!with(&|p| p.longest = longest), "{longest}");
        }
        assert!(!with(&|p| p.places.len = 1 << 40));
        assert!(with(&|p| p.fetch = Fetch::Hintless { seed: [4; 32] }));
        assert!(!with(&|p| p.fetch = fetch(0)));
        assert!(!with(&|p| p.fetch = fetch(u32::MAX)));
        for len in [0, 15, 17, 511, (1 << 20) + 16, u32::MAX] {
            assert!(!with(&|p| p.form.page_len = len), "{len}");
        }
        assert!(!with(&|p| p.form.payloads = false));
    }

    #[test]
    fn a_second_look_is_one_that_clients_can_take() {
        let columns = || {
            let mut columns = Columns::new(Packing::T8, [4; 32]);
            let column = ColumnSegment::new(scored(1, 100_000), [6; 32]);
            columns.segments.push(column);
            columns
        };
        let modes = || {
            [
                Mode::Masked(columns()),
                Mode::Open(unchecked(columns())),
                Mode::Routed(routed()),
            ]
        };
        let with = |mode: Mode, with_payloads: bool, candidates: u32, width| {
            let mut manifest = Manifest { mode, ..sealed() };
            let payloads = manifest.payloads.as_mut().unwrap();
            let look = Some(SecondLook { candidates, width });
            payloads.form.payloads = with_payloads;
            payloads.form.look = look;
            payloads.fetched = candidates.clamp(1, 64);
            payloads.fetch = Fetch::Hintless { seed: [4; 32] };
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public())
        };
        for mode in modes() {
            for with_payloads in [false, true] {
                for (candidates, width, fits) in [
                    (32, 128, true),
                    (10, 128, true),
                    (64, 128, true),
                    (9, 128, false),
                    (65, 128, false),
                    (0, 128, false),
                    (u32::MAX, 128, false),
                    (32, 127, false),
                    (32, u32::MAX, false),
                ] {
                    let read = with(mode.clone(), with_payloads, candidates, width);
                    assert_eq!(read.is_ok(), fits, "{candidates} {width}");
                    if let Ok(read) = read {
                        assert_eq!(read.has_payloads(), with_payloads);
                        assert_eq!(read.second_look().unwrap().candidates, candidates);
                        assert!(read.parts().is_ok());
                    }
                }
            }
        }
        // Clients rank buckets by the data that they fetch from them.
        assert!(with(sealed().mode, false, 32, 128).is_err());
    }

    /// An index in columns, whose scores no check covers.
    fn unchecked(columns: Columns) -> Columns {
        Columns {
            checking: Checking::None,
            ..columns
        }
    }

    #[test]
    fn checks_are_ones_that_clients_can_make() {
        let with = |mode: fn(Columns) -> Mode, change: &dyn Fn(&mut Columns)| {
            let mut columns = Columns::new(Packing::T8, [4; 32]);
            let column = ColumnSegment::new(scored(1, 100_000), [6; 32]);
            columns.segments.push(column);
            change(&mut columns);
            let mode = mode(columns);
            let signed = SignedManifest::sign(Manifest { mode, ..sealed() }, &owner());
            let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
            read.map(|read| read.parts().map(|parts| parts.len()))
                .is_ok_and(|parts| parts.is_ok())
        };
        let combined = |id, version| Some(Combined::new([id; 16], version, [3; 32]));
        let exact = |it: &mut Columns| {
            (it.checking, it.combined) = (Checking::Exact, combined(12, 7));
        };
        let sums = |it: &mut Columns| it.segments[0].sums = Some([5; 32]);
        for mode in [Mode::Open, Mode::Masked] {
            let open = matches!(mode(Columns::new(Packing::T8, [4; 32])), Mode::Open(_));
            assert_eq!(with(mode, &|it| it.checking = Checking::None), open);
            // In open mode sums belong to readers, and in masked mode check rows belong to the server.
            assert_eq!(with(mode, &|_| ()), !open);
            assert_eq!(with(mode, &sums), open);
            assert!(with(mode, &exact));
            for (id, version) in [(1, 7), (9, 7), (10, 7), (12, 8), (12, 0)] {
                let refused = |it: &mut Columns| {
                    exact(it);
                    it.combined = combined(id, version);
                };
                assert!(!with(mode, &refused), "{id} {version}");
            }
            assert!(!with(mode, &|it| it.checking = Checking::Exact));
            assert!(!with(mode, &|it| it.combined = combined(12, 7)));
            assert!(!with(mode, &|it| {
                exact(it);
                sums(it);
            }));
        }
        for checking in [Checking::None, Checking::Exact] {
            let mut mode = routed();
            mode.tail.checking = checking;
            mode.tail.combined = combined(12, 7).filter(|_| checking == Checking::Exact);
            let mode = Mode::Routed(mode);
            let signed = SignedManifest::sign(Manifest { mode, ..sealed() }, &owner());
            let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
            assert!(read.is_err(), "{checking:?}");
        }
    }

    #[test]
    fn a_sketch_is_one_that_clients_can_make() {
        let read = |bits, candidates| {
            let manifest = Manifest {
                mode: Mode::Local(Local {
                    codec: Codec::Int8,
                    segments: vec![segment(1, 99_000), segment(2, 1000)],
                    sketch: Some(Sketch { bits, candidates }),
                }),
                ..sealed()
            };
            let signed = SignedManifest::sign(manifest, &owner());
            SignedManifest::from_bytes(signed.to_bytes(), &owner().public()).is_ok()
        };
        assert!(read(64, 10) && read(1024, 100_000));
        for (bits, candidates) in [(0, 10), (65, 10), (1088, 10), (64, 9)] {
            assert!(!read(bits, candidates), "{bits} {candidates}");
        }
    }

    #[test]
    fn a_local_index_has_a_code_of_downloads() {
        let with = |codec| {
            let manifest = Manifest {
                payloads: None,
                recent: Vec::new(),
                mode: Mode::Local(Local {
                    codec,
                    segments: vec![segment(1, 100_000)],
                    sketch: None,
                }),
                ..sealed()
            };
            let signed = SignedManifest::sign(manifest.clone(), &owner());
            let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
            read.map(|read| *read == manifest)
        };
        for codec in [Codec::Int8, Codec::Int12] {
            assert!(with(codec).unwrap());
        }
        for codec in [Codec::Residual6, Codec::Residual4] {
            assert!(with(codec).is_err());
        }
    }

    fn routed() -> Routed {
        let grid = Grid {
            groups: 32,
            clusters: 8,
            slots: 512,
            packing: SecretPacking::T128,
        };
        let mut tail = Columns::new(Packing::T64, [4; 32]);
        tail.segments
            .push(ColumnSegment::new(scored(2, 1000), [6; 32]));
        let mut mode = Routed::new(segment(1, 99_000), grid, tail);
        (mode.recall, mode.queries) = (950_000, 100);
        mode
    }

    #[test]
    fn clusters_are_ones_that_can_be_scored() {
        let with = |change: &dyn Fn(&mut Manifest, &mut Routed)| {
            let (mut manifest, mut mode) = (sealed(), routed());
            change(&mut manifest, &mut mode);
            manifest.mode = Mode::Routed(mode);
            let signed = SignedManifest::sign(manifest, &owner());
            let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
            // Every length that follows from an accepted manifest can be computed.
            read.map(|read| read.parts().map(|parts| parts.len()))
                .is_ok_and(|parts| parts.is_ok())
        };
        assert!(with(&|_, _| ()));
        assert!(with(&|_, m| m.grid.packing = SecretPacking::T64));
        for (groups, clusters, slots) in [
            (0, 8, 512),
            (32, 0, 512),
            (32, 8, 0),
            (32, 8, 384),
            (32, 8, 513),
            (1025, 1, 512),
            (4, 65, 512),
            (u32::MAX, 8, 512),
            (32, u32::MAX, 512),
            (32, 8, u32::MAX - 15),
            (1024, 64, 1 << 17),
        ] {
            let changed = |_: &mut Manifest, m: &mut Routed| {
                (m.grid.groups, m.grid.clusters, m.grid.slots) = (groups, clusters, slots);
            };
            assert!(!with(&changed), "{groups} x {clusters} x {slots}");
        }
        assert!(!with(&|_, m| m.recall = 0));
        assert!(!with(&|_, m| m.recall = 1_000_000));
        assert!(!with(&|_, m| m.base.n = 98_999));
        assert!(!with(&|_, m| m.tail.segments[0].segment.id = [1; 16]));
        assert!(!with(&|m, _| m.dim = 2048));
    }

    #[test]
    fn an_index_takes_the_room_of_what_is_computed_of_it() {
        let (mut manifest, mode) = (sealed(), routed());
        let (n, scores) = (1536, mode.grid.scores() as u64);
        manifest.mode = Mode::Routed(mode);
        let check = |manifest: &Manifest, more: u64| {
            let room = manifest.stored_len().expect("parts") + more;
            assert!(manifest.check_room(room).is_ok());
            let refused = manifest.check_room(room - 1);
            assert!(matches!(refused, Err(Error::Room { found, .. }) if found == room));
        };
        check(&manifest, 7 * n * scores);
        let payloads = manifest.payloads.as_mut().expect("payloads");
        payloads.fetch = Fetch::Scan {
            packing: SecretPacking::T64,
            copies: 0,
            seed: [1; 32],
            hint_seed: [2; 32],
            hint: [3; 32],
        };
        let words = payloads.scan().expect("a table").expect("a scan").words() as u64;
        check(&manifest, 7 * n * (scores + words));
        let payloads = manifest.payloads.as_mut().expect("payloads");
        payloads.fetch = Fetch::Hintless { seed: [1; 32] };
        let units = payloads
            .hintless_params()
            .expect("a layout")
            .expect("units");
        check(&manifest, 7 * n * scores + units.server_bytes() as u64);
    }

    #[test]
    fn packings_keep_their_numbers_and_there_are_no_others() {
        // The packing's number has four bytes. After it come the check (four bytes), the byte for no combinations, and
        // the seed. T16 and T32 were added last, so the other packings keep their numbers.
        let numbered = [0u32, 1, 3, 4, 2].into_iter().zip(Packing::ALL);
        for (number, packing) in numbered {
            let mut columns = Columns::new(packing, [77; 32]);
            columns
                .segments
                .push(ColumnSegment::new(scored(1, 100_000), [6; 32]));
            for mode in [
                Mode::Masked(columns.clone()),
                Mode::Open(unchecked(columns)),
            ] {
                let manifest = Manifest { mode, ..sealed() };
                let signed = SignedManifest::sign(manifest.clone(), &owner());
                let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
                assert_eq!(*read.unwrap(), manifest, "{packing:?}");
                let seed = signed.to_bytes().windows(32).position(|it| it == [77; 32]);
                let at = seed.unwrap() - 9;
                assert_eq!(signed.to_bytes()[at..at + 4], number.to_le_bytes());
            }
        }
    }

    #[test]
    fn an_index_has_as_many_segments_as_it_may_and_no_more() {
        for (segments, fits) in [(1u16, true), (1024, true), (1025, false), (0, false)] {
            let columns = Columns {
                segments: (0..segments)
                    .map(|at| {
                        let mut segment = scored(100, 10);
                        segment.id[..2].copy_from_slice(&at.to_le_bytes());
                        segment.attributes = Some(coded());
                        ColumnSegment::new(segment, [6; 32])
                    })
                    .collect(),
                ..Columns::new(Packing::T4, [4; 32])
            };
            let manifest = Manifest {
                n: 10 * u32::from(segments),
                payloads: None,
                recent: Vec::new(),
                mode: Mode::Masked(columns),
                ..sealed()
            };
            let signed = SignedManifest::sign(manifest, &owner());
            let read = SignedManifest::from_bytes(signed.to_bytes(), &owner().public());
            assert_eq!(read.is_ok(), fits, "{segments} segments");
            assert!(signed.to_bytes().len() < MAX_LEN);
        }
    }
}
