//! After a replacement of policies or entities has returned, no thread gets a decision of the old ones.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sordino_authz::{Authorizer, Context, Engine, Request, Uid, Value};

const REPLACEMENTS: u64 = 60;

#[test]
fn no_decision_is_stale() {
    // The policies of an even epoch permit, and the policies of an odd one forbid.
    let policies = |epoch: u64| {
        let effect = if epoch.is_multiple_of(2) {
            "permit"
        } else {
            "forbid"
        };
        format!(
            "@id(\"epoch {epoch}\") {effect}(principal, action, resource) when {{ context.n >= 0 }};"
        )
    };
    let engine = Engine::without_schema(&policies(0), "[]").unwrap();
    let (replaced, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (engine, replaced, done) = (&engine, &replaced, &done);
            scope.spawn(move || {
                let contexts: Vec<Context> = (0..50)
                    .map(|n| Context::new([("n", Value::Long(n))]).unwrap())
                    .collect();
                let (mut checks, mut newest) = (0_usize, 0);
                while !done.load(Ordering::Acquire) || checks < 1_000 {
                    let request = Request::new(
                        Uid::new("User", "a"),
                        Uid::new("Action", "a"),
                        Uid::new("Doc", "b"),
                    );
                    let request = request.with(&contexts[(checks + thread) % contexts.len()]);
                    let before = replaced.load(Ordering::Acquire);
                    let decision = engine.check(&request);
                    let epoch = decision.epochs().policies;
                    assert!(
                        epoch >= before,
                        "a decision of epoch {epoch} after the replacement by {before} had returned"
                    );
                    assert!(
                        epoch >= newest,
                        "epoch {epoch} after {newest} in one thread"
                    );
                    assert_eq!(
                        decision.is_allowed(),
                        epoch.is_multiple_of(2),
                        "epoch {epoch}"
                    );
                    assert_eq!(*decision.policies()[0], *format!("epoch {epoch}"));
                    newest = epoch;
                    checks += 1;
                }
            });
        }
        for epoch in 1..=REPLACEMENTS {
            assert_eq!(
                engine.replace_policies(&policies(epoch)).unwrap().policies,
                epoch
            );
            replaced.store(epoch, Ordering::Release);
        }
        done.store(true, Ordering::Release);
    });
}

#[test]
fn replaced_entities_decide() {
    let entities = |level: i64| {
        format!(
            r#"[{{"uid": {{"type": "User", "id": "a"}}, "attrs": {{"level": {level}}}, "parents": []}}]"#
        )
    };
    let engine = Engine::without_schema(
        "permit(principal, action, resource) when { principal.level > 0 };",
        &entities(1),
    )
    .unwrap();
    let request = Request::new(
        Uid::new("User", "a"),
        Uid::new("Action", "a"),
        Uid::new("Doc", "b"),
    );
    for epoch in 0..10_u64 {
        let decision = engine.check(&request);
        assert_eq!(decision, engine.check(&request));
        assert_eq!(
            (decision.is_allowed(), decision.epochs().entities),
            (epoch.is_multiple_of(2), epoch)
        );
        let level = i64::from(epoch % 2 == 1);
        assert_eq!(
            engine.replace_entities(&entities(level)).unwrap().entities,
            epoch + 1
        );
        assert_eq!(engine.cached(&request), None);
    }
}

/// A thread remembers decisions of engines that no longer exist. A new engine, perhaps at the same address, never gets
/// them.
#[test]
fn rebuilt_engines_decide_by_the_new_policies() {
    let policy = |allowed: bool| match allowed {
        true => "permit(principal, action, resource);",
        false => "forbid(principal, action, resource);",
    };
    let [user, action, doc] =
        [("User", "a"), ("Action", "a"), ("Doc", "b")].map(|(t, id)| Uid::new(t, id));
    let request = Request::new(user, action, doc);
    let lasting = Engine::without_schema(policy(false), "[]").unwrap();
    for turn in 0..50 {
        let allowed = turn % 2 == 0;
        let engine = Engine::without_schema(policy(allowed), "[]").unwrap();
        assert_eq!(engine.cached(&request), None);
        for _ in 0..3 {
            assert_eq!(engine.check(&request).is_allowed(), allowed);
            assert!(!lasting.check(&request).is_allowed());
        }
        assert_eq!(
            engine.cached(&request).map(|it| it.is_allowed()),
            Some(allowed)
        );
        engine.replace_policies(policy(!allowed)).unwrap();
        assert_eq!(engine.cached(&request), None);
        assert_eq!(engine.check(&request).is_allowed(), !allowed);
    }
}

/// If a thread asks after it hears of another thread's decision, it never gets an older one.
#[test]
fn nobody_goes_back_behind_a_decision_that_another_thread_got() {
    let policies =
        |epoch: u64| format!("@id(\"epoch {epoch}\") permit(principal, action, resource);");
    let engine = Engine::without_schema(&policies(0), "[]").unwrap();
    let (newest, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let [user, action, doc] =
                    [("User", "a"), ("Action", "a"), ("Doc", "b")].map(|(t, id)| Uid::new(t, id));
                let request = Request::new(user, action, doc);
                let mut checks = 0;
                while !done.load(Ordering::Acquire) || checks < 1_000 {
                    let before = newest.load(Ordering::Acquire);
                    let epoch = engine.check(&request).epochs().policies;
                    assert!(epoch >= before, "epoch {epoch} after a thread got {before}");
                    newest.fetch_max(epoch, Ordering::AcqRel);
                    checks += 1;
                }
                assert_eq!(engine.check(&request).epochs().policies, REPLACEMENTS);
            });
        }
        for epoch in 1..=REPLACEMENTS {
            engine.replace_policies(&policies(epoch)).unwrap();
        }
        done.store(true, Ordering::Release);
    });
}
