//! Policies in the language Cedar.

use crate::Error;
use sordino_authz::{Authorizer, Engine, Request, Schema, Uid};
use sordino_net::{IndexName, Policy};
use std::path::Path;

/// The clients, by the digests of their public keys, the groups that they are in, and what they may ask for.
const SCHEMA: &str = "
    entity Group in [Group];
    entity Client in [Group];
    entity Index;
    action search, payload, download appliesTo { principal: Client, resource: Index };";

/// The client of a server that answers whoever asks.
const ANYONE: &str = "anyone";

/// Bytes of remembered decisions, of each policy: some 2,700. A decision that is not remembered takes a microsecond.
const REMEMBERED: usize = 1 << 20;

/// The groups that clients are in.
pub(in crate::serve) struct Groups(Engine);

fn at(path: &Path) -> impl Fn(sordino_authz::Error) -> Error + '_ {
    |source| Error::Policy {
        path: path.to_owned(),
        source,
    }
}

impl Groups {
    /// The groups in a file's text.
    pub(super) fn read(path: &Path, groups: &str) -> Result<Self, Error> {
        let schema = Schema::parse(SCHEMA).map_err(at(path))?;
        let engine = Engine::new(schema, "", groups);
        engine.map(Self).map_err(at(path))
    }

    /// The policy in a file's text, for clients in these groups.
    pub(super) fn policy(
        &self,
        path: &Path,
        policies: &str,
        name: &IndexName,
    ) -> Result<Policy, Error> {
        let engine = self.0.beside(policies, REMEMBERED).map_err(at(path))?;
        let index = name.to_string();
        Ok(Policy::new(move |client, action| {
            let client = client.map_or_else(|| ANYONE.to_owned(), hex::encode);
            let request = Request::new(
                Uid::new("Client", &client),
                Uid::new("Action", action.name()),
                Uid::new("Index", &index),
            );
            engine.check(&request).is_allowed()
        }))
    }
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
