//! Rule sets: many rules compiled for a common search.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use serde::Serialize;
use weir_match::{BuildError, EngineChoice};
use weir_select::{Selector, Table};

use crate::application::AppProtocol;
use crate::buffer::Buffer;
use crate::direction::Direction;
use crate::group::{GROUPS, Group, GroupDraft, GroupKey, SearchPlace};
use crate::rule::{
    Action, Classification, HeaderReader, Lines, Names, Patterns, Rule, RuleFault, RuleTexts,
    Variables, read_rule,
};

/// A rule set that is no relative of the one whose place it should take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rules can only be replaced by what `RuleSet::reload` makes of them")]
pub struct ForeignRules;

/// Most skipped rules of each kind, with a fault or unsupported, that a report keeps with
/// their places; more are only counted. The public collections have fewer rules.
pub const MAX_LISTED_FAULTS: usize = 100_000;
/// Most different reasons under which skipped rules, and most unknown classes by which rules, are
/// counted; the rest count as `other`.
const MAX_REASONS: usize = 1000;

/// The text of a rule file.
#[derive(Clone, Copy, Debug)]
pub struct RuleFile<'a> {
    /// Name for messages, as it was given.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a [u8],
}

/// What became of the rules of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Name of the file.
    pub file: String,
    /// Rules in it, comments aside.
    pub rules: u64,
    /// Of these, rules that are wholly understood.
    pub loaded: u64,
    /// Rules that were skipped.
    pub skipped: u64,
}

/// What became of the rules of all files.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// File by file.
    pub files: Vec<FileReport>,
    /// Rules that are wholly understood.
    pub loaded: u64,
    /// Of the loaded ones, those that do not run, because another with the
    /// same gid and sid does whose revision is newer (or the same, and it came
    /// later).
    pub superseded: u64,
    /// Rules that were skipped, by reason: `syntax`, or what they ask for that
    /// is not there, as in `keyword base64_data` or `pcre: recursion`.
    pub skipped: BTreeMap<String, u64>,
    /// Loaded rules by `classtype` where that is no known class.
    pub unknown_classes: BTreeMap<String, u64>,
    /// What is wrong and where, for the rules that are not in order. At most
    /// [`MAX_LISTED_FAULTS`].
    pub faults: Vec<RuleFault>,
    /// The same for the rules that are in order, but ask for what is not
    /// there. At most [`MAX_LISTED_FAULTS`].
    pub unsupported: Vec<RuleFault>,
}

impl LoadReport {
    /// Rules in all files, comments aside.
    pub fn rules(&self) -> u64 {
        self.files.iter().map(|file| file.rules).sum()
    }

    fn count_skipped(&mut self, reason: String) {
        let known = self.skipped.len() < MAX_REASONS || self.skipped.contains_key(&reason);
        let reason = if known { reason } else { "other".to_owned() };
        *self.skipped.entry(reason).or_default() += 1;
    }

    fn count_unknown_class(&mut self, class: &str) {
        let is_listed =
            self.unknown_classes.len() < MAX_REASONS || self.unknown_classes.contains_key(class);
        let class = if is_listed { class } else { "other" };
        *self.unknown_classes.entry(class.to_owned()).or_default() += 1;
    }
}

/// Why no rule set could be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The engine could not be built.
    #[error(transparent)]
    Engine(#[from] BuildError),
}

/// Rules, and what finds those that may match a packet. Built once and shared
/// by all shards.
pub struct RuleSet {
    /// Rules with action `pass` first; among the others those that set bits
    /// before those that ask for them; otherwise in the order of the files.
    rules: Vec<Rule>,
    names: Names,
    /// The number of each rule, and the rule of each number.
    numbers: Vec<u32>,
    by_number: Vec<Option<u32>>,
    /// By [`GroupKey::index`]; groups without rules are not there.
    groups: Vec<Option<Group>>,
    content_count: usize,
    /// The parts of messages that some rule is searched in.
    parts: HashMap<(AppProtocol, Direction), Vec<Buffer>>,
    /// Different headers, and for every rule the one or two that it has.
    headers: Vec<Selector>,
    headers_of_rules: Vec<[Option<u32>; 2]>,
    /// Headers of the rules about payloads without contents, and the rule of
    /// each.
    table: Table,
    rules_of_table: Vec<u32>,
}

