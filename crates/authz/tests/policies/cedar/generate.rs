//! Generated policies, entities and requests.

use core::str::FromStr;

use rand::{Rng, RngExt, rngs::StdRng};
use sordino_authz::{Context, EntityUid, Extension, Request, Value};

const TYPES: [&str; 4] = ["User", "Acme::Group", "Doc", "Action"];
const IDS: [&str; 6] = ["a", "b", "c", "", "e\u{301}*", "\"q\"\\"];
const NAMES: [&str; 6] = ["a", "b", "n", "long name", "s", "e"];
const TEXTS: [&str; 8] = ["", "a", "ab", "aab", "*", "a*b", "\u{1F512}a", "b"];
const LONGS: [i64; 8] = [0, 1, -1, 2, 3, i64::MAX, i64::MIN, 1 << 62];

/// Policies and entities as texts.
pub(crate) struct Round {
    pub(crate) policies: String,
    pub(crate) entities: String,
}

/// A request with what it borrows.
#[derive(Debug)]
pub(crate) struct Asked {
    uids: [EntityUid; 3],
    context: Context,
}

fn pick<'a, T: ?Sized>(rng: &mut StdRng, from: &[&'a T]) -> &'a T {
    from[rng.random_range(0..from.len())]
}

fn one_in(rng: &mut StdRng, n: u32) -> bool {
    rng.next_u32().is_multiple_of(n)
}

fn uid(rng: &mut StdRng) -> EntityUid {
    EntityUid::new(pick(rng, &TYPES[..3]), pick(rng, &IDS))
}

fn action(rng: &mut StdRng) -> EntityUid {
    EntityUid::new("Action", pick(rng, &IDS[..4]))
}

/// A value as it may stand in a context or an entity.
fn value(rng: &mut StdRng, depth: u32) -> Value {
    match rng.random_range(0..if depth == 0 { 9 } else { 13 }) {
        0..2 => Value::Bool(rng.random()),
        2..5 => Value::Long(LONGS[rng.random_range(0..LONGS.len())]),
        5..7 => Value::string(pick(rng, &TEXTS)),
        7 => Value::Entity(uid(rng)),
        8 if one_in(rng, 4) => Value::Extension {
            kind: Extension::Decimal,
            argument: "1.50".into(),
        },
        8 => Value::Entity(action(rng)),
        9..11 => Value::set((0..rng.random_range(0..4)).map(|_| value(rng, depth - 1))).unwrap(),
        _ => record(rng, depth - 1),
    }
}

fn record(rng: &mut StdRng, depth: u32) -> Value {
    let mut fields = Vec::new();
    for name in NAMES {
        if one_in(rng, 2) {
            fields.push((name, value(rng, depth)));
        }
    }
    Value::record(fields).unwrap()
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        Value::String(value) => (**value).into(),
        Value::Entity(uid) => serde_json::json!({"__entity": name(uid)}),
        Value::Set(set) => set.members().iter().map(json).collect(),
        Value::Record(record) => {
            let fields = record
                .fields()
                .iter()
                .map(|(name, value)| (name.to_string(), json(value)));
            serde_json::Value::Object(fields.collect())
        }
        Value::Extension { argument, .. } => {
            serde_json::json!({"__extn": {"fn": "decimal", "arg": **argument}})
        }
        other => panic!("{other:?}"),
    }
}

fn name(uid: &EntityUid) -> serde_json::Value {
    serde_json::json!({"type": uid.type_name(), "id": uid.id()})
}

impl Round {
    pub(crate) fn new(rng: &mut StdRng) -> Self {
        let policies = (0..rng.random_range(1..16)).map(|_| policy(rng)).collect();
        // Parents come later in this order, so there is no cycle.
        let order: Vec<EntityUid> = TYPES
            .iter()
            .flat_map(|kind| IDS.map(|id| EntityUid::new(*kind, id)))
            .collect();
        let mut entities = Vec::new();
        for (uid, i) in order.iter().zip(0..) {
            if one_in(rng, 3) {
                continue;
            }
            let later = order[i + 1..]
                .iter()
                .filter(|other| (other.type_name() == "Action") == (uid.type_name() == "Action"));
            let parents: Vec<_> = later
                .filter(|_| rng.next_u32().is_multiple_of(5))
                .map(name)
                .collect();
            let mut entity = serde_json::json!({"uid": name(uid), "parents": parents, "attrs": json(&record(rng, 2))});
            if one_in(rng, 4) {
                entity["tags"] = serde_json::json!({"a": 1, "b": "x"});
            }
            entities.push(entity);
        }
        let entities = serde_json::Value::from(entities).to_string();
        Self { policies, entities }
    }

