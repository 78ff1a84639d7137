//! Rules that change while packets run.

use weir_match::EngineChoice;

use super::streams::Talk;
use super::*;
use crate::rule::Classification;
use crate::rule_set::ForeignRules;

/// Rules that remember in every way there is: the rest of a match in a stream
/// and in a message, bits of flows and of hosts, counts.
const RULES: [&str; 7] = [
    r#"alert tcp any any -> any 80 (flow:established; content:"first"; content:"last"; distance:0; sid:1;)"#,
    r#"alert http any any -> any 80 (http.uri; content:"/upload"; http.request_body; content:"end of it"; sid:2;)"#,
    r#"alert tcp any any -> any 80 (flow:established; content:"login"; flowbits:set,seen; noalert; sid:3;)"#,
    r#"alert tcp any any -> any 80 (flow:established; content:"logout"; flowbits:isset,seen; sid:4;)"#,
    r#"alert tcp any any -> any 80 (flow:established; content:"knock"; threshold:type threshold,track by_src,count 3,seconds 60; sid:5;)"#,
    r#"alert tcp any any -> any 80 (flow:established; content:"mark"; xbits:set,host,track ip_src,expire 60; sid:6;)"#,
    r#"alert tcp any any -> any 80 (flow:established; content:"again"; xbits:isset,host,track ip_src; sid:7;)"#,
];

fn records() -> Vec<Vec<u8>> {
    let head = "POST /upload HTTP/1.1\r\nContent-Length: 71\r\n\r\n";
    Talk::new()
        .asks(head.as_bytes())
        .asks(b"first login knock mark ")
        .asks(b"knock and then ")
        .asks(b"knock last logout ")
        .asks(b"again end of")
        .asks(b" it")
        .records()
        .to_vec()
}

fn file(text: &str) -> RuleFile<'_> {
    RuleFile {
        name: "test",
        text: text.as_bytes(),
    }
}

/// The rules in another order.
fn rotated(by: usize) -> String {
    let mut rules = RULES;
    rules.rotate_left(by % RULES.len());
    rules.join("\n")
}

fn reloaded(rules: &RuleSet, text: &str) -> Arc<RuleSet> {
    let (variables, engine) = (Variables::default(), EngineChoice::default());
    let classification = Classification::default();
    let reloaded = rules.reload(&[file(text)], &variables, &classification, &engine);
    Arc::new(reloaded.expect("an engine").0)
}

/// The (packet, sid) pairs, with other rules in front of every packet.
fn alerts(mut next: impl FnMut(&Arc<RuleSet>, usize) -> Arc<RuleSet>) -> Vec<(usize, u32)> {
    let mut inspector = Inspector::new(load(&rotated(0)));
    let mut alerts = Vec::new();
    for (number, record) in records().iter().enumerate() {
        let rules = next(inspector.rules(), number);
        inspector.replace_rules(Arc::clone(&rules)).expect("kin");
        let packet = as_packet(record, number as u64 * 1_000_000);
        inspector.inspect(&[packet], |alert| {
            let sid = rules.rules()[alert.rule as usize].description.sid;
            alerts.push((number, sid));
        });
    }
    alerts.sort_unstable();
    alerts
}

#[test]
fn what_is_remembered_survives_other_rules_in_their_place() {
    let still = alerts(|rules, _| Arc::clone(rules));
    let expected = [(4, 6), (6, 1), (6, 4), (6, 5), (7, 7), (8, 2)];
    assert_eq!(still, expected);
    let changing = alerts(|rules, number| reloaded(rules, &rotated(number)));
    assert_eq!(changing, expected);
}

#[test]
fn rules_come_and_go() {
    let without_four = || RULES.iter().filter(|rule| !rule.contains("sid:4;"));
    let text: String = without_four().map(|rule| format!("{rule}\n")).collect();
    let gone = alerts(|rules, number| match number {
        3 => reloaded(rules, &text),
        _ => Arc::clone(rules),
    });
    assert_eq!(gone, [(4, 6), (6, 1), (6, 5), (7, 7), (8, 2)]);
    let came = alerts(|rules, number| match number {
        0 => reloaded(rules, &text),
        5 => reloaded(rules, &rotated(3)),
        _ => Arc::clone(rules),
    });
    assert_eq!(came, [(4, 6), (6, 1), (6, 4), (6, 5), (7, 7), (8, 2)]);
}

#[test]
fn rules_of_another_family_are_refused() {
    let mut inspector = Inspector::new(load(&rotated(0)));
    let refused = inspector.replace_rules(load(&rotated(0)));
    assert_eq!(refused, Err(ForeignRules));
}

/// What a rule cost is known by its number, whatever place it has.
#[test]
fn costs_of_rules_go_with_them() {
    let rules = load(&rotated(0));
    let mut inspector = Inspector::new(Arc::clone(&rules));
    inspector.profile_rules();
    for (number, record) in records().iter().enumerate() {
        let rules = reloaded(inspector.rules(), &rotated(number));
        inspector.replace_rules(rules).expect("kin");
        inspector.inspect(&[as_packet(record, 0)], |_| ());
    }
    let costs = inspector.rule_costs().expect("measured");
    let mut matches: Vec<(u32, u64)> = (inspector.rules().rules().iter())
        .zip(&costs)
        .map(|(rule, cost)| (rule.description.sid, cost.matches))
        .collect();
    matches.sort_unstable();
    assert_eq!(
        matches,
        [(1, 1), (2, 1), (3, 1), (4, 1), (5, 3), (6, 1), (7, 1)]
    );
}
