#![no_main]
//! Lists of the positions of records in pages of payloads, and compressed payloads. A list that is read is written back as
//! the same bytes, and each of its records lies inside its pages. No payload exceeds the largest allowed length.

use libfuzzer_sys::fuzz_target;
use sordino_fuzz::page_list;
use sordino_index::payload::MOST_PAYLOAD;
use sordino_vault::decompression::Decompressor;
use sordino_vault::page_list::PageList;

fuzz_target!(|data: &[u8]| {
    if let Some((form, group, code)) = page_list(data)
        && let Ok(list) = PageList::read(&form, &group, code)
    {
        let written = list.to_bytes(&form, group.pages);
        let again = PageList::read(&form, &group, &written).expect("what was written");
        assert_eq!((&again.places, &again.starts), (&list.places, &list.starts));
        assert_eq!(again.dictionary, list.dictionary);
        for extent in list.extents(&form, &group, 0) {
            assert!(extent.count > 0 && extent.page + extent.count <= group.pages);
            assert!(extent.offset < form.page_len);
        }
    }
    let (dictionary, frame) = data.split_at(data.len() / 2);
    for (dictionary, frame) in [(dictionary, frame), (&[], data)] {
        let Ok(mut decompressor) = Decompressor::new(dictionary) else {
            continue;
        };
        for truncated in [false, true] {
            let read = decompressor.read(frame, truncated);
            assert!(read.is_none_or(|read| read.len() <= MOST_PAYLOAD));
        }
    }
});