    pub(crate) fn request(&self, rng: &mut StdRng) -> Asked {
        let mut uids = [uid(rng), action(rng), uid(rng)];
        if one_in(rng, 10) {
            uids[rng.random_range(0..3)] = EntityUid::new("Unknown", pick(rng, &IDS));
        }
        let Value::Record(record) = record(rng, 2) else {
            unreachable!("a record")
        };
        Asked {
            uids,
            context: Context::of(record).unwrap(),
        }
    }
}

impl Asked {
    pub(crate) fn request(&self) -> Request<'_> {
        let [principal, action, resource] = &self.uids;
        Request::new(principal.borrowed(), action.borrowed(), resource.borrowed())
            .with(&self.context)
    }

    /// The same request in Cedar's types, converted through its JSON form.
    pub(crate) fn cedar(&self) -> cedar_policy::Request {
        let uid = |uid: &EntityUid| {
            let kind = cedar_policy::EntityTypeName::from_str(uid.type_name()).unwrap();
            cedar_policy::EntityUid::from_type_name_and_id(
                kind,
                cedar_policy::EntityId::new(uid.id()),
            )
        };
        let context = json(&Value::Record(self.context.record().clone()));
        let context = cedar_policy::Context::from_json_value(context, None).unwrap();
        let [principal, action, resource] = self.uids.each_ref().map(uid);
        cedar_policy::Request::new(principal, action, resource, context, None).unwrap()
    }
}

fn policy(rng: &mut StdRng) -> String {
    let effect = if one_in(rng, 3) { "forbid" } else { "permit" };
    let (principal, resource) = (party(rng, "principal"), party(rng, "resource"));
    let action = match rng.random_range(0..6) {
        0 => format!("action == {:?}", action(rng)),
        1 => format!("action in {:?}", action(rng)),
        2 => format!("action in [{:?}, {:?}]", action(rng), action(rng)),
        _ => "action".to_owned(),
    };
    let mut text = format!("{effect}({principal}, {action}, {resource})");
    for _ in 0..rng.random_range(0..3) {
        let clause = if one_in(rng, 3) { "unless" } else { "when" };
        text += &format!(" {clause} {{ {} }}", truth(rng, 3));
    }
    text + ";\n"
}

fn party(rng: &mut StdRng, of: &str) -> String {
    let kind = pick(rng, &TYPES[..3]);
    match rng.random_range(0..9) {
        0 => format!("{of} == {:?}", uid(rng)),
        1 | 2 => format!("{of} in {:?}", uid(rng)),
        3 => format!("{of} is {kind}"),
        4 => format!("{of} is {kind} in {:?}", uid(rng)),
        _ => of.to_owned(),
    }
}

fn attribute(rng: &mut StdRng) -> String {
    let base = match rng.random_range(0..9) {
        0..3 => "context".to_owned(),
        3..5 => "principal".to_owned(),
        5..7 => "resource".to_owned(),
        7 => format!("{:?}", uid(rng)),
        _ => "action".to_owned(),
    };
    let name = pick(rng, &NAMES);
    let mut text = format!("{base}[{name:?}]");
    if one_in(rng, 5) {
        text += &format!("[{:?}]", pick(rng, &NAMES));
    }
    text
}

/// An expression that mostly gives a truth value.
fn truth(rng: &mut StdRng, depth: u32) -> String {
    if depth == 0 || one_in(rng, 8) {
        return match rng.random_range(0..5) {
            0 => "true".to_owned(),
            1 => "false".to_owned(),
            2 => anything(rng, 0),
            _ => has(rng),
        };
    }
    let d = depth - 1;
    match rng.random_range(0..24) {
        0..3 => format!("({} && {})", truth(rng, d), truth(rng, d)),
        3..6 => format!("({} || {})", truth(rng, d), truth(rng, d)),
        6 => format!("!({})", truth(rng, d)),
        7 => format!(
            "(if {} then {} else {})",
            truth(rng, d),
            truth(rng, d),
            truth(rng, d)
        ),
        8..11 => {
            let operator = pick(rng, &["==", "!="]);
            format!("({} {operator} {})", anything(rng, d), anything(rng, d))
        }
        11..13 => {
            let operator = pick(rng, &["<", "<=", ">", ">="]);
            format!("({} {operator} {})", long(rng, d), long(rng, d))
        }
        13..15 => format!(
            "({} in {})",
            entity(rng, d),
            if one_in(rng, 2) {
                entity(rng, d)
            } else {
                set(rng, d)
            }
        ),
        15..18 => {
            let call = pick(rng, &["contains", "containsAll", "containsAny"]);
            let argument = if call == "contains" {
                anything(rng, d)
            } else {
                set(rng, d)
            };
            format!("{}.{call}({argument})", set(rng, d))
        }
        18 => format!("{}.isEmpty()", set(rng, d)),
        19 => {
            let pattern = pick(
                rng,
                &["*", "a*", "*b", "a\\*b", "*a*", "a*b", "", "\u{1F512}*"],
            );
            format!("({} like \"{pattern}\")", text(rng, d))
        }
        20 => format!("({} is {})", entity(rng, d), pick(rng, &TYPES)),
        21 => format!(
            "({} is {} in {})",
            entity(rng, d),
            pick(rng, &TYPES),
            entity(rng, d)
        ),
        22 => format!("{}.hasTag({})", entity(rng, d), text(rng, d)),
        _ => has(rng),
    }
}

