//! A ring: an index's content keys, wrapped for each of its readers.
//!
//! ```text
//! ring:   head SRDN | entries: 32 bits | keys of an entry: 32 bits | length of the owner's list: 32 bits
//!         | the owner's list, sealed | entries
//! entry:  X-Wing ciphertext: 1,120 bytes | sealed keys
//! keys:   for each: number: 32 bits | content key: 32 bytes
//! ```
//!
//! The keys of records without a label come first among an entry's.
//!
//! All entries have the same length, with space for the keys of the reader who has the most keys. The number of entries is a
//! power of two, and surplus entries are for no reader. The order of the entries is random. Nothing in an entry shows which
//! reader it is for, so a reader tries all of them. So the ring shows the number of readers up to a factor of two, and
//! roughly the largest number of keys of a reader. A ring is a part that the signed manifest names, and entries are bound to
//! its id and their place.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use crate::content_key::ContentKey;
use crate::contents::ContentKeys;
use crate::purpose::Purpose;
use crate::reader_secret::{ReaderPublicKey, ReaderSecret};
use crate::seal::Seal;
use sordino_index::Error;
use sordino_index::manifest::{
    CIPHERTEXT_LEN, MAX_DIRECTORY, MAX_KEYS, MAX_READERS, NUMBER_LEN, RING_HEAD_LEN, Readers,
    SHARED, entry_len,
};
use sordino_index::wire;
use sordino_vectors::u32_of;

/// The size in bytes of a content key with its number.
const KEY_LEN: usize = NUMBER_LEN + 32;

/// A reader, and the content keys for it by number.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The public key for which they are wrapped.
    pub reader: &'a ReaderPublicKey,
    /// The keys. Keys of records without a label come first.
    pub keys: Vec<(u32, ContentKey)>,
}

/// The ring of this id, written for `version`, with the owner's sealed list.
///
/// # Panics
/// Panics if a reader gets too many keys, or there are too many readers.
#[must_use]
pub fn write<R: CryptoRng + ?Sized>(
    rng: &mut R,
    id: &[u8; 16],
    version: u64,
    list: &[u8],
    readers: &[Entry<'_>],
) -> Vec<u8> {
    let most = readers.iter().map(|reader| reader.keys.len()).max();
    let keys = most.unwrap_or(0).max(1).next_power_of_two();
    let entries = readers.len().max(1).next_power_of_two();
    assert!(
        keys <= MAX_KEYS && entries <= MAX_READERS,
        "{entries} entries of {keys} keys"
    );
    let mut ring = wire::file_head(wire::RING);
    for len in [entries, keys, list.len()] {
        ring.extend(u32_of(len).to_le_bytes());
    }
    ring.extend_from_slice(list);
    for (place, at) in (0..).zip(shuffled(rng, entries)) {
        let entry = readers.get(at);
        let unused;
        let reader = match entry {
            Some(entry) => entry.reader,
            // A surplus entry is for a pair whose secret no one keeps.
            None => {
                unused = ReaderSecret::generate(rng).public();
                &unused
            }
        };
        let (ciphertext, shared) = reader.encapsulate(&mut drawn(rng, id, place, reader));
        let mut plain = Zeroizing::new(Vec::with_capacity(keys * KEY_LEN));
        for (number, key) in entry.iter().flat_map(|entry| &entry.keys) {
            plain.extend(number.to_le_bytes());
            plain.extend(key.as_bytes());
        }
        plain.resize(keys * KEY_LEN, 0);
        ring.extend(ciphertext);
        ring.extend(seal(&shared, id, version).seal(place, &[], &plain));
    }
    ring
}

/// A generator for one entry only. A reader who opens the entry learns bytes that were used for wrapping. These bytes are
/// hashes of the output of `rng` and of everything that the entry depends on. So they reveal nothing about the output of a
/// copy of `rng`, and no two entries share them.
fn drawn<R: CryptoRng + ?Sized>(
    rng: &mut R,
    id: &[u8; 16],
    place: u32,
    reader: &ReaderPublicKey,
) -> ChaCha20Rng {
    let mut key = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *key);
    let mut hasher = Zeroizing::new(blake3::Hasher::new_keyed(&key));
    hasher.update(b"sordino ring entry").update(id);
    hasher.update(&place.to_le_bytes());
    hasher.update(reader.as_bytes());
    let seed = Zeroizing::new(*hasher.finalize().as_bytes());
    ChaCha20Rng::from_seed(*seed)
}

