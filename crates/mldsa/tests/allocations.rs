//! A separate process, whose allocations this test counts. Verification makes none per item.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(unsafe_code, reason = "an allocator that counts")]

#[path = "signatures/signer.rs"]
mod signer;

use signer::Signs;
use sordino_mldsa::{BatchVerifier, Error, ExpandedKey, Item, Message, MlDsa87};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all requests go to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = COUNT.with(Cell::get);
    let result = run();
    (COUNT.with(Cell::get) - before, result)
}

#[test]
fn none_per_item() {
    let signers: Vec<_> = (0..20).map(|seed| MlDsa87::signer([seed; 32])).collect();
    let signed: Vec<_> = signers
        .iter()
        .map(|signer| (signer.public_key(), signer.sign(b"message", b"")))
        .collect();
    // Detection reads the environment once per process, which allocates.
    let detected = sordino_mldsa::Backend::detect();
    let (n, key) = count(|| ExpandedKey::<MlDsa87>::from_bytes(signed[0].0).unwrap());
    assert_eq!(
        n, 2,
        "an expanded key is one allocation, its encoding another"
    );
    let message = Message::Pure {
        message: b"message",
        context: b"",
    };
    let (n, verdict) = count(|| key.verify(message, &signed[0].1));
    assert_eq!((n, verdict), (0, Ok(())));

    let items: Vec<Item<'_, MlDsa87>> = signed
        .iter()
        .map(|(key, signature)| Item::new(*key, b"message", b"", signature))
        .collect();
    let mut verdicts = vec![Err(Error::Mismatch); items.len()];
    // The verifier keeps 16 keys, so it expands each of 20 keys again in every round.
    let mut verifier = BatchVerifier::with_keys_on(detected, 16);
    verifier.verify_each_into(&items, &mut verdicts).unwrap();
    let (n, ()) = count(|| verifier.verify_each_into(&items, &mut verdicts).unwrap());
    assert_eq!((n, &verdicts[..]), (0, &[Ok(()); 20][..]));
    let (n, verdict) = count(|| verifier.verify_all(&items[3..]));
    assert_eq!((n, verdict), (0, Ok(())));
}
