//! Reads the keys that arguments name.

use super::{KeyFile, KeyKind};
use crate::{Error, key_source};
use sordino_net::{ClientKey, ClientPublicKey};
use sordino_search::{
    OwnerKeys, OwnerPublicKey, ReaderKeys, ReaderPublicKey, WriterKeys, WriterPublicKey,
};
use sordino_token::{PublicKey, SigningKey};
use std::io::{self, Write};
use std::path::Path;

/// The key that an argument names. It is in a file, in a variable (`env:NAME`), or in the output of a command
/// (`command:COMMAND`). If others can read a secret key, the function prints a warning on standard error.
///
/// # Errors
/// Fails if the key cannot be read, or is not in the form of a key file.
pub fn read(path: &Path) -> Result<KeyFile, Error> {
    let file = match key_source::line(path)? {
        Some(line) => KeyFile::parse(&line).map_err(|why| Error::KeyFile {
            path: path.to_owned(),
            why,
        })?,
        None => KeyFile::read(path).map_err(|error| match error {
            sordino_net::Error::File { path, source } if source.kind() == io::ErrorKind::NotFound => {
                let why = "there is no such file: expected a key file, as `sordino keys new` writes it, or env:NAME or command:COMMAND";
                Error::Arguments(format!("{}: {why}", path.display()))
            }
            error => at(path)(error),
        })?,
    };
    if file.is_exposed() {
        let path = path.display();
        let warning = format!("others can read the secret in {path}: chmod 600 {path}");
        // If standard error is closed, the warning has no reader.
        let _ = writeln!(io::stderr(), "sordino: warning: {warning}");
    }
    Ok(file)
}

/// Converts an error of a key file to this program's error.
pub(super) fn at(path: &Path) -> impl FnOnce(sordino_net::Error) -> Error {
    use sordino_net::Error as Net;
    |error| match error {
        Net::File { path, source } => Error::File { path, source },
        Net::KeyFile { path, why } => Error::KeyFile { path, why },
        Net::KeyExists { path } => Error::KeyExists { path },
        Net::ReaderKey(why) => Error::index(path)(*why),
        Net::KeyKind { found, expected } => Error::KeyKind {
            path: path.to_owned(),
            found,
            expected,
        },
        error => error.into(),
    }
}

/// The owner's keys of a file.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn owner(path: &Path) -> Result<OwnerKeys, Error> {
    read(path)?.owner().map_err(at(path))
}

/// A reader's public key, from a file with that key or with the reader's pair.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn reader_public(path: &Path) -> Result<ReaderPublicKey, Error> {
    read(path)?.reader_public().map_err(at(path))
}

/// A writer's public key, from a file with that key or with the writer's secret.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn writer_public(path: &Path) -> Result<WriterPublicKey, Error> {
    read(path)?.writer_public().map_err(at(path))
}

/// The keys of an owner or writer, who may change an index.
#[derive(Debug)]
pub enum Author {
    /// The owner.
    Owner(OwnerKeys),
    /// A writer, who adds records.
    Writer(WriterKeys),
}

/// The owner's or a writer's keys, with which an index can be changed.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn author(path: &Path) -> Result<Author, Error> {
    let file = read(path)?;
    match file.kind() {
        KeyKind::Writer => file.writer().map(Author::Writer).map_err(at(path)),
        _ => file.owner().map(Author::Owner).map_err(at(path)),
    }
}

/// The readers' keys, from a reader's or the owner's file.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn reader(path: &Path) -> Result<ReaderKeys, Error> {
    read(path)?.reader().map_err(at(path))
}

/// The owner's public key, from a file with that key, or from a reader's or the owner's file.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn public(path: &Path) -> Result<OwnerPublicKey, Error> {
    read(path)?.public().map_err(at(path))
}

/// The client key of a file.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn client(path: &Path) -> Result<ClientKey, Error> {
    read(path)?.client().map_err(at(path))
}

/// A client's public key, from a file with that key or with the client's secret.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn client_public(path: &Path) -> Result<ClientPublicKey, Error> {
    read(path)?.client_public().map_err(at(path))
}

/// The key of a file that issues tokens.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn issuer(path: &Path) -> Result<SigningKey, Error> {
    read(path)?.issuer().map_err(at(path))
}

/// An issuer's public key, from a file with that key or with the issuer's secret.
///
/// # Errors
/// Fails if the file cannot be read or is of another kind.
pub fn issuer_public(path: &Path) -> Result<PublicKey, Error> {
    read(path)?.issuer_public().map_err(at(path))
}
