//! Letters live random lives; whatever happens, what holds of all letters holds.

use std::time::Duration;

use amqp_message::time::Timestamp;
use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};

use super::{
    super::{
        LetterState, Transition,
        commands::Decider,
        edits::{self, NewCopy},
        enrichment::{self, Evaluation},
        failures::{FailedAgain, FailedMessage, RevivedFamilies},
        publishing::published,
        retention::Outdated,
    },
    claim,
    world::{QUEUES, World, actor, any_command, policy},
};
use crate::domain::{
    letter::{Importance, LetterId, Status},
    retry::RetryOutcome,
    retry_limits::RetryLimits,
};

struct Life<'u, 'b> {
    world: World,
    u: &'u mut Unstructured<'b>,
}

#[test]
fn letters_stay_in_order_whatever_happens_to_them() {
    arbtest(|u| {
        let mut life = Life { world: World::default(), u };
        for second in 0..60 {
            life.world.now = Timestamp::from_seconds(second);
            life.goes_on()?;
            life.world.check();
        }
        Ok(())
    })
    .size_min(2_000);
}

impl Life<'_, '_> {
    fn goes_on(&mut self) -> Result<()> {
        if self.world.letters.is_empty() {
            return self.receive();
        }
        match self.u.int_in_range(0..=8)? {
            0 | 1 => self.receive(),
            2 | 3 => self.act(),
            4 => self.publish(),
            5 => self.come_back(),
            6 => self.edit(),
            7 => self.enrich(),
            _ => self.forget(),
        }
    }

    fn a_letter(&mut self) -> Result<LetterId> {
        let ids: Vec<LetterId> = self.world.letters.keys().copied().collect();
        Ok(*self.u.choose(&ids)?)
    }

    fn a_state(&mut self) -> Result<LetterState> {
        let id = self.a_letter()?;
        Ok(self.world.state(id))
    }

    fn one_or_two(&mut self) -> Result<Vec<LetterState>> {
        let mut states = vec![self.a_state()?, self.a_state()?];
        states.dedup_by_key(|state| state.id);
        Ok(states)
    }

    /// Applies a transition; the counts change by it and by nothing else.
    fn apply(&mut self, id: LetterId, transition: &Transition<'_>) {
        let (mut expected, was) = (self.world.facets(), &self.world.letters[&id]);
        *expected.entry((was.status, was.importance)).or_default() -= 1;
        *expected.entry((transition.status, transition.importance)).or_default() += 1;
        expected.retain(|_, count| *count > 0);
        self.world.apply(id, transition);
        assert_eq!(self.world.facets(), expected);
    }

    fn receive(&mut self) -> Result<()> {
        let decision = policy(self.u.int_in_range(0..=2)?);
        let decision = self.u.arbitrary::<bool>()?.then_some(&decision);
        let queue = self.u.choose(&QUEUES)?;
        let message = FailedMessage {
            received_at: self.world.now,
            queue,
            attempts: 1,
            rounds: 1,
            is_recognised: false,
            is_own_retry: false,
            decision,
            is_another: false,
            is_counted: false,
        };
        self.world.receive(message, *self.u.choose(Importance::ALL)?);
        Ok(())
    }

    fn act(&mut self) -> Result<()> {
        let (command, by, bodies) = (any_command(self.u)?, actor(), RetryLimits::default());
        let states = self.one_or_two()?;
        let mut decider = Decider::new(&command, &by, self.world.now, &bodies);
        let decisions: Vec<_> = states.iter().map(|state| (state.id, decider.decide(state))).collect();
        for (id, decision) in decisions {
            if let Some(transition) = decision.ok().and_then(|decision| decision.transition()) {
                self.apply(id, &transition);
            }
        }
        Ok(())
    }

