//! Decisions equal Cedar's own in the verdict, the deciding policies and the failures.
//!
//! The test generates policies, entities and requests. They have values that no schema would admit: types that an operator
//! does not take, missing attributes and entities, integers at the limits, sets in sets.

mod generate;

use std::collections::BTreeSet;

use cedar_policy::{AuthorizationError, EvaluationError};
use generate::Round;
use rand::{SeedableRng, rngs::StdRng};
use sordino_authz::{Decision, Engine, Failure};

/// The number of requests in a round of generated policies and entities.
const REQUESTS: usize = 200;

/// Compares `rounds` rounds. Returns the number of compiled policies, the number of all policies, and
/// counts of outcomes.
fn compare(rounds: u64, first: u64) -> (usize, usize, [usize; 4]) {
    let (mut compiled, mut policies, mut seen) = (0, 0, [0; 4]);
    for seed in first..first + rounds {
        let mut rng = StdRng::seed_from_u64(seed);
        let round = Round::new(&mut rng);
        let engine =
            Engine::without_schema(&round.policies, &round.entities).unwrap_or_else(|error| {
                panic!(
                    "seed {seed}: {error}\n{}\n{}",
                    round.policies, round.entities
                )
            });
        let set: cedar_policy::PolicySet = round.policies.parse().expect("parsed above");
        let entities =
            cedar_policy::Entities::from_json_str(&round.entities, None).expect("read above");
        let authorizer = cedar_policy::Authorizer::new();
        let share = engine.share();
        compiled += share.compiled;
        policies += share.policies;
        for number in 0..REQUESTS {
            let asked = round.request(&mut rng);
            let decision = engine.decide(&asked.request());
            let response = authorizer.is_authorized(&asked.cedar(), &set, &entities);
            let expected = cedar(&response);
            assert_eq!(
                ours(&decision),
                expected,
                "seed {seed}, request {number}: {:?}\n{}\n{}",
                asked,
                round.policies,
                round.entities
            );
            seen[usize::from(expected.0)] += 1;
            seen[2] += usize::from(!expected.2.is_empty());
            seen[3] += usize::from(expected.1.len() > 1);
        }
    }
    (compiled, policies, seen)
}

type Outcome = (bool, BTreeSet<String>, BTreeSet<(String, Failure)>);

fn ours(decision: &Decision) -> Outcome {
    assert_eq!(decision.refusal(), None);
    let policies = decision.policies().iter().map(|id| id.to_string());
    let errors = decision.errors().iter();
    let errors = errors.map(|error| (error.policy.to_string(), error.reason));
    (decision.is_allowed(), policies.collect(), errors.collect())
}

fn cedar(response: &cedar_policy::Response) -> Outcome {
    let errors = response.diagnostics().errors().map(|error| {
        let AuthorizationError::PolicyEvaluationError(error) = error;
        let reason = match error.inner() {
            EvaluationError::EntityDoesNotExist(_) => Failure::NoEntity,
            EvaluationError::EntityAttrDoesNotExist(_) => Failure::NoEntityAttribute,
            EvaluationError::RecordAttrDoesNotExist(_) => Failure::NoRecordAttribute,
            EvaluationError::TypeError(_) => Failure::Type,
            EvaluationError::IntegerOverflow(_) => Failure::Overflow,
            EvaluationError::FailedExtensionFunctionExecution(_) => Failure::Extension,
            other => panic!("{other}"),
        };
        (error.policy_id().to_string(), reason)
    });
    (
        response.decision() == cedar_policy::Decision::Allow,
        response
            .diagnostics()
            .reason()
            .map(|id| id.to_string())
            .collect(),
        errors.collect(),
    )
}

fn check(rounds: u64, first: u64) {
    let (compiled, policies, seen) = compare(rounds, first);
    println!(
        "{compiled} of {policies} policies compiled; [denied, allowed, with failures, by several] {seen:?}"
    );
    let requests = usize::try_from(rounds).unwrap() * REQUESTS;
    assert!(
        seen.iter().all(|count| *count > requests / 50),
        "{seen:?} of {requests} requests show too little"
    );
    assert!(
        compiled < policies && 2 * compiled > policies,
        "{compiled} of {policies} compiled"
    );
}

#[test]
fn equal_to_cedar_on_generated_requests() {
    check(100, 0);
}

/// Run with `cargo test --release -p sordino-authz --test cedar -- --ignored --nocapture`.
#[test]
#[ignore = "minutes: a million requests"]
fn equal_to_cedar_on_a_million_requests() {
    check(5_000, 1_000_000);
}
