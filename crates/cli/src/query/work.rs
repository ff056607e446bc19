//! The searches of one command: a session, and threads that search with it.

use super::input::{Queries, Query};
use super::report::{Answer, Form, Line, Printer, Summary};
use crate::{Error, Output};
use signal_hook::consts::SIGINT;
use sordino_search::{
    Dial, Error as Search, Filter, Id, Kind, Metric, Question, ReaderKeys, SearchBatch, Session,
    SessionOptions, graver,
};
use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

/// The options of all searches of a command, without their vectors.
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
    pub(super) options: SessionOptions,
    pub(super) jobs: usize,
    pub(super) form: Form,
    pub(super) output: Output,
}

impl Work<'_> {
    /// Makes every search and prints its results.
    pub(super) fn run<D>(self, dial: D, named: impl Fn(Search) -> Error) -> Result<(), Error>
    where
        D: Dial + Sync,
        D::Transport: Send,
    {
        let start = Instant::now();
        let session = Session::open(dial, self.keys, self.options).map_err(&named)?;
        let connected = start.elapsed();
        let euclidean = session.client().manifest().metric == Metric::Euclidean;
        if euclidean && self.wanted.threshold.is_some_and(|most| most < 0.0) {
            let why = "nothing is found, because no distance is below 0: in this index, whose metric is Euclidean, \
                --min-score is the longest distance";
            self.output.note(&format!("sordino: warning: {why}"));
        }
        // Before this there is nothing to print, and Ctrl-C ends the process at once.
        let stop = interrupted()?;
        let len = self.queries.len();
        let searches = Searches {
            session: &session,
            batch: session.batch()?.stopped_by(&stop),
            queries: self.queries,
            wanted: self.wanted,
            form: self.form,
            output: self.output,
            failed: AtomicBool::new(false),
            told: Mutex::default(),
            printer: Mutex::new(Printer::new(self.form)),
            bar: self.output.progress(len.map(|len| len as u64), "searching"),
            stop,
        };
        let start = Instant::now();
        let jobs = self.jobs.min(len.unwrap_or(usize::MAX)).max(1);
        let done = searches.all(jobs);
        let elapsed = start.elapsed();
        searches.bar.finish_and_clear();
        let (told, printer) = (searches.told.into_inner(), searches.printer.into_inner());
        let told = told.unwrap_or_else(PoisonError::into_inner);
        let printer = printer.unwrap_or_else(PoisonError::into_inner);
        // The results of completed searches are kept, even if others fail.
        let client = session.client();
        let summary = Summary::new(&client, connected, elapsed);
        let printed = printer.finish(&summary, self.output);
        let waited = |error: &Search| error.kind().is_passing() && !error.is_bad_reply();
        let done = match told {
            // Ctrl-C ended the wait with this error, so the command reports the interruption.
            Some(error) if waited(&error) && done.is_err() => done,
            Some(error) => Err(named(error)),
            None => done,
        };
        done.and(printed)
    }
}

/// The searches that are running.
struct Searches<'a, D: Dial> {
    session: &'a Session<D>,
    batch: SearchBatch,
    queries: &'a Queries,
    wanted: Wanted<'a>,
    form: Form,
    output: Output,
    /// True if something other than a search failed. Each thread then ends after its current
    /// search.
    failed: AtomicBool,
    /// The most serious error of the searches.
    told: Mutex<Option<Search>>,
    printer: Mutex<Printer>,
    bar: indicatif::ProgressBar,
    stop: Arc<AtomicBool>,
}

impl<D: Dial + Sync> Searches<'_, D>
where
    D::Transport: Send,
{
    /// Searches with this number of threads until no query is left.
    fn all(&self, threads: usize) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let done = self.some();
                        done.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
                    })
                })
                .collect();
            // The command waits for all threads.
            let mut done = Ok(());
            for thread in threads {
                let joined = thread.join();
                done = done.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            done
        })
    }

    fn some(&self) -> Result<(), Error> {
        let mut skipped = Ok(());
        while let Some(query) = self.next()? {
            let (number, id) = (query.number, query.id.clone());
            match self.answer(query) {
                Err(error) if self.form == Form::Lines && matches!(error, Error::Query { .. }) => {
                    // In this form of output, each failed query has a line too.
                    self.skip((number, id), &error)?;
                    skipped = skipped.and(Err(error));
                }
                done => done?,
            }
            self.bar.inc(1);
        }
        skipped
    }

    fn skip(
        &self,
        (query, query_id): (usize, Option<Id>),
        error: &impl std::fmt::Display,
    ) -> Result<(), Error> {
        self.output.note(&format!("query {query}: {error}"));
        let failed = Line::Failed {
            query,
            query_id,
            error: error.to_string(),
        };
        self.printer().put(query, failed)
    }

    /// The next query. `None` if there is none, or if the command must stop.
    fn next(&self) -> Result<Option<Query>, Error> {
        let interrupted = || self.stop.load(Ordering::Relaxed);
        let over = || self.batch.is_over() || self.failed.load(Ordering::Relaxed);
        let next = match over() {
            true => None,
            false => self.queries.next(over)?,
        };
        match next {
            None if interrupted() => Err(Error::Interrupted),
            next => Ok(next),
        }
    }

    /// Searches for one query and prints the results. Errors of searches are kept and reported at the end.
    fn answer(&self, query: Query) -> Result<(), Error> {
        let vector = query.vector?;
        let mut question = Question::new(&vector);
        question.k = self.wanted.k;
        question.threshold = self.wanted.threshold;
        question.filter = self.wanted.filter;
        let found = self.session.call(&self.batch, |client, rng, transport| {
            let start = Instant::now();
            let found = client.ask(rng, transport, &question)?;
            let time = start.elapsed();
            Ok((super::report::hits(client, found), time))
        });
        match found {
            Ok((hits, time)) => {
                let (query, query_id) = (query.number, query.id);
                let answer = Answer {
                    query,
                    query_id,
                    hits,
                };
                self.printer().print(answer, time)
            }
            Err(error) if error.kind() == Kind::Local && !error.is_bad_reply() => {
                Err(query.place.named(error.into()))
            }
            Err(error) => {
                let printed = match error.seen() {
                    Some(_) => Ok(()),
                    // The other searches continue.
                    None => self.skip((query.number, query.id), &error),
                };
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                *told = Some(match told.take() {
                    Some(before) => graver(before, error),
                    None => error,
                });
                printed
            }
        }
    }

    fn printer(&self) -> MutexGuard<'_, Printer> {
        self.printer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Set by Ctrl-C: the running searches are completed, and their results printed. A second Ctrl-C
/// ends the process.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let code = crate::INTERRUPTED.into();
    signal_hook::flag::register_conditional_shutdown(SIGINT, code, Arc::clone(&stop))?;
    signal_hook::flag::register(SIGINT, Arc::clone(&stop))?;
    Ok(stop)
}
