//! The current policies and entities, and decisions by them.

use std::sync::Arc;

use cedar_policy::{AuthorizationError, EvaluationError};
use smallvec::SmallVec;

use crate::cache::Cache;
use crate::convert;
use crate::decision::{Decision, Epochs, Failure, PolicyError, Refusal};
use crate::eval::{Asked, Stop};
use crate::names::is_type;
use crate::policies::{Code, Policies, Program};
use crate::recent::{self, FIELDS};
use crate::request::Request;
use crate::schema::Schema;
use crate::world::{Nodes, World};

/// The size in bytes of remembered decisions, unless an engine is made for fewer.
pub(crate) const REMEMBERED: usize = 16 << 20;

/// Everything that a decision depends on apart from the request, and the decisions made so far.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) schema: Option<Arc<Schema>>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) world: Arc<World>,
    pub(crate) program: Program,
    pub(crate) cache: Cache<Decision, FIELDS>,
    /// A number that no other state of any engine has.
    pub(crate) number: u64,
    pub(crate) epochs: Epochs,
    /// The bound of the bytes of remembered decisions.
    pub(crate) remembered: usize,
    /// The decisions by one policy alone without errors, and the decision by no policy.
    alone: Box<[Decision]>,
    none: Decision,
}

/// Numbers of policies; a few of them need no allocation.
type Few = SmallVec<[u32; 8]>;

/// The policies that apply, and the policies that failed.
#[derive(Default)]
struct Found {
    permits: Few,
    forbids: Few,
    errors: Vec<(u32, Failure)>,
}

impl State {
    pub(crate) fn new(
        schema: Option<Arc<Schema>>,
        policies: Arc<Policies>,
        world: Arc<World>,
        (epochs, remembered): (Epochs, usize),
    ) -> Self {
        let program = Program::new(&policies, Nodes::new(world.clone()));
        let alone = (0..policies.len()).map(|number| {
            let policy = policies.get(u32::try_from(number).expect("texts are bounded far below"));
            Decision::new(policy.permits, vec![policy.id.clone()], Vec::new(), epochs)
        });
        Self {
            alone: alone.collect(),
            none: Decision::new(false, Vec::new(), Vec::new(), epochs),
            schema,
            policies,
            world,
            program,
            cache: Cache::new(remembered),
            number: recent::number(),
            remembered,
            epochs,
        }
    }

    /// Computes the decision without the cache.
    pub(crate) fn decide(&self, request: &Request<'_>) -> Decision {
        let refusal = match &self.schema {
            Some(schema) => schema.refusal(request),
            None => unnamed(request),
        };
        if let Some(refusal) = refusal {
            return Decision::refused(refusal, self.epochs);
        }
        let (mut found, mut left) = (Found::default(), Few::new());
        let asked = Asked::new(&self.program.nodes, request);
        self.program.index.each(&asked, |number| {
            let (scope, code) = self.program.get(number);
            if !scope.matches(&asked) {
                return;
            }
            let held = match code {
                Code::Always => Ok(true),
                Code::When(condition) => asked.holds(condition),
                Code::Cedar => Err(Stop::Cedar),
            };
            match held {
                Ok(held) => self.note(number, held, &mut found),
                Err(Stop::Failed(failure)) => found.errors.push((number, failure)),
                Err(Stop::Cedar) => left.push(number),
            }
        });
        if !left.is_empty()
            && let Err(refusal) = self.by_cedar(request, &left, &mut found)
        {
            return Decision::refused(refusal, self.epochs);
        }
        self.decision(found)
    }

    fn note(&self, number: u32, held: bool, found: &mut Found) {
        match (held, self.policies.get(number).permits) {
            (false, _) => {}
            (true, true) => found.permits.push(number),
            (true, false) => found.forbids.push(number),
        }
    }

    /// Cedar's verdict on each of these policies.
    fn by_cedar(
        &self,
        request: &Request<'_>,
        left: &[u32],
        found: &mut Found,
    ) -> Result<(), Refusal> {
        let request = convert::request(request, None).map_err(|refused| match refused {
            convert::Refused::Name => Refusal::Name,
            _ => Refusal::Context,
        })?;
        let authorizer = cedar_policy::Authorizer::new();
        for &number in left {
            let alone = self.policies.get(number).alone();
            let response = authorizer.is_authorized(&request, alone, &self.world.cedar);
            let errors = response.diagnostics().errors();
            found
                .errors
                .extend(errors.map(|error| (number, failure(error))));
            self.note(
                number,
                response.diagnostics().reason().next().is_some(),
                found,
            );
        }
        Ok(())
    }

    fn decision(&self, found: Found) -> Decision {
        let Found {
            permits,
            forbids,
            mut errors,
        } = found;
        let allowed = forbids.is_empty() && !permits.is_empty();
        let mut deciding = if forbids.is_empty() { permits } else { forbids };
        if errors.is_empty() {
            match deciding[..] {
                [] => return self.none.clone(),
                [one] => return self.alone[one as usize].clone(),
                _ => {}
            }
        }
        deciding.sort_unstable();
        errors.sort_unstable();
        let id = |number: u32| self.policies.get(number).id.clone();
        let policies = deciding.into_iter().map(id).collect();
        let errors = errors.into_iter().map(|(number, reason)| PolicyError {
            policy: id(number),
            reason,
        });
        Decision::new(allowed, policies, errors.collect(), self.epochs)
    }
}

/// The reason why Cedar cannot express the request, with or without a schema. Compiled policies would accept such a
/// request.
fn unnamed(request: &Request<'_>) -> Option<Refusal> {
    let uids = [request.principal, request.action, request.resource];
    let named = uids.iter().all(|uid| is_type(uid.type_name));
    (!named).then_some(Refusal::Name)
}

/// The kind of a Cedar error.
fn failure(error: &AuthorizationError) -> Failure {
    let AuthorizationError::PolicyEvaluationError(error) = error;
    match error.inner() {
        EvaluationError::EntityDoesNotExist(_) => Failure::NoEntity,
        EvaluationError::EntityAttrDoesNotExist(_) => Failure::NoEntityAttribute,
        EvaluationError::RecordAttrDoesNotExist(_) => Failure::NoRecordAttribute,
        EvaluationError::TypeError(_) => Failure::Type,
        EvaluationError::IntegerOverflow(_) => Failure::Overflow,
        EvaluationError::FailedExtensionFunctionLookup(_)
        | EvaluationError::FailedExtensionFunctionExecution(_)
        | EvaluationError::WrongNumArguments(_) => Failure::Extension,
        _ => Failure::Other,
    }
}
