//! Tests of logins, by honest clients and by impostors.

use super::*;
use crate::ClientKey;
use crate::client::Login as ClientLogin;
use proptest::prelude::*;
use std::collections::HashSet;

const INSTANCE: [u8; 32] = [9; 32];

/// The bytes that a tag adds to a request: three fields with their tags and lengths, and the tag and length of the
/// whole message.
const TAG_LEN: usize = (1 + 8) + (1 + 8) + (2 + 32) + 2;

/// The number of the client that made a tag, if the tag is accepted.
fn check(logins: &Logins, tag: &RequestTag, message: &[u8]) -> Result<u32, Refusal> {
    let login = logins.check(&INSTANCE, tag, message);
    login.map(|login| login.entrant.client)
}

/// Logs client `number` in. Returns the client's end of the login.
fn log_in(logins: &Logins, number: u8, rate: SharedRate) -> ClientLogin {
    let key = ClientKey::from_seed(&[number; 32]);
    let (request, half) = ClientLogin::ask(&key, b"", &INSTANCE, logins.kem_key(), 1).unwrap();
    let signed = Signed::of_login(&INSTANCE, logins.kem_key(), &request).unwrap();
    let entrant = Entrant::listed(number.into(), rate);
    let (id, lifetime) = logins.open(entrant, &signed, &request.ciphertext).unwrap();
    half.begun(id, lifetime)
}

fn logins() -> Logins {
    Logins::new(&mut rand::rng())
}

#[test]
fn a_tag_is_accepted_once_for_its_message_and_key() {
    let logins = logins();
    let (mut alice, mut bob) = (
        log_in(&logins, 1, rate(100.0)),
        log_in(&logins, 2, rate(100.0)),
    );
    let tag = alice.tag(b"message");
    assert_eq!(check(&logins, &tag, b"massage"), Err(Refusal::Signature));
    assert_eq!(check(&logins, &tag, b"message"), Ok(1));
    assert_eq!(check(&logins, &tag, b"message"), Err(Refusal::Replayed));
    assert_eq!(check(&logins, &bob.tag(b"message"), b"message"), Ok(2));
    // The server refuses a tag that names another client's login or another number, and a truncated tag.
    let mut other = bob.tag(b"x");
    other.login = tag.login;
    other.number = 77;
    assert_eq!(check(&logins, &other, b"x"), Err(Refusal::Signature));
    let mut other = alice.tag(b"x");
    other.number += 1;
    assert_eq!(check(&logins, &other, b"x"), Err(Refusal::Signature));
    other.number -= 1;
    assert_eq!(check(&logins, &other, b"x"), Ok(1));
    let mut short = alice.tag(b"x");
    short.tag = short.tag.slice(1..);
    assert_eq!(check(&logins, &short, b"x"), Err(Refusal::Malformed));
    let mut unknown = alice.tag(b"x");
    unknown.login ^= 1;
    assert_eq!(check(&logins, &unknown, b"x"), Err(Refusal::Login));
}

#[test]
fn a_login_belongs_to_one_run_and_ends() {
    let (first, second) = (logins(), logins());
    let mut alice = log_in(&first, 1, rate(100.0));
    let tag = alice.tag(b"x");
    assert_eq!(check(&second, &tag, b"x"), Err(Refusal::Login));
    let late = Instant::now() + LIFETIME;
    assert_eq!(
        first.check_at(&INSTANCE, &tag, b"x", late).err(),
        Some(Refusal::Login)
    );
    assert_eq!(check(&first, &tag, b"x"), Ok(1));
    // A key that is no longer known has no logins.
    first.retain(|client| client != 1);
    assert_eq!(check(&first, &alice.tag(b"x"), b"x"), Err(Refusal::Login));
}

