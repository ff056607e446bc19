//! Published attacks on systems of this kind. Each attack must fail here. Each test also runs its attack without the
//! protection that prevents it, where the attack must succeed: this shows that the test can fail. The table names the exceptions.
//!
//! | attack | from | here | protection off |
//! |---|---|---|---|
//! | intersection of what searches touch, through decoys | Danezis and Serjantov, *Statistical disclosure or intersection attacks on anonymity systems*, IH 2004; Balsa, Troncoso and Diaz, *OB-PWS*, S&P 2012 | `statistics` | a model: sets of numbers with decoys |
//! | counting results by their volume, with which reconstruction from volumes begins | Kellaris, Kollios, Nissim and O'Neill, *Generic attacks on secure outsourced databases*, CCS 2016; Grubbs, Lacharité, Minaud and Paterson, *Pump up the volume*, CCS 2018 | `volume` | a fetch for each hit |
//! | randomness used twice after a reset | Ristenpart and Yilek, *When good randomness goes bad*, NDSS 2010 | `reuse`; `generator`, which looks for the generator's bytes in all messages | queries prepared before their use is known; none for `generator` |
//! | what several processes of one user have in common | the same paper | `sharing`: a folder of downloaded parts, a clock that jumps | processes that share their generator's state; a folder that is emptied |
//! | two contents under one keystream | Mason, Watkins, Eisner and Stubblefield, *A natural language approach to automated cryptanalysis of two-time pads*, CCS 2006 | `pads`; `no_key_and_nonce_meets_two_contents` in `store` | one id for two contents |
//! | selective failure | Mohassel and Franklin, *Efficiency tradeoffs for malicious two-party computation*, PKC 2006; Colombo, Nikitin, Corrigan-Gibbs, Wu and Ford, *Authenticated private information retrieval*, USENIX Security 2023 | `selective`; `pages`; `hostile` for a search's flow | a client that ends at the first wrong reply |
//! | reactions to changed ciphertexts | Hall, Goldberg and Schneier, *Reaction attacks against several public-key cryptosystems*, ICICS 1999 | `reactions`, where a model stands for a reader that ends at a refusal | a client that continues after refusals; open mode without checks |
//! | decrypted scores that come back | Li and Micciancio, *On the security of homomorphic encryption on approximate numbers*, EUROCRYPT 2021 | `scores` | a client that shows scores |
//! | provoked failures of decryption | Cheon, Choe, Passelègue, Stehlé and Suvanto, *Attacks against the IND-CPA-D security of exact FHE schemes*, CCS 2024 | `sessions`: not the attack itself, but the bound of 64 requests per session that limits it | a client that connects again after a wrong reply |
//! | changed answers | Ben-David, Kalai and Paneth, *Verifiable private information retrieval*, TCC 2022; the checks are similar to Freivalds' in *Probabilistic machines can use less running time*, IFIP 1977 | `lies`; `clusters` in routed mode; the tests of `liars` | open mode without checks; in routed mode, which has no index without check rows, changes below the tolerance |
//! | messages of one index in another | Abadi and Needham, *Prudent engineering practice for cryptographic protocols*, S&P 1994 | `confusion` | for scores, open mode without checks; for an index, a client without a pin |
//! | older versions and forks | Mazières and Shasha, *Building secure file systems out of Byzantine storage*, PODC 2002; Li, Krohn, Mazières and Shasha, *SUNDR*, OSDI 2004 | `forks`; `pins` and `versions` in `store` | a client without a pin |
//! | an older version that its owner signed, shown to the owner | the same papers | `rollback`: a folder that undoes a revocation or a deletion; `turning`: a folder that changes between two reads | an owner that remembers no version |
//! | weaker parameters | Adrian et al., *Imperfect forward secrecy*, CCS 2015; Bhargavan et al., *Downgrade resilience in key-exchange protocols*, S&P 2016 | `downgrade`; `a_changed_manifest_or_setup_is_refused_before_any_query` in `hostile_servers.rs`; `parameters_below_128_bits_are_read_only_by_who_asks_for_them` in `pir/tests/refusals/hinted.rs` | a client without a pin; `Params::published_from_bytes` |
//!
//! `scripts/constant_time.sh` looks for attacks by the time of decryption (Kocher, CRYPTO 1996), under memcheck.

mod answers; // the scores in a reply
mod bed; // the owner, and servers that keep requests and change replies
mod changed_pages; // a server of changed pages

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
