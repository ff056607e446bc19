//! `sordino token`: tokens that allow clients actions on indexes, for a limited time.

mod claims;
mod report;
mod shown;

use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::{Args as ClapArgs, Subcommand};
use sordino_token::{Action, Algorithm, MAX_LEN, SigningKey, Token, Verifier};

use crate::atomic_file::{self, AtomicFile};
use crate::times::now;
use crate::{Error, Output, files, keys, times};
use claims::{Changed, Wanted, index};
use report::Report;
pub(crate) use shown::shown;

/// The size in bytes of a file with the longest token: as text of two bytes per character, with white
/// space and line ends.
const TEXT_LEN: u64 = (MAX_LEN.div_ceil(3) * 10 + 128) as u64;

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
    --index 7912ff85e8f6cc89b1bb2e62670815c8 --allow search,payload,download --lifetime 30d
  sordino token attenuate alice.token bob.token --key alice.key --holder bob.pub --allow search,download --lifetime 1h
  sordino token inspect bob.token
  sordino token verify bob.token --issuer issuer.pub --audience search.example --holder bob.pub \\
    --index 7912ff85e8f6cc89b1bb2e62670815c8 --action search

A search takes search and download, and payload too where records have payloads.
`sordino index info` prints the id that names an index. A token is not secret: it works only with its holder's key. A
file holds it as bytes or, with --text, as a line of text. Clients also read that line from the variable
SORDINO_TOKEN.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Issue a token. An existing file is not overwritten.
    Issue(Box<Issue>),
    /// Narrow a token as its holder: for another key, fewer rights or a shorter time.
    Attenuate(Box<Attenuate>),
    /// Say what is in a token, without verifying it.
    Inspect {
        /// The token.
        token: PathBuf,
    },
    /// Verify a token, and print what it grants.
    Verify(Verify),
}

#[derive(ClapArgs, Debug)]
struct Issue {
    /// The file to write.
    output: PathBuf,
    /// The issuer's key file.
    #[arg(long, value_name = "ISSUER_KEY")]
    key: PathBuf,
    /// Write it as a line of text (base64url), for an environment variable or a secret of a cluster.
    #[arg(long)]
    text: bool,
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
    /// Write it as a line of text (base64url), for an environment variable or a secret of a cluster.
    #[arg(long)]
    text: bool,
    #[command(flatten)]
    changed: Changed,
}

#[derive(ClapArgs, Debug)]
struct Verify {
    /// The token.
    token: PathBuf,
    /// The public key of a trusted issuer. May be given several times.
    #[arg(long, value_name = "ISSUER_PUB", required = true)]
    issuer: Vec<PathBuf>,
    /// The service that the client asks.
    #[arg(long)]
    audience: String,
    /// The public key of the client that shows the token.
    #[arg(long, value_name = "CLIENT_PUB")]
    holder: Option<PathBuf>,
    /// The index to be used: 32 hex digits.
    #[arg(long, value_name = "ID", value_parser = index, requires = "action")]
    index: Option<[u8; 16]>,
    /// The action: search, payload, download, add, delete, compact or admin.
    #[arg(long, value_parser = claims::action, requires = "index")]
    action: Option<Action>,
    /// Verify as of this time, such as 2026-11-27T08:30:00Z or seconds since 1970. The default is now.
    #[arg(long, value_name = "TIME", value_parser = times::instant)]
    at: Option<u64>,
    /// The time by which the clocks of issuer and service may differ.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = times::leeway)]
    leeway: u64,
}

/// Runs `sordino token`.
///
/// # Errors
/// Fails if a file cannot be read or written, exists already, or is not a token or key of the kind needed. Also fails if the
/// token is refused.
pub fn run(args: &Args, output: Output) -> Result<(), Error> {
    match &args.command {
        Command::Issue(args) => {
            let issuer = keys::issuer(&args.key)?;
            let claims = args.wanted.claims(now())?;
            let token = Token::issue(&claims, &issuer).map_err(at(&args.output))?;
            write(&args.output, &token, args.text)?;
            Report::new(&args.output, &token, "issued").print(output)
        }
        Command::Attenuate(args) => {
            let token = read(&args.token)?;
            let holder = keys::client(&args.key)?;
            let holder = SigningKey::from_seed(Algorithm::MlDsa65, &holder.seed());
            let last = token.granted();
            // The user made a mistake. In contrast, a token that is shown with another key comes
            // from an intruder.
            if *holder.public() != last.holder {
                let (token, key) = (args.token.display(), args.key.display());
                let why = format!("{token}: the token was made for another key, not for {key}");
                return Err(Error::Arguments(why));
            }
            let claims = args.changed.claims(last, now())?;
            let token = token.attenuate(&claims, &holder);
            let token = token.map_err(at(&args.token))?;
            write(&args.output, &token, args.text)?;
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
    let mut verifier = Verifier::new(&args.audience, &issuers).leeway(args.leeway);
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

/// Names the file of a token that is refused.
fn at(path: &Path) -> impl Fn(sordino_token::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Token {
        path: path.clone(),
        source,
    }
}

/// Reads a token from a file, without verifying its signatures.
fn read(path: &Path) -> Result<Token, Error> {
    let bytes = files::read(path, TEXT_LEN).map_err(Error::at(path))?;
    parse(&bytes).map_err(at(path))
}

/// A token from its bytes or its text. The text may have white space, and the encoding that an editor or a shell uses.
fn parse(bytes: &[u8]) -> Result<Token, sordino_token::Error> {
    // No token begins with a byte-order mark or with a letter.
    let text: Vec<u8> = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        [0xff, 0xfe, rest @ ..] => narrow(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => narrow(rest, u16::from_be_bytes),
        all => all.to_vec(),
    };
    let signs = text.into_iter().filter(|byte| !byte.is_ascii_whitespace());
    let signs = signs.take_while(|byte| *byte != b'=');
    // The two alphabets of base64 differ in two characters.
    let signs = signs.map(|byte| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => other,
    });
    match URL_SAFE_NO_PAD.decode(signs.collect::<Vec<u8>>()) {
        Ok(decoded) => Token::from_bytes(&decoded),
        Err(_) => Token::from_bytes(bytes),
    }
}

/// The text of UTF-16 that should be ASCII. Other characters become one that no token contains.
fn narrow(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (units, _) = bytes.as_chunks::<2>();
    let narrowed = units.iter().map(|&pair| u8::try_from(unit(pair)));
    narrowed.map(|byte| byte.unwrap_or(b'?')).collect()
}

fn write(path: &Path, token: &Token, text: bool) -> Result<(), Error> {
    let mut file = AtomicFile::new(path).map_err(Error::at(path))?;
    let written = match text {
        true => writeln!(file, "{}", URL_SAFE_NO_PAD.encode(token.as_bytes())),
        false => file.write_all(token.as_bytes()),
    };
    written.map_err(Error::at(path))?;
    atomic_file::in_place(path, file)
}
