//! Tests with SoftHSM as the token, if it is installed.

#![expect(clippy::unwrap_used, reason = "helpers fail as their tests do")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use key_service::TokenKey;
use sordino_vault::{KeyWrap, OwnerKeys, ReaderSecret};

const MODULES: [&str; 3] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
];

/// The inner run's configuration: SoftHSM reads its path from the environment when it is loaded.
const CONFIGURATION: &str = "SOFTHSM2_CONF";

fn module() -> Option<PathBuf> {
    let named = std::env::var_os("SOFTHSM2_MODULE").map(PathBuf::from);
    let mut all = named.into_iter().chain(MODULES.map(PathBuf::from));
    all.find(|path| path.exists())
}

fn session(token: &Pkcs11, slot: Slot) -> Session {
    let session = token.open_rw_session(slot).unwrap();
    let pin = AuthPin::new("fedcba123456".into());
    session.login(UserType::User, Some(&pin)).unwrap();
    session
}

fn token(module: &Path) -> (Pkcs11, Slot) {
    let token = Pkcs11::new(module).unwrap();
    let how = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
    token.initialize(how).unwrap();
    let slot = token.get_slots_with_token().unwrap().remove(0);
    let officer = AuthPin::new("abcdef654321".into());
    token.init_token(slot, &officer, "sordino").unwrap();
    let session = token.open_rw_session(slot).unwrap();
    session.login(UserType::So, Some(&officer)).unwrap();
    session
        .init_pin(&AuthPin::new("fedcba123456".into()))
        .unwrap();
    drop(session);
    (token, slot)
}

#[test]
fn secrets_come_back_from_a_token_and_nothing_else_does() {
    let Some(module) = module() else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: keys in a token, SoftHSM is not installed"
        );
        return;
    };
    // The test runs in a separate process with a new token.
    if std::env::var_os(CONFIGURATION).is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("softhsm2.conf");
        let text = format!("directories.tokendir = {}\n", dir.path().display());
        std::fs::write(&path, text).unwrap();
        let mut run = Command::new(std::env::current_exe().unwrap());
        assert!(run.env(CONFIGURATION, &path).status().unwrap().success());
        return;
    }
    let (token, slot) = token(&module);
    let first = TokenKey::generate(session(&token, slot), "first").unwrap();
    let owner = OwnerKeys::from_master([1; 32]);
    let wrapped = owner.wrapped(&first).unwrap();
    assert_eq!(wrapped.len(), 48);
    assert!(!wrapped.windows(8).any(|piece| piece == [1; 8]));
    drop(first);
    // The key is found again, as after a restart.
    let first = TokenKey::find(session(&token, slot), "first").unwrap();
    let back = OwnerKeys::unwrapped(&first, &wrapped).unwrap();
    assert_eq!(back.master(), owner.master());
    let reader = ReaderSecret::from_bytes([2; 32]);
    let other = reader.wrapped(&first).unwrap();
    let back = ReaderSecret::unwrapped(&first, &other).unwrap();
    assert_eq!(back.as_bytes(), reader.as_bytes());
    assert!(OwnerKeys::unwrapped(&first, &other).is_err());
    assert!(ReaderSecret::unwrapped(&first, &wrapped).is_err());
    for at in [0, 8, 47] {
        let mut changed = wrapped.clone();
        changed[at] ^= 1;
        assert!(first.unwrap(&changed).is_err(), "byte {at}");
    }
    assert!(first.unwrap(&wrapped[..40]).is_err() && first.unwrap(&[]).is_err());
    drop(first);
    let second = TokenKey::generate(session(&token, slot), "second").unwrap();
    assert!(second.unwrap(&wrapped).is_err());
    drop(second);
    assert!(TokenKey::find(session(&token, slot), "third").is_err());
}
