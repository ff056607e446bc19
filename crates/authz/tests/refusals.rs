//! Schemas, policies and entities that are refused, by name.
#![expect(clippy::unwrap_used, reason = "tests may panic, their helpers too")]

use sordino_authz::{Authorizer, Context, Engine, Error, Request, Schema, Uid, Value};

const SCHEMA: &str = "
    entity Team in [Team]; entity Reader in [Team] = { level: Long }; entity Index;
    action search appliesTo { principal: Reader, resource: Index };";

fn schema() -> Schema {
    Schema::parse(SCHEMA).unwrap()
}

fn policies(text: &str) -> Error {
    Engine::new(schema(), text, "[]").unwrap_err()
}

fn entities(text: &str) -> Error {
    Engine::new(schema(), "", text).unwrap_err()
}

#[test]
fn policies_that_do_not_parse_or_validate() {
    assert!(matches!(
        policies("permit(principal, action"),
        Error::Parse { .. }
    ));
    assert!(matches!(
        policies("allow(principal, action, resource);"),
        Error::Parse { .. }
    ));
    let misspelled = "@id(\"spelling\") permit(principal, action == Action::\"search\", resource) when { principal.levle > 1 };";
    assert!(matches!(policies(misspelled), Error::Invalid { policy, .. } if policy == "spelling"));
    for invalid in [
        "permit(principal == User::\"a\", action, resource);",
        "permit(principal, action == Action::\"fly\", resource);",
        "permit(principal, action == Action::\"search\", resource) when { principal.level == \"high\" };",
        "permit(principal, action == Action::\"search\", resource) when { principal.level < \"high\" };",
    ] {
        assert!(
            matches!(policies(invalid), Error::Invalid { .. }),
            "{invalid}"
        );
    }
    let template = "@id(\"t\") permit(principal == ?principal, action, resource);";
    assert_eq!(
        policies(template),
        Error::Template {
            id: "policy0".into()
        }
    );
    let twice = "@id(\"a\") permit(principal, action, resource); @id(\"a\") forbid(principal, action, resource);";
    assert_eq!(policies(twice), Error::DuplicatePolicy { id: "a".into() });
    assert!(matches!(
        Schema::parse("entity Reader in [Nobody];"),
        Err(Error::Schema { .. })
    ));
    assert!(matches!(Schema::parse("entity"), Err(Error::Schema { .. })));
}

#[test]
fn texts_that_are_too_deep_or_too_long() {
    let when =
        |condition: &str| format!("permit(principal, action, resource) when {{ {condition} }};");
    for deep in [
        format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("1{} == 1", " + 1".repeat(5_000)),
        format!("true{}", " && true".repeat(5_000)),
        format!("context{} == 1", ".a".repeat(5_000)),
        format!("{}1{} == 1", "[".repeat(5_000), "]".repeat(5_000)),
        format!("context{} == 1", "[\"a\"]".repeat(5_000)),
        format!(
            "{}true{}",
            "if true then ".repeat(2_000),
            " else true".repeat(2_000)
        ),
        format!("{}true", "!".repeat(5_000)),
        format!("{}1 == 1", "-".repeat(5_000)),
    ] {
        assert!(
            matches!(policies(&when(&deep)), Error::TooDeep { .. }),
            "{}",
            &deep[..40]
        );
    }
    let clauses = format!(
        "permit(principal, action, resource) {};",
        "when { true } ".repeat(450)
    );
    assert!(matches!(policies(&clauses), Error::TooDeep { .. }));
    let long = when(&format!("\"{}\" == \"\"", "a".repeat(70_000)));
    assert!(matches!(policies(&long), Error::TooLarge { .. }));
    let namespaces = format!("{}{}", "namespace A { ".repeat(450), "}".repeat(450));
    assert!(matches!(
        Schema::parse(&namespaces),
        Err(Error::TooDeep { .. })
    ));
    let record = format!("entity A = {}Long{};", "{ a: ".repeat(450), "}".repeat(450));
    assert!(matches!(Schema::parse(&record), Err(Error::TooDeep { .. })));
}

