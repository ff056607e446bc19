//! Invalid schemas, policies and entities are refused, with errors that name the fault.

use sordino_authz::{
    Authorizer, Context, Engine, EntityUid, Error, Extension, Refusal, Request, Schema, Uid, Value,
};

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
        policies(template).to_string(),
        "policy t at line 1, column 1 is a template; write policies without `?principal` and `?resource`"
    );
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
            matches!(policies(&when(&deep)), Error::Expression { .. }),
            "{}",
            &deep[..40]
        );
    }
    let clauses = format!(
        "permit(principal, action, resource) {};",
        "when { true } ".repeat(450)
    );
    assert!(matches!(policies(&clauses), Error::Expression { .. }));
    let long = when(&format!("\"{}\" == \"\"", "a".repeat(70_000)));
    assert!(matches!(policies(&long), Error::TooLarge { .. }));
    let namespaces = format!("{}{}", "namespace A { ".repeat(450), "}".repeat(450));
    assert!(matches!(
        Schema::parse(&namespaces),
        Err(Error::Expression { .. })
    ));
    let record = format!("entity A = {}Long{};", "{ a: ".repeat(450), "}".repeat(450));
    assert!(matches!(
        Schema::parse(&record),
        Err(Error::Expression { .. })
    ));
}

/// The deepest texts that Sordino accepts need at most half of a thread's default stack in Cedar's parser, validator and
/// evaluator.
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
            // Cedar's evaluator decides these policies.
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

/// In a chain of parents, the number of ancestors grows with the square of the chain's length.
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

/// Cedar makes no context with such a value. Here, only the policies that Cedar evaluates would notice it.
#[test]
fn values_of_extensions_that_are_none() {
    let extension = |kind, argument: &str| {
        let argument = argument.into();
        Value::Extension { kind, argument }
    };
    let cedar = |name: &str, argument: &str| {
        let call = serde_json::json!({"x": {"__extn": {"fn": name, "arg": argument}}});
        cedar_policy::Context::from_json_value(call, None).is_ok()
    };
    let arguments = [
        "300.1.1.1",
        "10.0.0.1",
        "10.0.0.0/8",
        "10.0.0.0/33",
        "::1",
        "::ffff:10.0.0.1",
        " 10.0.0.1",
        "010.0.0.1",
        "",
        "1.5",
        "1.23450",
        "1",
        "-1.0",
        "+1.0",
        "922337203685477.5807",
        "922337203685477.5808",
        "-922337203685477.5809",
        "1e1",
        "NaN",
        "2024-02-29",
        "2024-02-30",
        "2024-02-29T00:00:00Z",
        "2024-02-29T25:00:00Z",
        "2024-02-29T00:00:00.000+2400",
        "0000-00-00",
        "1h30m",
        "1m1h",
        "1h",
        "-1d",
        "1x",
        "106751991168d",
        "106751991166d",
        "9223372036854775807ms",
        "9223372036854775808ms",
        "1H",
    ];
    let (mut taken, mut refused) = (0, 0);
    for kind in [
        Extension::Ip,
        Extension::Decimal,
        Extension::Datetime,
        Extension::Duration,
    ] {
        for argument in arguments {
            let value = || extension(kind, argument);
            let expected = cedar(&kind.to_string(), argument);
            for value in [
                value(),
                Value::set([Value::Long(1), value()]).unwrap(),
                Value::record([("a", Value::set([value()]).unwrap())]).unwrap(),
            ] {
                let found = Context::new([("x", value)]);
                assert_eq!(found.is_ok(), expected, "{kind}({argument:?}): {found:?}");
                *(if expected { &mut taken } else { &mut refused }) += 1;
            }
        }
    }
    assert!(
        taken > 30 && refused > 200,
        "{taken} taken, {refused} refused"
    );
    let site = Value::record([("my net", extension(Extension::Ip, "300.1.1.1"))]).unwrap();
    let error = Context::new([("sites", Value::set([site]).unwrap())]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "context.sites[][\"my net\"] is ip(\"300.1.1.1\"), which is not a value: "
        ) && text.ends_with("invalid IP address: 300.1.1.1"),
        "{text}"
    );
    let of = Value::Entity(EntityUid::new("Reader ", "a"));
    let error = Context::new([("of", of)]).unwrap_err().to_string();
    assert_eq!(
        error,
        "context.of is Reader ::\"a\", which is not a value: \"Reader \" is not the name of a type"
    );
}

