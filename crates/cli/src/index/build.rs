//! `sordino index build`.

mod choice_names;

use super::advice::{advice, precision};
use super::ids::KindName;
use super::input::{Input, Records, Rounding};
use super::labels::Labelled;
use super::list::QUOTING;
use crate::delivery::{Delivery, Fetched};
use crate::owned_index::{OwnedIndex, PinsArgs};
use crate::place::Place;
use crate::usual_columns::vectors;
use crate::{Error, Output, checks::Checks, keys, mode::Mode, numbers, random, second_look::Look};
use choice_names::{MetricName, PackingName, RoutingName};
use clap::{Args as ClapArgs, ValueEnum};
use serde::Serialize;
use sordino_search::manifest::Packing;
use sordino_search::plan::{Bytes, Plan, Wish};
use sordino_search::{Form, Metric, OwnerFault, Spec, Store, Vectors};
use std::{path::PathBuf, time::Instant};

/// Arguments of `sordino index build`.
#[derive(ClapArgs, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\n{QUOTING}"), allow_negative_numbers = true)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,
    /// The folder to make, which must not hold an index yet.
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The owner's key file.
    #[arg(long, value_name = "OWNER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    pins: PinsArgs,
    /// How the index is searched. `sordino plan` compares the modes.
    #[arg(long, value_enum, default_value = "masked")]
    mode: Mode,
    /// The measure of nearness.
    #[arg(long, value_enum, default_value = "cosine")]
    metric: MetricName,
    /// The kind of record ids. The default is the kind of the id column (text in CSV), or else numbers.
    #[arg(long, alias = "id-type", value_enum)]
    id_kind: Option<KindName>,
    /// The largest number of results of a search. Messages have room for this number.
    #[arg(long, default_value_t = 10, value_parser = numbers::results)]
    k: usize,
    /// Share of the true nearest vectors that a search should find, in sealed and routed mode. The other modes score
    /// every vector.
    #[arg(long, default_value_t = 0.95, value_parser = numbers::share)]
    recall: f64,
    /// Vectors of at least 50 different typical questions, in a file whose name ends like VECTORS's may, for sealed and
    /// routed mode. The build then looks for the recall of questions, too, and says what it reached. Without questions it
    /// looks for the recall of vectors like the indexed ones.
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// The column of vectors in a table of questions, if it has several candidates.
    #[arg(long, value_name = "NAME", requires = "questions")]
    question_column: Option<String>,
    /// Searches that a client makes in one version of the index. It decides what is downloaded once, and what each
    /// time.
    #[arg(long, default_value_t = 100, value_parser = numbers::searches)]
    queries: u64,
    /// Coordinates that share a polynomial, in masked and open mode: 4 or 8, and for many dimensions 16, 32 or 64.
    /// The default moves the fewest bytes.
    #[arg(long, value_enum)]
    packing: Option<PackingName>,
    /// How clients check the server's answers, in modes in which the server scores.
    #[arg(long, value_enum, default_value = "sums")]
    checks: Checks,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    delivery: Delivery,
    /// Give the index readers of its own. Until `sordino keys grant` names one, only the owner can read it.
    #[arg(long)]
    own_readers: bool,
    /// How clients find their buckets, in sealed mode.
    #[arg(long, value_enum)]
    routing: Option<RoutingName>,
}

const EXAMPLES: &str = "\
Examples:
  sordino index build base.npy base.index --key owner.key
  sordino index build base.parquet base.index --key owner.key --id-column id --metric euclidean
  sordino index build docs.parquet docs.index --key owner.key --id-column id \\
      --payload-column title,text --attribute year,lang
  sordino index build base.npy base.index --key owner.key --mode routed --second-look
  sordino index build base.npy base.index --key owner.key --mode routed --questions questions.npy
  sordino index build base.npy base.index --key owner.key --checks exact
  sordino index build base.npy base.index --key owner.key --own-readers
  sordino index build base.fvecs base.index --key owner.key --mode sealed --recall 0.9 --k 20";

