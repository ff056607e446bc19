//! No decision of policies or entities that have been replaced is given after the replacement has returned.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sordino_authz::{Authorizer, Context, Engine, Request, Uid, Value};

const REPLACEMENTS: u64 = 60;

#[test]
fn no_decision_is_stale() {
    // The policies of an even epoch permit, those of an odd one forbid.
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
