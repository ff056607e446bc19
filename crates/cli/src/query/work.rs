//! The searches of one command: connecting, a thread for each connection, and what the index does
//! meanwhile.

use super::input::{Queries, Query};
use super::report::{Answer, Form, Printer, Summary};
use crate::following::Following;
use crate::patience::{Patience, while_it_changes};
use crate::pin::{PinArgs, PinFile, connect};
use crate::{Error, Output, random};
use rand::rngs::StdRng;
use signal_hook::consts::SIGINT;
use sordino_search::{Cache, Filter, Metric, Question, ReaderKeys, Transport};
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// The wishes of all searches of a command beside their vectors.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) k: Option<usize>,
    pub(super) threshold: Option<f32>,
    pub(super) filter: Option<&'a Filter>,
}

/// All searches of a command.
pub(super) struct Work<'a> {
    pub(super) keys: &'a ReaderKeys,
    pub(super) queries: &'a Queries,
    pub(super) wanted: Wanted<'a>,
    pub(super) pin: &'a PinArgs,
    pub(super) cache: Option<Cache>,
    pub(super) jobs: usize,
    pub(super) patience: Patience,
    pub(super) form: Form,
    pub(super) output: Output,
}

impl Work<'_> {
    /// Makes every search and prints what it found.
    pub(super) fn run<T: Transport + Send>(
        &self,
        open: impl Fn() -> Result<T, Error>,
    ) -> Result<(), Error> {
        let mut pin = self.pin.read()?;
        let start = Instant::now();
        let (mut transport, client) = self.patience.with(|| {
            let mut transport = open()?;
            let client = connect(&mut transport, self.keys, pin.as_ref(), self.cache.as_ref())?;
            Ok((transport, client))
        })?;
        let connected = start.elapsed();
        if client.manifest().metric == Metric::Euclidean
            && self.wanted.threshold.is_some_and(|most| most < 0.0)
        {
            let why = "no distance is below 0, so nothing is found: --min-score is the longest distance in this index, whose metric is the Euclidean";
            self.output.note(&format!("sordino: warning: {why}"));
        }
        if let Some(pin) = &mut pin {
            pin.remember(client.pin(), |other| {
                Ok(while_it_changes(|| {
                    client.check_pin(&mut transport, other)
                })?)
            })?;
        }
        let mut transports = vec![transport];
        let len = self.queries.len();
        for _ in 1..self.jobs.min(len.unwrap_or(usize::MAX)) {
            transports.push(self.patience.with(&open)?);
        }

        // Until here there is nothing to print, and Ctrl-C ends the process at once.
        let stop = interrupted()?;
        let searches = Searches {
            work: self,
            client: Following::new(client),
            pin: Mutex::new(pin),
            failed: AtomicBool::new(false),
            printer: Mutex::new(Printer::new(self.form)),
            bar: self.output.progress(len.map(|len| len as u64), "searching"),
            stop,
        };
        let start = Instant::now();
        let done = searches.all(transports);
        let elapsed = start.elapsed();
        searches.bar.finish_and_clear();
        let client = searches.client.into_client();
        let printer = searches.printer.into_inner();
        let printer = printer.unwrap_or_else(PoisonError::into_inner);
        // The results of searches that came to an end are kept, whatever became of the others.
        let summary = Summary::new(&client, connected, elapsed);
        let printed = printer.finish(&summary, self.output);
        if let Some(cache) = &self.cache {
            // A folder that cannot be tidied up is no reason to lose results.
            drop(cache.trim());
        }
        done.and(printed)
    }
}

