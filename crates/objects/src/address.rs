//! Addresses of indexes in object stores.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use object_store::path::Path as Key;

use crate::Error;

/// The protocol with which an address begins.
const S3: &str = "s3://";

/// The place of an index in an object store: `s3://bucket/prefix`. The names of all its objects begin with the
/// prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    bucket: String,
    prefix: String,
}

impl Address {
    /// The bucket.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The prefix, without a final slash.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The address, in the form in which errors name it and its objects.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Address {
            address: text.to_owned(),
            why,
        };
        let rest = text.strip_prefix(S3).ok_or_else(|| wrong("no s3://"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let of_bucket = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if bucket.is_empty() || !bucket.chars().all(of_bucket) {
            return Err(wrong("no bucket's name"));
        }
        let prefix = prefix.trim_end_matches('/');
        // An index must have a prefix, so that other files of the bucket do not belong to it.
        if prefix.is_empty() {
            return Err(wrong("no prefix"));
        }
        // Only one spelling is accepted, so that a printed address is the real one.
        let one = Key::parse(prefix).is_ok_and(|key| key.as_ref() == prefix);
        if !one || prefix.split('/').any(|name| [".", ".."].contains(&name)) {
            return Err(wrong("no prefix of names with single slashes between them"));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{S3}{}/{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_printed() {
        for text in ["s3://b/p", "s3://my-bucket.x/a/b/base.index"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        let slash: Address = "s3://b/p/".parse().unwrap();
        assert_eq!(slash.to_string(), "s3://b/p");
        for wrong in [
            "",
            "b/p",
            "S3://b/p",
            "s3://",
            "s3:///p",
            "s3://b",
            "s3://b/",
            "s3://b//p",
            "s3://b/p//q",
            "s3://b/../q",
            "s3://b/./q",
            "s3://user:secret@host/p",
            "s3://b/p?x",
            "s3://b/p#x",
            "s3://b/a b\n",
        ] {
            let read = wrong.parse::<Address>();
            let same = read.as_ref().is_ok_and(|read| read.to_string() == wrong);
            assert!(read.is_err() || same, "{wrong}: {read:?}");
        }
        assert!("s3://user:secret@host/p".parse::<Address>().is_err());
    }
}
