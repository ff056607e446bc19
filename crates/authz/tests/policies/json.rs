//! JSON entities that two parsers could read in two ways: Sordino reads each text as Cedar does, or refuses
//! it.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use sordino_authz::{Authorizer, Engine, Error, Request, Schema, Uid};

const SCHEMA: &str = r#"
    entity G in [G];
    entity U in [G] = { admin: Bool, "at"?: ipaddr, "in"?: { "b"?: Long, "c"?: Set<G> }, "of"?: G } tags Long;
    action a appliesTo { principal: U, resource: G };"#;

/// The policies. A text that two parsers read in two ways could make the first one permit a
/// request.
const ADMINS: &str = "permit(principal in G::\"admins\", action, resource);
    permit(principal, action, resource) when { principal has admin && principal.admin };";

/// True if Cedar reads the text.
fn cedar(text: &str, schema: Option<&cedar_policy::Schema>) -> bool {
    cedar_policy::Entities::from_json_str(text, schema).is_ok()
}

fn ours(text: &str, schema: bool) -> Result<Engine, Error> {
    match schema {
        true => Engine::new(Schema::parse(SCHEMA).unwrap(), ADMINS, text),
        false => Engine::without_schema(ADMINS, text),
    }
}

/// Texts that both Cedar and Sordino refuse.
const REFUSED: &[(&str, &str)] = &[
    (
        "parents",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[],"parents":[{"type":"G","id":"admins"}]}]"#,
    ),
    (
        "parents, once by an escape",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[],"\u0070arents":[{"type":"G","id":"admins"}]}]"#,
    ),
    (
        "uid",
        r#"[{"uid":{"type":"U","id":"b"},"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "attrs",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "an attribute",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false,"admin":true},"parents":[]}]"#,
    ),
    (
        "an attribute, once by an escape",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false,"adm\u0069n":true},"parents":[]}]"#,
    ),
    (
        "an attribute, equal both times",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"admin":true},"parents":[]}]"#,
    ),
    (
        "id",
        r#"[{"uid":{"type":"U","id":"b","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "type",
        r#"[{"uid":{"type":"G","type":"U","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "id of a parent",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[{"type":"G","id":"x","id":"admins"}]}]"#,
    ),
    (
        "a key of a record",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":1,"b":2}},"parents":[]}]"#,
    ),
    (
        "a key of a record in a set",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":[{"b":1,"b":2}]},"parents":[]}]"#,
    ),
    (
        "a tag",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"tags":{"t":1,"t":2}}]"#,
    ),
    (
        "tags",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"tags":{"t":1},"tags":{}}]"#,
    ),
    (
        "fn",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"decimal","fn":"ip","arg":"1.0.0.1"}}},"parents":[]}]"#,
    ),
    (
        "arg",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip","arg":"1.0.0.1","arg":"1.0.0.2"}}},"parents":[]}]"#,
    ),
    (
        "__extn",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip","arg":"1.0.0.1"},"__extn":{"fn":"ip","arg":"1.0.0.2"}}},"parents":[]}]"#,
    ),
    (
        "__entity",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"of":{"__entity":{"type":"G","id":"x"},"__entity":{"type":"G","id":"y"}}},"parents":[]}]"#,
    ),
    (
        "id in __entity",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"of":{"__entity":{"type":"G","id":"x","id":"y"}}},"parents":[]}]"#,
    ),
    (
        "uid in __entity",
        r#"[{"uid":{"__entity":{"type":"U","id":"b","id":"a"}},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "an entity, with other attributes",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[]},{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "an entity, with other parents",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[]},{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[{"type":"G","id":"admins"}]}]"#,
    ),
    (
        "an entity, in two spellings",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":false},"parents":[]},{"uid":{"__entity":{"type":"U","id":"\u0061"}},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    ("a mark of the byte order", "\u{feff}[]"),
    (
        "a comma at the end",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],}]"#,
    ),
    (
        "a comma at the end of the list",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[]},]"#,
    ),
    ("a comment", "[] // none"),
    ("a text behind it", "[] []"),
    ("a null byte behind it", "[]\0"),
    (
        "NaN",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":NaN}},"parents":[]}]"#,
    ),
    (
        "Infinity",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":-Infinity}},"parents":[]}]"#,
    ),
    (
        "a number with a fraction",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":1.0}},"parents":[]}]"#,
    ),
    (
        "a number with an exponent",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":1e2}},"parents":[]}]"#,
    ),
    (
        "a number above 63 bits",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":9223372036854775808}},"parents":[]}]"#,
    ),
    (
        "a number above 64 bits",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":18446744073709551617}},"parents":[]}]"#,
    ),
    (
        "a number below 63 bits",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":-9223372036854775809}},"parents":[]}]"#,
    ),
    (
        "a number beyond floats",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":1e999}},"parents":[]}]"#,
    ),
    (
        "a number with a zero before it",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":01}},"parents":[]}]"#,
    ),
    (
        "minus zero",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":-0}},"parents":[]}]"#,
    ),
    (
        "null",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":null}},"parents":[]}]"#,
    ),
    (
        "half of a pair",
        r#"[{"uid":{"type":"U","id":"\ud800"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "half of a pair in a key",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"\udc00":1},"parents":[]}]"#,
    ),
    (
        "a line end in a string",
        "[{\"uid\":{\"type\":\"U\",\"id\":\"a\nb\"},\"attrs\":{\"admin\":true},\"parents\":[]}]",
    ),
    (
        "a type with a space",
        r#"[{"uid":{"type":"U ","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "a parent's type with a space",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[{"type":" G","id":"admins"}]}]"#,
    ),
    (
        "a reserved type",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"of":{"__entity":{"type":"__cedar::G","id":"x"}}},"parents":[]}]"#,
    ),
    (
        "no attrs",
        r#"[{"uid":{"type":"U","id":"a"},"parents":[]}]"#,
    ),
    (
        "no parents",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true}}]"#,
    ),
    (
        "parents that are an object",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":{"type":"G","id":"admins"}}]"#,
    ),
    (
        "parents that are null",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":null}]"#,
    ),
    (
        "an expression",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":{"__expr":"true"}},"parents":[]}]"#,
    ),
    (
        "an address",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip","arg":"300.1.1.1"}}},"parents":[]}]"#,
    ),
    (
        "an address in a set",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":[{"b":{"__extn":{"fn":"ip","arg":"1.1.1.1/33"}}}]},"parents":[]}]"#,
    ),
    (
        "a decimal",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"decimal","arg":"922337203685477.5808"}}},"parents":[]}]"#,
    ),
    (
        "a day",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"datetime","arg":"2024-02-30"}}},"parents":[]}]"#,
    ),
    (
        "a duration in a tag",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"tags":{"t":{"__extn":{"fn":"duration","arg":"1x"}}}}]"#,
    ),
    (
        "a function that is none",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"eval","arg":"1"}}},"parents":[]}]"#,
    ),
];

