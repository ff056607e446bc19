//! One entry of the log.

use std::sync::Arc;

use super::bytes::{Reader, write_count, write_text};
use crate::Error;
use crate::decision::{Decision, Epochs, Failure, PolicyError, Refusal};
use crate::request::Request;
use crate::value::EntityUid;

/// A decision as it was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The time in milliseconds since 1970, as the writer gave it.
    pub time: u64,
    /// The principal that asked.
    pub principal: EntityUid,
    /// The requested action.
    pub action: EntityUid,
    /// The resource that the request was about.
    pub resource: EntityUid,
    /// The verdict.
    pub allowed: bool,
    /// The reason why no policy was evaluated, if there was one.
    pub refusal: Option<Refusal>,
    /// The versions of the policies and entities that decided.
    pub epochs: Epochs,
    /// The policies that decided.
    pub policies: Vec<Arc<str>>,
    /// The policies that failed.
    pub errors: Vec<PolicyError>,
}

/// Refusals and failures by their numbers in an entry, from 1.
const REFUSALS: [Refusal; 6] = [
    Refusal::Name,
    Refusal::Action,
    Refusal::Principal,
    Refusal::Resource,
    Refusal::Enumerated,
    Refusal::Context,
];
const FAILURES: [Failure; 7] = [
    Failure::Type,
    Failure::NoEntity,
    Failure::NoEntityAttribute,
    Failure::NoRecordAttribute,
    Failure::Overflow,
    Failure::Extension,
    Failure::Other,
];

fn tag<T: PartialEq>(of: &T, all: &[T]) -> u8 {
    let place = all.iter().position(|other| other == of);
    place
        .and_then(|place| u8::try_from(place + 1).ok())
        .unwrap_or(0)
}

fn tagged<T: Copy>(tag: u8, all: &[T], what: &'static str) -> Result<T, Error> {
    let place = usize::from(tag).checked_sub(1);
    place
        .and_then(|place| all.get(place))
        .copied()
        .ok_or(Error::AuditForm { what })
}

impl Entry {
    pub(super) fn new(time: u64, request: &Request<'_>, decision: &Decision) -> Self {
        Self {
            time,
            principal: request.principal.owned(),
            action: request.action.owned(),
            resource: request.resource.owned(),
            allowed: decision.is_allowed(),
            refusal: decision.refusal(),
            epochs: decision.epochs(),
            policies: decision.policies().to_vec(),
            errors: decision.errors().to_vec(),
        }
    }

    /// Writes the entry behind its length, with its number and the previous entry's digest.
    pub(super) fn write(&self, number: u64, before: &[u8; 32]) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(before);
        for number in [self.time, self.epochs.policies, self.epochs.entities] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for uid in [&self.principal, &self.action, &self.resource] {
            write_text(uid.type_name(), &mut bytes);
            write_text(uid.id(), &mut bytes);
        }
        bytes.push(u8::from(self.allowed));
        bytes.push(self.refusal.map_or(0, |refusal| tag(&refusal, &REFUSALS)));
        write_count(self.policies.len(), &mut bytes);
        self.policies
            .iter()
            .for_each(|id| write_text(id, &mut bytes));
        write_count(self.errors.len(), &mut bytes);
        for error in &self.errors {
            write_text(&error.policy, &mut bytes);
            bytes.push(tag(&error.reason, &FAILURES));
        }
        let mut len = Vec::new();
        write_count(bytes.len() - 4, &mut len);
        bytes[..4].copy_from_slice(&len);
        bytes
    }

    /// Reads an entry, its number and the previous entry's digest.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Self, u64, [u8; 32]), Error> {
        let (number, before, time) = (reader.number()?, *reader.take()?, reader.number()?);
        let (policies, entities) = (reader.number()?, reader.number()?);
        let [principal, action, resource] = [reader.uid()?, reader.uid()?, reader.uid()?];
        let allowed = match reader.byte()? {
            verdict @ 0..=1 => verdict == 1,
            _ => return Err(Error::AuditForm { what: "verdict" }),
        };
        let refusal = match reader.byte()? {
            0 => None,
            number => Some(tagged(number, &REFUSALS, "refusal")?),
        };
        let entry = Self {
            time,
            principal,
            action,
            resource,
            allowed,
            refusal,
            epochs: Epochs { policies, entities },
            policies: (0..reader.count(4)?)
                .map(|_| reader.id())
                .collect::<Result<_, _>>()?,
            errors: (0..reader.count(5)?)
                .map(|_| {
                    let policy = reader.id()?;
                    let reason = tagged(reader.byte()?, &FAILURES, "failure")?;
                    Ok(PolicyError { policy, reason })
                })
                .collect::<Result<_, Error>>()?,
        };
        reader.end()?;
        Ok((entry, number, before))
    }
}