/// This holds with and without a schema, whatever the policies read.
#[test]
fn types_that_have_no_name_are_refused() {
    let open = "permit(principal, action, resource);";
    let (with, without) = (
        Engine::new(schema(), open, "[]").unwrap(),
        Engine::without_schema(open, "[]").unwrap(),
    );
    let names = [
        ("Reader", "Action", "Index"),
        ("Reader ", "Action", "Index"),
        ("Reader", "if", "Index"),
        ("Reader", "Action", ""),
    ];
    for (names, refusal) in names.into_iter().zip([
        None,
        Some(Refusal::Name),
        Some(Refusal::Name),
        Some(Refusal::Name),
    ]) {
        let (principal, action, resource) = names;
        let request = Request::new(
            Uid::new(principal, "a"),
            Uid::new(action, "search"),
            Uid::new(resource, "a"),
        );
        for engine in [&with, &without] {
            let decision = engine.check(&request);
            assert_eq!(decision.refusal(), refusal, "{names:?}");
            assert_eq!(decision.is_allowed(), refusal.is_none(), "{names:?}");
        }
    }
}

fn said(text: &str) -> String {
    policies(text).to_string()
}

#[test]
fn errors_of_policies_say_where() {
    let good = "@id(\"good\")\npermit(principal, action, resource);\n\n";
    let wrong = "  @id(\"wrong\") permit(principal, action, resource) when { ";
    let parse = said(&format!("{good}{wrong}principal = resource }};"));
    assert!(
        parse.starts_with("policies do not parse: line 4, column 59: ")
            && parse.contains("in policy wrong at line 4, column 3"),
        "{parse}"
    );
    let cut = said(&format!("{good}{wrong}true"));
    assert!(
        cut.contains("line 4, column 6") && cut.contains("in policy wrong at line 4"),
        "{cut}"
    );
    let invalid = said(&format!(
        "{good}{good_2}{wrong}principal.levle > 1 }};",
        good_2 = "// é\n"
    ));
    assert!(
        invalid.starts_with("policy wrong does not validate: line 5, column 56: attribute `levle`")
            || invalid.contains("line 5, column 5"),
        "{invalid}"
    );
    assert!(
        !invalid.contains("policy0") && !invalid.contains("policy1"),
        "{invalid}"
    );
    let arguments = said(&format!("{good}{wrong}ip(\"a\", \"b\").isIpv4() }};"));
    assert!(arguments.contains("policy wrong"), "{arguments}");
}

/// Some editors write a byte order mark and do not show it.
#[test]
fn a_byte_order_mark_is_named() {
    for error in [
        said("\u{feff}permit(principal, action, resource);"),
        entities("\u{feff}[]").to_string(),
        Schema::parse("\u{feff}entity A;")
            .map(drop)
            .unwrap_err()
            .to_string(),
    ] {
        assert!(
            error.ends_with("byte order mark: save it as UTF-8 without one"),
            "{error}"
        );
    }
}

#[test]
fn two_policies_of_one_id_are_both_named() {
    let policy = "permit(principal, action, resource);";
    assert_eq!(
        said(&format!(
            "@id(\"a\") {policy}\n{policy} @id(\"a\") {policy}"
        )),
        "two policies have the id a, at line 1, column 1 and at line 2, column 38; give each its own `@id`"
    );
    assert_eq!(
        said(&format!("@id(\"policy1\") {policy}\n{policy}")),
        "two policies have the id policy1, at line 1, column 1 and at line 2, column 1 (without `@id`, so it has the id \
         of its place among the policies); give each its own `@id`"
    );
}

/// Each alternative after `||` is a level too. The message says so, names the policy and advises a set, which is then
/// accepted.
#[test]
fn many_alternatives_are_advised_to_be_a_set() {
    let name = |i: u32| format!("resource.name == \"{i}\"");
    let flat = (0..54).map(name).collect::<Vec<_>>().join(" || ");
    let policy = |condition: &str| {
        format!(
            "permit(principal, action, resource);\n@id(\"flat\") permit(principal, action, resource) when {{ {condition} }};"
        )
    };
    let error = Engine::without_schema(&policy(&flat), "[]")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with(
            "policy flat at line 2, column 1: an expression of 161 levels, expected at most 160. "
        ) && error.contains("in a row")
            && error.contains(".contains("),
        "{error}"
    );
    let set = (0..5_000)
        .map(|i| format!("\"{i}\""))
        .collect::<Vec<_>>()
        .join(", ");
    assert!(
        Engine::without_schema(&policy(&format!("[{set}].contains(resource.name)")), "[]").is_ok()
    );
}