/// The numbers below `count` in a random order.
fn shuffled<R: CryptoRng + ?Sized>(rng: &mut R, count: usize) -> Vec<usize> {
    let mut order: Vec<(u64, usize)> = (0..count).map(|at| (rng.next_u64(), at)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}

/// The cipher of an entry. It is bound to the ring's id, so that one key cannot seal two contents even if a generator
/// repeats itself.
fn seal(shared: &[u8; 32], id: &[u8; 16], version: u64) -> Seal {
    let mut hasher = blake3::Hasher::new_keyed(shared);
    hasher.update(id);
    let mut key = *hasher.finalize().as_bytes();
    hasher.zeroize();
    let seal = Seal::new(&key, Purpose::Wrap, *id, version);
    key.zeroize();
    seal
}

/// The parts of a ring's bytes.
struct Parts<'a> {
    list: &'a [u8],
    entries: std::slice::ChunksExact<'a, u8>,
}

fn parts(ring: &[u8]) -> Result<Parts<'_>, Error> {
    let malformed = |why: String| Error::Malformed { what: "ring", why };
    let body = wire::strip_file_head(wire::RING, ring)?;
    let head = RING_HEAD_LEN - wire::FILE_HEAD_LEN;
    let Some((lens, body)) = body.split_at_checked(head) else {
        return Err(malformed(format!("{} bytes", ring.len())));
    };
    let lens = lens.as_chunks().0.iter();
    let lens: Vec<usize> = lens.map(|len| u32::from_le_bytes(*len) as usize).collect();
    let [entries, keys, list] = lens[..] else {
        return Err(malformed(format!("{} bytes", ring.len())));
    };
    let possible = (1..=MAX_READERS).contains(&entries)
        && (1..=MAX_KEYS).contains(&keys)
        && list <= MAX_DIRECTORY + sordino_index::TAG_LEN
        && body.len() == list + entries * entry_len(keys);
    if !possible {
        let why = format!(
            "{entries} entries of {keys} keys and a list of {list} bytes in {} bytes",
            ring.len()
        );
        return Err(malformed(why));
    }
    let (list, entries) = body.split_at(list);
    Ok(Parts {
        list,
        entries: entries.chunks_exact(entry_len(keys)),
    })
}

/// The owner's sealed list in a ring.
///
/// # Errors
/// [`Error::Malformed`] if the bytes are not a ring.
pub fn list(ring: &[u8]) -> Result<&[u8], Error> {
    Ok(parts(ring)?.list)
}

/// The content keys that a ring has for this reader.
///
/// It tries all entries, even after one has opened, so the time does not depend on the entry's place.
///
/// # Errors
/// [`Error::NoReader`] if no entry opens. [`Error::Malformed`] if the bytes are not a ring, or it has keys that the manifest
/// does not list.
pub(crate) fn open(
    ring: &[u8],
    readers: &Readers,
    secret: &ReaderSecret,
) -> Result<ContentKeys, Error> {
    let decapsulate = secret.decapsulator();
    let mut found = None;
    for (place, entry) in (0..).zip(parts(ring)?.entries) {
        let Some((ciphertext, sealed)) = entry.split_first_chunk::<CIPHERTEXT_LEN>() else {
            continue;
        };
        let opened = decapsulate(ciphertext).and_then(|shared| {
            let seal = seal(&shared, &readers.id, readers.version);
            seal.open(place, &[], sealed).map(Zeroizing::new)
        });
        found = found.or(opened);
    }
    let plain = found.ok_or(Error::NoReader)?;
    let (mut keys, mut first) = (BTreeMap::new(), None);
    for bytes in plain.chunks_exact(KEY_LEN) {
        let (number, key) = bytes.split_at(NUMBER_LEN);
        let number = number.try_into().map_or(SHARED, u32::from_le_bytes);
        // Entries with number 0 are padding.
        if number == SHARED {
            continue;
        }
        if readers.key(number).is_none() {
            return Err(Error::Malformed {
                what: "ring",
                why: format!("a content key {number} that the manifest does not list"),
            });
        }
        if let Ok(key) = key.try_into() {
            first = first.or(Some(number));
            keys.insert(number, ContentKey::from_bytes(key));
        }
    }
    Ok(ContentKeys::of_reader(keys, first))
}
