//! Lists with messages of any lengths: the chunks of all messages share the lanes, and then their parents do.
//!
//! The tree of a message joins neighbours level by level, and a chaining value without a neighbour moves up unchanged.
//! This gives the specification's tree (section 2.1), whose left subtrees are full.

use zeroize::Zeroize;

use crate::lanes::{Kernel, run};
use crate::mode::Mode;
use crate::node::{CHUNK, Node};

/// True if the official crate hashes a message of this length faster than `N` lanes do. This is true if the message
/// fills that crate's own lanes.
///
/// The official crate takes `N` chunks together. It takes the rest in powers of two, down to single chunks and the
/// partial one. Measured on Zen 4, this crate hashes a full group in 2.6 us (16 lanes) or 1.9 us (8 lanes). The
/// official crate takes 0.4 us less. A remaining piece of a quarter of the lanes or less wastes 0.4 to 0.9 us with 16
/// lanes, and 0.4 us with 8. For a piece of half of the lanes, both crates take about the same time.
#[inline]
fn fills_lanes<const N: usize>(len: usize) -> bool {
    if N == 1 {
        return len > 64 * CHUNK;
    }
    let groups = len / (N * CHUNK);
    let pieces = (len / CHUNK % N.div_ceil(2)).count_ones() + u32::from(!len.is_multiple_of(CHUNK));
    let cost = if N > 8 { 2 } else { 1 };
    groups > 0 && groups >= cost * pieces as usize
}

/// The largest number of chunks of longer messages that are in progress together. The number is large enough that idle
/// lanes at the end of a group cost only a few per cent, and small enough for the stack.
const SLOTS: usize = 512;

/// The place for a node's chaining value.
#[derive(Clone, Copy)]
enum Target {
    /// The node is the root: its value is the digest of this message.
    Digest(usize),
    /// The node is a child: its value goes to this place of the level above.
    Slot(usize),
}

pub(crate) fn hash<const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    mut messages: &[M],
    mut digests: &mut [D],
    threads: bool,
) {
    while !messages.is_empty() {
        let (len, slots) = group::<N, M>(messages);
        let (group, others) = messages.split_at(len);
        let (group_digests, other_digests) = digests.split_at_mut(len);
        let nodes = Chunks::<N, M> {
            messages: group,
            i: 0,
            rest: &[],
            counter: 0,
            slot: 0,
        };
        if slots == 0 {
            run(kernel, mode, nodes, |target, bytes| {
                if let Target::Digest(i) = target {
                    group_digests[i] = bytes.into();
                }
            });
        } else {
            trees(kernel, mode, nodes, group, group_digests);
        }
        for (message, digest) in group.iter().zip(group_digests) {
            let message = message.as_ref();
            if fills_lanes::<N>(message.len()) {
                *digest = mode.official(message, threads).into();
            }
        }
        (messages, digests) = (others, other_digests);
    }
}

/// The number of chunks of a message.
#[inline]
fn chunks(message: &[u8]) -> usize {
    message.len().div_ceil(CHUNK).max(1)
}

/// The number of chaining values of a message that need a place.
#[inline]
fn slots<const N: usize>(message: &[u8]) -> usize {
    let chunks = chunks(message);
    if chunks == 1 || fills_lanes::<N>(message.len()) {
        0
    } else {
        chunks
    }
}

/// The number of messages that fit into a group, and the number of places that they take.
fn group<const N: usize, M: AsRef<[u8]>>(messages: &[M]) -> (usize, usize) {
    let mut taken = 0;
    for (i, message) in messages.iter().enumerate() {
        let slots = slots::<N>(message.as_ref());
        if taken + slots > SLOTS {
            return (i, taken);
        }
        taken += slots;
    }
    (messages.len(), taken)
}

/// The chunks of a group, in order, except for the messages that go to the official crate.
struct Chunks<'a, const N: usize, M> {
    messages: &'a [M],
    /// The next message.
    i: usize,
    /// The rest of a message of several chunks.
    rest: &'a [u8],
    /// The index of that message's next chunk.
    counter: u64,
    /// The place of that message's next chaining value.
    slot: usize,
}

impl<'a, const N: usize, M: AsRef<[u8]>> Iterator for Chunks<'a, N, M> {
    type Item = (Node<'a>, Target);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.is_empty() {
            let message = self.messages.get(self.i)?.as_ref();
            self.i += 1;
            if message.len() <= CHUNK {
                return Some((Node::chunk(message, 0, true), Target::Digest(self.i - 1)));
            }
            if !fills_lanes::<N>(message.len()) {
                (self.rest, self.counter) = (message, 0);
            }
        }
        let (chunk, rest) = self.rest.split_at(self.rest.len().min(CHUNK));
        let item = (
            Node::chunk(chunk, self.counter, false),
            Target::Slot(self.slot),
        );
        self.rest = rest;
        self.counter += 1;
        self.slot += 1;
        Some(item)
    }
}

/// Hashes a group that has messages of several chunks.
fn trees<'a, const N: usize, M: AsRef<[u8]>, D: From<[u8; 32]>>(
    kernel: impl Kernel<N>,
    mode: &Mode,
    nodes: Chunks<'a, N, M>,
    messages: &'a [M],
    digests: &mut [D],
) {
    let mut places = [[[0; 32]; SLOTS]; 2];
    let [level, above] = &mut places;
    let (mut level, mut above) = (level, above);
    run(kernel, mode, nodes, |target, bytes| match target {
        Target::Digest(i) => digests[i] = bytes.into(),
        Target::Slot(slot) => level[slot] = bytes,
    });
    let mut height = 0;
    while rows::<N, M>(messages, height).next().is_some() {
        let parents = rows::<N, M>(messages, height).flat_map(|row| {
            let (pairs, _) = level[row.from..][..row.width].as_chunks::<2>();
            pairs
                .iter()
                .enumerate()
                .map(move |(k, pair)| match row.width {
                    2 => (Node::parent(pair, true), Target::Digest(row.message)),
                    _ => (Node::parent(pair, false), Target::Slot(row.to + k)),
                })
        });
        run(kernel, mode, parents, |target, bytes| match target {
            Target::Digest(i) => digests[i] = bytes.into(),
            Target::Slot(slot) => above[slot] = bytes,
        });
        for row in rows::<N, M>(messages, height).filter(|row| !row.width.is_multiple_of(2)) {
            above[row.to + row.width / 2] = level[row.from + row.width - 1];
        }
        core::mem::swap(&mut level, &mut above);
        height += 1;
    }
    if mode.is_secret() {
        places.zeroize();
    }
}

/// One message's chaining values at one height of its tree.
#[derive(Clone, Copy)]
struct Row {
    message: usize,
    width: usize,
    /// The message's first place at this height.
    from: usize,
    /// The message's first place at the height above.
    to: usize,
}

/// The rows at a height that still have at least two chaining values.
fn rows<const N: usize, M: AsRef<[u8]>>(messages: &[M], height: u32) -> impl Iterator<Item = Row> {
    let (mut from, mut to) = (0, 0);
    messages
        .iter()
        .enumerate()
        .filter_map(move |(message, bytes)| {
            let width = slots::<N>(bytes.as_ref()).div_ceil(1 << height);
            let row = (width > 1).then_some(Row {
                message,
                width,
                from,
                to,
            })?;
            from += width;
            // A pair makes the root, which needs no place.
            to += if width == 2 { 0 } else { width.div_ceil(2) };
            Some(row)
        })
}