/// A ciphertext for another key is decapsulated to a secret that no one knows. A ciphertext of another length is
/// refused.
#[test]
fn a_ciphertext_for_another_key_gives_a_login_without_use() {
    let (logins, other) = (logins(), logins());
    let key = ClientKey::from_seed(&[1; 32]);
    let (request, half) = ClientLogin::ask(&key, b"", &INSTANCE, other.kem_key(), 1).unwrap();
    let signed = Signed::of_login(&INSTANCE, other.kem_key(), &request).unwrap();
    let (id, _) = logins
        .open(Entrant::listed(1, rate(9.0)), &signed, &request.ciphertext)
        .unwrap();
    let mut login = half.begun(id, LIFETIME);
    assert_eq!(
        check(&logins, &login.tag(b"x"), b"x"),
        Err(Refusal::Signature)
    );
    let cut = logins.open(
        Entrant::listed(1, rate(9.0)),
        &signed,
        &request.ciphertext[1..],
    );
    assert_eq!(cut.err(), Some(Refusal::Malformed));
}

#[test]
fn one_key_has_so_many_logins_and_ends_only_its_own() {
    let logins = logins();
    let mut bob = log_in(&logins, 2, rate(100.0));
    let mut alice: Vec<ClientLogin> = (0..=MOST_PER_KEY)
        .map(|_| log_in(&logins, 1, rate(100.0)))
        .collect();
    let verdicts: Vec<_> = alice
        .iter_mut()
        .map(|it| check(&logins, &it.tag(b""), b""))
        .collect();
    assert_eq!(verdicts[0], Err(Refusal::Login));
    assert!(verdicts[1..].iter().all(|verdict| *verdict == Ok(1)));
    assert_eq!(check(&logins, &bob.tag(b""), b""), Ok(2));
}

#[test]
fn all_logins_of_a_key_share_its_rate() {
    let (logins, rate) = (logins(), rate(0.1));
    let mut first = log_in(&logins, 1, Arc::clone(&rate));
    let mut second = log_in(&logins, 1, rate);
    // Both together may send 16 requests at once.
    for _ in 0..8 {
        let asked = [&mut first, &mut second].map(|it| check(&logins, &it.tag(b""), b""));
        assert_eq!(asked, [Ok(1), Ok(1)]);
    }
    assert_eq!(check(&logins, &first.tag(b""), b""), Err(Refusal::Rate));
}

/// A token's holder, with the rates and the keys of a chain.
fn bearer(path: &[u8], rates: Vec<SharedRate>, most: usize) -> Entrant {
    Entrant {
        client: 9,
        most,
        path: path.iter().map(|holder| [*holder; 32]).collect(),
        rates,
        lifetime: LIFETIME,
        grant: None,
    }
}

/// Logs a token's holder in.
fn log_bearer_in(logins: &Logins, entrant: Entrant) -> ClientLogin {
    let key = ClientKey::from_seed(&[3; 32]);
    let (request, half) = ClientLogin::ask(&key, b"", &INSTANCE, logins.kem_key(), 1).unwrap();
    let signed = Signed::of_login(&INSTANCE, logins.kem_key(), &request).unwrap();
    let (id, lifetime) = logins.open(entrant, &signed, &request.ciphertext).unwrap();
    half.begun(id, lifetime)
}

#[test]
fn who_may_ask_seldom_uses_up_nothing_of_whom_its_token_came_from() {
    let (logins, root) = (logins(), rate(30.0));
    let mut alice = log_bearer_in(&logins, bearer(&[1], vec![Arc::clone(&root)], 64));
    let rates = vec![root, rate(0.001)];
    let mut bob = log_bearer_in(&logins, bearer(&[1, 2], rates, 64));
    for _ in 0..16 {
        assert_eq!(check(&logins, &bob.tag(b""), b""), Ok(9));
    }
    for _ in 0..100 {
        assert_eq!(check(&logins, &bob.tag(b""), b""), Err(Refusal::Rate));
    }
    for _ in 0..10 {
        assert_eq!(check(&logins, &alice.tag(b""), b""), Ok(9));
    }
}

