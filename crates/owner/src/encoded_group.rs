//! Records under one content key in the form that pages hold: exact vectors, and compressed
//! payloads.

use sordino_index::Error;
use sordino_index::payload::{Carried, LENGTH_LEN};
use sordino_vault::content_key::ContentKey;
use sordino_vault::numbers::{self, Numbers};

use crate::compression::Compression;
use crate::laying::Laying;

/// The records under one content key, one for each of `places`, in the same order.
pub(crate) struct Group {
    pub(crate) number: u32,
    pub(crate) key: ContentKey,
    pub(crate) places: Numbers,
    pub(crate) carried: Vec<Carried>,
}

/// Records under one content key, encoded for pages.
pub(crate) struct EncodedGroup {
    pub(crate) number: u32,
    pub(crate) key: ContentKey,
    pub(crate) places: Numbers,
    pub(crate) dictionary: Vec<u8>,
    pub(crate) records: Vec<Vec<u8>>,
}

impl EncodedGroup {
    pub(crate) fn new(group: Group, payloads: bool, laying: Laying) -> Result<Self, Error> {
        let Group {
            number,
            key,
            places,
            carried,
        } = group;
        assert_eq!(places.len(), carried.len(), "something for each record");
        let mut dictionary = Vec::new();
        let records = if payloads {
            let plain: Vec<&[u8]> = carried.iter().map(|it| &it.payload[..]).collect();
            let compression = match laying {
                Laying::All(_) => Compression::new(&plain)?,
                Laying::Recent => Compression::none(),
            };
            let records = compression.compress(carried, |it| &it.payload, record)?;
            dictionary = compression.dictionary;
            records
        } else {
            carried.into_iter().map(|it| it.exact).collect()
        };
        Ok(Self {
            number,
            key,
            places,
            dictionary,
            records,
        })
    }

    pub(crate) fn lens(&self) -> impl Iterator<Item = usize> {
        self.records.iter().map(Vec::len)
    }
}

/// Encodes a record for pages, with its payload or the compressed frame of its payload.
fn record(carried: Carried, frame: Option<&[u8]>) -> Vec<u8> {
    let body = frame.unwrap_or(&carried.payload);
    let mut record = Vec::with_capacity(carried.exact.len() + LENGTH_LEN + body.len());
    record.extend(&carried.exact);
    let head = (body.len() as u64) << 1 | u64::from(frame.is_some());
    numbers::varint(head, &mut record);
    record.extend(body);
    record.shrink_to_fit();
    record
}
