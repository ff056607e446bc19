//! `sordino token`.

use crate::binary::{command, done, failed, json};
#[cfg(unix)]
use crate::config::configure;
use crate::place::{Place, assert_found};
use crate::served::Served;
use std::fs;

const MAIL: &str = "07070707070707070707070707070707";
const NEWS: &str = "09090909090909090909090909090909";

/// An issuer, and clients Alice and Bob.
fn place() -> Place {
    let place = Place::without_keys();
    done(&place.line("keys new issuer @issuer.key"));
    done(&place.line("keys new issuer-public @issuer.pub --from @issuer.key"));
    for client in ["alice", "bob"] {
        done(&place.line(&format!("keys new client @{client}.key")));
        let line = format!("keys new client-public @{client}.pub --from @{client}.key");
        done(&place.line(&line));
    }
    let issue = format!(
        "token issue @alice.token --key @issuer.key --holder @alice.pub --audience here --index {NEWS} --index {MAIL} \
         --allow search,add --lifetime 2h --rate 60"
    );
    let issued = json(&place.line(&issue));
    assert_eq!(
        issued["blocks"][0]["indexes"],
        serde_json::json!([MAIL, NEWS])
    );
    place
}

#[test]
fn a_token_is_issued_narrowed_inspected_and_verified() {
    let place = place();
    let narrow = format!(
        "token attenuate @alice.token @bob.token --key @alice.key --holder @bob.pub --allow search --index {MAIL}"
    );
    done(&place.line(&narrow));
    let inspected = json(&place.line("token inspect @bob.token"));
    let issuer = json(&place.line("keys show @issuer.pub"));
    let bob = json(&place.line("keys show @bob.pub"));
    assert_eq!(inspected["issuer"], issuer["public_key_digest"]);
    assert_eq!(inspected["state"], "not verified");
    let (first, last) = (&inspected["blocks"][0], &inspected["blocks"][1]);
    assert_eq!(last["holder"], bob["public_key_digest"]);
    assert_eq!(
        (&last["actions"], &first["actions"]),
        (&"search".into(), &"search,add".into())
    );
    assert_eq!(last["requests_per_minute"], 60);
    assert_eq!(last["expiry"], first["expiry"]);
    let verify = format!(
        "token verify @bob.token --issuer @issuer.pub --audience here --holder @bob.pub --index {MAIL} --action search"
    );
    let text = done(&place.line(&verify));
    assert!(
        text.contains("verified") && !text.contains("not verified") && text.contains(MAIL),
        "{text}"
    );
    assert_eq!(json(&place.line(&verify))["state"], "verified");
}

/// Clocks differ, so a token's validity begins one minute ago.
#[test]
fn a_token_is_valid_a_minute_before_it_was_issued_and_has_a_form_of_text() {
    let place = place();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let earlier = now.unwrap().as_secs() - 50;
    let verify = "token verify @alice.token --issuer @issuer.pub --audience here";
    done(&place.line(&format!("{verify} --at {earlier}")));
    let narrow =
        "token attenuate @alice.token @bob.token --key @alice.key --holder @bob.pub --text";
    done(&place.line(narrow));
    let text = fs::read_to_string(place.path("bob.token")).unwrap();
    let line = text.trim_end();
    assert!(
        line.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
    let wide = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(line.encode_utf16());
        units.flat_map(unit).collect()
    };
    let lines: Vec<&str> = line
        .as_bytes()
        .chunks(76)
        .map(|part| str::from_utf8(part).unwrap())
        .collect();
    for form in [
        line.into(),
        format!("\n {line}==\r\n").into_bytes(),
        // The text may have an editor's mark, PowerShell's encoding, or the lines and the alphabet of `base64`.
        format!("\u{feff}{line}\n").into_bytes(),
        wide(u16::to_le_bytes),
        wide(u16::to_be_bytes),
        lines
            .join("\n")
            .replace('-', "+")
            .replace('_', "/")
            .into_bytes(),
    ] {
        fs::write(place.path("form.token"), form).unwrap();
        let verify =
            "token verify @form.token --issuer @issuer.pub --audience here --holder @bob.pub";
        done(&place.line(verify));
    }
}

