//! Policies and entities of any origin. They give an engine or a typed error, and the engine's
//! decisions equal Cedar's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_authz::{Authorizer, Context, Engine, Request, Uid, Value};

fuzz_target!(|data: &str| {
    // The text of policies, followed by the text of entities.
    let (policies, entities) = data.split_once('\0').unwrap_or((data, "[]"));
    let Ok(engine) = Engine::without_schema(policies, entities) else {
        return;
    };
    let set: cedar_policy::PolicySet = policies.parse().expect("the engine read it");
    let entities =
        cedar_policy::Entities::from_json_str(entities, None).expect("the engine read it");
    let context = Context::new([("n", Value::Long(1)), ("t", Value::string("ab"))]).expect("short");
    let request = Request::new(
        Uid::new("U", "a"),
        Uid::new("Action", "a"),
        Uid::new("D", "b"),
    )
    .with(&context);
    let decision = engine.check(&request);
    let uid = |text: &str| text.parse().expect("an entity");
    let context =
        cedar_policy::Context::from_json_value(serde_json::json!({"n": 1, "t": "ab"}), None)
            .expect("short");
    let asked = cedar_policy::Request::new(
        uid("U::\"a\""),
        uid("Action::\"a\""),
        uid("D::\"b\""),
        context,
        None,
    );
    let response =
        cedar_policy::Authorizer::new().is_authorized(&asked.expect("no schema"), &set, &entities);
    assert_eq!(
        decision.is_allowed(),
        response.decision() == cedar_policy::Decision::Allow
    );
    assert_eq!(
        decision.policies().len(),
        response.diagnostics().reason().count()
    );
    assert_eq!(
        decision.errors().len(),
        response.diagnostics().errors().count()
    );
});
