//! Manifests with additions: reading, showing and making them.

use std::collections::HashMap;

use blake3::Hasher;

use super::{
    ADDITION_LEN, Addition, Digest, Error, MAX_ADDED_LEN, MAX_ADDITIONS, OwnerPublicKey,
    SIGNATURE_LEN, ShownVersion, SignedAddition, SignedManifest, config, decoded, malformed, wire,
};
use crate::manifest::{MAX_SIGNED_LEN, Writer};

/// The size in bytes of a length.
const LEN_LEN: usize = 4;

/// The size in bytes of a writer's number.
const WRITER_LEN: usize = 2;

/// The number of bytes before the base.
const HEAD_LEN: usize = wire::FILE_HEAD_LEN + LEN_LEN;

/// Reads a manifest with additions. Without a key, the bytes must have been verified before.
pub(super) fn read(bytes: &[u8], owner: Option<&OwnerPublicKey>) -> Result<SignedManifest, Error> {
    let body = wire::strip_added_head(bytes)?;
    if bytes.len() > MAX_SIGNED_LEN {
        let why = format!("{} bytes, expected at most {MAX_SIGNED_LEN}", bytes.len());
        return Err(malformed(why));
    }
    let (base, mut rest) = split(body)?;
    let SignedManifest {
        mut manifest,
        before_base,
        ..
    } = SignedManifest::read_base(base, owner)?;
    if rest.is_empty() {
        return Err(malformed("additions, of which there are none".to_owned()));
    }
    let mut before = *blake3::hash(base).as_bytes();
    let mut bytes_before = HEAD_LEN..HEAD_LEN + base.len();
    let (mut hasher, mut hashed) = (Hasher::new(), 0);
    let (mut keys, mut additions) = (HashMap::new(), Vec::new());
    while !rest.is_empty() {
        if additions.len() == MAX_ADDITIONS {
            return Err(malformed(format!("more than {MAX_ADDITIONS} additions")));
        }
        let signed;
        (signed, rest) = split(rest)?;
        let (writer, addition) = verified(signed, &manifest.writers, &mut keys, owner.is_some())?;
        let shown = ShownVersion {
            version: manifest.version,
            manifest: before,
        };
        let addition = manifest.append(addition, &before, writer);
        additions.push(SignedAddition {
            writer,
            addition: addition.map_err(refused)?,
            before: shown,
            bytes: bytes_before,
        });
        let end = bytes.len() - rest.len();
        hasher.update(&bytes[hashed..end]);
        (before, bytes_before, hashed) = (*hasher.finalize().as_bytes(), 0..end, end);
    }
    Ok(SignedManifest {
        manifest,
        bytes: bytes.to_vec(),
        additions,
        before_base,
    })
}

/// Splits off a piece that follows its length. Returns it and the remaining bytes.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let split = bytes
        .split_first_chunk::<LEN_LEN>()
        .and_then(|(len, rest)| {
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*len)).ok()?)
        });
    split.ok_or_else(|| malformed("truncated in an addition".to_owned()))
}

/// The number of an addition's writer and the addition, after its signature was verified.
fn verified(
    signed: &[u8],
    writers: &[Writer],
    keys: &mut HashMap<usize, OwnerPublicKey>,
    verify: bool,
) -> Result<(usize, Addition), Error> {
    let len = signed.len().checked_sub(SIGNATURE_LEN);
    let len = len.filter(|len| (WRITER_LEN..=WRITER_LEN + ADDITION_LEN).contains(len));
    let len = len.ok_or_else(|| refused(format!("{} bytes", signed.len())))?;
    let (message, signature) = signed.split_at(len);
    let (number, code) = message.split_at(WRITER_LEN);
    let number = usize::from(u16::from_le_bytes([number[0], number[1]]));
    let Some(writer) = writers.get(number) else {
        let why = format!("by writer {number} of {}", writers.len());
        return Err(refused(why));
    };
    if verify {
        // The content is read only after the writer's signature was verified.
        let key = match keys.entry(number) {
            std::collections::hash_map::Entry::Occupied(key) => key.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(OwnerPublicKey::from_bytes(&writer.public)?)
            }
        };
        let good = key.verify_addition(message, signature);
        good.map_err(|_| refused("it is not signed by the writer that it names".to_owned()))?;
    }
    let (addition, read): (Addition, usize) = decoded(code)?;
    match read == code.len() {
        true => Ok((number, addition)),
        false => Err(refused(format!(
            "{} bytes after its end",
            code.len() - read
        ))),
    }
}