fn has(rng: &mut StdRng) -> String {
    let base = pick(
        rng,
        &[
            "context",
            "principal",
            "resource",
            "action",
            "context.s",
            "User::\"a\"",
            "context.e",
        ],
    );
    match rng.random_range(0..4) {
        0 => format!("({base} has \"long name\")"),
        1 => format!(
            "({base} has {}.{})",
            pick(rng, &["a", "b", "n"]),
            pick(rng, &["a", "s"])
        ),
        _ => format!("({base} has {})", pick(rng, &["a", "b", "n", "s", "e"])),
    }
}

fn long(rng: &mut StdRng, depth: u32) -> String {
    if depth == 0 || one_in(rng, 3) {
        let long = LONGS[rng.random_range(0..LONGS.len())];
        return if one_in(rng, 2) {
            attribute(rng)
        } else {
            format!("({long})")
        };
    }
    let d = depth - 1;
    match rng.random_range(0..6) {
        0..4 => {
            let operator = pick(rng, &["+", "-", "*"]);
            format!("({} {operator} {})", long(rng, d), long(rng, d))
        }
        4 => format!("-({})", long(rng, d)),
        _ => anything(rng, d),
    }
}

fn text(rng: &mut StdRng, depth: u32) -> String {
    match rng.random_range(0..5) {
        0..2 => format!("{:?}", pick(rng, &TEXTS)),
        2..4 => attribute(rng),
        _ => anything(rng, depth.saturating_sub(1)),
    }
}

fn entity(rng: &mut StdRng, depth: u32) -> String {
    match rng.random_range(0..12) {
        0..3 => "principal".to_owned(),
        3..5 => "resource".to_owned(),
        5 => "action".to_owned(),
        6..9 => format!("{:?}", uid(rng)),
        9..11 => attribute(rng),
        _ => anything(rng, depth.saturating_sub(1)),
    }
}

fn set(rng: &mut StdRng, depth: u32) -> String {
    if depth == 0 || one_in(rng, 4) {
        return attribute(rng);
    }
    let kind = rng.random_range(0..4);
    let members: Vec<String> = (0..rng.random_range(0..4))
        .map(|_| match kind {
            0 => entity(rng, 0),
            1 => format!("{:?}", uid(rng)),
            2 => long(rng, 0),
            _ => anything(rng, depth - 1),
        })
        .collect();
    format!("[{}]", members.join(", "))
}

fn anything(rng: &mut StdRng, depth: u32) -> String {
    match rng.random_range(0..if depth == 0 { 6 } else { 12 }) {
        0..3 => attribute(rng),
        3 => format!("{:?}", pick(rng, &TEXTS)),
        4 => pick(rng, &["principal", "resource", "action", "context"]).to_owned(),
        5 => format!("({})", LONGS[rng.random_range(0..LONGS.len())]),
        6..8 => set(rng, depth - 1),
        8 => truth(rng, depth - 1),
        9 => format!(
            "{{\"a\": {}, n: 1}}",
            if one_in(rng, 4) {
                long(rng, depth - 1)
            } else {
                "2".to_owned()
            }
        ),
        10 if one_in(rng, 3) => pick(
            rng,
            &[
                "decimal(\"1.5\")",
                "ip(\"10.0.0.1\")",
                "ip(if true then \"x\" else \"y\")",
            ],
        )
        .to_owned(),
        _ => long(rng, depth - 1),
    }
}