/// The deepest texts that are let through are within what Cedar's parser, validator and evaluator can take in half the stack that
/// threads have by default.
#[test]
fn the_deepest_texts_are_evaluated() {
    let check = || {
        let search = Request::new(
            Uid::new("Reader", "a"),
            Uid::new("Action", "search"),
            Uid::new("Index", "a"),
        );
        for condition in [
            format!("{}true{}", "(".repeat(38), ")".repeat(38)),
            format!("1{} == 151", " + 1".repeat(150)),
            format!("true{}", " && true".repeat(155)),
            format!("false{} || true", " || false".repeat(150)),
            format!(
                "{}true{}",
                "if true then ".repeat(18),
                " else true".repeat(18)
            ),
            format!("true && {}true{}", "(true && ".repeat(30), ")".repeat(30)),
            format!(
                "{}1{} == {}1{}",
                "[".repeat(18),
                "]".repeat(18),
                "[".repeat(18),
                "]".repeat(18)
            ),
            // For Cedar's evaluator too.
            format!(
                "ip(\"10.0.0.1\").isIpv4() && 1{} == 151",
                " + 1".repeat(150)
            ),
            format!(
                "ip(\"10.0.0.1\").isIpv4() && {}true{}",
                "(true && ".repeat(30),
                ")".repeat(30)
            ),
        ] {
            let policy = format!("permit(principal, action, resource) when {{ {condition} }};");
            let engine = Engine::new(schema(), &policy, "[]").unwrap();
            assert!(engine.check(&search).is_allowed(), "{condition}");
            assert_eq!(engine.check(&search).errors(), []);
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(check)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn entities_in_a_cycle() {
    let team = |id: &str, parent: &str| {
        format!(
            r#"{{"uid": {{"type": "Team", "id": "{id}"}}, "attrs": {{}}, "parents": [{{"type": "Team", "id": "{parent}"}}]}}"#
        )
    };
    for list in [
        vec![team("a", "a")],
        vec![team("a", "b"), team("b", "a")],
        vec![
            team("x", "a"),
            team("a", "b"),
            team("b", "c"),
            team("c", "a"),
            team("y", "x"),
        ],
    ] {
        let error = entities(&format!("[{}]", list.join(",")));
        assert!(matches!(error, Error::Cycle { .. }), "{error}");
    }
    let line: Vec<String> = (0..100)
        .map(|i| team(&i.to_string(), &(i + 1).to_string()))
        .collect();
    assert!(Engine::new(schema(), "", &format!("[{}]", line.join(","))).is_ok());
}

#[test]
fn entities_of_unknown_types_or_forms() {
    let unknown = r#"[{"uid": {"type": "User", "id": "a"}, "attrs": {}, "parents": []}]"#;
    assert!(matches!(entities(unknown), Error::UnknownType { entity } if entity.contains("User")));
    for wrong in [
        "",
        "{}",
        "[1]",
        "[{}]",
        r#"[{"uid": "Reader::\"a\"", "attrs": {}, "parents": []}]"#,
        r#"[{"uid": {"type": "Reader", "id": "a"}, "attrs": {}, "parents": []}]"#,
        r#"[{"uid": {"type": "Reader", "id": "a"}, "attrs": {"level": "1"}, "parents": []}]"#,
        r#"[{"uid": {"type": "Reader", "id": "a"}, "attrs": {"level": 1}, "parents": [{"type": "Index", "id": "a"}]}]"#,
        r#"[{"uid": {"type": "Reader", "id": "a"}, "attrs": {"level": 1}, "parents": [{"__expr": "Team::\"a\""}]}]"#,
    ] {
        assert!(
            matches!(entities(wrong), Error::Entities { .. }),
            "{wrong}: {:?}",
            entities(wrong)
        );
    }
    let deep = format!(
        r#"[{{"uid": {{"type": "A", "id": "a"}}, "parents": [], "attrs": {{"a": {}1{}}}}}]"#,
        "[".repeat(60),
        "]".repeat(60)
    );
    assert!(matches!(
        Engine::without_schema("", &deep),
        Err(Error::TooDeep { .. })
    ));
    let deep = format!(
        r#"[{{"uid": {{"type": "A", "id": "a"}}, "parents": [], "attrs": {{"a": {}1{}}}}}]"#,
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    assert!(matches!(
        Engine::without_schema("", &deep),
        Err(Error::Entities { .. })
    ));
}

/// A line of parents has ancestors as the square of its length.
#[test]
fn entities_with_too_many_ancestors() {
    let entity = |i: u32| {
        format!(
            r#"{{"uid": {{"type": "T", "id": "{i}"}}, "attrs": {{}}, "parents": [{{"type": "T", "id": "{}"}}]}}"#,
            i + 1
        )
    };
    let line: Vec<String> = (0..6_000).map(entity).collect();
    let error = Engine::without_schema("", &format!("[{}]", line.join(","))).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn values_that_are_refused() {
    let twice = Context::new([("a", Value::Bool(true)), ("a", Value::Bool(false))]);
    assert_eq!(twice, Err(Error::DuplicateAttribute { name: "a".into() }));
    let mut value = Value::Long(1);
    let error = loop {
        match Value::set([value]) {
            Ok(deeper) => value = deeper,
            Err(error) => break error,
        }
    };
    assert!(matches!(
        error,
        Error::TooDeep {
            found: 33,
            most: 32,
            ..
        }
    ));
    let long = Context::new([("a", Value::string("a".repeat(2 << 20)))]);
    assert!(matches!(long, Err(Error::TooLarge { .. })));
}

/// A replacement that fails changes nothing.
#[test]
fn a_refused_replacement_changes_nothing() {
    let engine = Engine::new(schema(), "permit(principal, action, resource);", "[]").unwrap();
    let before = engine.epochs();
    assert!(engine.replace_policies("permit(").is_err());
    assert!(engine.replace_entities("{}").is_err());
    assert_eq!((engine.epochs(), engine.share().policies), (before, 1));
    assert_eq!(engine.replace_policies("").unwrap().policies, 1);
    assert_eq!(engine.share().policies, 0);
}
