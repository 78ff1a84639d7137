//! Rule files with something of everything that the parser reads.

use crate::{Seed, seed};

/// Keywords and punctuation.
pub const WORDS: &[&[u8]] = &[
    b"alert tcp any any -> any any (",
    b"alert http $HOME_NET any -> $EXTERNAL_NET $HTTP_PORTS (",
    b"sid:1;)\n",
    b"content:\"",
    b"content:!\"",
    b"|41 42|",
    b"nocase;",
    b"offset:",
    b"depth:",
    b"distance:-",
    b"within:",
    b"pcre:\"/",
    b"/smixR\";",
    b"(?=",
    b"(?!",
    b"(?<=",
    b"(?<!",
    b"(?>",
    b"++",
    b"(a|b)\\1",
    b"dsize:",
    b"<>",
    b"flags:",
    b"S,12;",
    b"flow:established,to_server;",
    b"metadata:",
    b"reference:url,",
    b"classtype:",
    b"priority:",
    b"http.uri;",
    b"http_header;",
    b"file_data;",
    b"dns.query; dotprefix;",
    b"fast_pattern;",
    b"startswith; endswith;",
    b"byte_test:2,!&,0x80,1,relative;",
    b"byte_jump:1,0,string,dec,from_end;",
    b"byte_extract:1,0,n;",
    b"isdataat:!1,relative;",
    b"flowbits:isset,a|b;",
    b"threshold:type limit,track by_src,count 1,seconds 9;",
    b"bsize:>3;",
    b"urilen:2<>5,raw;",
    b"msg:\"",
    b"[",
    b"]",
    b"!",
    b"\\",
    b"\\\n",
    b"\"",
    b";",
    b"{1,9999}",
    b"fd00::/8",
    b"198.18.0.0/15",
    b"4294967296",
];

/// One file for each part of the language.
pub fn seeds() -> Vec<Seed> {
    vec![
        seed("empty", []),
        seed("header", HEADERS),
        seed("contents", CONTENTS),
        seed("patterns", PATTERNS),
        seed("conditions", CONDITIONS),
        seed("buffers", BUFFERS),
        seed("numbers", NUMBERS),
        seed("descriptions", DESCRIPTIONS),
        seed("snort3", SNORT_3),
        seed("over_several_lines", LINES),
        seed("faults", FAULTS),
        seed("revisions", REVISIONS),
    ]
}

const HEADERS: &str = r#"# Addresses, ports, directions, protocols.
alert tcp any any -> any any (sid:1;)
alert udp [198.18.0.0/15,!198.18.1.0/24] [1024:,!8080] <> $HOME_NET :53 (sid:2;)
drop ip !$EXTERNAL_NET any -> fd00::/8 any (sid:3;)
pass icmp 198.18.0.1 any -> [198.19.0.1,[198.19.0.2,198.19.0.3]] any (sid:4;)
reject sctp any 5000:5010 -> any !5005 (sid:5;)
alert tls $HOME_NET any -> $EXTERNAL_NET 443 (sid:6;)
"#;

const CONTENTS: &str = r#"
alert tcp any any -> any any (content:"abc"; content:"|00 01|de|FF|"; nocase; sid:1;)
alert tcp any any -> any any (content:"GET "; depth:4; content:"/../"; within:200; sid:2;)
alert tcp any any -> any any (content:!"Cookie|3A|"; content:"\"quoted\\\;\""; offset:3; sid:3;)
alert ip any any -> any any (content:"ab"; content:"xa"; distance:-9; within:12; sid:4;)
"#;

const PATTERNS: &str = r#"
alert tcp any any -> any any (pcre:"/^User-Agent\x3a\x20(?:one|two)\//mi"; sid:1;)
alert tcp any any -> any any (content:"jndi|3A|"; pcre:"/^(?:ldaps?|rmi)\x3a\x2f/Ri"; sid:2;)
alert tcp any any -> any any (pcre:!"/[^a-z]{3,5}$/s"; sid:3;)
alert tcp any any -> any any (pcre:"/(?=ahead)/"; sid:4;)
alert tcp any any -> any any (pcre:"/(a{50}){50}/"; sid:5;)
"#;

