//! Policies in Cedar: whom an index is for.

use crate::Error;
use sordino_authz::{Authorizer, Engine, Request, Schema, Uid};
use sordino_net::{IndexName, Policy};
use sordino_search::{Disk, Files};
use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Longer than any such file.
const MAX_FILE: u64 = 4 << 20;

/// The clients, by the digests of their public keys, the groups that they are in, and what they may ask for.
const SCHEMA: &str = "
    entity Group in [Group];
    entity Client in [Group];
    entity Index;
    action search, payload, download appliesTo { principal: Client, resource: Index };";

/// The client of a server that answers whoever asks.
const ANYONE: &str = "anyone";

/// The files of an index's policy.
pub(super) struct Written {
    policy: PathBuf,
    groups: PathBuf,
}

/// The times and lengths of these files when they were read.
pub(super) type Stamp = [Option<(SystemTime, u64)>; 2];

impl Written {
    /// The policy beside an index's folder, and the groups that all policies of the root share.
    pub(super) fn of(root: &Path, name: &IndexName) -> Self {
        Self {
            policy: root.join(format!("{name}.cedar")),
            groups: root.join("groups.json"),
        }
    }

    pub(super) fn stamp(&self) -> Stamp {
        [&self.policy, &self.groups].map(|path| {
            let found = path.metadata().ok()?;
            Some((found.modified().ok()?, found.len()))
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.policy
    }

    /// The policy, if there is one.
    pub(super) fn read(&self, name: &IndexName) -> Result<Option<Policy>, Error> {
        let Some(policies) = text(&self.policy)? else {
            return Ok(None);
        };
        let groups = text(&self.groups)?.unwrap_or_else(|| "[]".to_owned());
        let wrong = |source| Error::Policy {
            path: self.policy.clone(),
            source,
        };
        let schema = Schema::parse(SCHEMA).map_err(wrong)?;
        let engine = Engine::new(schema, &policies, &groups).map_err(wrong)?;
        let index = name.to_string();
        Ok(Some(Policy::new(move |client, action| {
            let client = client.map_or_else(|| ANYONE.to_owned(), hex::encode);
            let request = Request::new(
                Uid::new("Client", &client),
                Uid::new("Action", action.name()),
                Uid::new("Index", &index),
            );
            engine.check(&request).is_allowed()
        })))
    }
}

/// The text of a file, if it is there.
fn text(path: &Path) -> Result<Option<String>, Error> {
    let bytes = match Files.read(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(Error::at(path))?,
    };
    if bytes.len() as u64 > MAX_FILE {
        let long = io::Error::other(format!("longer than {MAX_FILE} bytes"));
        return Err(Error::at(path)(long));
    }
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|error| Error::at(path)(io::Error::other(error.utf8_error())))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema is one, and a policy of the documentation's form says what it says.
    #[test]
    fn a_policy_is_for_clients_and_groups() {
        let policy =
            "permit(principal in Group::\"research\", action == Action::\"search\", resource);
                      permit(principal == Client::\"b\", action, resource == Index::\"mail\");";
        let groups = r#"[{"uid": {"type": "Client", "id": "a"}, "attrs": {}, "parents": [{"type": "Group", "id": "research"}]},
                         {"uid": {"type": "Group", "id": "research"}, "attrs": {}, "parents": []}]"#;
        let engine = Engine::new(Schema::parse(SCHEMA).unwrap(), policy, groups).unwrap();
        let allows = |client: &str, action: &str, index: &str| {
            engine.allows(&Request::new(
                Uid::new("Client", client),
                Uid::new("Action", action),
                Uid::new("Index", index),
            ))
        };
        assert!(allows("a", "search", "mail") && !allows("a", "payload", "mail"));
        assert!(allows("b", "payload", "mail") && !allows("b", "payload", "news"));
        assert!(!allows("c", "search", "mail") && !allows(ANYONE, "search", "mail"));
    }
}