#[test]
fn a_token_is_refused_by_name() {
    let place = place();
    let verify = "token verify @alice.token --issuer @issuer.pub --audience here";
    done(&place.line(verify));
    let expiry = json(&place.line("token inspect @alice.token"))["blocks"][0]["expiry"].clone();
    let expiry = expiry.as_str().unwrap();
    done(&place.line(&format!("{verify} --at {expiry} --leeway 30s")));
    let mail = format!("--index {MAIL}");
    for (more, said, code) in [
        (format!("--at {expiry}"), "expired at 20", 3),
        ("--at tomorrow".to_owned(), "RFC 3339", 2),
        ("--at 1000".to_owned(), "valid from", 3),
        (
            format!("{mail} --action delete"),
            "does not allow the action delete",
            3,
        ),
        (
            format!("--index {} --action add", "00".repeat(16)),
            "does not name this index",
            3,
        ),
        ("--holder @bob.pub".to_owned(), "made for another key", 3),
        (mail, "--action", 2),
    ] {
        let error = failed(&place.line(&format!("{verify} {more}")), code);
        assert!(error.contains(said), "{more}: {error}");
    }
    let other = failed(
        &place.line("token verify @alice.token --issuer @issuer.pub --audience there"),
        3,
    );
    assert!(
        other.contains("audience \"here\", expected \"there\""),
        "{other}"
    );
    done(&place.line("keys new issuer @other.key"));
    let other = failed(
        &place.line("token verify @alice.token --issuer @other.key --audience here"),
        3,
    );
    assert!(other.contains("issuer is not trusted"), "{other}");
    // The command refuses a damaged token, a truncated one, and a file of another kind.
    let good = fs::read(place.path("alice.token")).unwrap();
    let mut damaged = good.clone();
    let end = damaged.len() - 1000;
    damaged[end] ^= 1;
    fs::write(place.path("damaged.token"), damaged).unwrap();
    let error = failed(
        &place.line("token verify @damaged.token --issuer @issuer.pub --audience here"),
        3,
    );
    assert!(error.contains("signature of block 0"), "{error}");
    fs::write(place.path("cut.token"), &good[..good.len() - 1]).unwrap();
    assert!(failed(&place.line("token inspect @cut.token"), 3).contains("bytes end at"));
    let long = failed(&place.line("token inspect @base.npy"), 1);
    assert!(long.contains("longer than 82048 bytes"), "{long}");
}

#[test]
fn a_token_cannot_be_made_for_more_nor_written_over() {
    let place = place();
    let narrow = "token attenuate @alice.token @bob.token --holder @bob.pub --key";
    for (more, said) in [
        (
            "@alice.key --allow delete",
            "grants more than the one before it: actions",
        ),
        (
            "@alice.key --lifetime 3h",
            "grants more than the one before it: expiry",
        ),
        (
            "@alice.key --rate 61",
            "grants more than the one before it: rate",
        ),
        ("@bob.key", "made for another key"),
        ("@issuer.key", "expected a client's key"),
    ] {
        let error = failed(&place.line(&format!("{narrow} {more}")), 1);
        assert!(error.contains(said), "{more}: {error}");
        assert!(!place.path("bob.token").exists());
    }
    let before = fs::read(place.path("alice.token")).unwrap();
    let again = format!(
        "token issue @alice.token --key @issuer.key --holder @bob.pub --audience here --index {MAIL}"
    );
    assert!(failed(&place.line(&again), 1).contains("alice.token"));
    assert_eq!(fs::read(place.path("alice.token")).unwrap(), before);
}

