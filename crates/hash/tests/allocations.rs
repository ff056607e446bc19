//! A separate process, whose allocations this test counts. Hashing a list allocates nothing, whatever
//! the lengths.
#![expect(unsafe_code, reason = "a counting global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sordino_hash::{Backend, BatchHasher, Hash};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    f();
    ALLOCATIONS.get() - before
}

#[test]
fn hashing_allocates_nothing() {
    assert_eq!(allocations(|| drop(Box::new(1))), 1, "the counter counts");
    let data: Vec<u8> = (0..=250).cycle().take(200_000).collect();
    let lists: [Vec<&[u8]>; 4] = [
        data.chunks_exact(64).collect(),
        (0..500).map(|i| &data[i..4 * i]).collect(),
        (0..50).map(|i| &data[..400 * i]).collect(),
        vec![&data, b"", &data[..70_000]],
    ];
    for messages in &lists {
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        let mut keys = vec![[0; 32]; messages.len()];
        for backend in Backend::available() {
            let count = allocations(|| {
                let hasher = BatchHasher::new().backend(backend);
                hasher.hash_into(messages, &mut digests).unwrap();
            });
            assert_eq!(count, 0, "{}, {} messages", backend.name(), messages.len());
        }
        assert_eq!(
            allocations(|| {
                let hasher = BatchHasher::new_keyed(&[1; 32]);
                hasher.hash_into(messages, &mut digests).unwrap();
            }),
            0
        );
        assert_eq!(
            allocations(|| {
                let hasher = BatchHasher::new_derive_key("context");
                hasher.hash_into(messages, &mut keys).unwrap();
            }),
            0
        );
        assert_eq!(
            allocations(|| drop(BatchHasher::new().hash(messages))),
            1,
            "the result alone"
        );
    }
}
