//! Attacks from the literature on systems of this kind. Each must fail here. Unless the table says otherwise, the same attack
//! also runs without its protection, where it must succeed, so that the test can fail.
//!
//! | attack | from | here | protection off |
//! |---|---|---|---|
//! | intersection of what searches touch, through decoys | Danezis and Serjantov, *Statistical disclosure or intersection attacks on anonymity systems*, IH 2004; Balsa, Troncoso and Diaz, *OB-PWS*, S&P 2012 | `statistics` | a model: sets of numbers with decoys |
//! | counting results by their volume, with which reconstruction from volumes begins | Kellaris, Kollios, Nissim and O'Neill, *Generic attacks on secure outsourced databases*, CCS 2016; Grubbs, Lacharité, Minaud and Paterson, *Pump up the volume*, CCS 2018 | `volume` | a fetch for each hit |
//! | randomness used twice after a reset | Ristenpart and Yilek, *When good randomness goes bad*, NDSS 2010 | `reuse`; `generator`, which looks for bytes that nothing shows | queries prepared before they are for something; none for `generator` |
//! | what several processes of one user have in common | the same | `sharing`: a folder of downloaded parts, a clock that jumps | processes that share their generator's state; a folder that is emptied |
//! | two contents under one keystream | Mason, Watkins, Eisner and Stubblefield, *A natural language approach to automated cryptanalysis of two-time pads*, CCS 2006 | `pads`; `no_key_and_nonce_meets_two_contents` in `store` | one id for two contents |
//! | selective failure | Mohassel and Franklin, *Efficiency tradeoffs for malicious two-party computation*, PKC 2006; Colombo, Nikitin, Corrigan-Gibbs, Wu and Ford, *Authenticated private information retrieval*, USENIX Security 2023 | `selective`; `pages`; `hostile` for a search's flow | a client that ends at the first wrong reply |
//! | reactions to changed ciphertexts | Hall, Goldberg and Schneier, *Reaction attacks against several public-key cryptosystems*, ICICS 1999 | `reactions`, where the reader that ends is a model of it | a client that searches on after refusals; open mode without checks |
//! | decrypted scores that come back | Li and Micciancio, *On the security of homomorphic encryption on approximate numbers*, EUROCRYPT 2021 | `scores` | scores are shown |
//! | failures of decryption, provoked | Cheon, Choe, Passelègue, Stehlé and Suvanto, *Attacks against the IND-CPA-D security of exact FHE schemes*, CCS 2024 | `sessions`: not the attack, but what bounds it, sessions of 64 requests | a client that connects again after a wrong reply |
//! | changed answers | Ben-David, Kalai and Paneth, *Verifiable private information retrieval*, TCC 2022; the test is of the kind of Freivalds', *Probabilistic machines can use less running time*, IFIP 1977 | `lies`; `clusters` in routed mode; the tests `lies` next to these | open mode without checks; in routed mode, which has no index without check rows, changes below the tolerance |
//! | messages of one index in another | Abadi and Needham, *Prudent engineering practice for cryptographic protocols*, S&P 1994 | `confusion` | for scores, open mode without checks; for an index, a client without a pin |
//! | older versions and forks | Mazières and Shasha, *Building secure file systems out of Byzantine storage*, PODC 2002; Li, Krohn, Mazières and Shasha, *SUNDR*, OSDI 2004 | `forks`; `pins` and `versions` in `store` | a client without a pin |
//! | an older version that its owner signed, shown to the owner | the same | `rollback`: a folder that takes a revocation or a deletion back; `turning`: one that changes between two looks | an owner that remembers no version |
//! | weaker parameters | Adrian et al., *Imperfect forward secrecy*, CCS 2015; Bhargavan et al., *Downgrade resilience in key-exchange protocols*, S&P 2016 | `downgrade`; `a_changed_manifest_or_setup_is_refused_before_any_query` in `hostile_servers.rs`; `parameters_below_128_bits_are_read_only_by_who_asks_for_them` in `pir/tests/hostile.rs` | a client without a pin; `Params::published_from_bytes` |
//!
//! `scripts/constant_time.sh` looks for secret-dependent decryption times (Kocher, CRYPTO 1996) under memcheck.

mod answers; // scores in a reply
mod bed; // the owner, and servers that look and lie
mod changed_pages; // a server of pages that are not the owner's

mod below;
mod clusters;
mod confusion;
mod downgrade;
mod forks;
mod generator;
mod lies;
mod pads;
mod pages;
mod reactions;
mod reuse;
mod rollback;
mod scores;
mod selective;
mod sessions;
mod sharing;
mod statistics;
mod turning;
mod volume;
