//! The public facts to which a content's id is bound, in addition to the content.
//!
//! Every field has a fixed length or comes after its length, and every choice is a number in a field of its own. So
//! two sets of facts never share an encoding.

use sordino_index::IdKind;
use sordino_index::code::Codec;
use sordino_index::manifest::{Checking, Grid, Mode, Packing, Routing, SecretPacking};
use sordino_index::payload::PageForm;
use sordino_vectors::Metric;

use crate::plan::Candidate;
use crate::spec::{Form, TAIL};

/// An encoding that grows field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binding(Vec<u8>);

impl Binding {
    /// The facts that all contents of an index share: its mode, its kind of ids, how vectors are mapped, and their
    /// dimension.
    pub(crate) fn of_index(
        variant: Variant,
        ids: IdKind,
        metric: Metric,
        dim: usize,
        rotation: &[u8; 32],
    ) -> Self {
        let metric = match metric {
            Metric::Cosine => 0,
            Metric::InnerProduct => 1,
            Metric::Euclidean => 2,
        };
        let ids = match ids {
            IdKind::Number => 0,
            IdKind::Text => 1,
            IdKind::Uuid => 2,
        };
        Self(variant.facts().to_vec())
            .word(ids)
            .word(metric)
            .word(dim as u64)
            .bytes(rotation)
    }

    /// Appends the facts of one content that is written in this version.
    pub(crate) fn with(self, content: &Content<'_>, version: u64) -> Self {
        let binding = self.word(version);
        match content {
            Content::Open => binding.word(0),
            Content::Masked => binding.word(1),
            Content::Chunks(codec) => binding.word(2).word(codec.bits() as u64),
            Content::Base(candidate) => binding.word(3).candidate(candidate),
            Content::Payloads(form) => binding.word(4).pages(form),
            Content::Deleted => binding.word(5),
            Content::Routed(grid) => binding.word(6).grid(grid),
            Content::Readers => binding.word(7),
            Content::Combination => binding.word(8),
            Content::Frame => binding.word(9),
        }
    }

    /// The encoding.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn candidate(self, candidate: &Candidate) -> Self {
        let routing = match candidate.routing {
            Routing::Downloaded => 0,
            Routing::Encrypted => 1,
        };
        let layout = candidate.layout;
        self.word(candidate.clusters as u64)
            .word(layout.dim.into())
            .word(layout.slots.into())
            .word(codec_bits(layout.codec))
            .word(routing)
    }

    fn pages(self, form: &PageForm) -> Self {
        let width = form.look.map_or(0, |look| look.width);
        let sized = self.word(form.page_len.into());
        sized.word(form.payloads.into()).word(width.into())
    }

    fn grid(self, grid: &Grid) -> Self {
        let Grid {
            groups,
            clusters,
            slots,
            packing,
        } = *grid;
        let packing = match packing {
            SecretPacking::T64 => 0,
            SecretPacking::T128 => 1,
            SecretPacking::T16 => 2,
            SecretPacking::T32 => 3,
        };
        let sizes = [groups, clusters, slots];
        let sized = sizes
            .into_iter()
            .fold(self, |it, size| it.word(size.into()));
        sized.word(packing)
    }

    fn word(mut self, word: u64) -> Self {
        self.0.extend(word.to_le_bytes());
        self
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut binding = self.word(bytes.len() as u64);
        binding.0.extend_from_slice(bytes);
        binding
    }
}

/// No two codecs have the same number of bits.
fn codec_bits(codec: Codec) -> u64 {
    codec.bits() as u64
}

/// A kind of content, with the values that determine its shape.
pub(crate) enum Content<'a> {
    Open,
    Masked,
    Chunks(Codec),
    Base(&'a Candidate),
    Payloads(PageForm),
    Deleted,
    Routed(&'a Grid),
    Readers,
    Combination,
    Frame,
}

/// A mode. If rows are scored whole, also their packing and the check of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    Sealed,
    Local,
    Open(Packing, Checking),
    Masked(Packing, Checking),
    /// Routed mode, with the packing of its tail.
    Routed(Packing),
}

impl Variant {
    /// The numbers of the mode, the packing and the check, or 0 if the mode has no packing or check. Each number
    /// has its own byte, so that more packings or checks cannot make two variants equal.
    fn facts(self) -> [u8; 3] {
        match self {
            Self::Sealed => [0, 0, 0],
            Self::Local => [1, 0, 0],
            Self::Open(packing, checking) => {
                [2, packing_number(packing), checking_number(checking)]
            }
            Self::Masked(packing, checking) => {
                [3, packing_number(packing), checking_number(checking)]
            }
            Self::Routed(packing) => [4, packing_number(packing), 0],
        }
    }

