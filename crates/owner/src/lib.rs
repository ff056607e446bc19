#![doc = include_str!("../README.md")]

/// Building an index in memory.
pub mod build;
/// The ways to cut an index, and their costs.
pub mod plan;

/// An index in a directory, which its owner changes.
pub mod store;

mod pins;

mod spec;
mod step;

// Segments
mod base;
mod binding;
mod build_context;
mod column;
mod combinations;
mod compression;
mod encoded_group;
mod frame;
mod groups;
mod laying;
mod lifted;
mod lists;
mod pages;
mod payload;
mod routed;
mod rows;
mod sample_recall;
mod scaled_rows;
mod segment;

// Measurements and derivations of a build
mod cluster;
mod measurement;
mod probe;
mod questions;
mod random;
mod recall;
mod room;
mod sketch;
mod trained_centroids;

pub use measurement::{Alternative, Measurement};
pub use pins::Pins;
pub use plan::{Plan, Wish};
pub use sordino_index::Error;
pub use sordino_vault::OwnerKeys;
pub use sordino_vault::directory::{Change, Label, Reading, Writing};
pub use spec::{Batch, Form, Spec};
pub use step::Step;
pub use store::{
    AccessReport, Added, Assembly, Blueprint, Centroids, Clustering, Compaction, Contents, Edit,
    Nearest, Piece, Store, Stored, Verified, WriterStore,
};
