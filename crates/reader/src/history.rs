//! Checks the versions from the one that a client knows to the newest.

use sordino_index::history::{self, LEN_LEN};
use sordino_index::manifest::{self, SignedManifest};
use sordino_index::wire::{Message, message_len};
use sordino_index::{Error, OwnerPublicKey, Pin};
use sordino_vault::ReaderKeys;

use crate::transport::AsyncTransport;

/// Refuses a newest version that does not follow from this one, step by step. If there are versions between the two, it asks the
/// server for their manifests. Returns the downloaded bytes.
pub(crate) async fn follow(
    pin: &Pin,
    manifest: &SignedManifest,
    transport: &mut impl AsyncTransport,
    keys: &ReaderKeys,
) -> Result<usize, Error> {
    Ok(between(pin, manifest, transport, keys).await?.1)
}

/// Like [`follow`], and also returns the manifests between the two, newest first.
pub(crate) async fn between(
    pin: &Pin,
    manifest: &SignedManifest,
    transport: &mut impl AsyncTransport,
    keys: &ReaderKeys,
) -> Result<(Vec<SignedManifest>, usize), Error> {
    // This is checked before any request. A proven fork is not a gap, whatever the server shows or withholds.
    if pin.precedes(manifest)? {
        return Ok((Vec::new(), 0));
    }
    let known = pin.edition().to_bytes();
    let request = Message::GetHistory.about(manifest.edition(), &known);
    let limit = message_len(history::MAX_LEN);
    let reply = transport.exchange(&request, limit).await?;
    let body = Message::History.expect(&reply, None)?;
    let way = walk(body, manifest, pin, keys.owner())?;
    Ok((way, reply.len()))
}

/// Walks from `newest` back over the manifests of a reply to the pinned one. Returns the manifests between the two.
///
/// # Errors
/// [`Error::Fork`] if the chain does not contain it, and [`Error::Gap`] if the chain ends before it. [`Error::Digest`] if a
/// manifest's digest is not the one that its successor names.
fn walk(
    body: &[u8],
    newest: &SignedManifest,
    pin: &Pin,
    owner: &OwnerPublicKey,
) -> Result<Vec<SignedManifest>, Error> {
    let version = newest.version;
    let fork = || Error::Fork { version };
    let mut rest = body;
    let mut way: Vec<SignedManifest> = Vec::new();
    loop {
        let newer = way.last().unwrap_or(newest);
        // A manifest that is older or of another index cannot lead here.
        if pin.precedes(newer).map_err(|_| fork())? {
            break;
        }
        if rest.is_empty() {
            return Err(Error::Gap {
                found: version,
                pinned: pin.version,
            });
        }
        let older;
        (older, rest) = next(rest, owner)?;
        // Versions that the newer one includes may be left out.
        if !newer.follows(&older.digest()) {
            return Err(Error::Digest { what: "manifests" });
        }
        if older.version >= newer.version {
            return Err(fork());
        }
        way.push(older);
    }
    // The known version may be the last one that was shown.
    way.retain(|version| version.version > pin.version);
    Ok(way)
}

/// The first manifest, and the bytes that follow it.
fn next<'a>(bytes: &'a [u8], owner: &OwnerPublicKey) -> Result<(SignedManifest, &'a [u8]), Error> {
    let split = bytes
        .split_first_chunk::<LEN_LEN>()
        .and_then(|(len, rest)| {
            let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
            rest.split_at_checked(len)
        });
    let (manifest, rest) = split.ok_or_else(|| Error::Malformed {
        what: "message",
        why: "truncated in a manifest".to_owned(),
    })?;
    Ok((SignedManifest::from_bytes(manifest, owner)?, rest))
}

