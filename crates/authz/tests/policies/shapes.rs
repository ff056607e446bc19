//! Each compiled form of a condition gives what Cedar's evaluator gives, for arbitrary values.

use core::str::FromStr;

use proptest::prelude::*;
use sordino_authz::{Authorizer, Context, Engine, Extension, Record, Request, Uid, Value};

/// One condition for each combination of operator and types. The fields `x`, `y` and `z` may have any type, or
/// be missing.
const CONDITIONS: [&str; 40] = [
    "context.x",
    "!context.x",
    "context.x == context.y",
    "context.x != context.y",
    "context.x < context.y",
    "context.x <= context.y",
    "context.x > context.y",
    "context.x >= context.y",
    "context.x + context.y == context.z",
    "context.x - context.y == context.z",
    "context.x * context.y == context.z",
    "-context.x == context.y",
    "context.x && context.y",
    "context.x || context.y",
    "context has x && context.x == context.y",
    "if context.x then context.y else context.z",
    "context.x.contains(context.y)",
    "context.x.containsAll(context.y)",
    "context.x.containsAny(context.y)",
    "context.x.isEmpty()",
    "[context.x, context.y].contains(context.z)",
    "[context.x, context.y] == [context.y, context.x]",
    "[[context.x], context.y].containsAll([[context.z]])",
    "context.x in context.y",
    "context.x in [context.y, context.z]",
    "context.x in E::\"a\"",
    "context.x in [E::\"a\", E::\"b\"]",
    "context.x is E",
    "context.x is E in context.y",
    "context.x like \"a*b\"",
    "context.x like \"*\"",
    "context.x has x",
    "context.x has x.y",
    "context.x.x == context.y",
    "context.x.x.y == context.z",
    "context == {x: 1}",
    "{x: context.x} == {x: 1}",
    "principal in context.x || resource == context.y",
    "principal.x == context.x",
    "[1, \"a\", E::\"a\", [1]].contains(context.x)",
];

fn value() -> impl Strategy<Value = Value> {
    let long = prop_oneof![
        Just(0),
        Just(1),
        Just(i64::MAX),
        Just(i64::MIN),
        any::<i64>()
    ];
    let uid = ("[EF]", "[abc]").prop_map(|(kind, id)| sordino_authz::EntityUid::new(kind, id));
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        long.prop_map(Value::Long),
        "[ab*\u{1F512}]{0,4}".prop_map(Value::string),
        "\\PC{0,6}".prop_map(Value::string),
        uid.prop_map(Value::Entity),
        Just(Value::Extension {
            kind: Extension::Decimal,
            argument: "1.0".into()
        }),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|members| Value::set(members).unwrap()),
            prop::collection::btree_map("[xyz]", inner, 0..3)
                .prop_map(|fields| Value::record(fields).unwrap()),
        ]
    })
}

fn record() -> impl Strategy<Value = Record> {
    prop::collection::btree_map("[xyz]", value(), 0..4)
        .prop_map(|fields| Record::new(fields).unwrap())
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::String(value) => (**value).into(),
        Value::Entity(uid) => {
            serde_json::json!({"__entity": {"type": uid.type_name(), "id": uid.id()}})
        }
        Value::Set(set) => set.members().iter().map(json).collect(),
        Value::Record(record) => object(record),
        Value::Extension { argument, .. } => {
            serde_json::json!({"__extn": {"fn": "decimal", "arg": **argument}})
        }
        other => panic!("{other:?}"),
    }
}

fn object(record: &Record) -> serde_json::Value {
    let fields = record
        .fields()
        .iter()
        .map(|(name, value)| (name.to_string(), json(value)));
    serde_json::Value::Object(fields.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn shapes_are_cedars(context in record(), attributes in record(), principal in "[abc]", resource in "[abc]") {
        let policies: String = CONDITIONS.iter().enumerate().map(|(i, condition)| {
            let effect = if i % 2 == 0 { "permit" } else { "forbid" };
            format!("{effect}(principal, action, resource) when {{ {condition} }};\n")
        }).collect();
        let entities = serde_json::json!([
            {"uid": {"type": "E", "id": "a"}, "parents": [{"type": "E", "id": "b"}], "attrs": object(&attributes)},
            {"uid": {"type": "E", "id": "b"}, "parents": [{"type": "F", "id": "c"}], "attrs": {}},
        ]).to_string();
        let engine = Engine::without_schema(&policies, &entities).unwrap();
        // All conditions compile except the one with a record that is not constant.
        prop_assert_eq!(engine.share().compiled, CONDITIONS.len() - 1);
        let set = cedar_policy::PolicySet::from_str(&policies).unwrap();
        let entities = cedar_policy::Entities::from_json_str(&entities, None).unwrap();
        let uid = |kind: &str, id: &str| cedar_policy::EntityUid::from_str(&format!("{kind}::\"{id}\"")).unwrap();
        let cedar_context = cedar_policy::Context::from_json_value(object(&context), None).unwrap();
        let request = cedar_policy::Request::new(uid("E", &principal), uid("Action", "a"), uid("F", &resource), cedar_context, None).unwrap();
        let expected = cedar_policy::Authorizer::new().is_authorized(&request, &set, &entities);

        let context = Context::of(context).unwrap();
        let request = Request::new(Uid::new("E", &principal), Uid::new("Action", "a"), Uid::new("F", &resource)).with(&context);
        for decision in [engine.decide(&request), engine.check(&request), engine.check(&request)] {
            prop_assert_eq!(decision.is_allowed(), expected.decision() == cedar_policy::Decision::Allow);
            let mut ids: Vec<String> = expected.diagnostics().reason().map(|id| id.to_string()).collect();
            let mut ours: Vec<String> = decision.policies().iter().map(|id| id.to_string()).collect();
            ids.sort();
            ours.sort();
            prop_assert_eq!(ours, ids);
            let failed = expected.diagnostics().errors().map(|error| {
                let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
                error.policy_id().to_string()
            });
            let mut failed: Vec<String> = failed.collect();
            let mut ours: Vec<String> = decision.errors().iter().map(|error| error.policy.to_string()).collect();
            failed.sort();
            ours.sort();
            prop_assert_eq!(ours, failed);
        }
    }

    /// Contexts are equal if and only if their canonical bytes are.
    #[test]
    fn canonical_bytes_are_the_context(a in record(), b in record()) {
        let (x, y) = (Context::of(a.clone()).unwrap(), Context::of(b.clone()).unwrap());
        prop_assert_eq!(a == b, x.canonical() == y.canonical());
        let again = Context::new(a.fields().iter().rev().cloned()).unwrap();
        prop_assert_eq!(again.canonical(), x.canonical());
    }
}