    /// The variant of a new index.
    pub(crate) fn new(form: &Form, checking: Checking) -> Self {
        match *form {
            Form::Sealed { .. } => Self::Sealed,
            Form::Local => Self::Local,
            Form::Open(packing) => Self::Open(packing, checking),
            Form::Masked(packing) => Self::Masked(packing, checking),
            Form::Routed { .. } => Self::Routed(TAIL),
        }
    }
}

fn packing_number(packing: Packing) -> u8 {
    match packing {
        Packing::T4 => 0,
        Packing::T8 => 1,
        Packing::T64 => 2,
        Packing::T16 => 3,
        Packing::T32 => 4,
    }
}

fn checking_number(checking: Checking) -> u8 {
    match checking {
        Checking::None => 0,
        Checking::Sums => 1,
        Checking::Exact => 2,
    }
}

impl From<&Mode> for Variant {
    fn from(mode: &Mode) -> Self {
        match mode {
            Mode::Sealed(_) => Self::Sealed,
            Mode::Local(_) => Self::Local,
            Mode::Open(columns) => Self::Open(columns.packing, columns.checking),
            Mode::Masked(columns) => Self::Masked(columns.packing, columns.checking),
            Mode::Routed(mode) => Self::Routed(mode.tail.packing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::look::SecondLook;
    use std::collections::HashSet;

    /// All variants of all modes.
    fn variants() -> Vec<Variant> {
        let packings = Packing::ALL;
        let checked = || {
            packings
                .into_iter()
                .flat_map(|packing| Checking::ALL.map(|it| (packing, it)))
        };
        [Variant::Sealed, Variant::Local]
            .into_iter()
            .chain(checked().map(|(packing, it)| Variant::Open(packing, it)))
            .chain(checked().map(|(packing, it)| Variant::Masked(packing, it)))
            .chain(packings.map(Variant::Routed))
            .collect()
    }

    /// Each fact has its own byte, so a new choice of one fact never changes the byte of another fact.
    #[test]
    fn every_variant_has_bytes_of_its_own() {
        let facts: HashSet<[u8; 3]> = variants().into_iter().map(Variant::facts).collect();
        assert_eq!(facts.len(), 2 + 2 * 15 + 5);
        for (a, b) in Packing::ALL.iter().zip(&Packing::ALL[1..]) {
            for checking in Checking::ALL {
                let of = |packing: &Packing| Variant::Masked(*packing, checking).facts();
                let (a, b) = (of(a), of(b));
                assert_eq!((a[0], a[2]), (b[0], b[2]));
                assert_ne!(a[1], b[1]);
            }
        }
    }

    #[test]
    fn no_two_sets_of_facts_share_an_encoding() {
        let mut all = HashSet::new();
        let mut count = 0;
        let metrics = [Metric::Cosine, Metric::InnerProduct, Metric::Euclidean];
        let grid = Grid {
            groups: 2,
            clusters: 3,
            slots: 64,
            packing: SecretPacking::T64,
        };
        let packing = SecretPacking::T128;
        let (groups, clusters, slots) = (3, 2, 128);
        let grids = [
            grid,
            Grid { groups, ..grid },
            Grid { clusters, ..grid },
            Grid { slots, ..grid },
            Grid { packing, ..grid },
        ];
        let contents = || {
            let codecs = [Codec::Int8, Codec::Int12].map(Content::Chunks);
            let look = |width| SecondLook {
                candidates: 32,
                width,
            };
            let forms = [
                (16, true, None),
                (1024, true, None),
                (1024, true, Some(look(4))),
                (1024, false, Some(look(4))),
                (1024, false, Some(look(5))),
            ];
            let forms = forms.map(|(page_len, payloads, look)| {
                Content::Payloads(PageForm {
                    page_len,
                    payloads,
                    look,
                })
            });
            let rest = [
                Content::Open,
                Content::Masked,
                Content::Deleted,
                Content::Readers,
                Content::Combination,
                Content::Frame,
            ];
            let grids = grids.iter().map(Content::Routed);
            codecs.into_iter().chain(forms).chain(rest).chain(grids)
        };
        for variant in variants() {
            for metric in metrics {
                for (dim, rotation, version) in [
                    (4, [1; 32], 1),
                    (5, [1; 32], 1),
                    (4, [2; 32], 1),
                    (4, [1; 32], 2),
                ] {
                    for ids in IdKind::ALL {
                        let index = Binding::of_index(variant, ids, metric, dim, &rotation);
                        for content in contents() {
                            let binding = index.clone().with(&content, version);
                            all.insert(binding.as_bytes().to_vec());
                            count += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(all.len(), count);
    }
}
