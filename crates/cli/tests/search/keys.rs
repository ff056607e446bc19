//! `sordino keys`.

use crate::binary::{done, failed, json};
use crate::place::Place;
use std::fs;

#[test]
fn keys_are_made_once_for_their_owner_alone_and_shown_without_their_secrets() {
    let place = Place::new();
    done(&place.line("keys new client @alice.key"));
    done(&place.line("keys new client-public @alice.pub --from @alice.key"));
    done(&place.line("keys new issuer @issuer.key"));
    done(&place.line("keys new issuer-public @issuer.pub --from @issuer.key"));
    done(&place.line("keys new reader-pair @bob.pair --from @owner.pub"));
    done(&place.line("keys new reader-public @bob.pub --from @bob.pair"));
    let mut digests = Vec::new();
    for (name, kind, secret) in [
        ("owner.key", "owner-key", true),
        ("reader.key", "reader-key", true),
        ("owner.pub", "owner-public-key", false),
        ("alice.key", "client-key", true),
        ("alice.pub", "client-public-key", false),
        ("issuer.key", "issuer-key", true),
        ("issuer.pub", "issuer-public-key", false),
        ("bob.pair", "reader-pair", true),
        ("bob.pub", "reader-public-key", false),
    ] {
        let shown = json(&["keys", "show", &place.at(name)]);
        assert_eq!(
            (shown["kind"].as_str(), shown["secret"].as_bool()),
            (Some(kind), Some(secret))
        );
        digests.push(shown["public_key_digest"].clone());
        let text = fs::read_to_string(place.path(name)).unwrap();
        let hidden = &text.trim_end()[text.find(':').unwrap() + 1..];
        assert!(!shown.to_string().contains(&hidden[..32]), "{name}");
        assert!(
            !done(&["keys", "show", &place.at(name)]).contains(&hidden[..32]),
            "{name}"
        );
        #[cfg(unix)]
        if secret {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(place.path(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        // No file is overwritten.
        let again = failed(&["keys", "new", "owner", &place.at(name)], 1);
        assert!(again.contains(name), "{again}");
        assert_eq!(fs::read_to_string(place.path(name)).unwrap(), text);
    }
    assert!(digests[0] == digests[1] && digests[1] == digests[2] && digests[3] == digests[4]);
    assert_ne!(digests[2], digests[3]);
    assert_eq!(digests[5], digests[6]);
    assert_eq!(digests[7], digests[8]);
}

#[test]
fn a_key_of_the_wrong_kind_is_named_for_what_it_is() {
    let place = Place::new();
    let error = failed(&place.line("index build @base.npy @i --key @owner.pub"), 1);
    assert!(
        error.contains("an owner's public key; expected the owner's key"),
        "{error}"
    );
    assert!(!place.path("i").exists());
    fs::write(place.path("noise"), [0xff; 100]).unwrap();
    assert!(failed(&["keys", "show", &place.at("noise")], 1).contains("not a key file"));
    let missing = failed(&["keys", "show", &place.at("nowhere")], 1);
    assert!(missing.contains("nowhere"), "{missing}");
    // A damaged key is not another key.
    let mut text = fs::read(place.path("owner.key")).unwrap();
    let at = text.len() - 30;
    text[at] = if text[at] == b'0' { b'1' } else { b'0' };
    fs::write(place.path("damaged.key"), text).unwrap();
    assert!(failed(&["keys", "show", &place.at("damaged.key")], 1).contains("damaged"));
}