/// The error for an addition that is not allowed.
fn refused(why: impl Into<String>) -> Error {
    Error::Malformed {
        what: "addition to the manifest",
        why: why.into(),
    }
}

impl SignedManifest {
    /// The additions since the owner's last change, oldest first, each with its writer.
    #[must_use]
    pub fn additions(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Writer, &Addition)> + ExactSizeIterator {
        let additions = self.additions.iter();
        additions.map(|it| (&self.manifest.writers[it.writer], &it.addition))
    }

    /// The earlier versions that this one includes, oldest first: the owner's last version, and the versions of all
    /// additions but the last.
    #[must_use]
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &ShownVersion> {
        self.additions.iter().map(|it| &it.before)
    }

    /// The digest of the newest earlier version that it does not include, or zeros if there is none.
    #[must_use]
    pub fn before_shown(&self) -> Digest {
        self.before_base
    }

    /// True if this manifest shows that it follows from the version with this digest. The manifest includes that
    /// version, or names it as the version before all included versions.
    #[must_use]
    pub fn follows(&self, version: &Digest) -> bool {
        self.before_base == *version || self.shown().any(|it| it.manifest == *version)
    }

    /// The version before the last addition, if there is one. It was verified together with this one.
    #[must_use]
    pub fn before_addition(&self) -> Option<Self> {
        let last = self.additions.last()?;
        let bytes = &self.bytes[last.bytes.clone()];
        let read = match wire::is_added(bytes) {
            true => read(bytes, None),
            false => Self::read_base(bytes, None),
        };
        read.ok()
    }

    /// The bytes of a version with one more addition, by the writer of this number. `sign` signs it.
    /// [`from_bytes`](Self::from_bytes) must check the result.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a vector accepts all bytes")]
    pub fn with_addition(
        &self,
        writer: u16,
        addition: &Addition,
        sign: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(self.bytes.len() + HEAD_LEN + MAX_ADDED_LEN / MAX_ADDITIONS);
        if self.additions.is_empty() {
            bytes.extend(wire::file_head_of(wire::WITH_WRITERS, wire::ADDED));
            bytes.extend(len(&self.bytes));
        }
        bytes.extend(&self.bytes);
        let mut message = writer.to_le_bytes().to_vec();
        let accepts = "a vector accepts all bytes";
        bincode::serde::encode_into_std_write(addition, &mut message, config()).expect(accepts);
        let signature = sign(&message);
        message.extend(signature);
        bytes.extend(len(&message));
        bytes.extend(message);
        bytes
    }
}

