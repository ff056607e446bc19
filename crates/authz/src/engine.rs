//! The engine, which decides by the current policies and entities.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::Error;
use crate::decision::{Decision, Epochs};
use crate::key::Key;
use crate::policies::Policies;
use crate::recent::{self, FIELDS};
use crate::request::{Authorizer, Request};
use crate::schema::Schema;
use crate::state::{REMEMBERED, State};
use crate::value::EntityUid;
use crate::world::World;

/// Decides requests by Cedar policies. A request is denied by default, and one policy that forbids overrides all that permit.
///
/// Any number of threads may ask at the same time, without a lock. Policies and entities can be replaced as a whole meanwhile.
///
/// # Replacement
///
/// One value holds the policies, the entities, everything compiled from them, and the cache of decisions made by them. A
/// replacement exchanges this value for a new one with an empty cache. A check loads the value once, uses nothing else, and
/// stores its decision in the cache of that value. So a check that begins after a replacement has returned loads the new value or
/// a later one. The cache of that value holds only decisions by the same policies and entities, so the check cannot get an older
/// decision. A check that overlaps a replacement may use the old or the new value, never a mixture. [`Decision::epochs`] tells
/// which.
///
/// In front of that cache each thread has a small table. Each entry there has the number of the value that decided it. A
/// replacement publishes the number of the new value before the value itself. A check reads that number once, at its start.
#[derive(Debug)]
pub struct Engine {
    state: ArcSwap<State>,
    /// The number of the newest state, stored before the state itself.
    number: AtomicU64,
    /// The previous state, kept until the next replacement, so that no check has to free it. Replacements hold this lock.
    before: Mutex<Option<Arc<State>>>,
}

/// The number of an engine's policies, and how many of them are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The number of policies.
    pub policies: usize,
    /// The number of policies that this crate evaluates itself; Cedar's evaluator runs the others.
    pub compiled: usize,
}

impl Engine {
    /// Makes an engine for a schema, policies in Cedar's syntax and entities in Cedar's JSON form. It denies requests that the
    /// schema does not admit.
    ///
    /// # Errors
    /// For policies: [`Error::Parse`] if they do not parse, [`Error::Invalid`] if the schema does not admit one,
    /// [`Error::Template`] for a template, [`Error::DuplicatePolicy`] if two have the same id, [`Error::Expression`] for one
    /// with too many operators. For entities: [`Error::Entities`] if they have a fault, [`Error::Cycle`] if one is its own
    /// ancestor, [`Error::UnknownType`] if the schema lacks a type, [`Error::TooDeep`] if a value is nested too deeply. For
    /// both: [`Error::TooLarge`] if a text is too long.
    pub fn new(schema: Schema, policies: &str, entities: &str) -> Result<Self, Error> {
        Self::build(Some(Arc::new(schema)), policies, entities)
    }

    /// Makes an engine without a schema. The caller validates policies, entities and requests.
    ///
    /// # Security
    /// Nothing is validated here. A policy that misspells an attribute fails for every request and is then ignored, even if it
    /// forbids.
    ///
    /// # Errors
    /// The errors of [`Self::new`], except [`Error::UnknownType`]. [`Error::Invalid`] is only for constructors such as
    /// `ip("300.1.1.1")`.
    pub fn without_schema(policies: &str, entities: &str) -> Result<Self, Error> {
        Self::build(None, policies, entities)
    }

    fn build(schema: Option<Arc<Schema>>, policies: &str, entities: &str) -> Result<Self, Error> {
        let policies = Arc::new(Policies::parse(policies, schema.as_deref())?);
        let world = World::parse(entities, schema.as_ref().map(|schema| &schema.cedar))?;
        let (world, epochs) = (Arc::new(world), Epochs::default());
        Ok(Self::of(State::new(
            schema,
            policies,
            world,
            (epochs, REMEMBERED),
        )))
    }

    fn of(state: State) -> Self {
        Self {
            number: AtomicU64::new(state.number),
            state: ArcSwap::from_pointee(state),
            before: Mutex::new(None),
        }
    }

    /// Makes an engine with other policies over the same schema and the current entities. The entities are not read again, and
    /// both engines share their memory. The new engine remembers decisions in `remembered` bytes; an engine of [`Self::new`] has
    /// 16 MiB.
    ///
    /// ```
    /// use sordino_authz::{Engine, Request, Uid};
    /// let groups = r#"[{"uid": {"type": "User", "id": "eve"}, "attrs": {}, "parents": [{"type": "Team", "id": "a"}]}]"#;
    /// let all = Engine::without_schema("", groups)?;
    /// let mail = all.beside("permit(principal in Team::\"a\", action, resource);", 1 << 20)?;
    /// let request = Request::new(Uid::new("User", "eve"), Uid::new("Action", "read"), Uid::new("Box", "1"));
    /// assert!(mail.allows(&request) && !all.allows(&request));
    /// # Ok::<(), sordino_authz::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::new`] for policies.
    pub fn beside(&self, policies: &str, remembered: usize) -> Result<Self, Error> {
        let state = self.state.load();
        let (schema, world) = (state.schema.clone(), state.world.clone());
        let policies = Arc::new(Policies::parse(policies, schema.as_deref())?);
        let epochs = Epochs::default();
        Ok(Self::of(State::new(
            schema,
            policies,
            world,
            (epochs, remembered),
        )))
    }