/// Texts that Cedar reads and Sordino refuses, because another parser could take a different part of
/// the text.
const STRICTER: &[(&str, &str)] = &[
    (
        "a key that is none",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"tag":{"t":1}}]"#,
    ),
    (
        "a key with a capital",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"Parents":[{"type":"G","id":"admins"}]}]"#,
    ),
    (
        "a key that is none, twice",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"x":1,"x":2}]"#,
    ),
    (
        "a third key of a name",
        r#"[{"uid":{"type":"U","id":"a","ID":"b"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "two names in one",
        r#"[{"uid":{"__entity":{"type":"U","id":"a"},"type":"U","id":"b"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "two names of a parent",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[{"__entity":{"type":"G","id":"x"},"type":"G","id":"admins"}]}]"#,
    ),
    (
        "entities as lists",
        r#"[[{"type":"U","id":"a"},{"admin":true},[]]]"#,
    ),
    (
        "names as lists",
        r#"[{"uid":["U","a"],"attrs":{"admin":true},"parents":[]}]"#,
    ),
];

/// Texts with a fault in the form of an entity or a call. Without a schema, Cedar reads the faulty part as a record,
/// which no policy expects.
const RECORDS: &[(&str, &str)] = &[
    (
        "no argument",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip"}}},"parents":[]}]"#,
    ),
    (
        "an argument next to it",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip"},"arg":"1.0.0.1"}},"parents":[]}]"#,
    ),
    (
        "a second argument",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":[{"__extn":{"fn":"ip","arg":"1.0.0.1","args":["1.0.0.2"]}}]},"parents":[]}]"#,
    ),
    (
        "an entity as a text",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"of":{"__entity":"G::\"x\""}},"parents":[]}]"#,
    ),
    (
        "an entity without an id",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"of":{"__entity":{"type":"G"}}},"parents":[]}]"#,
    ),
    (
        "a key next to an entity, in a tag",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[],"tags":{"t":{"a":{"__entity":{"type":"G","id":"x"},"b":1}}}}]"#,
    ),
];