fn len(bytes: &[u8]) -> [u8; LEN_LEN] {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    len.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pin;
    use crate::digest::Coded;
    use crate::manifest::{
        ColumnSegment, Columns, FramePart, KeyUse, Manifest, Mode, Packing, Readers, Segment,
        Writable, frame_len,
    };
    use crate::metric::Metric;
    use crate::payload::{PageForm, Payloads};
    use crate::public_key::{ADDITION_CONTEXT, CHANGE_CONTEXT, TestOwner};

    /// The time at which rights end in these tests.
    const UNTIL: u64 = 1000;

    fn owner() -> TestOwner {
        TestOwner([9; 32])
    }

    fn agent(number: u8) -> TestOwner {
        TestOwner([40 + number; 32])
    }

    fn coded() -> Coded {
        Coded {
            len: 128 + 16,
            digest: [8; 32],
        }
    }

    fn column(id: u8, version: u64, n: u32) -> ColumnSegment {
        let mut segment = Segment::new([id; 16], version, n, [id; 32], coded());
        segment.scales = Some([id; 32]);
        ColumnSegment::new(segment, [6; 32])
    }

    fn payloads(id: u8, version: u64, records: u32) -> Payloads {
        let form = PageForm {
            page_len: 1024,
            payloads: true,
            look: None,
        };
        let mut payloads = Payloads::new([id; 16], version, form, 10);
        (payloads.records, payloads.pages) = (records, 4);
        payloads.places = coded();
        payloads.groups = vec![crate::payload::PageGroup {
            key: 1,
            records,
            pages: 4,
        }];
        payloads
    }

    /// The writers with these labels, in the order of their keys, and the numbers of the agents.
    fn writers(labels: &[&[u32]]) -> (Vec<Writer>, Vec<u8>) {
        let writer = |(number, keys): (u8, &&[u32])| {
            let tag = [7; 16];
            let labels = keys.iter().map(|&key| Writable { key, tag }).collect();
            let public = agent(number).public().to_bytes();
            (Writer::new(public, UNTIL, labels), number)
        };
        let mut all: Vec<_> = (0..).zip(labels).map(writer).collect();
        all.sort_by(|a, b| a.0.public.cmp(&b.0.public));
        all.into_iter().unzip()
    }

    /// An index of two labels, with keys 1 and 3. The first label also has an older key. Agent 0 adds under both
    /// labels, and agent 1 under the second.
    fn manifest() -> Manifest {
        let mut columns = Columns::new(Packing::T4, [4; 32]);
        columns.segments.push(column(1, 7, 100));
        columns.segments[0].segment.key = 1;
        let frame = Coded {
            len: (frame_len(16, 16, 1) + crate::TAG_LEN) as u64,
            digest: [12; 32],
        };
        let key = |number, newest| KeyUse {
            number,
            newest,
            salt: [5; 16],
        };
        let frame = FramePart::new([11; 16], 7, 1, frame);
        let mode = Mode::Masked(columns);
        let (ids, metric) = (crate::IdKind::Number, Metric::Cosine);
        let mut manifest = Manifest::new(16, 10, ids, metric, [3; 32], frame, mode);
        (manifest.index, manifest.version, manifest.n) = ([1; 16], 7, 100);
        manifest.previous = [2; 32];
        manifest.deleted = crate::manifest::Deleted::new([9; 16], 7, coded());
        manifest.payloads = Some(payloads(10, 7, 100));
        let keys = vec![key(1, 1), key(2, 3), key(3, 3)];
        let ring = Coded {
            len: 1 << 12,
            digest: [1; 32],
        };
        manifest.readers = Some(Readers::new([13; 16], 7, ring, keys));
        manifest.writers = writers(&[&[1, 3], &[3]]).0;
        manifest
    }

    fn base() -> SignedManifest {
        SignedManifest::sign(manifest(), &owner())
    }

    /// The next addition, with one segment of records.
    fn next(before: &SignedManifest, id: u8, key: u32) -> Addition {
        let version = before.version + 1;
        let segments = vec![column(id, version, 10)];
        let carried = payloads(id + 100, version, 10);
        let made = (version, UNTIL - 1);
        Addition::new(made, before.digest(), key, segments, Some(carried))
    }

    fn number_of(before: &SignedManifest, agent_number: u8) -> u16 {
        let public = agent(agent_number).public().to_bytes();
        let at = before.writers.iter().position(|it| it.public == public);
        u16::try_from(at.unwrap()).unwrap()
    }

    fn bytes_of(before: &SignedManifest, by: u8, addition: &Addition) -> Vec<u8> {
        let number = number_of(before, by);
        before.with_addition(number, addition, |it| {
            agent(by).sign_in(ADDITION_CONTEXT, it)
        })
    }

    fn read(bytes: &[u8]) -> Result<SignedManifest, Error> {
        SignedManifest::from_bytes(bytes, &owner().public())
    }

    fn added(before: &SignedManifest, by: u8, id: u8, key: u32) -> SignedManifest {
        read(&bytes_of(before, by, &next(before, id, key))).unwrap()
    }

    fn why(read: Result<SignedManifest, Error>) -> String {
        match read.unwrap_err() {
            Error::Malformed { what, why } => format!("{what}: {why}"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn additions_are_appended_and_show_the_versions_before_them() {
        let first = added(&base(), 0, 20, 1);
        let second = added(&first, 1, 21, 3);
        let third = added(&second, 0, 22, 3);
        assert_eq!((third.version, third.n), (10, 130));
        assert_eq!(third.previous, second.digest());
        let keys: Vec<u32> = third.segments().iter().map(|it| it.key).collect();
        assert_eq!(keys, [1, 1, 3, 3]);
        assert_eq!(third.recent.len(), 3);
        assert_eq!(third.lists(), [1]);
        let shown: Vec<(u64, Digest)> = third.shown().map(|it| (it.version, it.manifest)).collect();
        let before = [&base(), &first, &second].map(|it| (it.version, it.digest()));
        assert_eq!(shown, before);
        assert_eq!(third.before_addition(), Some(second.clone()));
        assert_eq!(second.before_addition(), Some(first.clone()));
        assert_eq!(first.before_addition(), Some(base()));
        assert_eq!(base().before_addition(), None);
        let by: Vec<(u8, u64)> = third
            .additions()
            .map(|(writer, addition)| {
                let by = (0..2).find(|&it| agent(it).public().to_bytes() == writer.public);
                (by.unwrap(), addition.version)
            })
            .collect();
        assert_eq!(by, [(0, 8), (1, 9), (0, 10)]);
        // Everything else is equal to the base.
        let (mut left, base) = ((*third).clone(), manifest());
        let Mode::Masked(columns) = &mut left.mode else {
            panic!("masked");
        };
        columns.segments.truncate(1);
        left.recent.clear();
        (left.n, left.version, left.previous) = (base.n, base.version, base.previous);
        assert_eq!(left, base);
    }

    #[test]
    fn a_client_of_any_version_that_is_shown_follows_and_one_of_a_fork_does_not() {
        let first = added(&base(), 0, 20, 1);
        let third = added(&added(&first, 1, 21, 3), 0, 22, 3);
        for shown in [&base(), &first, &third] {
            assert!(Pin::of(shown).precedes(&third).unwrap());
        }
        let before = Pin {
            index: [1; 16],
            version: 5,
            manifest: [2; 32],
        };
        assert!(before.precedes(&third).unwrap());
        let other = Pin {
            manifest: [77; 32],
            ..before
        };
        assert!(!other.precedes(&third).unwrap());
        for version in [6, 7, 8, 9, 10] {
            let fork = Pin { version, ..other }.precedes(&third);
            assert!(matches!(fork, Err(Error::Fork { version: 10 })), "{fork:?}");
        }
        let back = Pin::of(&third).precedes(&first);
        assert!(matches!(back, Err(Error::Rollback { .. })), "{back:?}");
        // Two additions that were made at the same time do not follow from one another.
        let rival = added(&base(), 1, 30, 3);
        let fork = Pin::of(&rival).precedes(&third);
        assert!(matches!(fork, Err(Error::Fork { .. })), "{fork:?}");
    }

    #[test]
    fn an_addition_that_its_writer_may_not_make_is_refused_with_the_reason() {
        let first = added(&base(), 0, 20, 1);
        let refused = |by: u8, key: u32, change: &dyn Fn(&mut Addition)| {
            let mut addition = next(&first, 21, key);
            change(&mut addition);
            why(read(&bytes_of(&first, by, &addition)))
        };
        let expected = |why: String, part: &str| assert!(why.contains(part), "{why}: {part}");
        expected(refused(1, 1, &|_| ()), "under this label");
        expected(refused(0, 2, &|_| ()), "under this label");
        expected(refused(0, 9, &|_| ()), "under this label");
        expected(refused(0, crate::SHARED, &|_| ()), "under this label");
        expected(refused(0, 1, &|it| it.time = UNTIL), "had ended");
        expected(refused(0, 1, &|it| it.time = u64::MAX), "had ended");
        expected(
            refused(0, 1, &|it| it.previous = base().digest()),
            "another version",
        );
        let numbers = [0, 7, 8, 8 + 1025, u64::MAX];
        for version in numbers {
            let at = |it: &mut Addition| {
                it.version = version;
                it.segments[0].segment.version = version;
                it.payloads.as_mut().unwrap().version = version;
            };
            expected(refused(0, 1, &at), "number");
        }
        for version in [1, 8, 10] {
            let at = |it: &mut Addition| it.segments[0].segment.version = version;
            expected(refused(0, 1, &at), "segment of another version");
            let at = |it: &mut Addition| it.payloads.as_mut().unwrap().version = version;
            expected(refused(0, 1, &at), "payloads of another version");
        }
        expected(refused(0, 1, &|it| it.segments.clear()), "segments outside");
        let many = |it: &mut Addition| {
            it.segments = (0..9).map(|at| column(60 + at, it.version, 10)).collect();
        };
        expected(refused(0, 1, &many), "segments outside");
        expected(refused(0, 1, &|it| it.payloads = None), "records carry");
        let more = |it: &mut Addition| it.payloads.as_mut().unwrap().records = 11;
        expected(refused(0, 1, &more), "other records than its own");
        // An addition is refused if an id exists already: the id of a segment, of the base's payloads, of the ring or
        // of an earlier addition.
        for id in [1, 10, 13, 20, 120] {
            let reused = |it: &mut Addition| it.segments[0].segment.id = [id; 16];
            expected(refused(0, 1, &reused), "same id");
            let reused = |it: &mut Addition| it.payloads.as_mut().unwrap().id = [id; 16];
            expected(refused(0, 1, &reused), "same id");
        }
        let fetched = |it: &mut Addition| {
            it.payloads.as_mut().unwrap().fetch = crate::payload::Fetch::Hintless { seed: [1; 32] };
        };
        expected(refused(0, 1, &fetched), "not downloaded");
        let sums = |it: &mut Addition| it.segments[0].sums = Some([1; 32]);
        expected(refused(0, 1, &sums), "sums");
        let empty = |it: &mut Addition| it.segments.push(column(99, it.version, 0));
        expected(refused(0, 1, &empty), "empty segment");
        let huge = |it: &mut Addition| {
            it.segments[0].segment.n = u32::MAX;
            it.payloads.as_mut().unwrap().records = u32::MAX;
        };
        expected(refused(0, 1, &huge), "2^20 records");
        let long = |it: &mut Addition| it.payloads.as_mut().unwrap().pages = 1 << 16;
        expected(refused(0, 1, &long), "2^26 bytes");
    }

    #[test]
    fn only_the_named_writers_signature_on_this_addition_counts() {
        let first = added(&base(), 0, 20, 1);
        let addition = next(&first, 21, 3);
        let number = number_of(&first, 0);
        let signed_by = |number: u16, key: TestOwner, context: &'static [u8]| {
            why(read(&first.with_addition(number, &addition, |it| {
                key.sign_in(context, it)
            })))
        };
        let unsigned = "not signed by the writer";
        assert!(signed_by(number, agent(1), ADDITION_CONTEXT).contains(unsigned));
        assert!(signed_by(number, owner(), ADDITION_CONTEXT).contains(unsigned));
        assert!(signed_by(number, agent(5), ADDITION_CONTEXT).contains(unsigned));
        assert!(signed_by(number, agent(0), CHANGE_CONTEXT).contains(unsigned));
        assert!(signed_by(2, agent(0), ADDITION_CONTEXT).contains("writer 2 of 2"));
        assert!(signed_by(u16::MAX, agent(0), ADDITION_CONTEXT).contains("of 2"));
        // A writer signs an addition with its own number, and sends it under the number of a writer with more rights.
        let both = number_of(&first, 1);
        let taken = first.with_addition(both, &addition, |message| {
            let mut own = message.to_vec();
            own[..2].copy_from_slice(&number.to_le_bytes());
            agent(0).sign_in(ADDITION_CONTEXT, &own)
        });
        assert!(why(read(&taken)).contains(unsigned));
    }

    #[test]
    fn no_byte_of_a_form_can_be_changed_and_no_addition_moved_or_left_out() {
        let first = added(&base(), 0, 20, 1);
        let second = added(&first, 1, 21, 3);
        let third = added(&second, 0, 22, 3);
        let bytes = third.to_bytes();
        for at in (0..bytes.len()).step_by(61).chain(0..16) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x10;
            assert!(read(&flipped).is_err(), "byte {at}");
        }
        let ends = [&first, &second, &third].map(|it| it.to_bytes().len());
        for len in (0..bytes.len()).step_by(97).chain(ends) {
            assert_eq!(read(&bytes[..len]).is_ok(), ends.contains(&len), "{len}");
        }
        assert!(read(&[bytes, &[0]].concat()).is_err());
        let start = HEAD_LEN + base().to_bytes().len();
        let [a, b, c] = [
            &bytes[start..ends[0]],
            &bytes[ends[0]..ends[1]],
            &bytes[ends[1]..],
        ];
        let head = &bytes[..start];
        assert!(read(&[head, a, b, c].concat()).is_ok());
        for order in [
            &[a, c][..],
            &[b, c],
            &[b],
            &[a, a],
            &[a, c, b],
            &[b, a, c],
            &[a, b, c, c],
            &[a, b, c, a],
            &[],
        ] {
            assert!(read(&[head, &order.concat()].concat()).is_err());
        }
        // The same addition is refused on another base of the same owner, which belongs to another index or another
        // version of this one.
        for change in [
            &|it: &mut Manifest| it.index = [2; 16],
            &|it: &mut Manifest| it.previous = [3; 32],
        ] as [&dyn Fn(&mut Manifest); 2]
        {
            let mut other = manifest();
            change(&mut other);
            let other = SignedManifest::sign(other, &owner());
            let replayed = bytes_of(&other, 0, &next(&first, 21, 3));
            assert!(why(read(&replayed)).contains("another version"));
            let mut head = head.to_vec();
            head[HEAD_LEN..].copy_from_slice(other.to_bytes());
            assert!(why(read(&[&head, a].concat())).contains("another version"));
        }
        // Additions cannot serve as a base. A base with a writer that an attacker added is not the owner's.
        let nested = [&head[..8], &len(bytes), bytes, a].concat();
        assert!(read(&nested).is_err());
        let mut own = manifest();
        own.writers = writers(&[&[1, 3], &[3], &[1]]).0;
        let forged = SignedManifest::sign(own, &agent(2));
        let forged = bytes_of(&forged, 2, &next(&forged, 20, 1));
        assert!(matches!(read(&forged), Err(Error::Signature)));
    }

    #[test]
    fn there_are_64_additions_and_no_more() {
        let mut newest = base();
        for id in 0..64 {
            assert!(newest.to_bytes().len() < MAX_SIGNED_LEN);
            newest = added(&newest, 0, 20 + id, 3);
        }
        assert_eq!(newest.additions().len(), MAX_ADDITIONS);
        let one_more = why(read(&bytes_of(&newest, 0, &next(&newest, 90, 3))));
        assert!(one_more.contains("more than 64"), "{one_more}");
        let shown: Vec<u64> = newest.shown().map(|it| it.version).collect();
        assert_eq!(shown, (7..71).collect::<Vec<u64>>());
    }

    #[test]
    fn writers_are_ones_that_an_index_can_have() {
        let with = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = manifest();
            change(&mut manifest);
            let signed = SignedManifest::sign(manifest.clone(), &owner());
            read(signed.to_bytes()).map(|read| assert_eq!(*read, manifest))
        };
        assert!(with(&|_| ()).is_ok());
        assert!(with(&|it| it.writers.clear()).is_ok());
        assert!(with(&|it| it.writers.swap(0, 1)).is_err());
        assert!(with(&|it| it.writers[1] = it.writers[0].clone()).is_err());
        assert!(with(&|it| it.writers[0].public.truncate(2591)).is_err());
        assert!(with(&|it| it.writers[0].labels.clear()).is_err());
        for key in [0, 2, 4] {
            assert!(with(&|it| it.writers[0].labels[0].key = key).is_err());
        }
        let twice = |it: &mut Manifest| {
            let label = it.writers[0].labels[0];
            it.writers[0].labels.insert(0, label);
        };
        assert!(with(&twice).is_err());
        let labels = vec![&[1][..]; 33];
        let many = writers(&labels).0;
        assert!(with(&|it| it.writers = many[..32].to_vec()).is_ok());
        assert!(with(&|it| it.writers = many.clone()).is_err());
        let open = |it: &mut Manifest| {
            let Mode::Masked(columns) = it.mode.clone() else {
                panic!("masked");
            };
            let checking = crate::manifest::Checking::None;
            it.mode = Mode::Open(Columns {
                checking,
                ..columns
            });
        };
        assert!(with(&open).is_err());
        // The list of deletions is as old as the base, so newer segments were added.
        assert!(with(&|it| it.deleted.version = 6).is_err());
        // Without readers the encoding has no place for writers.
        let mut shared = manifest();
        shared.readers = None;
        shared.payloads = None;
        shared.frame.key = crate::SHARED;
        assert!(shared.check_writers().is_err());
    }

    #[test]
    fn payloads_that_were_added_speak_of_their_own_records() {
        let second = added(&added(&base(), 0, 20, 1), 1, 21, 3);
        let places = second.all_payloads().map(|it| second.places_of(it));
        assert_eq!(places.collect::<Vec<_>>(), [0..120, 100..110, 110..120]);
        let added = second.segments().into_iter().map(|it| second.is_added(it));
        assert_eq!(added.collect::<Vec<_>>(), [false, true, true]);
    }
}