#[test]
fn whom_a_token_was_handed_on_to_ends_no_login_of_its_holder() {
    let logins = logins();
    let entrant = |path: &[u8]| bearer(path, vec![rate(100.0)], 8);
    let mut alice = log_bearer_in(&logins, entrant(&[1]));
    let mut carol = log_bearer_in(&logins, entrant(&[1, 2, 3]));
    let mut bob: Vec<ClientLogin> = (0..20)
        .map(|_| log_bearer_in(&logins, entrant(&[1, 2, 4])))
        .collect();
    for one in [&mut alice, &mut carol, &mut bob[19]] {
        assert_eq!(check(&logins, &one.tag(b""), b""), Ok(9));
    }
    let tag = bob[0].tag(b"");
    assert_eq!(check(&logins, &tag, b""), Err(Refusal::Login));
    // Alice fills her half of the places. Each further login of Bob ends one of his own.
    let mut hers: Vec<ClientLogin> = (0..4)
        .map(|_| log_bearer_in(&logins, entrant(&[1])))
        .collect();
    for _ in 0..8 {
        drop(log_bearer_in(&logins, entrant(&[1, 2, 4])));
    }
    for one in &mut hers {
        assert_eq!(check(&logins, &one.tag(b""), b""), Ok(9));
    }
}

#[test]
fn every_tag_has_the_same_size() {
    use prost::Message;
    let logins = logins();
    let mut alice = log_in(&logins, 1, rate(1.0));
    // A field with the value zero would not be sent, so no tag has one.
    assert!((0..70).all(|_| alice.tag(b"x").encoded_len() + 2 == TAG_LEN));
    assert_eq!(TAG_LEN, 54);
}

proptest! {
    /// Compares the window with a memory that forgets nothing. No number is accepted twice. All numbers are accepted, in
    /// any order, as long as none is 64 behind another.
    #[test]
    fn no_number_is_accepted_twice(numbers in prop::collection::vec(0u64..300, 0..400)) {
        let (mut window, mut seen, mut highest) = (Window::default(), HashSet::new(), 0);
        for number in numbers {
            let late = number + 64 <= highest;
            let expected = !late && seen.insert(number);
            prop_assert_eq!(window.accept(number).is_ok(), expected, "{}", number);
            highest = highest.max(number);
        }
    }
}

#[test]
fn the_window_has_an_end() {
    let mut window = Window::default();
    assert_eq!(window.accept(u64::MAX), Err(Refusal::Replayed));
    assert_eq!(window.accept(u64::MAX - 1), Ok(()));
    assert_eq!(window.accept(u64::MAX - 1), Err(Refusal::Replayed));
    assert_eq!(window.accept(0), Err(Refusal::Replayed));
}

/// Prints the times of a login on both sides and of a request's tag.
#[test]
#[ignore = "measures: cargo test --workspace --lib -- --ignored --nocapture times_of"]
fn times_of_logins_and_tags() {
    let each = |what: &str, times: u32, work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        println!(
            "{what}: {:.2} us",
            start.elapsed().as_secs_f64() * 1e6 / f64::from(times)
        );
    };
    let logins = logins();
    let key = ClientKey::from_seed(&[1; 32]);
    each("login, client", 200, &mut || {
        ClientLogin::ask(&key, b"", &INSTANCE, logins.kem_key(), 1).unwrap();
    });
    let (request, _) = ClientLogin::ask(&key, b"", &INSTANCE, logins.kem_key(), 1).unwrap();
    let signed = Signed::of_login(&INSTANCE, logins.kem_key(), &request).unwrap();
    each("login, server, without the signature", 200, &mut || {
        logins
            .open(Entrant::listed(1, rate(1.0)), &signed, &request.ciphertext)
            .unwrap();
    });
    let mut alice = log_in(&logins, 1, rate(1e9));
    for len in [64, 1 << 10, 16 << 10, 400 << 10] {
        let message = vec![7; len];
        each(&format!("tag, {len} bytes"), 2000, &mut || {
            alice.tag(&message);
        });
        let tags: Vec<RequestTag> = (0..2000).map(|_| alice.tag(&message)).collect();
        let mut tags = tags.iter();
        each(&format!("check, {len} bytes"), 2000, &mut || {
            check(&logins, tags.next().unwrap(), &message).unwrap();
        });
    }
}