/// Texts that both Cedar and Sordino read.
const READ: &[(&str, &str)] = &[
    ("none", "[]"),
    (
        "one",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "escapes",
        r#"[{"\u0075id":{"type":"\u0055","id":"\u0061"},"attrs":{"\u0061dmin":true},"parents":[{"__entity":{"type":"G","id":"\ud83d\ude00"}}]}]"#,
    ),
    (
        "an entity twice",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[]},{"uid":{"__entity":{"type":"U","id":"a"}},"attrs":{"admin":true},"parents":[]}]"#,
    ),
    (
        "a parent twice",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true},"parents":[{"type":"G","id":"x"},{"type":"G","id":"x"}]}]"#,
    ),
    (
        "the border of numbers",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":-9223372036854775808}},"parents":[],"tags":{"t":9223372036854775807}}]"#,
    ),
    (
        "an address",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"at":{"__extn":{"fn":"ip","arg":"1.0.0.1"}}},"parents":[]}]"#,
    ),
    (
        "other keys in other objects",
        r#"[{"uid":{"type":"U","id":"a"},"attrs":{"admin":true,"in":{"b":1,"c":[]}},"parents":[],"tags":{"admin":1,"uid":2}}]"#,
    ),
];

#[test]
fn texts_are_read_as_cedar_reads_them_or_refused() {
    let schema = SCHEMA.parse().unwrap();
    for (what, text) in REFUSED {
        assert!(!cedar(text, None) && !cedar(text, Some(&schema)), "{what}");
        for schema in [false, true] {
            let error = ours(text, schema).expect_err(what);
            assert!(matches!(error, Error::Entities { .. }), "{what}: {error}");
        }
    }
    for (what, text) in STRICTER {
        assert!(cedar(text, None) && cedar(text, Some(&schema)), "{what}");
        for schema in [false, true] {
            let error = ours(text, schema).expect_err(what);
            assert!(matches!(error, Error::Entities { .. }), "{what}: {error}");
        }
    }
    for (what, text) in RECORDS {
        assert!(cedar(text, None), "{what}");
        for schema in [false, true] {
            let error = ours(text, schema).expect_err(what).to_string();
            assert!(error.contains("U::\"a\" has {\"__e"), "{what}: {error}");
        }
    }
    for (what, text) in READ {
        assert!(cedar(text, None) && cedar(text, Some(&schema)), "{what}");
        assert!(
            ours(text, false).is_ok() && ours(text, true).is_ok(),
            "{what}"
        );
    }
}

#[test]
fn the_key_and_its_place_are_named() {
    let text = "[{\"uid\": {\"type\": \"U\", \"id\": \"a\"}, \"attrs\": {},\n \"parents\": [], \"parents\": []}]";
    let error = ours(text, false).unwrap_err().to_string();
    assert!(
        error.contains("`parents` occurs two or more times") && error.contains("line 2"),
        "{error}"
    );
    let text = r#"[{"uid": {"type": "U", "id": "a"}, "attrs": {}, "parents": [], "tag": {}}]"#;
    let error = ours(text, false).unwrap_err().to_string();
    assert!(
        error.contains("U::\"a\" has the key \"tag\": expected uid, attrs, parents, tags"),
        "{error}"
    );
}