/// Searches under way.
struct Searches<'a> {
    work: &'a Work<'a>,
    client: Following,
    /// Held while a version is remembered, which may take a server's time.
    pin: Mutex<Option<PinFile>>,
    /// A search failed: the others end after the one that they are at.
    failed: AtomicBool,
    printer: Mutex<Printer>,
    bar: indicatif::ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Searches<'_> {
    fn all<T: Transport + Send>(&self, transports: Vec<T>) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = transports
                .into_iter()
                .map(|transport| scope.spawn(|| self.some(transport)))
                .collect();
            // All of them are waited for; of the gravest errors the first is said.
            let mut done: Result<(), Error> = Ok(());
            for thread in threads {
                let joined = thread.join();
                let result = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                done = match (done, result) {
                    (Err(first), Err(other)) => Err(first.or_graver(other)),
                    (done, result) => done.and(result),
                };
            }
            done
        })
    }

    /// Searches over one connection until there is no query left.
    fn some<T: Transport>(&self, mut transport: T) -> Result<(), Error> {
        let searched = self.each(&mut transport);
        searched.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
    }

    fn each<T: Transport>(&self, transport: &mut T) -> Result<(), Error> {
        let mut rng = random()?;
        let mut wrong = Ok(());
        let ended = |wrong: Result<(), Error>, error: Error| match wrong {
            Err(wrong) => Err(wrong.or_graver(error)),
            Ok(()) => Err(error),
        };
        loop {
            let query = match self.next() {
                Ok(Some(query)) => query,
                Ok(None) => return wrong,
                Err(error) => return ended(wrong, error),
            };
            let number = query.number;
            match self.answer(transport, &mut rng, query) {
                Err(error) if error.is_unseen() || self.is_skipped(&error) => {
                    self.work.output.note(&format!("query {number}: {error}"));
                    let printed = self.printer().skip(number, error.to_string());
                    wrong = ended(wrong, error);
                    if printed.is_err() {
                        return wrong;
                    }
                }
                Err(error) => return ended(wrong, error),
                Ok(()) => (),
            }
            self.bar.inc(1);
        }
    }

    /// The next query, unless there is none, or a reason to stop.
    fn next(&self) -> Result<Option<Query>, Error> {
        let interrupted = || self.stop.load(Ordering::Relaxed);
        let failed = || self.failed.load(Ordering::Relaxed);
        let next = match interrupted() || failed() {
            true => None,
            false => self.work.queries.next(|| interrupted() || failed())?,
        };
        match next {
            None if interrupted() => Err(Error::Interrupted),
            next => Ok(next),
        }
    }

    /// True of a query that cannot be searched for, where each has a line of its own: the others' lines are waited for.
    fn is_skipped(&self, error: &Error) -> bool {
        self.work.form == Form::Lines && matches!(error, Error::Query { .. })
    }

    /// Searches for one query and prints what was found.
    fn answer<T: Transport>(
        &self,
        transport: &mut T,
        rng: &mut StdRng,
        query: Query,
    ) -> Result<(), Error> {
        let wanted = &self.work.wanted;
        let vector = query.vector?;
        let mut question = Question::new(&vector);
        question.k = wanted.k;
        question.threshold = wanted.threshold;
        question.filter = wanted.filter;
        let found = self.work.patience.with(|| {
            self.client.ask(transport, |client, transport| {
                let start = Instant::now();
                let found = client.ask(rng, transport, &question)?;
                let time = start.elapsed();
                Ok((super::report::hits(client, found), time))
            })
        });
        let found = Error::followed(found, self.remember(transport));
        let (hits, time) = found.map_err(|error| query.place.named(error))?;
        let answer = Answer {
            query: query.number,
            hits,
        };
        self.printer().print(answer, time)
    }

    /// Remembers the version that the client is at, before anything of it is printed, and whatever became of the search: by the version
    /// that a client knows when it comes again it tells which it remembers.
    fn remember<T: Transport>(&self, transport: &mut T) -> Result<(), Error> {
        let mut pin = self.pin.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pin) = &mut *pin else {
            return Ok(());
        };
        let new = self.client.client().pin();
        pin.remember(new, |other| {
            let check = || self.client.check_pin(transport, other);
            self.work.patience.with(check)
        })
    }

    fn printer(&self) -> MutexGuard<'_, Printer> {
        self.printer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Set by Ctrl-C: the searches under way are ended, and their results printed. A second Ctrl-C ends
/// the process.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let code = crate::INTERRUPTED.into();
    signal_hook::flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&stop))?;
    signal_hook::flag::register(SIGINT, Arc::clone(&stop))?;
    Ok(stop)
}