/// If an attribute comes twice, Cedar takes the last one. Sordino refuses the schema.
#[test]
fn an_attribute_twice_in_a_schema() {
    for (twice, name) in [
        ("entity A = { a: Long, a: String };", "a"),
        ("entity A = { a?: Long, a: Long };", "a"),
        ("entity A = { a: Long, \"\\u{61}\"?: Long };", "\"\\u{61}\""),
        ("entity A = { a: Long,\u{a0}a\u{a0}: String };", "a"),
        ("entity A { b: Long, @doc(\"x: y\") \"b\": Long };", "\"b\""),
        (
            "type T = { x: { b: Set<Long>, c: N::U, b: Long } }; namespace N { type U = Long; }",
            "b",
        ),
        (
            "namespace N { entity A; action a appliesTo { principal: A, resource: A, context: { at: Long, at: Bool } }; }",
            "at",
        ),
    ] {
        assert!(twice.parse::<cedar_policy::Schema>().is_ok(), "{twice}");
        let error = Schema::parse(twice).map(drop).expect_err(twice).to_string();
        let expected = format!("schema: {name} stands twice in one record, at line 1, column ");
        assert!(error.starts_with(&expected), "{error}");
    }
    for once in [
        "namespace N { entity A = { a: Long, x: { a: Long } }; entity B = { a: N::A, N: N::A, \"a b\": Long }; }",
        "entity A { a: Set<{ a: Long }>, b: { a: Long } }; // a: b, a: b",
        "entity A, B; action a, b appliesTo { principal: A, resource: A, context: { principal: Long } };
         action c appliesTo { principal: [A, B], resource: B };",
    ] {
        Schema::parse(once).unwrap();
    }
    let error = Schema::parse("entity A;\n  entity in B;")
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("schema: line 2, column 13: "), "{error}");
}

/// A policy with such a call would fail for each request. That includes policies that forbid.
#[test]
fn constructors_with_arguments_that_are_none() {
    let policy = |call: &str| {
        format!(
            "permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource) when {{ context.at == {call} }};"
        )
    };
    let read = |text: &str| Engine::without_schema(text, "[]").map(drop);
    for call in [
        "ip(\"300.1.1.1\")",
        "ip(\"10.0.0.0/33\")",
        "ip ( // \")\n \"\\u{78}\" )",
        "decimal(\"1.00001\")",
        "datetime(\"2024-02-30\")",
        "duration(\"1x\")",
        "[{\"ip\": ip(\"\")}]",
    ] {
        let error = read(&policy(call)).unwrap_err().to_string();
        let expected = "policy a does not validate: line 2, column ";
        assert!(
            error.starts_with(expected) && error.contains("is not a value"),
            "{error}"
        );
    }
    for call in [
        "ip(\"10.0.0.0/8\")",
        "decimal(\"1.0001\")",
        "datetime(\"2024-02-29\")",
        "duration(\"-1d\")",
        "\"ip(\\\"x\\\")\"",
        "ip::\"x\"",
        "ip(context.ip)",
        "context.ip // ip(\"x\")\n",
    ] {
        assert_eq!(read(&policy(call)), Ok(()), "{call}");
    }
    assert_eq!(
        read("@ip(\"x\") permit(principal, action, resource);"),
        Ok(())
    );
}

/// Groups of actions come with the entities. With the groups of another schema, a policy that forbids them would
/// have no action.
#[test]
fn entities_of_another_schema_are_not_followed() {
    let schema = |groups: &str| {
        let text = format!(
            "entity Reader, Index; action every; action search {groups} appliesTo {{ principal: Reader, resource: Index }};"
        );
        Schema::parse(&text).unwrap()
    };
    let policies = "permit(principal, action, resource); forbid(principal, action in Action::\"every\", resource);";
    let engine = |groups: &str| Engine::new(schema(groups), policies, "[]").unwrap();
    let search = Request::new(
        Uid::new("Reader", "a"),
        Uid::new("Action", "search"),
        Uid::new("Index", "a"),
    );
    let (grouped, other) = (engine("in [every]"), engine(""));
    let none = Engine::without_schema(policies, "[]").unwrap();
    for other in [&other, &none] {
        assert!(other.check(&search).is_allowed());
        assert_eq!(grouped.follow(other), Err(Error::OtherSchema));
        assert_eq!(other.follow(&grouped), Err(Error::OtherSchema));
        assert!(!grouped.check(&search).is_allowed());
    }
    assert!(grouped.follow(&engine("in [every]")).is_ok());
    assert!(
        none.follow(&Engine::without_schema("", "[]").unwrap())
            .is_ok()
    );
}
