//! The options of an index to which programs write.

use super::records::OwnedRecords;
use super::served_index::ServedIndex;
use crate::owned_index::{OwnedArgs, PinsArgs};
use crate::place::Place;
use crate::{Error, Output, keys};
use clap::Args as ClapArgs;
use sordino_net::Endpoint;
use sordino_proxy::Token;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The options of an index that programs write to.
#[derive(ClapArgs, Debug)]
pub(super) struct OwnerArgs {
    /// Let programs that have the token of --write-token-file write and list the records of an index on this machine, with this owner's key.
    #[arg(long, value_name = "OWNER_KEY", requires_all = ["index", "write_token_file"])]
    owner_key: Option<PathBuf>,
    /// The token file for programs that write. It is made like the file of --token-file. Anyone who has the token can
    /// list and delete records.
    #[arg(long, value_name = "FILE", requires = "owner_key")]
    write_token_file: Option<PathBuf>,
    /// The owner's index: a folder.
    #[arg(long, value_name = "INDEX", requires = "owner_key")]
    index: Option<PathBuf>,
    /// Push each change to the server, which has its own folder of the index (`sordino serve --accept-changes`).
    #[arg(long, requires = "owner_key")]
    push: bool,
    #[command(flatten)]
    pins: PinsArgs,
}

impl OwnerArgs {
    /// The records and the token of programs that write, if programs may write. Checks that the key belongs to the index's
    /// owner.
    pub(super) fn writing(
        &self,
        search_token: &Token,
        server: &Endpoint,
        output: Output,
    ) -> Result<Option<(Arc<OwnedRecords>, Token)>, Error> {
        let options = (&self.owner_key, &self.index, &self.write_token_file);
        let (Some(key), Some(index), Some(file)) = options else {
            return Ok(None);
        };
        let token = Token::of_file(file)?;
        if token == *search_token {
            let why = "--write-token-file holds the token of --token-file: use a different token, or programs that \
                search could delete records";
            return Err(Error::Arguments(why.to_owned()));
        }
        let records = OwnedRecords {
            key: key.clone(),
            keys: keys::owner(key)?,
            index: index.clone(),
            owned: OwnedArgs::remembered(self.pins.clone()),
            place: Place::of(index)?,
            server: self.push.then(|| server.clone()),
            output,
            pushed: AtomicBool::new(false),
            served: ServedIndex::default(),
            turn: Mutex::default(),
        };
        if self.push && !records.place.is_here() {
            let why = "--push: expected an index in a folder on this machine";
            return Err(Error::Arguments(why.to_owned()));
        }
        drop(records.open()?);
        Ok(Some((Arc::new(records), token)))
    }
}
