//! Rule files as their authors write them: what loads, what is skipped and
//! why, what is wrong and where.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_inspect::{
    Action, AppProtocol, Direction, FlagsTest, LoadReport, MAX_LISTED_FAULTS, RuleFile,
    RuleProtocol, RuleSet, Variables,
};
use weir_match::Pattern;

fn load(text: &[u8]) -> (RuleSet, LoadReport) {
    let file = RuleFile {
        name: "a.rules",
        text,
    };
    RuleSet::load(&[file], &Variables::default()).expect("an engine")
}

#[test]
fn a_rule_is_what_its_text_says() {
    let (rules, report) = load(
        br#"# A rule of every kind of option.
drop tcp !$HOME_NET [1024:,!4444] <> 198.18.0.0/15 $HTTP_PORTS (msg:"a \"b\"\; c"; \
    flow:established,from_server; flags:S,12; dsize:100<>300; content:"abc"; nocase; \
    reference:cve,2014-0160; reference:url,a.example/(x); metadata:tag one, tag two, flat; \
    classtype:trojan-activity; priority:4; gid:7; sid:42; rev:3;)
alert http (content:"xyz",nocase; classtype:trojan-activity; sid:43;)"#,
    );
    assert_eq!((report.loaded, report.faults.len()), (2, 0));
    let rule = &rules.rules()[0];
    assert_eq!((rule.action, rule.both_ways), (Action::Drop, true));
    assert_eq!(rule.protocol, RuleProtocol::Transport);
    let selector = &rule.selector;
    assert!(selector.source.contains(4, 0xc612_0001) && !selector.source.contains(4, 0x0a00_0001));
    assert!(selector.source_port.contains(5000) && !selector.source_port.contains(4444));
    assert_eq!(selector.destination.to_string(), "198.18.0.0/15");
    assert_eq!(selector.destination_port.to_string(), "80");
    assert_eq!(selector.protocol.to_string(), "tcp");
    assert_eq!(rule.flow.direction, Some(Direction::ToClient));
    assert_eq!(rule.flow.established, Some(true));
    let bytes = rule.packet.payload_bytes.expect("dsize");
    assert_eq!((bytes.least, bytes.most), (101, 299));
    let flags = rule.packet.tcp_flags[0];
    assert_eq!(
        (flags.flags, flags.ignored, flags.test),
        (0x02, 0xc0, FlagsTest::Exactly)
    );
    let description = &rule.description;
    assert_eq!(
        (description.gid, description.sid, description.rev),
        (7, 42, 3)
    );
    assert_eq!(description.message, "a \"b\"; c");
    assert_eq!(&*description.category, "A Network Trojan was detected");
    assert_eq!(description.priority, 4);
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        pairs.iter().map(owned).collect()
    };
    assert_eq!(
        description.references,
        pairs(&[("cve", "2014-0160"), ("url", "a.example/(x)")])
    );
    assert_eq!(
        description.metadata,
        pairs(&[("tag", "one"), ("tag", "two"), ("flat", "")])
    );

    let rule = &rules.rules()[1];
    assert_eq!(rule.protocol, RuleProtocol::Application(AppProtocol::Http));
    assert!(rule.selector.source.is_any() && rule.selector.destination_port.is_any());
    assert_eq!(
        rule.payload.search_content(),
        Some((Pattern::nocase("xyz"), false))
    );
    assert_eq!((rule.description.gid, rule.description.rev), (1, 0));
    assert_eq!(rule.description.priority, 1);
}

