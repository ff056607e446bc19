//! `sordino keys`: the owner's, the readers' and the clients' key files, and who may read an index.

mod access;
mod read;

pub(crate) use access::labels_of;
use read::at;
pub use read::{
    Author, author, client, client_public, issuer, issuer_public, owner, public, read, reader,
    reader_public, writer_public,
};

pub use sordino_net::{KeyFile, KeyKind};

use crate::{Error, Output};
use clap::{Args as ClapArgs, Subcommand};
use rand::{TryRng, rngs::SysRng};
use serde::Serialize;
use sordino_net::ClientKey;
use sordino_search::{OwnerKeys, ReaderKeys, ReaderSecret, WriterKeys, WriterSecret, digest};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Arguments of `sordino keys`.
#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sordino keys new owner owner.key
  sordino keys new reader reader.key --from owner.key
  sordino keys new public owner.pub --from owner.key
  sordino keys new client alice.key
  sordino keys new client-public alice.pub --from alice.key
  sordino keys new issuer issuer.key
  sordino keys new issuer-public issuer.pub --from issuer.key
  sordino keys show alice.pub

Readers of their own:
  sordino keys new reader-pair bob.pair --from owner.pub
  sordino keys new reader-public bob.pub --from bob.pair
  sordino keys grant base.index bob --public bob.pub --label finance --key owner.key
  sordino keys list base.index --key owner.key
  sordino keys revoke base.index bob --key owner.key

Writers, who add records with a key of their own:
  sordino keys new writer agent.key --from owner.pub
  sordino keys new writer-public agent.pub --from agent.key
  sordino keys grant base.index agent --public agent.pub --label finance --write --until 2027-06-30T00:00:00Z --key owner.key
  sordino index add base.index notes.parquet --key agent.key --id-column id --label finance
  sordino keys revoke base.index agent --key owner.key

The owner keeps owner.key. The file owner.key.pins next to it remembers the versions of the owner's indexes, so that
no host can take a revocation back; after you restore a backup on purpose, say --restored once. A server gets
owner.pub and alice.pub. A reader gets reader.key, and makes alice.key.

Anyone who has owner.key can read what the owner's indexes hold. Anyone who has reader.key can read the indexes that
have no readers of their own. To become one of an index's own readers, a reader makes a pair, keeps it, and gives the
owner its public key.

Instead of a key file, env:NAME names a variable that holds the key's line. command:COMMAND names a shell command that
prints the line, for instance from a key service: --key 'command:vault kv get -field=key secret/sordino/owner'.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Make a key file. An existing file is not overwritten.
    #[command(subcommand)]
    New(New),
    /// Say what a key file is, and whose. Secrets are never printed.
    Show {
        /// The key file.
        file: PathBuf,
    },
    /// Let a reader read an index. From then on the index has readers of its own.
    Grant(access::Grant),
    /// Take labels, groups or all access from a reader. New records are closed to the reader at once, older ones once
    /// the index is compacted.
    Revoke(access::Revoke),
    /// Set the labels that a group of readers may read.
    Group(access::Group),
    /// List who can read what.
    List(access::List),
}

#[derive(Subcommand, Debug)]
enum New {
    /// The owner's secret: builds, changes and signs indexes, and reads them. Keep a copy offline.
    Owner {
        /// The file to write, readable by you alone.
        output: PathBuf,
    },
    /// A reader's secret: searches and checks, and cannot sign.
    Reader {
        /// The file to write, readable by you alone.
        output: PathBuf,
        /// The owner's key file.
        #[arg(long, value_name = "OWNER_KEY")]
        from: PathBuf,
    },
    /// A reader's own pair of keys, secret: for indexes of this owner that have readers of their own.
    ReaderPair {
        /// The file to write, readable by you alone.
        output: PathBuf,
        /// The owner's public key file.
        #[arg(long, value_name = "OWNER_PUBLIC_KEY")]
        from: PathBuf,
    },
    /// The public half of a reader's pair, which owners grant to.
    ReaderPublic {
        /// The file to write.
        output: PathBuf,
        /// The reader's pair.
        #[arg(long, value_name = "READER_PAIR")]
        from: PathBuf,
    },
    /// A writer's secret: reads as a reader's pair does, and signs the records that it adds, where the owner of the index lets it.
    Writer {
        /// The file to write, readable by you alone.
        output: PathBuf,
        /// The owner's public key file.
        #[arg(long, value_name = "OWNER_PUBLIC_KEY")]
        from: PathBuf,
    },
    /// The public half of a writer's key, which owners grant to.
    WriterPublic {
        /// The file to write.
        output: PathBuf,
        /// The writer's key file.
        #[arg(long, value_name = "WRITER_KEY")]
        from: PathBuf,
    },
    /// The owner's public key: checks an index. It is all that a server needs.
    Public {
        /// The file to write.
        output: PathBuf,
        /// The owner's or a reader's key file.
        #[arg(long, value_name = "KEY")]
        from: PathBuf,
    },
    /// A client's secret, with which it logs in to a server.
    Client {
        /// The file to write, readable by you alone.
        output: PathBuf,
    },
    /// The public half of a client's key, which a server lists.
    ClientPublic {
        /// The file to write.
        output: PathBuf,
        /// The client's key file.
        #[arg(long, value_name = "CLIENT_KEY")]
        from: PathBuf,
    },
    /// The secret of an issuer of tokens.
    Issuer {
        /// The file to write, readable by you alone.
        output: PathBuf,
    },
    /// The public half of an issuer's key, by which its tokens are verified.
    IssuerPublic {
        /// The file to write.
        output: PathBuf,
        /// The issuer's key file.
        #[arg(long, value_name = "ISSUER_KEY")]
        from: PathBuf,
    },
}

