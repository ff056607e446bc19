//! `sordino token`: tokens that allow clients something on indexes, for a time.

mod claims;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args as ClapArgs, Subcommand};
use sordino_token::{Action, Algorithm, MAX_LEN, SigningKey, Token, Verifier};

use crate::atomic_file::{self, AtomicFile};
use crate::{Error, Output, files, keys};
use claims::{Changed, Wanted, index};
use report::Report;

/// Arguments of `sordino token`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sordino keys new issuer issuer.key
  sordino keys new issuer-public issuer.pub --from issuer.key
  sordino token issue alice.token --key issuer.key --holder alice.pub --audience search.example \\
    --index 7912ff85e8f6cc89b1bb2e62670815c8 --allow search,payload --lifetime 30d
  sordino token attenuate alice.token bob.token --key alice.key --holder bob.pub --allow search --lifetime 1h
  sordino token inspect bob.token
  sordino token verify bob.token --issuer issuer.pub --audience search.example --holder bob.pub \\
    --index 7912ff85e8f6cc89b1bb2e62670815c8 --action search

`sordino index info` prints the id that names an index. A token is no secret: it is of use only with its holder's key.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Issue a token. Nothing is written over.
    Issue(Box<Issue>),
    /// Narrow a token, as its holder: for another key, for less, for a shorter time.
    Attenuate(Box<Attenuate>),
    /// Say what is in a token, without verifying it.
    Inspect {
        /// The token.
        token: PathBuf,
    },
    /// Verify a token, and say what it grants.
    Verify(Verify),
}

#[derive(ClapArgs, Debug)]
struct Issue {
    /// The file to write.
    output: PathBuf,
    /// The issuer's key file.
    #[arg(long, value_name = "ISSUER_KEY")]
    key: PathBuf,
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(ClapArgs, Debug)]
struct Attenuate {
    /// The token to narrow.
    token: PathBuf,
    /// The file to write.
    output: PathBuf,
    /// The key file of the token's holder.
    #[arg(long, value_name = "CLIENT_KEY")]
    key: PathBuf,
    #[command(flatten)]
    changed: Changed,
}

#[derive(ClapArgs, Debug)]
struct Verify {
    /// The token.
    token: PathBuf,
    /// The public key of an issuer that is trusted; may be repeated.
    #[arg(long, value_name = "ISSUER_PUB", required = true)]
    issuer: Vec<PathBuf>,
    /// The service that asks.
    #[arg(long)]
    audience: String,
    /// The public key of whoever shows the token.
    #[arg(long, value_name = "CLIENT_PUB")]
    holder: Option<PathBuf>,
    /// The index that something is to be done with: 32 hex digits.
    #[arg(long, value_name = "ID", value_parser = index, requires = "action")]
    index: Option<[u8; 16]>,
    /// The action: search, payload, download, add, delete, compact or admin.
    #[arg(long, value_parser = claims::action, requires = "index")]
    action: Option<Action>,
    /// The time, in seconds since 1970, in the place of now.
    #[arg(long, value_name = "SECONDS")]
    at: Option<u64>,
}

/// Runs `sordino token`.
///
/// # Errors
/// If a file cannot be read or written, exists already, or is no token or key of the kind needed; if the token is refused.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    match &args.command {
        Command::Issue(args) => {
            let issuer = keys::issuer(&args.key)?;
            let claims = args.wanted.claims(now())?;
            let token = Token::issue(&claims, &issuer).map_err(at(&args.output))?;
            write(&args.output, &token)?;
            Report::new(&args.output, &token, "issued").print(output)
        }
        Command::Attenuate(args) => {
            let token = read(&args.token)?;
            let holder = keys::client(&args.key)?;
            let holder = SigningKey::from_seed(Algorithm::MlDsa65, &holder.seed());
            let last = token.granted();
            // A mistake, where a token that is shown with another key is an intruder's.
            if *holder.public() != last.holder {
                let (token, key) = (args.token.display(), args.key.display());
                let why = format!("{token}: the token was made for another key than {key}");
                return Err(Error::Arguments(why));
            }
            let claims = args.changed.claims(last, now())?;
            let token = token.attenuate(&claims, &holder);
            let token = token.map_err(at(&args.token))?;
            write(&args.output, &token)?;
            Report::new(&args.output, &token, "narrowed").print(output)
        }
        Command::Inspect { token } => {
            Report::new(token, &read(token)?, "not verified").print(output)
        }
        Command::Verify(args) => verify(args, output),
    }
}

fn verify(args: &Verify, output: Output) -> Result<(), Error> {
    let issuers = args.issuer.iter().map(|path| keys::issuer_public(path));
    let issuers = issuers.collect::<Result<Vec<_>, _>>()?;
    let (token, now) = (read(&args.token)?, args.at.unwrap_or_else(now));
    let refused = at(&args.token);
    let mut verifier = Verifier::new(&args.audience, &issuers);
    let grant = verifier.verify(token.as_bytes(), now).map_err(&refused)?;
    if let Some(holder) = &args.holder {
        let holder = keys::client_public(holder)?.for_tokens();
        grant.check_key(&holder).map_err(&refused)?;
    }
    if let (Some(index), Some(action)) = (&args.index, args.action) {
        grant.check(index, action, now).map_err(&refused)?;
    }
    Report::new(&args.token, &token, "verified").print(output)
}

/// Seconds since 1970.
fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |time| time.as_secs())
}

/// Names the file of a token that is refused.
fn at(path: &Path) -> impl Fn(sordino_token::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Token {
        path: path.clone(),
        source,
    }
}

/// A token of a file; its signatures are not looked at.
pub(crate) fn read(path: &Path) -> Result<Token, Error> {
    let bytes = files::read(path, MAX_LEN as u64).map_err(Error::at(path))?;
    Token::from_bytes(&bytes).map_err(at(path))
}

fn write(path: &Path, token: &Token) -> Result<(), Error> {
    let mut file = AtomicFile::new(path).map_err(Error::at(path))?;
    file.write_all(token.as_bytes()).map_err(Error::at(path))?;
    atomic_file::in_place(path, file)
}
