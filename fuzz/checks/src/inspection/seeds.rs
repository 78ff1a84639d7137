//! Rules beside payloads that they match, just miss, or are long to search.

use crate::{Seed, seed};

/// One input for each way of matching.
pub fn seeds() -> Vec<Seed> {
    vec![
        seed("empty", []),
        seed(
            "contents_in_order",
            input(
                &[
                    r#"content:"GET "; depth:4; content:"/../"; within:200; sid:1;"#,
                    r#"content:"union"; nocase; content:"select"; nocase; distance:1; within:12; sid:2;"#,
                    r#"content:!"Cookie|3A|"; content:"password="; sid:3;"#,
                ],
                &[
                    "GET /a/../../b?q=UNION all SELECT",
                    "POST /login password=1 Cookie: 2",
                    "select union",
                ],
            ),
        ),
        seed(
            "many_occurrences",
            input(
                &[
                    r#"content:"a"; content:"a"; distance:1; content:"a"; distance:2; content:"b"; within:1; sid:1;"#,
                    r#"content:"aa"; content:!"ab"; within:4; sid:2;"#,
                ],
                &["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aab"],
            ),
        ),
        seed(
            "patterns",
            input(
                &[
                    r#"content:"User-Agent|3A 20|"; nocase; pcre:"/^User-Agent\x3a\x20(?:one|two)\//mi"; sid:1;"#,
                    r#"content:"jndi|3A|"; nocase; pcre:"/^(?:ldaps?|rmi)\x3a\x2f/Ri"; sid:2;"#,
                    r#"pcre:"/a+?b/"; pcre:"/c$/R"; pcre:!"/d/"; sid:3;"#,
                ],
                &["user-agent: TWO/1.0", "${JNDI:ldap://x}", "aaaaabbbbc"],
            ),
        ),
        seed(
            "patterns_that_backtrack",
            input(
                &[
                    r#"content:"GET"; pcre:"/^GET (?!\/ok)\S+(?=\?)/"; sid:1;"#,
                    r#"content:"="; pcre:"/(?<![&?])(\w)=\1+;/R"; sid:2;"#,
                    r#"content:"a"; pcre:!"/(?<=b)a++c|(?>a+)d/s"; sid:3;"#,
                    r#"http.uri; content:"/"; pcre:"/(.)(?i:\1)(?!.*\1)$/U"; sid:4;"#,
                    r#"content:"z"; pcre:"/(a|aa)+(?!b)\1c/"; content:"z"; distance:-3; sid:5;"#,
                ],
                &[
                    "GET /bbB?q=qqq; HTTP/1.1\r\nHost: a\r\n\r\n",
                    "baaac aad x=xx;",
                    &format!("{}z", "a".repeat(300)),
                ],
            ),
        ),
        seed(
            "conditions",
            input(
                &[
                    "flow:established,to_server; dsize:3<>9; sid:1;",
                    "flow:from_server; flags:PA; dsize:>0; sid:2;",
                    "flags:S; sid:3;",
                    "flow:not_established; sid:4;",
                ],
                &["123456", ""],
            ),
        ),
        seed(
            "http_parts",
            input(
                &[
                    r#"http.method; content:"POST"; http.uri; content:"/a b"; http.request_body; content:"root"; endswith; sid:1;"#,
                    r#"http.host; dotprefix; content:".example.org"; bsize:>3; pcre:"/example/W"; sid:2;"#,
                    r#"http.header_names; content:"|0d 0a|Host|0d 0a|"; flow:to_server; sid:3;"#,
                    r#"content:"302"; http_stat_code; file_data; content:"ok"; flowbits:set,seen; sid:4;"#,
                    r#"urilen:<20; content:"id="; http_uri; isdataat:!3,relative; sid:5;"#,
                ],
                &[
                    "POST /a%20b?id=7 HTTP/1.1\r\nHost: w.example.org:80\r\nContent-Length: 9\r\n\r\nuser=",
                    "root",
                    "HTTP/1.1 302 Found\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\n\r\n",
                ],
            ),
        ),
        seed(
            "numbers",
            input(
                &[
                    r#"content:"a"; byte_jump:1,0,relative,string,dec; content:"b"; within:1; sid:1;"#,
                    r#"byte_extract:1,0,n,string,dec; byte_test:1,=,n,2,string,dec; sid:2;"#,
                    r#"byte_test:2,&,0x3030,0,little,bitmask 0xff; byte_test:0,>,3,1,string,hex; sid:3;"#,
                ],
                &["a2..b", "7 7", "4ff", "-"],
            ),
        ),
        seed(
            "remembered",
            input(
                &[
                    r#"content:"a"; flowbits:set,x; noalert; sid:1;"#,
                    r#"content:"b"; flowbits:isset,x; threshold:type both,track by_src,count 2,seconds 9; sid:2;"#,
                    r#"content:"b"; xbits:toggle,y,track ip_pair; detection_filter:track by_dst,count 1,seconds 9; sid:3;"#,
                ],
                &["a", "b", "bb", "b"],
            ),
        ),
        seed(
            "protocols",
            [
                &b"alert http any any -> any any (content:\"GET\"; sid:1;)\n"[..],
                b"alert udp any any -> any 53 (content:\"GET\"; sid:2;)\n",
                b"alert ip any any -> any any (content:\"get\"; nocase; sid:3;)\n",
                b"pass tcp any any <> any 80 (content:\"GET /pass\"; sid:4;)\n",
                b"\0GET / HTTP/1.1\r\n\r\n\0GET /pass HTTP/1.1\r\n\r\n",
            ]
            .concat(),
        ),
    ]
}

/// Rules for any TCP packet with these options, and payloads.
fn input(options: &[&str], payloads: &[&str]) -> Vec<u8> {
    let mut input = String::new();
    for options in options {
        input.push_str(&format!("alert tcp any any -> any any ({options})\n"));
    }
    for payload in payloads {
        input.push('\0');
        input.push_str(payload);
    }
    input.into_bytes()
}