/// The server's verified manifest, and the downloaded bytes.
pub(crate) async fn offered(
    transport: &mut impl AsyncTransport,
    keys: &ReaderKeys,
) -> Result<(SignedManifest, usize), Error> {
    let limit = message_len(manifest::MAX_SIGNED_LEN);
    let reply = transport
        .exchange(&Message::GetManifest.with(&[]), limit)
        .await?;
    let manifest = Message::Manifest.expect(&reply, None)?;
    let manifest = SignedManifest::from_bytes(manifest, keys.owner())?;
    Ok((manifest, reply.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use sordino_index::Memory;
    use sordino_owner::{Form, Spec, Store};
    use sordino_vault::OwnerKeys;
    use sordino_vectors::synthetic;

    /// The versions 1 to 4 of an index.
    fn versions(keys: &OwnerKeys) -> Vec<SignedManifest> {
        let rng = &mut StdRng::seed_from_u64(1);
        let spec = Spec::new(Form::Local);
        let batches = [Ok(synthetic::uniform(20, 16, 1).into())];
        let store = Store::create_on(
            Memory::default(),
            "",
            rng,
            keys,
            &spec,
            batches,
            &mut |_| (),
        );
        let mut store = store.unwrap();
        let mut versions = vec![store.manifest().clone()];
        for id in 0..3u32 {
            store.delete(rng, &[id]).unwrap();
            versions.push(store.manifest().clone());
        }
        versions
    }

    fn body(manifests: &[&SignedManifest]) -> Vec<u8> {
        let piece = |manifest: &&SignedManifest| {
            let bytes = manifest.to_bytes();
            let len = u32::try_from(bytes.len()).unwrap();
            [&len.to_le_bytes()[..], bytes].concat()
        };
        manifests.iter().flat_map(piece).collect()
    }

    #[test]
    fn a_way_is_whole_or_refused_by_name() {
        let keys = OwnerKeys::from_master([5; 32]);
        let versions = versions(&keys);
        let [first, second, third, newest] = &versions[..] else {
            panic!("four versions");
        };
        let public = keys.public();
        let walk =
            |manifests: &[&SignedManifest], pin: &Pin| walk(&body(manifests), newest, pin, &public);
        let pin = Pin::of(first);
        assert!(walk(&[third, second], &pin).is_ok());
        // Manifests beyond the pinned one are not read.
        assert!(walk(&[third, second, first], &pin).is_ok());
        let gap = walk(&[third], &pin);
        assert!(
            matches!(
                gap,
                Err(Error::Gap {
                    found: 4,
                    pinned: 1
                })
            ),
            "{gap:?}"
        );
        for left_out in [&[second][..], &[first], &[second, third]] {
            let refused = walk(left_out, &pin);
            assert!(
                matches!(refused, Err(Error::Digest { what: "manifests" })),
                "{refused:?}"
            );
        }
        // If the client knows another content of the same version, the reply proves a fork.
        let other = Pin {
            manifest: [9; 32],
            ..pin
        };
        let refused = walk(&[third, second, first], &other);
        assert!(
            matches!(refused, Err(Error::Fork { version: 4 })),
            "{refused:?}"
        );
    }

    /// The client knows version 2 or 3 of another branch, and the server offers version 4. Version 3 of the other
    /// branch and version 4 prove a fork by themselves. For a client of version 2, the server may show version 3, which
    /// proves a fork. A server that withholds it leaves only a gap.
    #[test]
    fn where_nothing_can_be_between_a_withheld_way_is_a_fork() {
        let keys = OwnerKeys::from_master([5; 32]);
        let versions = versions(&keys);
        let public = keys.public();
        let pin = |version| Pin {
            version,
            manifest: [9; 32],
            ..Pin::of(&versions[0])
        };
        let newest = &versions[3];
        assert!(matches!(
            pin(3).precedes(newest),
            Err(Error::Fork { version: 4 })
        ));
        assert!(matches!(pin(2).precedes(newest), Ok(false)));
        // The shown manifest proves a fork, though the server withholds more.
        let shown = walk(&body(&[&versions[2]]), newest, &pin(2), &public);
        assert!(
            matches!(shown, Err(Error::Fork { version: 4 })),
            "{shown:?}"
        );
        let withheld = walk(&[], newest, &pin(2), &public);
        assert!(matches!(withheld, Err(Error::Gap { .. })), "{withheld:?}");
    }

    #[test]
    fn a_manifest_that_is_cut_short_or_of_another_owner_is_refused() {
        let (keys, other) = (
            OwnerKeys::from_master([5; 32]),
            OwnerKeys::from_master([6; 32]),
        );
        let versions = versions(&keys);
        let whole = body(&[&versions[2]]);
        for len in [1, LEN_LEN - 1, LEN_LEN, whole.len() - 1] {
            let refused = next(&whole[..len], &keys.public()).map(|_| ());
            assert!(
                matches!(
                    refused,
                    Err(Error::Malformed {
                        what: "message",
                        ..
                    })
                ),
                "{refused:?}"
            );
        }
        let refused = next(&whole, &other.public()).map(|_| ());
        assert!(matches!(refused, Err(Error::Signature)), "{refused:?}");
    }
}