#[derive(Serialize)]
struct Report {
    index: PathBuf,
    id: String,
    version: u64,
    mode: &'static str,
    metric: &'static str,
    ids: &'static str,
    n: usize,
    /// Records of the file that could not be read.
    left_out: usize,
    dim: u32,
    k: u32,
    /// Candidates that a search ranks by their exact vectors, if it does.
    second_look: Option<u32>,
    segments: usize,
    bytes: u64,
    /// The way in which payloads, or the vectors of a second look, are fetched.
    fetched: Option<Fetched>,
    seconds: f64,
    /// The loss by rounding to 32 bits, if it is large for many vectors.
    rounding: Option<Rounding>,
    /// The recall that sealed and routed mode's builders measured on held-out vectors.
    expected_recall: Option<f64>,
    /// The recall that they measured with the given questions.
    question_recall: Option<f64>,
    /// True if the measured recall reaches the requested one.
    reached: Option<bool>,
    /// The bytes that a client transfers in the given number of searches, in sealed and routed mode.
    bytes_in_all: Option<u64>,
    /// The mode that finds more, if the built mode does not save a fifth of that mode's bytes.
    instead: Option<&'static str>,
}

impl Report {
    fn line(&self) -> String {
        format!(
            "{}: {} index of {} x {}, {}, ids of kind {}, version {}, {} in {:.1} s",
            self.index.display(),
            self.mode,
            self.n,
            self.dim,
            self.metric,
            self.ids,
            self.version,
            Bytes(self.bytes),
            self.seconds
        )
    }
}

