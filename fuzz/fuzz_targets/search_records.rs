#![no_main]
//! What clients open about records: sets of numbers, ids of each kind, attributes. What is read is written back
//! as the same.

use libfuzzer_sys::fuzz_target;
use sordino_index::IdKind;
use sordino_index::attributes::Attributes;
use sordino_index::ids::Ids;
use sordino_index::numbers::Numbers;

fuzz_target!(|data: &[u8]| {
    let mut code = Vec::new();
    if let Ok(numbers) = Numbers::read(&mut &data[..]) {
        numbers.write(&mut code);
        assert_eq!(Numbers::read(&mut &code[..]).ok(), Some(numbers));
    }
    let Some((&count, rest)) = data.split_first() else {
        return;
    };
    for kind in IdKind::ALL {
        if let Ok(ids) = Ids::read(kind, count.into(), rest) {
            assert_eq!(ids.len(), usize::from(count));
            code.clear();
            ids.write(&mut code);
            assert_eq!(Ids::read(kind, count.into(), &code).ok(), Some(ids));
        }
    }
    if let Ok(attributes) = Attributes::read(count.into(), rest) {
        code.clear();
        attributes.write(&mut code);
        let again = Attributes::read(count.into(), &code).expect("what was written");
        // Not by their values: some numbers are none.
        assert_eq!(again.columns().count(), attributes.columns().count());
    }
});
