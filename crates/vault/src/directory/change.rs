//! Changes of readers, labels and groups.

use crate::reader_secret::ReaderPublicKey;
use crate::writer_secret::WriterPublicKey;

/// A change of what readers may read.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Gives a reader labels and groups in addition to those that it has. A new reader needs its public key here.
    Grant {
        /// The reader's name.
        reader: &'a str,
        /// The reader's public key.
        public: Option<&'a ReaderPublicKey>,
        /// Labels, which are created if they do not exist.
        labels: &'a [String],
        /// Existing groups.
        groups: &'a [String],
    },
    /// Gives a reader labels, and the right to add records under them until a time. Without labels the reader may add
    /// records that have no label.
    GrantWriter {
        /// The reader's name.
        reader: &'a str,
        /// The writer's public key. An existing writer needs none here.
        public: Option<&'a WriterPublicKey>,
        /// Labels, which are created if they do not exist.
        labels: &'a [String],
        /// The time at which the right ends, under all labels, in seconds since 1970.
        until: u64,
    },
    /// Takes the right to add records from a reader. The reader can still read the same records.
    StopWriting {
        /// The reader's name.
        reader: &'a str,
    },
    /// Takes labels and groups from a reader.
    Withdraw {
        /// The reader's name.
        reader: &'a str,
        /// Labels that the reader was granted directly.
        labels: &'a [String],
        /// Groups that the reader is in.
        groups: &'a [String],
    },
    /// Removes a reader from the list.
    Revoke {
        /// The reader's name.
        reader: &'a str,
    },
    /// Sets the labels that a group may read, and creates the group if it does not exist. A group may have no labels.
    Group {
        /// The group's name.
        group: &'a str,
        /// All its labels, which are created if they do not exist.
        labels: &'a [String],
    },
    /// Removes a group from all readers.
    Ungroup {
        /// The group's name.
        group: &'a str,
    },
}

impl<'a> Change<'a> {
    /// Gives a reader labels and groups. With the reader's `public` key, this change also adds the reader to the list.
    #[must_use]
    pub fn grant(
        reader: &'a str,
        public: Option<&'a ReaderPublicKey>,
        labels: &'a [String],
        groups: &'a [String],
    ) -> Self {
        Self::Grant {
            reader,
            public,
            labels,
            groups,
        }
    }

    /// Gives a reader labels, and the right to add records under them until a time, in seconds since 1970.
    #[must_use]
    pub fn grant_writer(
        reader: &'a str,
        public: Option<&'a WriterPublicKey>,
        labels: &'a [String],
        until: u64,
    ) -> Self {
        Self::GrantWriter {
            reader,
            public,
            labels,
            until,
        }
    }

    /// Takes the right to add records from a reader.
    #[must_use]
    pub fn stop_writing(reader: &'a str) -> Self {
        Self::StopWriting { reader }
    }

    /// Takes labels and groups from a reader.
    #[must_use]
    pub fn withdraw(reader: &'a str, labels: &'a [String], groups: &'a [String]) -> Self {
        Self::Withdraw {
            reader,
            labels,
            groups,
        }
    }

    /// Removes a reader from the list.
    #[must_use]
    pub fn revoke(reader: &'a str) -> Self {
        Self::Revoke { reader }
    }

    /// Sets the labels that a group may read.
    #[must_use]
    pub fn group(group: &'a str, labels: &'a [String]) -> Self {
        Self::Group { group, labels }
    }

    /// Removes a group.
    #[must_use]
    pub fn ungroup(group: &'a str) -> Self {
        Self::Ungroup { group }
    }
}