const CONDITIONS: &str = r#"
alert tcp any any -> any any (flow:established,to_server; dsize:<64; sid:1;)
alert tcp any any -> any any (flow:not_established; flags:S,12; sid:2;)
alert tcp any any -> any any (flow:from_server; flags:!FSR; dsize:10<>20; sid:3;)
alert udp any any -> any any (dsize:>1400; sid:4;)
"#;

const BUFFERS: &str = r#"
alert http any any -> any any (http.uri; content:"/a"; startswith; fast_pattern; http.host; dotprefix; content:".b"; endswith; bsize:>2; sid:1;)
alert tcp any any -> any any (content:"a"; http_uri; content:"b"; distance:0; pcre:"/c/Ui"; urilen:3<>9,raw; sid:2;)
alert dns any any -> any any (dns.query; content:"a"; threshold:type limit, track by_src, count 1, seconds 60; sid:3;)
alert tls any any -> any any (tls.sni; content:"a"; flowbits:set,x; xbits:isset,y,track ip_src,expire 9; noalert; sid:4;)
"#;

const NUMBERS: &str = r#"
alert tcp any any -> any any (byte_test:4,!&,0x80,-2,relative,little,bitmask 0xff; isdataat:!3,relative; sid:1;)
alert tcp any any -> any any (byte_extract:2,0,n,multiplier 2; byte_jump:n,0; content:"a"; within:n; sid:2;)
alert tcp any any -> any any (byte_jump:4,0,string,dec,align,from_beginning,post_offset -3; stream_size:client,>,9; sid:3;)
alert icmp any any -> any any (itype:>3; icode:1<>9; icmp_id:7; target:src_ip; sid:4;)
"#;

const DESCRIPTIONS: &str = r#"
alert tcp any any -> any any (msg:"words \"and\" more"; classtype:attempted-recon; sid:1; rev:7;)
alert tcp any any -> any any (msg:"two"; reference:cve,2014-0160; priority:1; gid:3; sid:2;)
alert tcp any any -> any any (metadata:created_at 2026_01_01, confidence High; sid:3;)
"#;

const SNORT_3: &str = r#"
alert http (msg:"without addresses"; content:"abc", nocase, offset 3, depth 9; sid:1;)
alert tcp any any -> any any (content:"|24 7B|", within 20; sid:2; rev:1;)
"#;

const LINES: &str = "alert tcp any any -> any any \\\n  (msg:\"one\"; \\\r\n  sid:1;)\n\
alert tcp any any -> any any (\n    msg:\"two\";\n    sid:2;\n)\n# alert tcp a comment (sid:3;)\n";

const FAULTS: &str = r#"
alert tcp any any -> any (sid:1;)
alert tcp 198.18.0.256 any -> any any (sid:2;)
alert tcp any 99999 -> any any (sid:3;)
alert tcp any any -> any any (content:"|4|"; sid:4;)
alert tcp any any -> any any (content:"open; sid:5;)
alert tcp any any -> any any (nocase; sid:6;)
alert tcp any any -> any any (fast_pattern; unknown_keyword:1; sid:7;)
alert tcp $NOBODY any -> any any (sid:8;)
alert tcp any any -> any any (pcre:"/(/"; sid:9;)
alert tcp any any -> any any (sid:4294967296;)
alert tcp any any -> any any (msg:"no number";)
frobnicate tcp any any -> any any (sid:12;)
alert tcp any any -> any any (sid:13
"#;

const REVISIONS: &str = r#"
alert tcp any any -> any any (content:"new"; sid:1; rev:2;)
alert tcp any any -> any any (content:"old"; sid:1; rev:1;)
alert tcp any any -> any any (content:"other"; gid:2; sid:1; rev:1;)
"#;
