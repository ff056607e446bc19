//! A process of its own, whose allocations are counted: a decision that is remembered is given without one, however long the fields of the request are.
#![expect(unsafe_code, reason = "a counting global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sordino_authz::{Authorizer, Context, Engine, Request, Uid, Value};

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
fn a_hit_allocates_nothing() {
    assert_eq!(allocations(|| drop(Box::new(1))), 1, "the counter counts");
    let policies = "permit(principal, action, resource) when { context.n > 0 }; forbid(principal, action, resource) when { principal.x };";
    let engine = Engine::without_schema(policies, "[]").unwrap();
    for len in [0, 1, 30, 200, 5_000, 500_000] {
        let long = "x".repeat(len);
        let context =
            Context::new([("n", Value::Long(1)), ("text", Value::string(long.clone()))]).unwrap();
        let request = Request::new(
            Uid::new("User", &long),
            Uid::new("Action", "a"),
            Uid::new("Doc", &long),
        )
        .with(&context);
        let first = engine.check(&request);
        assert!(first.is_allowed() && first.errors().len() == 1);
        let count = allocations(|| {
            for _ in 0..10 {
                assert_eq!(engine.check(&request), first);
                assert!(engine.cached(&request).is_some());
                assert!(engine.allows(&request));
            }
        });
        assert_eq!(count, 0, "fields of {len} bytes");
    }
}

/// If one policy decides and none fails, an uncached decision copies nothing either.
#[test]
fn a_simple_decision_allocates_nothing() {
    let engine = Engine::without_schema(
        "permit(principal, action, resource) when { principal == resource };",
        "[]",
    )
    .unwrap();
    let [a, b] = [Uid::new("User", "a"), Uid::new("User", "b")];
    // The first look at the state in a thread allocates what the crate `arc-swap` keeps for it.
    let _ = engine.epochs();
    for resource in [a, b] {
        let request = Request::new(a, Uid::new("Action", "a"), resource);
        assert_eq!(
            allocations(|| assert_eq!(engine.decide(&request).is_allowed(), resource == a)),
            0
        );
    }
}
