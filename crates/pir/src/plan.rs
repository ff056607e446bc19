//! Estimates the cost of querying a database privately, before it is built.
//!
//! Downloading everything is also private. It is simpler than every scheme, and cheaper for small databases. So it is
//! one of the candidates.

use std::fmt;

use crate::{Error, Params, Protocol, double, hintless, simple};

/// A way to fetch records without showing which ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// The client downloads the whole database once.
    Download,
    /// [`simple`], with this layout.
    Simple(simple::Params),
    /// [`double`], with this layout.
    Double(double::Params),
    /// [`hintless`], with this layout.
    Hintless(hintless::Params),
}

/// The cost of one candidate for one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The candidate.
    pub candidate: Candidate,
    /// The number of bytes that a client downloads once. For [`hintless`], the number of bytes of the keys that it
    /// uploads once.
    pub once: u64,
    /// The number of bytes that a client sends for a query.
    pub query: u64,
    /// The number of bytes that a client receives for a query.
    pub answer: u64,
    /// The number of bytes that the server reads for a query.
    pub scanned: u64,
    /// The number of products of a byte and a word during setup. [`hintless`] takes no such products, but transforms
    /// every polynomial.
    pub setup: u64,
    /// `log2` of the probability that a record is wrong.
    pub log2_failure: f64,
    /// All bytes for the client's queries, received and sent.
    pub total: u64,
}

/// The costs of all candidates for one use, and the cheapest.
///
/// ```
/// use sordino_pir::plan::{Candidate, Plan};
///
/// // 3 MB: no hint is as small as the data.
/// let small = Plan::new(1_000_000, 3, 100)?;
/// assert_eq!(small.choice().candidate, Candidate::Download);
///
/// // 4 GiB of short records, a hundred queries.
/// let large = Plan::new(1 << 30, 4, 100)?;
/// assert!(matches!(large.choice().candidate, Candidate::Double(_)));
/// println!("{large}");
/// # Ok::<(), sordino_pir::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    records: usize,
    record_len: usize,
    queries: u64,
    costs: Vec<Cost>,
}

impl Plan {
    /// The costs for a client that makes `queries` queries on one version of a database.
    ///
    /// SimplePIR's layout is the one with the fewest bytes in total among powers of two around the square. A wider
    /// matrix has longer queries and a smaller hint.
    ///
    /// # Errors
    /// [`Error::Empty`] if there are no records or they have no bytes.
    pub fn new(records: usize, record_len: usize, queries: u64) -> Result<Self, Error> {
        if records == 0 || record_len == 0 {
            return Err(Error::Empty {
                records,
                record_len,
            });
        }
        let bytes = records as u64 * record_len as u64;
        let mut costs = vec![Cost {
            candidate: Candidate::Download,
            once: bytes,
            query: 0,
            answer: 0,
            scanned: 0,
            setup: 0,
            log2_failure: f64::NEG_INFINITY,
            total: bytes,
        }];
        let simple = (0..usize::BITS)
            .map(|shift| 1usize << shift)
            .take_while(|per_column| *per_column <= records)
            .filter_map(|per_column| {
                let security = crate::Security::default();
                Params::with_layout(records, record_len, per_column, security).ok()
            })
            .chain(Params::for_database(records, record_len).ok())
            .map(|params| Cost::of(Candidate::Simple(params), &params, queries))
            .min_by_key(|cost| cost.total);
        costs.extend(simple);
        let double = Params::for_double(records, record_len).ok();
        costs.extend(double.map(|params| Cost::of(Candidate::Double(params), &params, queries)));
        Ok(Self {
            records,
            record_len,
            queries,
            costs,
        })
    }

    /// The same plan with [`hintless`] as a further candidate, if a layout serves it, with one record a query and its
    /// keys sent once. It suits clients that keep nothing, and make their queries in one visit.
    ///
    /// ```
    /// use sordino_pir::plan::{Candidate, Plan};
    /// // 13 MB in records of 32 KB: a client that comes for five of them.
    /// let plan = Plan::new(400, 32_768, 5)?.with_hintless();
    /// assert!(matches!(plan.choice().candidate, Candidate::Hintless(_)));
    /// # Ok::<(), sordino_pir::Error>(())
    /// ```
    #[must_use]
    pub fn with_hintless(mut self) -> Self {
        if let Ok(params) = hintless::Params::new(self.records, self.record_len, 1) {
            self.costs.push(Cost::of_hintless(params, self.queries));
        }
        self
    }

    /// The cost of every candidate that a parameter set serves.
    #[must_use]
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The candidate with the fewest bytes in total. If two candidates have equal bytes, it is the simpler one.
    #[must_use]
    pub fn choice(&self) -> &Cost {
        let first = &self.costs[0];
        let rest = self.costs[1..].iter();
        rest.fold(
            first,
            |best, cost| {
                if cost.total < best.total { cost } else { best }
            },
        )
    }
}

impl Cost {
    fn of<P: Protocol>(candidate: Candidate, params: &Params<P>, queries: u64) -> Self {
        let (n, d) = (params.n() as u64, params.record_len() as u64);
        let matrix = params.rows() as u64 * params.columns() as u64;
        // DoublePIR's second level: the digits of H1, kappa n x l for each byte of a record.
        let second = 4 * n * params.per_column() as u64 * d;
        let (scanned, setup) = match candidate {
            Candidate::Double(_) => (matrix + second, matrix * n + second * n),
            _ => (matrix, matrix * n),
        };
        let (once, query, answer) = (
            params.hint_len() as u64,
            params.query_len() as u64,
            params.answer_len() as u64,
        );
        Self {
            candidate,
            once,
            query,
            answer,
            scanned,
            setup,
            log2_failure: params.log2_failure(),
            total: once.saturating_add((query + answer).saturating_mul(queries)),
        }
    }

    fn of_hintless(params: hintless::Params, queries: u64) -> Self {
        let (once, query, answer) = (
            hintless::Keys::LEN as u64,
            params.query_len() as u64,
            params.answer_len() as u64,
        );
        Self {
            candidate: Candidate::Hintless(params),
            once,
            query,
            answer,
            scanned: params.server_bytes() as u64,
            setup: 0,
            log2_failure: params.log2_failure(),
            total: once.saturating_add((query + answer).saturating_mul(queries)),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Download => "download everything",
            Self::Simple(_) => "SimplePIR",
            Self::Double(_) => "DoublePIR",
            Self::Hintless(_) => "without a hint",
        })
    }
}

impl fmt::Display for Plan {
    /// Prints a table with one candidate a line, and marks the choice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} records of {} bytes, {} queries on one version",
            self.records, self.record_len, self.queries
        )?;
        writeln!(
            f,
            "  {:<20}{:>14}{:>12}{:>12}{:>16}{:>16}{:>12}",
            "candidate", "once", "query", "answer", "all bytes", "scan a query", "failure"
        )?;
        for cost in &self.costs {
            let mark = if cost == self.choice() { '>' } else { ' ' };
            let failure = match cost.candidate {
                Candidate::Download => "never".to_owned(),
                _ => format!("2^{:.0}", cost.log2_failure),
            };
            writeln!(
                f,
                "{mark} {:<20}{:>14}{:>12}{:>12}{:>16}{:>16}{failure:>12}",
                cost.candidate, cost.once, cost.query, cost.answer, cost.total, cost.scanned
            )?;
        }
        Ok(())
    }
}
