//! Policies: each names associations that exist, and none hides another.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use weir_select::Selector;

use super::Resolver;
use crate::config::ConfigError;
use crate::config::document::{ActionWord, DirectionWord, PolicyEntry};
use crate::policy::{Action, Direction, Policy};
use crate::sa::Parameters;

impl Resolver<'_> {
    pub(super) fn policies(
        &self,
        entries: Vec<Spanned<PolicyEntry>>,
    ) -> Result<Vec<Policy>, ConfigError> {
        let mut policies = Vec::with_capacity(entries.len());
        let mut shadows = Shadows::default();
        for (number, entry) in (1..).zip(entries) {
            let span = entry.span();
            let policy = self.policy(entry.into_inner(), number)?;
            if let Some(earlier) = shadows.over(&policy) {
                let message = format!(
                    "policy {number}: never reached, since policy {earlier} takes all that it \
                     would match; put it earlier or remove it"
                );
                return Err(self.blame.at(span, message));
            }
            shadows.add(&policy, number);
            policies.push(policy);
        }
        Ok(policies)
    }

    fn policy(&self, entry: PolicyEntry, number: usize) -> Result<Policy, ConfigError> {
        let at = |span: Range<usize>, message: &str| {
            self.blame.at(span, format!("policy {number}: {message}"))
        };
        let mut named_at = entry.action.span();
        let action = match (*entry.action.get_ref(), entry.sa) {
            (ActionWord::Protect, None) => {
                let message = "sa: missing; name the association that protects";
                return Err(at(entry.action.span(), message));
            }
            (ActionWord::Protect, Some(names)) => {
                let span = names.span();
                named_at = span.clone();
                let mut associations = Vec::new();
                let mut named = HashSet::new();
                for name in names.into_inner().0 {
                    let span = if name.span().is_empty() {
                        span.clone()
                    } else {
                        name.span()
                    };
                    let name = name.into_inner();
                    let Some(association) = self.by_name.get(&name) else {
                        let message = format!("sa: there is no [[sa]] with the name {name:?}");
                        return Err(at(span, &message));
                    };
                    if !named.insert(*association) {
                        return Err(at(span, &format!("sa: {name:?} is named twice")));
                    }
                    associations.push(*association);
                }
                if associations.is_empty() {
                    return Err(at(span, "sa: name at least one association"));
                }
                Action::Protect(associations)
            }
            (_, Some(names)) => {
                let message = "sa: only action = \"protect\" has associations; remove it";
                return Err(at(names.span(), message));
            }
            (ActionWord::Bypass, None) => Action::Bypass,
            (ActionWord::Discard, None) => Action::Discard,
        };
        Ok(Policy {
            selector: Selector {
                source: entry.source,
                destination: entry.destination,
                protocol: entry.protocol,
                source_port: entry.source_port,
                destination_port: entry.destination_port,
                interface: None,
            },
            direction: self
                .direction(entry.direction, &action)
                .map_err(|message| at(named_at, &message))?,
            action,
        })
    }
}

impl Resolver<'_> {
    /// The direction of a policy. One that does not say follows its associations.
    fn direction(
        &self,
        given: Option<Spanned<DirectionWord>>,
        action: &Action,
    ) -> Result<Direction, String> {
        let named: &[u32] = match action {
            Action::Protect(associations) => associations,
            _ => &[],
        };
        let named = || {
            named
                .iter()
                .filter_map(|index| self.associations.get(*index as usize))
        };
        let no_sender = named().find(|parameters| !parameters.may_seal());
        let no_receiver = named().find(|parameters| !parameters.may_open());
        let direction = match (given.map(Spanned::into_inner), no_sender, no_receiver) {
            (None, Some(inbound), Some(outbound)) => {
                return Err(format!(
                    "sa: {:?} is inbound and {:?} outbound; give each direction its policy",
                    inbound.name, outbound.name
                ));
            }
            (Some(DirectionWord::Outbound), ..) | (None, None, Some(_)) => Direction::Outbound,
            (Some(DirectionWord::Inbound), ..) | (None, Some(_), None) => Direction::Inbound,
            (Some(DirectionWord::Both), ..) | (None, None, None) => Direction::Both,
        };
        let misused = |parameters: &Parameters, is, does| {
            format!(
                "sa: {:?} is {is}, so no packet is {does} by it; name another, or leave out the \
                 policy's direction",
                parameters.name
            )
        };
        match (
            direction.is_outbound(),
            no_sender,
            direction.is_inbound(),
            no_receiver,
        ) {
            (true, Some(inbound), ..) => Err(misused(inbound, "inbound", "protected")),
            (_, _, true, Some(outbound)) => Err(misused(outbound, "outbound", "accepted")),
            _ => Ok(direction),
        }
    }
}

/// Finds policies that an earlier one with the same selector, or with one for
/// everything, leaves nothing.
#[derive(Default)]
struct Shadows {
    /// The first policy that has a selector, by direction.
    outbound: HashMap<Selector, usize>,
    inbound: HashMap<Selector, usize>,
}

impl Shadows {
    /// The number of the earlier policy, where every direction of this one has
    /// such.
    fn over(&self, policy: &Policy) -> Option<usize> {
        let first = |seen: &HashMap<Selector, usize>| {
            seen.get(&Selector::default())
                .or_else(|| seen.get(&policy.selector))
                .copied()
        };
        match policy.direction {
            Direction::Outbound => first(&self.outbound),
            Direction::Inbound => first(&self.inbound),
            Direction::Both => first(&self.inbound).and(first(&self.outbound)),
        }
    }

    fn add(&mut self, policy: &Policy, number: usize) {
        let sides = [
            (policy.direction.is_outbound(), &mut self.outbound),
            (policy.direction.is_inbound(), &mut self.inbound),
        ];
        for (is_concerned, seen) in sides {
            if is_concerned {
                seen.entry(policy.selector.clone()).or_insert(number);
            }
        }
    }
}