impl RuleSet {
    /// Reads rule files. A rule with a fault is reported and left out; the
    /// others load.
    ///
    /// # Errors
    /// The contents are too many for the engine.
    pub fn load(
        files: &[RuleFile<'_>],
        variables: &Variables,
    ) -> Result<(RuleSet, LoadReport), LoadError> {
        let classification = Classification::default();
        RuleSet::load_with(files, variables, &classification, &EngineChoice::default())
    }

    /// The same with other classes, and with a choice of the engine that finds contents.
    ///
    /// # Errors
    /// The contents are too many for the engine.
    pub fn load_with(
        files: &[RuleFile<'_>],
        variables: &Variables,
        classification: &Classification,
        engine: &EngineChoice,
    ) -> Result<(RuleSet, LoadReport), LoadError> {
        RuleSet::read(Names::default(), files, variables, classification, engine)
    }

    /// Reads rule files into a set that can take the place of this one while
    /// packets run: [`Inspector::replace_rules`](crate::Inspector::replace_rules).
    ///
    /// # Errors
    /// The contents are too many for the engine.
    pub fn reload(
        &self,
        files: &[RuleFile<'_>],
        variables: &Variables,
        classification: &Classification,
        engine: &EngineChoice,
    ) -> Result<(RuleSet, LoadReport), LoadError> {
        RuleSet::read(self.names.clone(), files, variables, classification, engine)
    }

    fn read(
        mut names: Names,
        files: &[RuleFile<'_>],
        variables: &Variables,
        classification: &Classification,
        engine: &EngineChoice,
    ) -> Result<(RuleSet, LoadReport), LoadError> {
        let mut report = LoadReport::default();
        let mut headers = HeaderReader::new(variables);
        let mut patterns = Patterns::default();
        let mut rules: Vec<Rule> = Vec::new();
        let mut by_number: HashMap<(u32, u32), usize> = HashMap::new();
        for file in files {
            let mut counts = FileReport {
                file: file.name.to_owned(),
                ..FileReport::default()
            };
            let name: Arc<str> = file.name.into();
            let mut lines = Lines::new(file.text);
            for rule in RuleTexts::new(file.text) {
                counts.rules += 1;
                let rule = rule.and_then(|rule| {
                    read_rule(
                        file.text,
                        &rule,
                        &mut headers,
                        classification,
                        &mut patterns,
                        &mut names,
                    )
                });
                match rule {
                    Ok(rule) => {
                        counts.loaded += 1;
                        if let Some(class) = &rule.description.classtype
                            && !classification.has(class)
                        {
                            report.count_unknown_class(class);
                        }
                        let superseded = keep_newest(&mut rules, &mut by_number, rule);
                        report.superseded += u64::from(superseded);
                    }
                    Err(fault) => {
                        counts.skipped += 1;
                        report.count_skipped(fault.kind.reason());
                        let listed = match fault.kind.is_unsupported() {
                            true => &mut report.unsupported,
                            false => &mut report.faults,
                        };
                        if listed.len() < MAX_LISTED_FAULTS {
                            let (line, column) = lines.position(fault.offset);
                            listed.push(RuleFault {
                                file: Arc::clone(&name),
                                line,
                                column,
                                word: fault.word,
                                kind: fault.kind,
                            });
                        }
                    }
                }
            }
            report.loaded += counts.loaded;
            report.files.push(counts);
        }
        Ok((RuleSet::new(rules, names, engine)?, report))
    }

    /// Makes rules ready.
    fn new(
        mut rules: Vec<Rule>,
        mut names: Names,
        engine: &EngineChoice,
    ) -> Result<RuleSet, LoadError> {
        rules.sort_by_key(|rule| (rule.action != Action::Pass, rule.state.rank()));
        let described = rules.iter().map(|rule| &rule.description);
        let numbers: Vec<u32> = described.map(|d| names.rule(d.gid, d.sid)).collect();
        let mut by_number = vec![None; names.rule_count()];
        for (index, number) in (0..).zip(&numbers) {
            by_number[*number as usize] = Some(index);
        }

        let mut drafts: Vec<GroupDraft> = (0..GROUPS).map(|_| GroupDraft::default()).collect();
        let mut headers = Vec::new();
        let mut header_numbers: HashMap<Selector, u32> = HashMap::new();
        let mut number_of = |selector: Selector| {
            *header_numbers
                .entry(selector)
                .or_insert_with_key(|selector| {
                    headers.push(selector.clone());
                    (headers.len() - 1) as u32
                })
        };
        let mut headers_of_rules = Vec::with_capacity(rules.len());
        let (mut selectors, mut rules_of_table) = (Vec::new(), Vec::new());
        for (number, rule) in (0u32..).zip(&rules) {
            let back = rule.both_ways.then(|| rule.selector.reversed());
            match rule.place() {
                SearchPlace::Groups(keys, content) => {
                    for key in keys {
                        let draft = &mut drafts[key.index()];
                        match &content {
                            Some(content) => draft.add(content, number),
                            None => draft.add_always(number),
                        }
                    }
                }
                SearchPlace::Header => {
                    for selector in [Some(&rule.selector), back.as_ref()].into_iter().flatten() {
                        selectors.push(selector.clone());
                        rules_of_table.push(number);
                    }
                }
            }
            let forth = number_of(rule.selector.clone());
            headers_of_rules.push([Some(forth), back.map(&mut number_of)]);
        }
        let mut groups: Vec<Option<Group>> = (0..GROUPS).map(|_| None).collect();
        for key in GroupKey::all() {
            let draft = std::mem::take(&mut drafts[key.index()]);
            if !draft.is_empty() {
                groups[key.index()] = Some(draft.build(key, &rules, engine)?);
            }
        }
        let mut parts: HashMap<(AppProtocol, Direction), Vec<Buffer>> = HashMap::new();
        for group in groups.iter().flatten() {
            if let GroupKey::Part(buffer, direction) = group.key {
                let of_protocol = parts.entry((buffer.protocol(), direction));
                of_protocol.or_default().push(buffer);
            }
        }
        Ok(RuleSet {
            rules,
            names,
            numbers,
            by_number,
            parts,
            content_count: groups
                .iter()
                .flatten()
                .map(|group| group.content_count)
                .sum(),
            groups,
            headers,
            headers_of_rules,
            table: Table::new(&selectors),
            rules_of_table,
        })
    }

    /// The rules: those with action `pass` first; among the others those that
    /// set bits before those that ask for them; otherwise in the order of the
    /// files. Alerts name rules by their index here.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The number of a rule, which it keeps in the sets that take the place of
    /// this one.
    pub(crate) fn number(&self, rule: u32) -> u32 {
        self.numbers[rule as usize]
    }

    /// One more than the highest number that a rule has or had.
    pub(crate) fn highest_number(&self) -> usize {
        self.by_number.len()
    }

    /// The rule that has a number, if it is still there.
    pub(crate) fn with_number(&self, number: u32) -> Option<u32> {
        self.by_number.get(number as usize).copied().flatten()
    }

    /// Whether numbers of rules and bits mean the same in both sets.
    pub(crate) fn is_kin_of(&self, other: &RuleSet) -> bool {
        self.names.are_kin(&other.names)
    }

    /// Heap memory of the engines that find the rules' contents, in bytes.
    pub fn engine_bytes(&self) -> usize {
        let groups = self.groups.iter().flatten();
        groups.map(|group| group.engine.memory_bytes()).sum()
    }

    /// Number of contents that the engines look for: of each rule one, the longest or the one that it names, in each group that it
    /// belongs to.
    pub fn content_count(&self) -> usize {
        self.content_count
    }

    /// How the contents of each group of rules are looked for, for people.
    pub fn explain(&self) -> String {
        let groups = self.groups.iter().flatten();
        let explained = groups.map(|group| {
            let (name, engine) = (group.key.name(), &group.engine);
            format!("{name}, {}: {}\n", engine.name(), engine.explain())
        });
        explained.collect()
    }

    /// The rules that look at a kind of text.
    pub(crate) fn group(&self, key: GroupKey) -> Option<&Group> {
        self.groups[key.index()].as_ref()
    }

    /// The parts of such messages that are searched.
    pub(crate) fn parts(&self, protocol: AppProtocol, direction: Direction) -> &[Buffer] {
        let parts = self.parts.get(&(protocol, direction));
        parts.map_or(&[], Vec::as_slice)
    }

    /// All groups by their index.
    pub(crate) fn groups(&self) -> &[Option<Group>] {
        &self.groups
    }

    pub(crate) fn headers(&self) -> &[Selector] {
        &self.headers
    }

    /// The headers of a rule, by their index.
    pub(crate) fn headers_of(&self, rule: u32) -> impl Iterator<Item = u32> {
        self.headers_of_rules[rule as usize].into_iter().flatten()
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The rule that owns a selector of the table.
    pub(crate) fn rule_of_table(&self, selector: u32) -> u32 {
        self.rules_of_table[selector as usize]
    }
}

/// Adds a rule, or puts it in the place of an older revision of itself. Says
/// whether one of the two was left out.
fn keep_newest(
    rules: &mut Vec<Rule>,
    by_number: &mut HashMap<(u32, u32), usize>,
    rule: Rule,
) -> bool {
    let number = (rule.description.gid, rule.description.sid);
    match by_number.get(&number) {
        Some(place) => {
            let known = &mut rules[*place];
            if rule.description.rev >= known.description.rev {
                *known = rule;
            }
            true
        }
        None => {
            by_number.insert(number, rules.len());
            rules.push(rule);
            false
        }
    }
}