    /// Claims the retry of a letter; what then becomes of it may be lost.
    fn publish(&mut self) -> Result<()> {
        let (id, now) = (self.a_letter()?, self.world.now);
        let Some(letter) = self.world.letters.get_mut(&id) else { return Ok(()) };
        let Some(retry) = &mut letter.retry else { return Ok(()) };
        if retry.claimed_until.is_some_and(|until| until > now) {
            return Ok(());
        }
        (retry.claimed_until, retry.claims) = (Some(now.plus(Duration::from_secs(5))), retry.claims + 1);
        if self.u.arbitrary()? {
            self.come_back()?;
        }
        let state = self.world.state(id);
        let retry = claim(&state, "ann");
        let outcome = match self.u.int_in_range(0..=2)? {
            0 => return Ok(()),
            1 => RetryOutcome::Confirmed,
            _ => RetryOutcome::Failed("no".to_owned()),
        };
        self.apply(id, &published(&state, &retry, &outcome, now));
        Ok(())
    }

    fn come_back(&mut self) -> Result<()> {
        let decision = policy(self.u.int_in_range(0..=4)?);
        let message = FailedMessage {
            received_at: self.world.now,
            queue: "orders",
            attempts: 1,
            is_recognised: false,
            is_own_retry: false,
            rounds: 1,
            decision: Some(&decision),
            is_another: false,
            is_counted: false,
        };
        let states = self.one_or_two()?;
        let mut revived = RevivedFamilies::default();
        for state in &states {
            let back = FailedAgain::new(state, message, &mut revived);
            self.apply(state.id, &back.transition());
            if let Some(letter) = self.world.letters.get_mut(&state.id) {
                (letter.attempts, letter.rounds, letter.received_at) =
                    (back.attempts(), back.rounds(), message.received_at);
            }
        }
        Ok(())
    }

    fn edit(&mut self) -> Result<()> {
        let state = self.a_state()?;
        let (id, by, at) = (self.world.new_id(), actor(), self.world.now);
        let copy = NewCopy { id, delay: Duration::from_secs(1), queue: None, summary: "body", by: &by, at, job: None };
        let Ok(edited) = edits::edit(&state, &copy) else { return Ok(()) };
        self.apply(state.id, &edited.original);
        let family = Some(state.family.unwrap_or(state.id));
        if let Some(original) = self.world.letters.get_mut(&state.id) {
            original.family = family;
        }
        let new = LetterState { id, family, retry: None, status: Status::Open, closed_at: None, ..state.clone() };
        self.world.letters.insert(id, new);
        self.apply(id, &edited.copy);
        Ok(())
    }

    fn enrich(&mut self) -> Result<()> {
        let state = self.a_state()?;
        let evaluation = Evaluation {
            received_at: if self.u.arbitrary()? { state.received_at } else { Timestamp::from_seconds(999) },
            type_by_hand: state.type_by_hand.as_deref(),
            importance: *self.u.choose(Importance::ALL)?,
            importance_by: "rule:a",
        };
        let Some(transition) = enrichment::evaluated(&state, evaluation, self.world.now) else {
            assert_ne!(evaluation.received_at, state.received_at);
            return Ok(());
        };
        assert_eq!(transition.status, state.status);
        if state.importance_by == LetterState::BY_HAND {
            assert_eq!(transition.importance, state.importance, "a user's choice outlives rules");
        }
        self.apply(state.id, &transition);
        if let Some(letter) = self.world.letters.get_mut(&state.id) {
            letter.enriched_at = Some(self.world.now);
        }
        Ok(())
    }

    fn forget(&mut self) -> Result<()> {
        let before = Timestamp::from_seconds(self.u.int_in_range(0..=60)?);
        let outdated = Outdated { retried: before, discarded: before };
        let gone: Vec<LetterId> = outdated.of(self.world.letters.values()).iter().map(|state| state.id).collect();
        for id in &gone {
            let letter = self.world.letters.remove(id).unwrap();
            assert!(letter.closed_at < Some(before));
            let stays = |other: &LetterState| letter.family.is_some() && other.family == letter.family;
            assert!(self.world.letters.values().all(|other| !stays(other) || gone.contains(&other.id)));
        }
        Ok(())
    }
}