pub(super) fn run(args: &Args, output: Output) -> Result<(), Error> {
    let keys = keys::owner(&args.key)?;
    let place = Place::of(&args.index)?;
    let pins = args.pins.ready(&args.key)?;
    let layout = args.input.layout(args.id_kind.map(Into::into))?;
    let labelled = Labelled {
        input: &args.input,
        layout: &layout,
        index: &args.index,
    };
    let has_labels = !layout.labels().is_empty();
    if has_labels {
        args.check_labels(&labelled)?;
        labelled.announce(output);
    }
    let records = args.input.records(layout.clone(), None)?;
    let records = records.of_metric(args.metric.into());
    records.announce(&layout, output);
    let (spec, unseen, rounded) = (args.spec(&records)?, records.unseen(), records.rounded());
    let left_out = records.left_out();
    let mut rng = random()?;
    let bar = output.progress(records.len_hint(), "reading");
    let start = Instant::now();
    let records = records.counted(&bar);
    let mut progress = |step: sordino_search::Step| output.working(&bar, step.name());
    let (disk, root) = (place.disk(), place.root());
    let store = Store::create_on(disk, root, &mut rng, &keys, &spec, records, &mut progress);
    bar.finish_and_clear();
    let left_out = left_out.say(&args.input.file, output)?;
    let store = store.map_err(|error| args.refused(error))?;
    let mut store = OwnedIndex::made(store, pins, &place).map_err(Error::index(&args.index))?;
    unseen.say(&args.input.file, output);
    let rounding = rounded.say(&args.input.file, output);
    if has_labels {
        store.change(|store| labelled.add_rest(store, &mut rng))?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let (manifest, measured) = (store.manifest(), store.measured());
    let report = Report {
        index: args.index.clone(),
        id: hex::encode(manifest.index),
        version: manifest.version,
        mode: manifest.mode.kind().name(),
        metric: manifest.metric.name(),
        ids: manifest.ids.name(),
        n: store.len(),
        left_out,
        dim: manifest.dim,
        k: manifest.k,
        second_look: manifest.second_look().map(|look| look.candidates),
        segments: manifest.segments().len(),
        bytes: super::info::stored(manifest)?,
        fetched: Fetched::of(manifest)?,
        seconds,
        rounding,
        expected_recall: store.recall(),
        question_recall: measured.and_then(|measured| measured.question_recall),
        reached: measured.map(|measured| measured.reached),
        bytes_in_all: measured.map(|measured| measured.cost.total(measured.queries)),
        instead: measured.and_then(|measured| Some(measured.instead?.mode.name())),
    };
    output.report(&report, || {
        let mut text = report.line();
        if let Some(recall) = report.expected_recall {
            let advice = match &measured {
                Some(measured) => advice(measured),
                None => precision(recall, &manifest.mode, manifest.second_look().is_some()),
            };
            let k = report.k;
            text += &format!("\nrecall@{k} of held-out vectors: {recall:.3}");
            if let Some(recall) = report.question_recall {
                text += &format!("\nrecall@{k} of your questions: {recall:.3}");
            }
            text += &advice;
        }
        text += &args.delivery.line(report.fetched);
        text
    })
}

impl Args {
    fn check_labels(&self, labelled: &Labelled<'_>) -> Result<(), Error> {
        let mode = self.mode.to_possible_value();
        let mode = mode
            .as_ref()
            .map_or("", clap::builder::PossibleValue::get_name);
        let otherwise = "build it with --own-readers";
        labelled.check(mode, self.own_readers, otherwise)?;
        labelled.check_first()
    }

    fn spec(&self, records: &Records<'_>) -> Result<Spec, Error> {
        let form = match self.mode {
            Mode::Masked => Form::Masked(self.packed(records, |plan| plan.masked().copied())?),
            Mode::Open => Form::Open(self.packed(records, |plan| plan.open().copied())?),
            Mode::Local => Form::Local,
            Mode::Routed => Form::Routed {
                recall: self.recall,
                queries: self.queries,
            },
            Mode::Sealed => Form::Sealed {
                recall: self.recall,
                queries: self.queries,
                routing: self.routing.map(Into::into),
            },
        };
        let k = self.k;
        // Other modes may begin with fewer vectors. Most files state their number at once. Otherwise the store
        // knows it after reading everything.
        if let Some(n) = records.len_hint().and_then(|n| usize::try_from(n).ok())
            && k > n
            && matches!(form, Form::Sealed { .. })
        {
            return Err(too_few(&sordino_search::Error::K { k, n }));
        }
        Ok(Spec::new(form)
            .k(k)
            .ids(records.kind())
            .metric(self.metric.into())
            .conditions(self.delivery.conditions(self.queries))
            .second_look(self.look.candidates)
            .checking(self.checks.into())
            .own_readers(self.own_readers)
            .questions(self.questions()?))
    }

    /// The questions. It names their file if a query cannot be one of them.
    fn questions(&self) -> Result<Option<Vectors>, Error> {
        let Some(file) = &self.questions else {
            return Ok(None);
        };
        let questions = vectors(file, self.question_column.as_ref())?;
        let checked = Metric::from(self.metric).check_queries(&questions);
        checked.map_err(Error::vectors(file))?;
        Ok(Some(questions))
    }

    /// Adds the file and the place to the error of a build.
    fn refused(&self, error: sordino_search::Error) -> Error {
        match error {
            sordino_search::Error::K { .. } => too_few(&error),
            sordino_search::Error::Owner(
                OwnerFault::Questions { .. } | OwnerFault::QuestionDimension { .. },
            ) => Error::index(self.questions.as_ref().unwrap_or(&self.index))(error),
            error => self.input.named(&self.index)(error),
        }
    }

    /// The requested packing, or otherwise the planned one.
    fn packed(
        &self,
        records: &Records<'_>,
        planned: impl Fn(&Plan) -> Option<sordino_search::plan::Scoring>,
    ) -> Result<Packing, Error> {
        if let Some(packing) = self.packing {
            return Ok(packing.into());
        }
        // Some files do not say how many vectors they hold.
        let Some(n) = records.len_hint().and_then(|n| usize::try_from(n).ok()) else {
            return Ok(Packing::T4);
        };
        let wish = Wish::default()
            .k(self.k.min(n))
            .queries(self.queries)
            .checking(self.checks.into());
        let plan = Plan::new(n, records.dim(), wish)?;
        Ok(planned(&plan).map_or(Packing::T4, |scoring| scoring.packing))
    }
}

/// The refusal of a sealed index of fewer vectors than a search has results.
fn too_few(error: &sordino_search::Error) -> Error {
    let what = "in sealed mode --k is at most that; other modes may begin with fewer vectors";
    Error::Arguments(format!("{error}: {what}"))
}
