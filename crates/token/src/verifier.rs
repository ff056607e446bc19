//! Verifies tokens, many at a time.

use std::collections::HashMap;

use sordino_mldsa::{BatchVerifier, Item, Key, Message, MlDsa44, MlDsa65, Params};

use crate::block::Block;
use crate::chain::{self, MAX_BLOCKS};
use crate::error::Error;
use crate::grant::{Grant, check_time};
use crate::key::{Algorithm, PublicKey};

/// The keys that may issue tokens, by their names.
type Issuers = HashMap<[u8; 32], PublicKey>;

/// Verifies tokens for one service.
///
/// The verifier first makes all checks that need no arithmetic. It checks a block's signature only after the signature of the
/// block before was right. So a client without a token costs one verification under an issuer's key, which the verifier keeps
/// expanded. A client with a token costs one verification for each block, each time that it shows the token, so limit
/// how often it may show one.
#[derive(Debug)]
pub struct Verifier {
    audience: String,
    issuers: Issuers,
    leeway: u64,
    of_44: BatchVerifier<MlDsa44>,
    of_65: BatchVerifier<MlDsa65>,
}

/// A token that is right except for its signatures, which are not checked yet.
struct Candidate<'a> {
    issuer: &'a PublicKey,
    blocks: Vec<Block<'a>>,
}

impl<'a> Candidate<'a> {
    fn read(
        audience: &str,
        issuers: &'a Issuers,
        token: &'a [u8],
        now: u64,
        leeway: u64,
    ) -> Result<Self, Error> {
        let blocks = chain::read(token)?;
        let issuer = issuers.get(&blocks[0].signer);
        let issuer = issuer.filter(|key| key.algorithm() == blocks[0].algorithm);
        let issuer = issuer.ok_or(Error::Issuer)?;
        // The claims of the last block are within all others, so they suffice.
        let claims = &blocks[blocks.len() - 1].claims;
        if claims.audience != audience {
            return Err(Error::Audience {
                found: claims.audience.clone(),
                expected: audience.to_owned(),
            });
        }
        check_time(claims, now, leeway)?;
        Ok(Self { issuer, blocks })
    }

    /// Block `depth`, and the key that must have signed it.
    fn block(&self, depth: usize) -> Option<(&Block<'a>, &PublicKey)> {
        let block = self.blocks.get(depth)?;
        let key = match depth {
            0 => self.issuer,
            _ => &self.blocks[depth - 1].claims.holder,
        };
        Some((block, key))
    }

    fn granted(self, leeway: u64) -> Grant {
        Grant {
            leeway,
            issuer: self.blocks[0].signer,
            blocks: self.blocks.into_iter().map(|block| block.claims).collect(),
        }
    }
}

impl Verifier {
    /// A verifier of tokens for `audience` that these keys issued.
    #[must_use]
    pub fn new(audience: &str, issuers: &[PublicKey]) -> Self {
        let by_name = issuers.iter().map(|key| (key.id(), key.clone()));
        Self {
            audience: audience.to_owned(),
            issuers: by_name.collect(),
            leeway: 0,
            of_44: BatchVerifier::new(),
            of_65: BatchVerifier::new(),
        }
    }

    /// Accepts tokens if the clocks of issuers and this service differ by at most this time. Tokens are valid earlier and later
    /// by the same time.
    #[must_use]
    pub fn leeway(mut self, seconds: u64) -> Self {
        self.leeway = seconds;
        self
    }

    /// Verifies a token. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The errors of [`Token::from_bytes`](crate::Token::from_bytes). The next checks come in this order: [`Error::Issuer`]
    /// if the issuer is not trusted, [`Error::Audience`] if the token is for another service, [`Error::NotYetValid`] or
    /// [`Error::Expired`] if it is not valid now, and [`Error::Signature`] if a signature is wrong.
    pub fn verify(&mut self, token: &[u8], now: u64) -> Result<Grant, Error> {
        let mut verdicts = self.verify_each(&[token], now);
        // There is one verdict for each token.
        verdicts.pop().unwrap_or(Err(Error::Issuer))
    }

    /// Verifies every token by itself: verdict `i` is the one that [`verify`](Self::verify) gives for `tokens[i]`.
    #[must_use]
    pub fn verify_each(&mut self, tokens: &[&[u8]], now: u64) -> Vec<Result<Grant, Error>> {
        let Self {
            audience,
            issuers,
            leeway,
            of_44,
            of_65,
        } = self;
        let read = tokens
            .iter()
            .map(|token| Candidate::read(audience, issuers, token, now, *leeway));
        let mut read: Vec<Result<Candidate<'_>, Error>> = read.collect();
        for block in 0..MAX_BLOCKS {
            let mut wrong = wrong(of_44, Algorithm::MlDsa44, &read, block);
            wrong.extend(self::wrong(of_65, Algorithm::MlDsa65, &read, block));
            for (token, reason) in wrong {
                read[token] = Err(Error::Signature { block, reason });
            }
        }
        let granted = |read: Result<Candidate<'_>, Error>| read.map(|it| it.granted(*leeway));
        read.into_iter().map(granted).collect()
    }
}

/// The tokens whose block `depth` is of this algorithm and has a wrong signature.
fn wrong<P: Params>(
    verifier: &mut BatchVerifier<P>,
    algorithm: Algorithm,
    read: &[Result<Candidate<'_>, Error>],
    depth: usize,
) -> Vec<(usize, sordino_mldsa::Error)> {
    let (mut tokens, mut items) = (Vec::new(), Vec::<Item<'_, P>>::new());
    for (token, candidate) in read.iter().enumerate() {
        let block = candidate.as_ref().ok().and_then(|it| it.block(depth));
        let Some((block, key)) = block.filter(|(block, _)| block.algorithm == algorithm) else {
            continue;
        };
        tokens.push(token);
        items.push(Item {
            key: Key::Encoded(key.as_bytes()),
            message: Message::Parts {
                parts: &block.signed,
                context: b"",
            },
            signature: block.signature,
        });
    }
    let verdicts = verifier.verify_each(&items).into_iter();
    let verdicts = tokens.into_iter().zip(verdicts);
    verdicts
        .filter_map(|(token, verdict)| Some((token, verdict.err()?)))
        .collect()
}