/// With its private keys, serde_json reads a value from inside a string. That string could hold repeated
/// keys.
#[test]
fn no_text_is_read_from_within_a_string() {
    let inner = r#"{\"type\":\"U\",\"id\":\"b\",\"id\":\"a\"}"#;
    for key in [
        "$serde_json::private::RawValue",
        "$serde_json::private::Number",
    ] {
        let text = format!(r#"[{{"uid":{{"{key}":"{inner}"}},"attrs":{{}},"parents":[]}}]"#);
        assert!(!cedar(&text, None) && ours(&text, false).is_err(), "{key}");
        let text = format!(
            r#"[{{"uid":{{"type":"U","id":"a"}},"attrs":{{"admin":{{"{key}":"true"}}}},"parents":[]}}]"#
        );
        let [user, act, group] =
            [("U", "a"), ("Action", "a"), ("G", "x")].map(|(kind, id)| Uid::new(kind, id));
        let engine = ours(&text, false).unwrap();
        assert!(cedar(&text, None) && !engine.check(&Request::new(user, act, group)).is_allowed());
        assert!(!cedar(&text, Some(&SCHEMA.parse().unwrap())) && ours(&text, true).is_err());
    }
}

/// Takes texts and repeats, removes or exchanges a random part. Sordino reads nothing that Cedar refuses, and reads each
/// text as Cedar does. If it refuses a text that Cedar reads, a rule of this crate is the reason.
#[test]
fn changed_texts_are_read_as_cedar_reads_them() {
    let schema: cedar_policy::Schema = SCHEMA.parse().unwrap();
    let set: cedar_policy::PolicySet = ADMINS.parse().unwrap();
    let parts = [
        "\"uid\":{\"type\":\"U\",\"id\":\"a\"}",
        "\"attrs\":{\"admin\":false}",
        "\"attrs\":{\"admin\":true}",
        "\"parents\":[]",
        "\"parents\":[{\"type\":\"G\",\"id\":\"admins\"}]",
        "\"\\u0061ttrs\":{\"admin\":true}",
        "\"tags\":{\"t\":1}",
        "\"tags\":{\"t\":1,\"t\":2}",
        "\"parents\":[{\"type\":\"G\",\"id\":\"x\",\"id\":\"admins\"}]",
        "\"attrs\":{\"admin\":false,\"admin\":true}",
        "\"attrs\":{\"admin\":true,\"in\":{\"b\":1,\"\\u0062\":2}}",
        "\"uid\":{\"__entity\":{\"type\":\"U\",\"id\":\"a\"}}",
        "\"uid\":{\"type\":\"U\",\"id\":\"b\"}",
    ];
    let mut rng = StdRng::seed_from_u64(3);
    let mut counts = [0; 2];
    let engines = [false, true].map(|schema| ours("[]", schema).unwrap());
    for _ in 0..1_000 {
        let entity = |rng: &mut StdRng| {
            let picked: Vec<_> = match rng.random_range(0..3) {
                0 => (0..rng.random_range(3..5))
                    .map(|_| parts[rng.random_range(0..parts.len())])
                    .collect(),
                some => [0, rng.random_range(1..3), 3 + some - 1]
                    .into_iter()
                    .map(|at| parts[at])
                    .chain(
                        (rng.random_range(0..3) == 0)
                            .then(|| parts[rng.random_range(0..parts.len())]),
                    )
                    .collect(),
            };
            format!("{{{}}}", picked.join(","))
        };
        let list: Vec<_> = (0..rng.random_range(1..3))
            .map(|_| entity(&mut rng))
            .collect();
        let text = format!("[{}]", list.join(","));
        for with in [false, true] {
            let read = cedar_policy::Entities::from_json_str(&text, with.then_some(&schema));
            let engine = &engines[usize::from(with)];
            let replaced = engine.replace_entities(&text);
            assert_eq!(
                read.is_ok(),
                replaced.is_ok(),
                "{text}: {:?} {:?}",
                read.err(),
                replaced.err()
            );
            counts[usize::from(read.is_ok())] += 1;
            let Ok(read) = read else { continue };
            for id in ["a", "b"] {
                let [user, act, group] =
                    [("U", id), ("Action", "a"), ("G", "x")].map(|(kind, id)| Uid::new(kind, id));
                let uid = |uid: Uid<'_>| {
                    format!("{}::\"{}\"", uid.type_name, uid.id)
                        .parse()
                        .unwrap()
                };
                let asked = cedar_policy::Request::new(
                    uid(user),
                    uid(act),
                    uid(group),
                    cedar_policy::Context::empty(),
                    None,
                );
                let response =
                    cedar_policy::Authorizer::new().is_authorized(&asked.unwrap(), &set, &read);
                assert_eq!(
                    engine.check(&Request::new(user, act, group)).is_allowed(),
                    response.decision() == cedar_policy::Decision::Allow,
                    "{text}"
                );
            }
        }
    }
    assert!(
        counts.iter().all(|count| *count > 200),
        "{counts:?} refused and read"
    );
}