/// The report of a key file.
#[derive(Serialize)]
struct Shown {
    file: PathBuf,
    kind: &'static str,
    secret: bool,
    /// The BLAKE3 digest of the key's public half. For the owner's keys and the shared reader's key it is the owner's.
    public_key_digest: String,
    /// The first half of the digest of a reader's own key, as `keys list` shows it. A writer has such a key, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The first half of the digest of a writer's signing key, as `index info` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing: Option<String>,
}

/// Runs `sordino keys`.
///
/// # Errors
/// Fails if a file cannot be read or written, exists already, or is not a key file of the kind needed.
pub fn run(args: Args, output: Output) -> Result<(), Error> {
    match args.command {
        Command::New(new) => {
            let (path, file) = new.make()?;
            file.write(&path).map_err(at(&path))?;
            show(&path, &file, output)
        }
        Command::Show { file } => show(&file, &read(&file)?, output),
        Command::Grant(args) => access::grant(&args, output),
        Command::Revoke(args) => access::revoke(&args, output),
        Command::Group(args) => access::group(&args, output),
        Command::List(args) => access::list(&args, output),
    }
}

impl New {
    fn make(self) -> Result<(PathBuf, KeyFile), Error> {
        Ok(match self {
            Self::Owner { output } => {
                let keys = OwnerKeys::from_master(*random()?);
                (output, KeyFile::of_owner(&keys))
            }
            Self::Reader { output, from } => (output, KeyFile::of_reader(&owner(&from)?.reader())),
            Self::ReaderPair { output, from } => {
                let secret = ReaderSecret::from_bytes(*random()?);
                let keys = ReaderKeys::from_secret(secret, public(&from)?);
                (output, KeyFile::of_reader(&keys))
            }
            Self::ReaderPublic { output, from } => {
                (output, KeyFile::of_reader_public(&reader_public(&from)?))
            }
            Self::Writer { output, from } => {
                let keys = WriterKeys::new(WriterSecret::from_bytes(*random()?), public(&from)?);
                (output, KeyFile::of_writer(&keys))
            }
            Self::WriterPublic { output, from } => {
                (output, KeyFile::of_writer_public(&writer_public(&from)?))
            }
            Self::Public { output, from } => (output, KeyFile::of_public(&public(&from)?)),
            Self::Client { output } => {
                let key = ClientKey::from_seed(&*random()?);
                (output, KeyFile::of_client(&key))
            }
            Self::ClientPublic { output, from } => {
                (output, KeyFile::of_client_public(&client_public(&from)?))
            }
            Self::Issuer { output } => (output, KeyFile::of_issuer(&*random()?)),
            Self::IssuerPublic { output, from } => {
                (output, KeyFile::of_issuer_public(&issuer_public(&from)?)?)
            }
        })
    }
}

fn show(path: &Path, file: &KeyFile, output: Output) -> Result<(), Error> {
    let (mut key, mut signing) = (None, None);
    let digest = match file.kind() {
        KeyKind::Client | KeyKind::ClientPublic => {
            blake3::hash(file.client_public().map_err(at(path))?.to_bytes())
        }
        KeyKind::ReaderPair | KeyKind::ReaderPublic => {
            let digest = blake3::hash(file.reader_public().map_err(at(path))?.as_bytes());
            key = Some(digest::short(digest.as_bytes()));
            digest
        }
        KeyKind::Writer | KeyKind::WriterPublic => {
            let public = file.writer_public().map_err(at(path))?;
            let digest = blake3::hash(&public.signing.to_bytes());
            let half = blake3::hash(public.reader.as_bytes());
            key = Some(digest::short(half.as_bytes()));
            signing = Some(digest::short(digest.as_bytes()));
            digest
        }
        KeyKind::Issuer | KeyKind::IssuerPublic => {
            blake3::hash(file.issuer_public().map_err(at(path))?.as_bytes())
        }
        _ => blake3::hash(&file.public().map_err(at(path))?.to_bytes()),
    };
    let shown = Shown {
        file: path.to_owned(),
        kind: file.kind().name(),
        secret: file.kind().is_secret(),
        public_key_digest: digest.to_hex().to_string(),
        key,
        signing,
    };
    output.report(&shown, || {
        let listed = [("keys list", &shown.key), ("index info", &shown.signing)];
        let listed = listed.iter().filter_map(|(command, key)| {
            let key = key.as_ref()?;
            Some(format!("\nin {command} {key}"))
        });
        format!(
            "{}: {}\npublic key digest {}{}",
            path.display(),
            file.kind().described(),
            shown.public_key_digest,
            listed.collect::<String>()
        )
    })
}

fn random() -> Result<Zeroizing<[u8; 32]>, Error> {
    let mut bytes = Zeroizing::new([0; 32]);
    SysRng
        .try_fill_bytes(&mut *bytes)
        .map_err(|error| Error::Random(error.to_string()))?;
    Ok(bytes)
}
