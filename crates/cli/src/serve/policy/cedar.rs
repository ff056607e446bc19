//! Policies in the language Cedar.

use crate::Error;
use sordino_authz::{Authorizer, Engine, EntityUid, Request, Schema, Uid};
use sordino_net::{IndexName, Policy};
use std::{io, path::Path, sync::Arc};

/// The schema: clients, by the digests of their public keys, their groups, and the actions that they may
/// request.
const SCHEMA: &str = "
    entity Group in [Group];
    entity Client in [Group];
    entity Index;
    action search, payload, download appliesTo { principal: Client, resource: Index };";

/// The name of every client at a server that answers anyone.
const ANYONE: &str = "anyone";

/// The number of bytes for each policy's remembered decisions, which is enough for about 2,700. A decision that is
/// not remembered takes a microsecond.
const REMEMBERED: usize = 1 << 20;

/// The groups to which clients belong.
pub(in crate::serve) struct Groups(Engine);

/// A policy, for clients in groups.
pub(in crate::serve) struct Governed(Arc<Engine>);

impl Groups {
    /// The groups in a file's text.
    pub(super) fn read(path: &Path, groups: &str) -> Result<Self, Error> {
        let schema = Schema::parse(SCHEMA).map_err(at(path))?;
        let engine = Engine::new(schema, "", groups).map_err(at(path))?;
        check_clients(path, &engine.named_by_entities())?;
        Ok(Self(engine))
    }

    /// The policy in a file's text.
    pub(super) fn policy(&self, path: &Path, policies: &str) -> Result<Governed, Error> {
        let engine = self.0.beside(policies, REMEMBERED).map_err(at(path))?;
        check_clients(path, &engine.named_by_policies())?;
        Ok(Governed(Arc::new(engine)))
    }
}

impl Governed {
    pub(in crate::serve) fn policy(&self, name: &IndexName) -> Policy {
        let (engine, index) = (Arc::clone(&self.0), name.to_string());
        Policy::new(move |client, action| {
            let client = client.map_or_else(|| ANYONE.to_owned(), hex::encode);
            let request = Request::new(
                Uid::new("Client", &client),
                Uid::new("Action", action.name()),
                Uid::new("Index", &index),
            );
            engine.check(&request).is_allowed()
        })
    }

    /// Replaces the groups.
    pub(super) fn follow(&self, path: &Path, Groups(groups): &Groups) -> Result<(), Error> {
        self.0.follow(groups).map(drop).map_err(at(path))
    }
}

fn at(path: &Path) -> impl Fn(sordino_authz::Error) -> Error + '_ {
    |source| Error::Policy {
        path: path.to_owned(),
        source,
    }
}

/// Refuses a policy that names a client in a form that no key has, because it would forbid nothing.
fn check_clients(path: &Path, named: &[EntityUid]) -> Result<(), Error> {
    let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    let client = |id: &str| id == ANYONE || id.len() == 64 && id.bytes().all(digit);
    let mut wrong = named.iter().map(EntityUid::borrowed);
    let wrong = wrong.find(|uid| uid.type_name == "Client" && !client(uid.id));
    wrong.map_or(Ok(()), |uid| {
        let why = format!(
            "Client::{:?} is no client: expected {ANYONE:?} or 64 hex digits in lower case, as `sordino keys show` \
             prints them",
            uid.id
        );
        Err(Error::at(path)(io::Error::other(why)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema is valid, and a policy in the form of the documentation means what the
    /// documentation says.
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

    /// Groups with two equal keys are refused. A parser that takes the first of them and one that takes the last would
    /// see different groups.
    #[test]
    fn groups_have_each_key_once() {
        let (path, digest) = (Path::new("groups.json"), "0123456789abcdef".repeat(4));
        let groups = |parents: &str| {
            let text = format!(
                r#"[{{"uid": {{"type": "Client", "id": "{digest}"}}, "attrs": {{}}, {parents}}}]"#
            );
            Groups::read(path, &text).map(drop)
        };
        let admins = r#""parents": [{"type": "Group", "id": "admins"}]"#;
        assert!(groups(admins).is_ok());
        for twice in [
            format!("\"parents\": [], {admins}"),
            format!("\"\\u0070arents\": [], {admins}"),
            format!("{admins}, \"attrs\": {{}}"),
        ] {
            let refused = groups(&twice).unwrap_err().to_string();
            assert!(refused.contains("two or more times"), "{refused}");
        }
    }

    #[test]
    fn clients_are_named_by_whole_digests() {
        let (path, digest) = (Path::new("mail.cedar"), "0123456789abcdef".repeat(4));
        let groups = Groups::read(path, "[]").unwrap();
        let forbids = |id: &str| {
            let text = format!(
                "permit(principal, action, resource); forbid(principal == Client::\"{id}\", action, resource);"
            );
            groups.policy(path, &text).map(drop)
        };
        assert!(forbids(&digest).is_ok() && forbids(ANYONE).is_ok());
        for wrong in [
            &digest.to_uppercase()[..],
            &digest[..16],
            "",
            "94c0...",
            "Anyone",
        ] {
            let refused = forbids(wrong).unwrap_err().to_string();
            assert!(refused.contains("is no client"), "{refused}");
            let when = format!(
                "permit(principal, action, resource) when {{ principal != Client::\"{wrong}\" }};"
            );
            assert!(groups.policy(path, &when).is_err());
            let group = format!(
                r#"[{{"uid": {{"type": "Client", "id": "{wrong}"}}, "attrs": {{}}, "parents": []}}]"#
            );
            assert!(Groups::read(path, &group).is_err());
        }
    }
}
