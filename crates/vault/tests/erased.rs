//! A separate process, whose allocator examines memory that is given back. A query leaves no secret in it.
#![expect(
    unsafe_code,
    reason = "a global allocator that looks at what it gets back"
)]
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sordino_vault::frame::Frame;
use sordino_vault::quantiser::Entry;
use sordino_vectors::metric::Metric;

struct Looking;

const DIM: usize = 24;

thread_local! {
    static DIRTY: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Looking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The memory is zeroed, so that unwritten bytes cannot look like secrets. SAFETY: the
        // caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the block belongs to the caller, and all of it was written when it was allocated.
        let bytes = unsafe { std::slice::from_raw_parts(pointer, layout.size()) };
        if bytes.len() >= DIM * size_of::<f32>() && bytes.iter().any(|byte| *byte != 0) {
            DIRTY.set(DIRTY.get() + 1);
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Looking = Looking;

fn dirty(work: impl FnOnce()) -> usize {
    let before = DIRTY.get();
    work();
    DIRTY.get() - before
}

#[test]
fn nothing_of_a_query_is_left() {
    assert_eq!(dirty(|| drop(vec![1.0f32; DIM])), 1, "the allocator looks");
    let query = [0.5; DIM];
    for metric in [Metric::Cosine, Metric::InnerProduct, Metric::Euclidean] {
        let width = DIM + metric.added() as usize;
        let frame = Frame::new(metric, [1; 32], vec![0.25; DIM], vec![0.125; width]);
        let left = dirty(|| drop(frame.ask(&query).unwrap()));
        assert_eq!(left, 0, "{metric:?}");
    }
}

#[test]
fn vectors_are_not_printed() {
    let frame = Frame::new(Metric::Euclidean, [1; 32], vec![0.375; 2], vec![0.625; 4]);
    let entry = Entry {
        row: 1,
        base: 0,
        scale: 1.0,
        residual: &[0.875; 4],
        unit: &[0.5625; 4],
    };
    for shown in [format!("{frame:?}"), format!("{entry:?}")] {
        assert!(!shown.contains('.') || !shown.contains("375"), "{shown}");
        assert!(!shown.contains("625") && !shown.contains("875"), "{shown}");
    }
}
