//! Rules distinguished by the ports that they are about.
//!
//! Ports that are in the same of the rules' sets are of one *class*. For each
//! rule a word has a bit for every class that it is about, so that one look-up
//! for a payload and one bit for a rule show whether the two can meet.

use hashbrown::HashMap;
use weir_select::PortSet;

/// Most classes that are distinguished; others are of the last.
const MAX_CLASSES: usize = u64::BITS as usize;

/// The class of a port, as a bit; all bits where the port is not known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortClass(u64);

/// The classes of a group of rules.
#[derive(Debug)]
pub(crate) struct PortClasses {
    /// Where stretches of ports of one class begin, and their class.
    stretches: Vec<(u16, PortClass)>,
    /// For each rule the classes that it is about.
    concerned: Vec<u64>,
}

impl PortClasses {
    /// Classes for rules that are about one or two sets of ports each.
    pub(crate) fn new<'s>(
        rules: impl Iterator<Item = [Option<&'s PortSet>; 2]> + Clone,
    ) -> PortClasses {
        // The number of each set that is not `any`, and the classes in it.
        let mut numbers: HashMap<&PortSet, usize> = HashMap::new();
        for set in rules
            .clone()
            .flatten()
            .flatten()
            .filter(|set| !set.is_any())
        {
            let next = numbers.len();
            numbers.entry(set).or_insert(next);
        }
        let mut classes_of_sets = vec![0u64; numbers.len()];
        let mut starts: Vec<u16> = numbers.keys().flat_map(|set| set.edges()).collect();
        starts.push(0);
        starts.sort_unstable();
        starts.dedup();
        let mut classes: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut stretches = Vec::with_capacity(starts.len());
        for start in starts {
            let holding = numbers.iter().filter(|(set, _)| set.contains(start));
            let mut holding: Vec<usize> = holding.map(|(_, number)| *number).collect();
            holding.sort_unstable();
            let next = classes.len().min(MAX_CLASSES - 1);
            let class = 1 << *classes.entry_ref(&holding[..]).or_insert(next);
            for set in holding {
                classes_of_sets[set] |= class;
            }
            stretches.push((start, PortClass(class)));
        }
        let classes_of = |set: &PortSet| match numbers.get(set) {
            Some(number) => classes_of_sets[*number],
            None => u64::MAX,
        };
        let of_rule = |sets: [Option<&PortSet>; 2]| {
            let sets = sets.into_iter().flatten();
            sets.fold(0, |classes, set| classes | classes_of(set))
        };
        PortClasses {
            stretches,
            concerned: rules.map(of_rule).collect(),
        }
    }

    /// The class of a port.
    pub(crate) fn class(&self, port: Option<u16>) -> PortClass {
        let Some(port) = port else {
            return PortClass(u64::MAX);
        };
        let behind = self.stretches.partition_point(|(start, _)| *start <= port);
        self.stretches[behind - 1].1
    }

    /// Whether a rule can be about ports of a class: it may be, where it is not
    /// distinguished from others.
    #[inline]
    pub(crate) fn concerns(&self, rule: usize, class: PortClass) -> bool {
        self.concerned[rule] & class.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With few sets exactly, with many at least: no rule is lost.
    #[test]
    fn a_rule_concerns_the_ports_of_its_sets() {
        let lists = [
            "any",
            "80",
            "[80,8080]",
            "1024:",
            "!80",
            "[1:100,!53]",
            "0",
            "65535",
        ];
        let few: Vec<PortSet> = lists.map(|list| list.parse().expect("ports")).to_vec();
        let more = (0..100).map(|number| PortSet::range(number * 300, number * 500));
        let many: Vec<PortSet> = few.iter().cloned().chain(more).collect();
        for (sets, is_exact) in [(few, true), (many, false)] {
            let pairs = sets.iter().zip(sets.iter().rev());
            let rules = pairs.map(|(own, other)| [Some(own), (!is_exact).then_some(other)]);
            let classes = PortClasses::new(rules.clone());
            for port in (0..=u16::MAX).step_by(7).chain([53, 80, 8080, u16::MAX]) {
                let class = classes.class(Some(port));
                for (rule, of_rule) in rules.clone().enumerate() {
                    let is_in = of_rule.iter().flatten().any(|set| set.contains(port));
                    let concerns = classes.concerns(rule, class);
                    assert!(
                        concerns == is_in || concerns && !is_exact,
                        "{port} and {of_rule:?}"
                    );
                }
            }
            let unknown = classes.class(None);
            assert!((0..sets.len()).all(|rule| classes.concerns(rule, unknown)));
        }
    }
}
