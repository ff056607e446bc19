//! Hashes many messages at once, makes a Merkle root of their digests, and proves one of them.
//!
//! `cargo run --release --example hash [FILE]`

use std::time::Instant;

use sordino_hash::merkle::{Proof, Tree};
use sordino_hash::{BatchHasher, Hash, hash, hash_file};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(path) = std::env::args_os().nth(1) {
        println!("{}  {}", hash_file(&path)?, path.display());
        return Ok(());
    }

    let hasher = BatchHasher::new();
    println!(
        "levels of this processor: {}\n",
        sordino_cpu::levels().join(", ")
    );
    println!(
        "{:>22} {:>12} {:>12} {:>12}",
        "messages", "one by one", "together", "all threads"
    );
    let data: Vec<u8> = (0..=250).cycle().take(30_000_000).collect();
    for (count, len) in [
        (100_000, 64),
        (20_000, 540),
        (20_000, 1024),
        (2000, 4096),
        (500, 50_000),
    ] {
        let messages: Vec<&[u8]> = data.chunks_exact(len).take(count).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); count];

        let start = Instant::now();
        let expected: Vec<Hash> = messages.iter().map(|message| hash(message)).collect();
        let one_by_one = start.elapsed();

        let start = Instant::now();
        hasher.hash_into(&messages, &mut digests)?;
        let together = start.elapsed();
        assert!(digests == expected);

        let start = Instant::now();
        hasher.par_hash_into(&messages, &mut digests)?;
        let threads = start.elapsed();
        assert!(digests == expected);

        let case = format!("{count} of {len} B");
        println!("{case:>22} {one_by_one:>12.2?} {together:>12.2?} {threads:>12.2?}");
    }

    let buckets: Vec<&[u8]> = data.chunks(20_000).collect();
    let digests = hasher.hash(&buckets);
    let tree = Tree::new(&digests);
    let sent = tree.prove(700).ok_or("there are 1500 buckets")?.to_bytes();
    println!("\nroot of {} buckets: {}", tree.len(), tree.root());

    let received = Proof::from_bytes(&sent)?;
    received.verify(&tree.root(), &hash(buckets[700]))?;
    println!(
        "bucket {} is in it: a proof of {} bytes",
        received.index(),
        sent.len()
    );
    let bent = received.verify(&tree.root(), &hash(b"another bucket"));
    println!("another is not: {}", bent.expect_err("a wrong digest"));
    Ok(())
}