    /// Replaces all policies.
    ///
    /// # Errors
    /// The errors of [`Self::new`] for policies. The earlier policies stay then.
    pub fn replace_policies(&self, policies: &str) -> Result<Epochs, Error> {
        let schema = self.state.load().schema.clone();
        let policies = Arc::new(Policies::parse(policies, schema.as_deref())?);
        Ok(self.replace(|state, epochs| {
            let policies_epoch = epochs.policies + 1;
            let epochs = Epochs {
                policies: policies_epoch,
                ..epochs
            };
            State::new(
                schema,
                policies,
                state.world.clone(),
                (epochs, state.remembered),
            )
        }))
    }

    /// Replaces all entities.
    ///
    /// # Errors
    /// The errors of [`Self::new`] for entities. The earlier entities stay then.
    pub fn replace_entities(&self, entities: &str) -> Result<Epochs, Error> {
        let schema = self.state.load().schema.clone();
        let world = World::parse(entities, schema.as_ref().map(|schema| &schema.cedar))?;
        Ok(self.replace_world(Arc::new(world)))
    }

    fn replace(&self, next: impl FnOnce(&State, Epochs) -> State) -> Epochs {
        // A panic of a thread that holds this lock leaves the stored state intact.
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.load_full();
        let next = next(&state, state.epochs);
        let epochs = next.epochs;
        self.number.store(next.number, Ordering::Release);
        self.state.store(Arc::new(next));
        *before = Some(state);
        epochs
    }

    /// True if the request is allowed.
    #[must_use]
    pub fn allows(&self, request: &Request<'_>) -> bool {
        self.check(request).is_allowed()
    }

    /// Computes the decision without the caches, and does not store it.
    #[must_use]
    pub fn decide(&self, request: &Request<'_>) -> Decision {
        self.state.load().decide(request)
    }

    /// The decision, if a cache has it.
    #[must_use]
    pub fn cached(&self, request: &Request<'_>) -> Option<Decision> {
        let (number, key) = (self.number.load(Ordering::Acquire), key(request));
        recent::get(number, &key).or_else(|| remembered(&self.state.load(), &key))
    }

    /// The numbers of the current policies and entities.
    #[must_use]
    pub fn epochs(&self) -> Epochs {
        self.state.load().epochs
    }

    /// Replaces all entities by the entities of an engine with the same schema, which are not read again.
    ///
    /// # Errors
    /// [`Error::OtherSchema`] if the texts of both schemas differ, or one engine has no schema. The groups of actions belong to
    /// the entities, so with another schema policies could name actions that do not exist. After the error, the entities are
    /// unchanged.
    pub fn follow(&self, other: &Self) -> Result<Epochs, Error> {
        let (own, other) = (self.state.load(), other.state.load());
        let [text, other_text] = [&own, &other].map(|state| {
            let schema = state.schema.as_ref();
            schema.map(|schema| &*schema.text)
        });
        if text != other_text {
            return Err(Error::OtherSchema);
        }
        Ok(self.replace_world(other.world.clone()))
    }

    fn replace_world(&self, world: Arc<World>) -> Epochs {
        self.replace(|state, epochs| {
            let entities_epoch = epochs.entities + 1;
            let epochs = Epochs {
                entities: entities_epoch,
                ..epochs
            };
            let (schema, policies) = (state.schema.clone(), state.policies.clone());
            State::new(schema, policies, world, (epochs, state.remembered))
        })
    }

    /// The entities that policies name.
    #[must_use]
    pub fn named_by_policies(&self) -> Vec<EntityUid> {
        self.state.load().policies.literals()
    }

    /// All entities, and the entities that they name as their parents.
    #[must_use]
    pub fn named_by_entities(&self) -> Vec<EntityUid> {
        self.state.load().world.uids()
    }

    /// The number of policies, and how many of them are compiled.
    #[must_use]
    pub fn share(&self) -> Share {
        let state = self.state.load();
        Share {
            policies: state.policies.len(),
            compiled: state.program.compiled(),
        }
    }
}

impl Authorizer for Engine {
    fn check(&self, request: &Request<'_>) -> Decision {
        let (number, key) = (self.number.load(Ordering::Acquire), key(request));
        recent::get(number, &key).unwrap_or_else(|| self.shared(&key, request))
    }
}

impl Engine {
    /// The decision by the current state, which then remembers it.
    fn shared(&self, key: &Key<'_, FIELDS>, request: &Request<'_>) -> Decision {
        let state = self.state.load();
        remembered(&state, key).unwrap_or_else(|| {
            let decision = state.decide(request);
            state.cache.insert(key, decision.clone(), decision.bytes());
            decision
        })
    }
}

/// The decision from the cache of a state, which this thread's table then stores too.
fn remembered(state: &State, key: &Key<'_, FIELDS>) -> Option<Decision> {
    let entry = state.cache.entry(key)?;
    let decision = entry.value.clone();
    recent::put(state.number, key, entry);
    Some(decision)
}

/// The key of a whole request.
#[inline]
fn key<'a>(request: &Request<'a>) -> Key<'a, FIELDS> {
    let fields = [
        request.principal.type_name.as_bytes(),
        request.principal.id.as_bytes(),
        request.action.type_name.as_bytes(),
        request.action.id.as_bytes(),
        request.resource.type_name.as_bytes(),
        request.resource.id.as_bytes(),
        request.context.canonical(),
    ];
    Key::new(fields, request.context.hash())
}
