//! Requests that a schema does not admit are denied, by the reason that Cedar has.

use core::str::FromStr;

use cedar_policy::{EntityId, EntityTypeName};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_authz::{
    Authorizer, Context, Engine, EntityUid, Extension, Refusal, Request, Schema, Uid, Value,
};

const SCHEMA: &str = r#"
    entity Team in [Team];
    entity Reader in [Team] = { level: Long, mail?: String };
    entity Index in [Index] = { owner: Reader };
    namespace Acme { entity Robot; }
    action read, write appliesTo { principal: Reader, resource: Index, context: { results: Long, from?: ipaddr, of?: Set<Reader> } };
    action look appliesTo { principal: [Reader, Acme::Robot], resource: [Index, Team] };
    action all;
"#;

const ENUMERATED: &str = r#"
    entity Level enum ["low", "high"];
    entity Reader;
    action rise appliesTo { principal: Reader, resource: Level, context: { to: Level } };
"#;

/// Everything is permitted, so that only the schema denies.
const OPEN: &str = "@id(\"open\") permit(principal, action, resource);";

fn cedar(request: &Request<'_>, schema: &cedar_policy::Schema) -> Result<(), String> {
    let uid = |uid: Uid<'_>| {
        let kind = EntityTypeName::from_str(uid.type_name).map_err(|error| error.to_string())?;
        Ok::<_, String>(cedar_policy::EntityUid::from_type_name_and_id(
            kind,
            EntityId::new(uid.id),
        ))
    };
    let json = |value: &Value| match value {
        Value::Long(value) => serde_json::json!(value),
        Value::Bool(value) => serde_json::json!(value),
        Value::Extension { argument, .. } => {
            serde_json::json!({"__extn": {"fn": "ip", "arg": **argument}})
        }
        Value::Set(set) => set
            .members()
            .iter()
            .map(|member| match member {
                Value::Entity(uid) => {
                    serde_json::json!({"__entity": {"type": uid.type_name(), "id": uid.id()}})
                }
                _ => serde_json::json!(1),
            })
            .collect(),
        Value::Entity(uid) => {
            serde_json::json!({"__entity": {"type": uid.type_name(), "id": uid.id()}})
        }
        other => panic!("{other:?}"),
    };
    let fields = request.context.record().fields().iter();
    let context = fields
        .map(|(name, value)| (name.to_string(), json(value)))
        .collect();
    let context = cedar_policy::Context::from_json_value(serde_json::Value::Object(context), None)
        .map_err(|error| error.to_string())?;
    let (principal, action, resource) = (
        uid(request.principal)?,
        uid(request.action)?,
        uid(request.resource)?,
    );
    cedar_policy::Request::new(principal, action, resource, context, Some(schema))
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[test]
fn refusals_are_cedars() {
    let mut rng = StdRng::seed_from_u64(5);
    let mut pick = |from: &[&'static str]| from[rng.random_range(0..from.len())];
    let schema = cedar_policy::Schema::from_str(SCHEMA).unwrap();
    let engine = Engine::new(Schema::parse(SCHEMA).unwrap(), OPEN, "[]").unwrap();
    let (mut admitted, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let principal = Uid::new(
            pick(&[
                "Reader",
                "Reader",
                "Reader",
                "Reader",
                "Team",
                "Acme::Robot",
                "Robot",
                "No",
            ]),
            "a",
        );
        let action = Uid::new(
            pick(&["Action", "Action", "Action", "Action", "Action", "Reader"]),
            pick(&["read", "read", "write", "look", "look", "all", "fly"]),
        );
        let resource = Uid::new(pick(&["Index", "Index", "Index", "Team", "Reader"]), "b");
        let mut fields = Vec::new();
        match pick(&["long", "long", "long", "bool", ""]) {
            "long" => fields.push(("results", Value::Long(3))),
            "bool" => fields.push(("results", Value::Bool(true))),
            _ => {}
        }
        match pick(&["good", "bad", "", "", "", ""]) {
            "" => {}
            argument => {
                let argument = if argument == "good" {
                    "10.0.0.1"
                } else {
                    "ten"
                };
                fields.push((
                    "from",
                    Value::Extension {
                        kind: Extension::Ip,
                        argument: argument.into(),
                    },
                ));
            }
        }
        match pick(&["Reader", "Index", "1", "", "", ""]) {
            "" => {}
            "1" => fields.push(("of", Value::set([Value::Long(1)]).unwrap())),
            kind => fields.push((
                "of",
                Value::set([Value::Entity(EntityUid::new(kind, "x"))]).unwrap(),
            )),
        }
        if pick(&["", "", "", "", "", "", "more"]) == "more" {
            fields.push(("more", Value::Long(1)));
        }
        let good = !format!("{fields:?}").contains("\"ten\"");
        let Ok(context) = Context::new(fields) else {
            // Cedar makes no such context either.
            assert!(!good);
            refused += 1;
            continue;
        };
        assert!(good);
        let request = Request::new(principal, action, resource).with(&context);
        let expected = cedar(&request, &schema);
        let decision = engine.check(&request);
        assert_eq!(
            decision.refusal().is_none(),
            expected.is_ok(),
            "{request:?}: {decision}, {expected:?}"
        );
        assert_eq!(decision.is_allowed(), expected.is_ok());
        if expected.is_ok() {
            admitted += 1;
        } else {
            refused += 1;
        }
    }
    assert!(
        admitted > 50 && refused > 500,
        "{admitted} admitted, {refused} refused"
    );
}

#[test]
fn reasons_have_names() {
    let engine = Engine::new(Schema::parse(SCHEMA).unwrap(), OPEN, "[]").unwrap();
    let [reader, index, read] =
        [("Reader", "a"), ("Index", "b"), ("Action", "read")].map(|(kind, id)| Uid::new(kind, id));
    let results = Context::new([("results", Value::Long(1))]).unwrap();
    let other = Context::new([("results", Value::string("1"))]).unwrap();
    let refusal = |request: Request<'_>| engine.check(&request).refusal();
    assert_eq!(
        refusal(Request::new(reader, read, index).with(&results)),
        None
    );
    assert_eq!(
        refusal(Request::new(reader, read, index)),
        Some(Refusal::Context)
    );
    assert_eq!(
        refusal(Request::new(reader, read, index).with(&other)),
        Some(Refusal::Context)
    );
    assert_eq!(
        refusal(Request::new(index, read, index).with(&results)),
        Some(Refusal::Principal)
    );
    assert_eq!(
        refusal(Request::new(reader, read, reader).with(&results)),
        Some(Refusal::Resource)
    );
    assert_eq!(
        refusal(Request::new(reader, Uid::new("Action", "fly"), index)),
        Some(Refusal::Action)
    );
    for name in [
        " Reader",
        "Reader ",
        "Acme :: Robot",
        "",
        "Acme::",
        "Re ader",
        "Reader\"",
        "::Reader",
    ] {
        assert_eq!(
            refusal(Request::new(Uid::new(name, "a"), read, index).with(&results)),
            Some(Refusal::Name),
            "{name:?}"
        );
    }
    let denied = engine.check(&Request::new(index, read, index).with(&results));
    assert_eq!(
        denied.to_string(),
        "denied: the action is not for principals of this type"
    );
}

/// If types are enumerated, verdicts depend on ids, so none is remembered by types alone.
#[test]
fn enumerated_types_admit_their_ids_only() {
    let engine = Engine::new(Schema::parse(ENUMERATED).unwrap(), OPEN, "[]").unwrap();
    let refusal = |resource: &str, to: &str| {
        let context = Context::new([("to", Value::Entity(EntityUid::new("Level", to)))]).unwrap();
        let request = Request::new(
            Uid::new("Reader", "a"),
            Uid::new("Action", "rise"),
            Uid::new("Level", resource),
        );
        engine.check(&request.with(&context)).refusal()
    };
    assert_eq!(refusal("low", "high"), None);
    assert_eq!(refusal("middle", "high"), Some(Refusal::Enumerated));
    assert_eq!(refusal("low", "middle"), Some(Refusal::Enumerated));
    assert_eq!(refusal("high", "low"), None);
}