#[test]
fn a_server_lets_holders_of_tokens_in() {
    let place = place();
    for line in [
        "keys new owner @owner.key",
        "keys new reader @reader.key --from @owner.key",
        "keys new public @owner.pub --from @owner.key",
    ] {
        done(&place.line(line));
    }
    place.build_mode("open");
    let info = json(&place.line("index info @open --key @owner.pub"));
    let index = info["id"].as_str().unwrap();
    for (token, allow) in [
        ("search", "search,payload,download"),
        ("download", "download"),
    ] {
        done(&place.line(&format!(
            "token issue @{token}.token --key @issuer.key --holder @bob.pub --audience here --index {index} --allow {allow}"
        )));
    }
    done(&place.line(&format!(
        "token issue @other.token --key @issuer.key --holder @bob.pub --audience other --index {index}"
    )));
    let serve = "@open --key @owner.pub --plaintext --audience here --issuer";
    let secret = failed(&place.line(&format!("serve {serve} @issuer.key")), 1);
    assert!(secret.contains("must have no secret"), "{secret}");
    let served = Served::new(&place.line(&format!("{serve} @issuer.pub")));
    let url = served.url();
    let bob = ["--connect", &url, "--client-key", &place.at("bob.key")];
    let token = ["--token", &place.at("search.token")];
    assert_found(&place.query(&[&bob[..], &token].concat()), "open");
    let query = format!("query --key @reader.key --file @queries.npy --connect {url}");
    for (more, said) in [
        ("--client-key @bob.key", "not known"),
        (
            "--client-key @bob.key --token @download.token",
            "download.token allows download on index",
        ),
        (
            "--client-key @bob.key --token @other.token",
            "for audience \"other\"",
        ),
        (
            "--client-key @alice.key --token @alice.token",
            "does not allow this",
        ),
    ] {
        let error = failed(&place.line(&format!("{query} {more}")), 4);
        assert!(error.contains(said), "{more}: {error}");
    }
    failed(&place.line(&format!("{query} --token @search.token")), 2);
    // The client reports faults that it can see, before it sends a request.
    let query = format!("{query} --client-key @bob.key");
    let error = failed(&place.line(&format!("{query} --token @alice.token")), 1);
    assert!(error.contains("made for another key"), "{error}");
    fs::write(place.path("wrong.token"), "hello").unwrap();
    let error = failed(&place.line(&format!("{query} --token @wrong.token")), 2);
    assert!(error.contains("not a token"), "{error}");
    let line = "token attenuate @alice.token @text.token --key @alice.key --holder @bob.pub --text";
    done(&place.line(line));
    let text = fs::read_to_string(place.path("text.token")).unwrap();
    let error = failed(&place.line(&format!("{query} --token {}", text.trim())), 2);
    assert!(error.contains("SORDINO_TOKEN"), "{error}");
    assert!(!error.contains(text.trim()), "{error}");
    for text in ["hello", " "] {
        let mut asked = command(&place.line(&query));
        let asked = asked.env("SORDINO_TOKEN", text).output().unwrap();
        let error = String::from_utf8(asked.stderr).unwrap();
        assert_eq!(asked.status.code(), Some(2), "{error}");
        assert!(error.contains("SORDINO_TOKEN: not a token"), "{error}");
        assert!(error.contains("token issue --text"), "{error}");
    }
}

#[test]
fn a_variable_of_a_key_that_is_empty_is_called_so() {
    for (text, fault) in [
        (Some(""), "empty"),
        (Some(" \n"), "empty"),
        (None, "not set"),
    ] {
        let mut shown = command(&["keys", "show", "env:SORDINO_KEY_OF_A_TEST"]);
        if let Some(text) = text {
            shown.env("SORDINO_KEY_OF_A_TEST", text);
        }
        let error = String::from_utf8(shown.output().unwrap().stderr).unwrap();
        assert!(
            error.contains(&format!("this variable is {fault}: expected")),
            "{error}"
        );
    }
}

/// A token for one request per minute is enough for a search. When its issuer's key is removed without a successor, the
/// token is refused.
#[cfg(unix)]
#[test]
fn a_server_without_an_issuer_accepts_no_token() {
    let place = Place::new();
    done(&place.line("keys new issuer @issuer.key"));
    done(&place.line("keys new issuer-public @issuer.pub --from @issuer.key"));
    done(&place.line("keys new client @bob.key"));
    done(&place.line("keys new client-public @bob.pub --from @bob.key"));
    place.build_mode("open");
    let info = json(&place.line("index info @open --key @owner.pub"));
    let index = info["id"].as_str().unwrap();
    for (token, rate) in [("slow", 1), ("bob", 600)] {
        done(&place.line(&format!(
            "token issue @{token}.token --key @issuer.key --holder @bob.pub --audience here --index {index} --rate {rate}"
        )));
    }
    let fixed = "index = \"@open\"\nkey = \"@owner.pub\"\nplaintext = true\naudience = \"here\"\n";
    let configured = |more: &str| configure(&place, "serve.toml", &format!("{fixed}{more}"));
    configured("issuer = \"@issuer.pub\"\n");
    let served = Served::new(&place.line("--config @serve.toml"));
    let query = format!(
        "query --key @reader.key --file @more.npy --client-key @bob.key --connect {}",
        served.url()
    );
    let slow = place.line(&format!("{query} --token @slow.token"));
    let bob = place.line(&format!("{query} --token @bob.token"));
    done(&slow);
    done(&bob);
    configured("");
    served.hang_up();
    assert_eq!(served.line()["event"], "reloaded");
    let refused = failed(&bob, 4);
    assert!(refused.contains("token is not accepted"), "{refused}");
    configured("issuer = \"@issuer.pub\"\n");
    served.hang_up();
    assert_eq!(served.line()["event"], "reloaded");
    done(&bob);
}