#[test]
fn what_is_not_there_is_named_and_counted() {
    let head = "alert tcp any any -> any any";
    let cases = [
        (
            format!("{head} (content:\"a\"; base64_data; sid:1;)"),
            "keyword base64_data",
        ),
        (
            format!("{head} (content:\"a\",http_nothing; sid:1;)"),
            "keyword http_nothing",
        ),
        (
            format!("{head} (flow:established,only_frag; sid:1;)"),
            "flow only_frag",
        ),
        (
            format!("{head} (flow:to_client; http.uri; content:\"a\"; sid:1;)"),
            "keyword http.uri of another direction",
        ),
        (
            "alert smtp any any -> any any (file.data; content:\"a\"; sid:1;)".into(),
            "keyword http.response_body of another protocol",
        ),
        (
            format!("{head} (threshold:type limit,track by_flow,count 1,seconds 1; sid:1;)"),
            "keyword track by_flow",
        ),
        (
            format!("{head} (byte_jump:4,0,dce; sid:1;)"),
            "keyword byte_* dce",
        ),
        (
            format!("{head} (pcre:\"/(a)(?(1)b)/\"; sid:1;)"),
            "pcre: conditional group",
        ),
        (
            format!("{head} (pcre:\"/a(?R)?b/\"; sid:1;)"),
            "pcre: recursion",
        ),
        (format!("{head} (pcre:\"/a/J\"; sid:1;)"), "pcre: flag J"),
        (
            format!("{head} (pcre:\"/(?:[ab]{{900}}){{900}}/\"; sid:1;)"),
            "pcre: too large when compiled",
        ),
        ("log tcp any any -> any any (sid:1;)".into(), "action log"),
        (
            "alert dcerpc any any -> any any (sid:1;)".into(),
            "protocol dcerpc",
        ),
        // These are wrong, and listed too.
        (
            format!("{head} (pcre:\"/a(b/\"; sid:1;)"),
            "pcre: not a regular expression",
        ),
        (
            "alert tcp $NO_NET any -> any any (sid:1;)".into(),
            "variable NO_NET has no value",
        ),
        (
            "alert tcp any !any -> any any (sid:1;)".into(),
            "address or port list matches nothing",
        ),
        (format!("{head} (content:\"a\" sid:1;)"), "syntax"),
    ];
    let mut expected = BTreeMap::new();
    for (text, reason) in &cases {
        let (rules, report) = load(text.as_bytes());
        assert_eq!(
            report.skipped,
            BTreeMap::from([((*reason).to_owned(), 1)]),
            "{text}"
        );
        assert_eq!((report.rules(), report.loaded), (1, 0));
        assert!(rules.rules().is_empty());
        *expected.entry((*reason).to_owned()).or_insert(0) += 1;
    }
    let texts: Vec<String> = cases.iter().map(|(text, _)| text.clone()).collect();
    let (_, report) = load(texts.join("\n").as_bytes());
    assert_eq!(report.skipped, expected);
    assert_eq!(report.faults.len(), 4);
}

#[test]
fn faults_say_where_and_which_word() {
    let head = "alert tcp any any -> any any";
    let cases = [
        ("alrt tcp any any -> any any (sid:1;)".to_owned(), 1, "alrt"),
        ("alert tcp any any > any any (sid:1;)".into(), 19, ">"),
        ("alert tcp any any -> any (sid:1;)".into(), 22, "any"),
        (
            "alert tcp any any -> any any any (sid:1;)".into(),
            30,
            "any",
        ),
        (
            "alert tcp [1.2.3.4,1.2.3] any -> any any (sid:1;)".into(),
            20,
            "1.2.3",
        ),
        (
            "alert tcp any 99999 -> any any (sid:1;)".into(),
            15,
            "99999",
        ),
        ("alert tcp any [9:1] -> any any (sid:1;)".into(), 16, "9:1"),
        (
            "alert tcp any [9 -> any any (sid:1;)".into(),
            15,
            "[9 -> any any (sid:1;)",
        ),
        ("alert tcp any any -> $X any (sid:1;)".into(), 23, "X"),
        (format!("{head} (content:\"a|4|\"; sid:1;)"), 43, "|"),
        (format!("{head} (content:\"a\\n\"; sid:1;)"), 41, "\\n"),
        (format!("{head} (content:\"\"; sid:1;)"), 40, ""),
        (format!("{head} (content:abc; sid:1;)"), 39, "abc"),
        (format!("{head} (nocase; sid:1;)"), 31, "nocase"),
        (format!("{head} (content:\"a\"; depth:x; sid:1;)"), 50, "x"),
        (
            format!("{head} (content:\"a\"; depth; sid:1;)"),
            44,
            "depth",
        ),
        (
            format!("{head} (content:\"a\",offset -1; sid:1;)"),
            50,
            "-1",
        ),
        (
            format!("{head} (content:\"abc\"; depth:2; sid:1;)"),
            39,
            "\"abc\"",
        ),
        (
            format!("{head} (content:\"a\"; depth:2; within:2; sid:1;)"),
            53,
            "within",
        ),
        (
            format!("{head} (flow:established,sideways; sid:1;)"),
            48,
            "sideways",
        ),
        (
            format!("{head} (flow:to_server,to_client; sid:1;)"),
            46,
            "to_client",
        ),
        (format!("{head} (flags:SX; sid:1;)"), 38, "X"),
        (format!("{head} (dsize:6<>5; sid:1;)"), 37, "6<>5"),
        (format!("{head} (dsize:5<>x; sid:1;)"), 40, "x"),
        (format!("{head} (sid:0;)"), 35, "0"),
        (format!("{head} (msg:\"m\" x; sid:1;)"), 39, "x"),
        (format!("{head} (msg:\"m\";)"), 39, ")"),
        (format!("{head} (pcre:\"abc\"; sid:1;)"), 37, "abc"),
        (format!("{head} (pcre:\"/a(/\"; sid:1;)"), 38, "a("),
        (format!("{head} (pcre:\"/a/1\"; sid:1;)"), 40, "1"),
    ];
    for (text, column, word) in &cases {
        // The second line, after a word of two bytes per letter.
        let (_, report) = load(format!("# ää\n{text}\n{head} (sid:2;)").as_bytes());
        let [fault] = report.faults.as_slice() else {
            panic!("{text}: {:?}", report.faults);
        };
        assert_eq!(
            (fault.line, fault.column, fault.word.as_str()),
            (2, *column, *word),
            "{text}: {fault}"
        );
        assert_eq!(report.loaded, 1, "the rest still loads");
    }
    let (_, report) = load(b"alert tcp any any -> any any (msg:\"\xc3\xa4\"; depth:1; sid:1;)");
    assert_eq!(
        report.faults[0].to_string(),
        "a.rules:1:40: there is no content before it: \"depth\""
    );
}

