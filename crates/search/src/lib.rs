#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod in_process; // for one search at a time
mod together; // for several searches, which share passes

pub use in_process::{Exchange, InProcess};
pub use together::{Member, Together};

pub use sordino_index::{
    AccessFault, AnyDisk, Bytes, Disk, Error, Files, FilterFault, Id, IdKind, Index, LogFault,
    Memory, NotNext, OwnerFault, OwnerPublicKey, Pin, SignedManifest, manifest,
};
pub use sordino_owner::{
    AccessReport, Added, Alternative, Assembly, Batch, Blueprint, Centroids, Change, Clustering,
    Compaction, Contents, Edit, Form, Label, Measurement, Nearest, Piece, Pins, Plan, Reading,
    Spec, Step, Store, Stored, Verified, Wish, WriterStore, Writing, build, plan,
};
pub use sordino_reader::{
    AsyncTransport, Cache, Client, ConnectOptions, Dial, Filter, Found, Hit, KEYS_LEN, Kind,
    PinStore, Pulled, Question, Retry, SearchBatch, Session, SessionOptions, Stages, Transport,
    graver, pull,
};
pub use sordino_server::{Ask, Encodings, OpenOptions, PendingRequest, Server, Shard, StaticReply};
pub use sordino_vault::{
    KeyWrap, KeyWrapError, OwnerKeys, ReaderKeys, ReaderPublicKey, ReaderSecret, WrappingKey,
    WriterKeys, WriterPublicKey, WriterSecret,
};

pub use sordino_index::digest::Digest;
pub use sordino_index::folder::{Copied, Folder, Recovered};
pub use sordino_index::look::SecondLook;
pub use sordino_index::manifest::Routing;
pub use sordino_index::{code, digest, log, payload};
pub use sordino_vault::attributes::Attributes;
pub use sordino_vault::directory::check_label;
pub use sordino_vectors as vectors;
pub use sordino_vectors::column::{Column, ColumnKind};
pub use sordino_vectors::{Metric, Vectors, metric, recall, rotation, synthetic};
