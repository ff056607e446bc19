//! The names of an index's metric, packing and routing on the command line.

use clap::ValueEnum;
use sordino_search::manifest::Packing;
use sordino_search::{Metric, Routing};

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum MetricName {
    /// The angle; zero vectors are refused.
    Cosine,
    /// The inner product.
    #[value(alias = "ip")]
    InnerProduct,
    /// The Euclidean distance.
    #[value(alias = "l2")]
    Euclidean,
}

impl From<MetricName> for Metric {
    fn from(name: MetricName) -> Self {
        match name {
            MetricName::Cosine => Self::Cosine,
            MetricName::InnerProduct => Self::InnerProduct,
            MetricName::Euclidean => Self::Euclidean,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PackingName {
    /// The longest queries, the shortest hint.
    #[value(name = "4")]
    T4,
    /// Half the query, twice the hint; so each of these against the one before.
    #[value(name = "8")]
    T8,
    /// For 256 dimensions and more.
    #[value(name = "16")]
    T16,
    /// For 512 dimensions and more.
    #[value(name = "32")]
    T32,
    /// For 1024 dimensions and more.
    #[value(name = "64")]
    T64,
}

impl From<PackingName> for Packing {
    fn from(name: PackingName) -> Self {
        match name {
            PackingName::T4 => Self::T4,
            PackingName::T8 => Self::T8,
            PackingName::T16 => Self::T16,
            PackingName::T32 => Self::T32,
            PackingName::T64 => Self::T64,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum RoutingName {
    /// The centroids are downloaded once.
    Downloaded,
    /// The server scores the centroids under encryption, and sees them.
    Encrypted,
}

impl From<RoutingName> for Routing {
    fn from(name: RoutingName) -> Self {
        match name {
            RoutingName::Downloaded => Self::Downloaded,
            RoutingName::Encrypted => Self::Encrypted,
        }
    }
}