#[test]
fn the_newest_revision_runs() {
    let rule = |rev: u32, text: &str| {
        format!("alert tcp any any -> any any (content:\"{text}\"; sid:1; rev:{rev};)\n")
    };
    let newer_first = [rule(3, "new"), rule(2, "old")].concat();
    let newer_last = [rule(2, "old"), rule(3, "new")].concat();
    let both_same = [rule(3, "old"), rule(3, "new")].concat();
    for text in [newer_first, newer_last, both_same] {
        let (rules, report) = load(text.as_bytes());
        assert_eq!((report.loaded, report.superseded), (2, 1));
        assert_eq!(rules.rules().len(), 1);
        let content = rules.rules()[0].payload.search_content();
        assert_eq!(content, Some((Pattern::exact("new"), false)));
    }
}

#[test]
fn a_file_of_nothing_but_faults_stays_small() {
    let text: String = (0..5000)
        .map(|n| format!("alert tcp any any -> any any (keyword{n}; sid:1;)\n"))
        .collect();
    let faults = MAX_LISTED_FAULTS + 1;
    let text = text + &"x\n".repeat(faults);
    let (_, report) = load(text.as_bytes());
    assert_eq!(report.rules(), 5000 + faults as u64);
    assert_eq!(report.skipped.values().sum::<u64>(), report.rules());
    assert!(report.skipped.len() <= 1001 && report.skipped["other"] > 3000);
    assert_eq!(report.faults.len(), MAX_LISTED_FAULTS);
    assert_eq!(report.unsupported.len(), 5000);
    assert_eq!(
        report.unsupported[1].to_string(),
        "a.rules:2:31: not supported: keyword keyword1"
    );
}

/// Pieces of rules in any order: closer to a rule than bytes are.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"alert ",
        b"tcp ",
        b"any ",
        b"-> ",
        b"<> ",
        b"$HOME_NET ",
        b"[1,!2] ",
        b"[",
        b"!",
        b"(",
        b")",
        b"content:",
        b"pcre:",
        b"\"",
        b"/",
        b"|",
        b"41",
        b"\\",
        b";",
        b",",
        b"nocase;",
        b"depth:",
        b"distance:-",
        b"within ",
        b"9",
        b"sid:1;",
        b"flags:",
        b"flow:",
        b"dsize:",
        b"metadata:",
        b"reference:",
        b"\n",
        b"\\\n",
        b"\r\n",
        b"#",
        b"\xff",
        b"\0",
        b"(?",
        b"[a-",
        b"{2,",
        b"}",
        b"*",
        b"+",
        b"m",
        b"\\x",
        b"\\Q",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..60).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Nothing panics, and every rule is either loaded or skipped.
    #[test]
    fn any_bytes_are_read(
        text in prop_oneof![
            1 => proptest::collection::vec(any::<u8>(), 0..200),
            3 => soup(),
            3 => soup().prop_map(|s| [b"alert tcp any any -> any any (", &s[..], b"sid:1;)"].concat()),
            2 => soup().prop_map(|s| [b"alert ip any any -> any any (pcre:\"/", &s[..], b"/\";sid:1;)"].concat()),
        ],
    ) {
        let (rules, report) = load(&text);
        let skipped: u64 = report.skipped.values().sum();
        prop_assert_eq!(report.rules(), report.loaded + skipped);
        prop_assert_eq!(report.loaded, rules.rules().len() as u64 + report.superseded);
        let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        for fault in &report.faults {
            prop_assert!((1..=lines).contains(&fault.line), "{}", fault);
        }
    }
}

#[test]
fn of_several_classes_the_most_urgent_counts() {
    let (rules, _) = load(
        br#"alert tcp any any -> any any (content:"a"; classtype:not-suspicious; classtype:attempted-admin; sid:1;)
alert tcp any any -> any any (content:"b"; classtype:attempted-admin; classtype:not-suspicious; sid:2;)"#,
    );
    for rule in rules.rules() {
        let description = &rule.description;
        assert_eq!(description.classtype.as_deref(), Some("attempted-admin"));
        assert_eq!(description.priority, 1);
    }
}
