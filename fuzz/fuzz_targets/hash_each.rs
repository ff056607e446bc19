//! Lists of messages that are cut from the input, on every backend. The results are compared with
//! the official crate's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_hash::{Backend, BatchHasher, Hash, hash};

fuzz_target!(|data: &[u8]| {
    // One byte of `cut` per message. The square of the byte is the message's length, up to 65,025.
    let (cuts, text) = data.split_at(data.len() / 4);
    let text = text.repeat(1 + 70_000 / text.len().max(1));
    let messages: Vec<&[u8]> = cuts
        .iter()
        .map(|cut| &text[..(usize::from(*cut) * usize::from(*cut)).min(text.len())])
        .take(64)
        .collect();
    let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
    for backend in Backend::available() {
        let hasher = BatchHasher::new().backend(backend);
        hasher
            .hash_into(&messages, &mut digests)
            .expect("one digest for each message");
        for (message, digest) in messages.iter().zip(&digests) {
            assert_eq!(*digest, hash(message), "{}", backend.name());
        }
    }
});
