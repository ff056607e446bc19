//! Changes of readers, labels and groups.

use crate::reader_secret::ReaderPublicKey;
use crate::writer_secret::WriterPublicKey;

/// A change of what readers may read.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Gives a reader labels and groups in addition to its own. A new reader has to come with its public key.
    Grant {
        /// The reader's name.
        reader: &'a str,
        /// Its public key.
        public: Option<&'a ReaderPublicKey>,
        /// Labels, made if need be.
        labels: &'a [String],
        /// Existing groups.
        groups: &'a [String],
    },
    /// Gives a reader labels, and the right to add records under them until a time. Without labels it may add records
    /// without a label.
    GrantWriter {
        /// The reader's name.
        reader: &'a str,
        /// Its public key; an existing writer needs no key here.
        public: Option<&'a WriterPublicKey>,
        /// Labels, made if need be.
        labels: &'a [String],
        /// The time at which the right ends, under all labels, in seconds since 1970.
        until: u64,
    },
    /// Takes from a reader the right to add records. It still reads the same.
    StopWriting {
        /// The reader's name.
        reader: &'a str,
    },
    /// Takes labels and groups from a reader.
    Withdraw {
        /// The reader's name.
        reader: &'a str,
        /// Labels that it was granted itself.
        labels: &'a [String],
        /// Groups that it is in.
        groups: &'a [String],
    },
    /// Takes a reader off the list.
    Revoke {
        /// Its name.
        reader: &'a str,
    },
    /// Says which labels a group may read, and makes it if need be. A group without labels is one all the same.
    Group {
        /// The group's name.
        group: &'a str,
        /// All its labels, made if need be.
        labels: &'a [String],
    },
    /// Takes a group from all readers.
    Ungroup {
        /// The group's name.
        group: &'a str,
    },
}

impl<'a> Change<'a> {
    /// Gives a reader labels and groups, and puts it on the list if it comes with its public key.
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

    /// Takes from a reader the right to add records.
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

    /// Takes a reader off the list.
    #[must_use]
    pub fn revoke(reader: &'a str) -> Self {
        Self::Revoke { reader }
    }

    /// Says which labels a group may read.
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
