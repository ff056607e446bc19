//! Reads an audit log and a head. The target must not panic, and a head without a signature is not
//! accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sordino_authz::{AuditLog, Head};

fuzz_target!(|data: &[u8]| {
    if let Ok(log) = AuditLog::open(data) {
        // An entry has at least a digest, a number, the previous digest, two epochs and a time.
        assert!(log.len() <= data.len() / 96);
    }
    if let Ok(head) = Head::from_bytes(data) {
        assert_eq!(head.to_bytes(), data);
        assert!(head.verify(&[], &[7; 1952]).is_err());
    }
});
