//! Bytes as JSON lines. The target must not panic, and the encrypted lines are JSON lines, too.
#![no_main]

use sordino_fpe::{AesKey, Format};
use sordino_fpe_files::{Members, OnError, Transform, transform_json_lines};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let Ok(cipher) = Format::phone(0).cipher(&AesKey::new_128(&[7; 16])) else {
        return;
    };
    let mut transform = Transform {
        cipher,
        encrypt: true,
        tweak: Vec::new(),
        keep_empty: first & 1 == 0,
        on_error: OnError::Skip,
    };
    let members = Members {
        value: "a".to_owned(),
        tweak: (first & 2 == 0).then(|| "b".to_owned()),
    };
    let work = |transform: &Transform, data: &[u8]| {
        let (mut out, mut refused) = (Vec::new(), 0);
        let count = &mut |_| refused += 1;
        let done = transform_json_lines(transform, &members, &mut &*data, &mut out, count);
        done.ok().map(|()| (out, refused))
    };
    let Some((hidden, _)) = work(&transform, data) else {
        return;
    };
    transform.encrypt = false;
    let Some((_, refused)) = work(&transform, &hidden) else {
        panic!("what was encrypted cannot be read");
    };
    assert_eq!(refused, 0);
});
