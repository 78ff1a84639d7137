"""For every keyword of rules one conversation that matches and one that nearly does: it differs in
what the keyword restricts, and in nothing else that the rule looks at.
"""

import dataclasses
import hashlib
import struct

from evasions import wire

CERTIFICATE = "crates/inspect/src/inspector/tests/certificate.der"


# What is sent. Each is called with a capture and the addresses of client and server.


@dataclasses.dataclass(frozen=True)
class Udp:
    """Datagrams, each of the client (0) or the server (1)."""

    said: tuple
    port: int = 4000

    def __call__(self, capture, client, server):
        ends, ports = (client, server), (40000, self.port)
        for side, payload in self.said:
            source, destination = ends[side], ends[1 - side]
            datagram = wire.udp(source, destination, ports if side == 0 else ports[::-1], payload)
            capture.ip(wire.ip(source, destination, wire.UDP, datagram))


@dataclasses.dataclass(frozen=True)
class Tcp:
    """A connection, and what either end says in it."""

    said: tuple = ()
    port: int = 4000
    segment_bytes: int = 1400

    def __call__(self, capture, client, server):
        both = wire.Conversation(capture, client, server, self.port, segment_bytes=self.segment_bytes)
        for side, text in self.said:
            both.say(side, text)
        both.close()


@dataclasses.dataclass(frozen=True)
class Segment:
    """One segment of TCP that belongs to no connection."""

    flags: int
    payload: bytes = b""

    def __call__(self, capture, client, server):
        segment = wire.tcp(client, server, (40000, 4000), 1000, 0, self.flags, self.payload)
        capture.ip(wire.ip(client, server, wire.TCP, segment))


@dataclasses.dataclass(frozen=True)
class Icmp:
    kind: int
    code: int = 0
    identifier: int = 1

    def __call__(self, capture, client, server):
        echo = struct.pack("!BBHHH", self.kind, self.code, 0, self.identifier, 1) + b"ping"
        echo = echo[:2] + struct.pack("!H", wire.checksum(echo)) + echo[4:]
        capture.ip(wire.ip(client, server, 1, echo))


@dataclasses.dataclass(frozen=True)
class Pair:
    keyword: str
    # Options of one rule, or whole rules, of which the last is the one that alerts.
    rules: str
    match: object
    near_miss: object
    protocol: str = ""
    # Suricata 7 refuses the rule: Snort's.
    is_of_suricata: bool = True


def one(*payloads):
    return Udp(tuple((0, payload) for payload in payloads))


def said(*payloads, **parts):
    return Tcp(tuple((0, payload) for payload in payloads), **parts)


def of_packets():
    """Keywords about packets, flows and payloads, and the words of their values."""
    return [
        # Flows.
        Pair("flow", 'flow:to_client; content:"a";', Tcp(((1, b"a"),)), Tcp(((0, b"a"),))),
        Pair("flow", 'flow:from_server; content:"a";', Tcp(((1, b"a"),)), Tcp(((0, b"a"),))),
        Pair("flow", 'flow:to_server; content:"a";', Udp(((0, b"a"),)), Udp(((0, b"b"), (1, b"a")))),
        Pair("flow", 'flow:from_client; content:"a";', Tcp(((0, b"a"),)), Tcp(((1, b"a"),))),
        Pair("flow", 'flow:established; content:"a"; dsize:1;', Tcp(((0, b"a"),)), Segment(2, b"a")),
        Pair("flow", 'flow:not_established; content:"a"; dsize:1;', Segment(24, b"a"), said(b"a")),
        Pair("flow", 'flow:stateless; content:"a"; dsize:1;', Segment(24, b"a"), Segment(24, b"b")),
        Pair("flow", 'flow:no_stream; content:"ab";', said(b"ab"), said(b"a", b"b")),
        Pair("flow", 'flow:only_stream; content:"ab";', said(b"a", b"b"), said(b"a", b"c")),
        Pair("stream_size", 'content:"ab"; stream_size:client,=,3;', said(b"ab"), said(b"abc")),
        Pair("stream_size", 'content:"ab"; stream_size:client,<,4;', said(b"ab"), said(b"abc")),
        Pair("stream_size", 'content:"ab"; stream_size:client,>,3;', said(b"abc"), said(b"ab")),
        Pair("stream_size", 'content:"ab"; stream_size:client,<=,3;', said(b"ab"), said(b"abc")),
        Pair("stream_size", 'content:"ab"; stream_size:client,>=,4;', said(b"abc"), said(b"ab")),
        Pair("stream_size", 'content:"ab"; stream_size:client,!=,3;', said(b"abc"), said(b"ab")),
        Pair("stream_size", 'flow:to_client; content:"ab"; stream_size:server,=,3;',
             Tcp(((1, b"ab"),)), Tcp(((1, b"abc"),))),
        Pair("stream_size", 'content:"ab"; stream_size:both,<,4;', said(b"ab"),
             Tcp(((1, b"12345"), (0, b"ab")))),
        Pair("stream_size", 'content:"ab"; stream_size:either,>,5;', Tcp(((1, b"12345"), (0, b"ab"))),
             said(b"ab")),
        # Packets.
        Pair("dsize", "dsize:2;", one(b"ab"), one(b"abc")),
        Pair("dsize", "dsize:<3;", one(b"ab"), one(b"abc")),
        Pair("dsize", "dsize:>2;", one(b"abc"), one(b"ab")),
        Pair("dsize", "dsize:1<>4;", one(b"abc"), one(b"abcd")),
        Pair("dsize", "dsize:!2;", one(b"abc"), one(b"ab")),
        Pair("flags", "flags:SA;", Tcp(), Segment(2)),
        Pair("flags", "flags:S+;", Segment(0x22), Segment(0x20)),
        Pair("flags", "flags:*SF;", Segment(0x22), Segment(0x20)),
        Pair("flags", "flags:!S;", Segment(1), Segment(2)),
        Pair("flags", "flags:S,CE;", Segment(0xC2), Segment(0x22)),
        Pair("flags", "flags:S,12;", Segment(0xC2), Segment(0x22)),
        Pair("flags", "flags:0;", Segment(0), Segment(0x20)),
        Pair("itype", "itype:8;", Icmp(8), Icmp(0), "icmp"),
        Pair("itype", "itype:>12;", Icmp(13), Icmp(12), "icmp"),
        Pair("icode", "icode:3;", Icmp(3, 3), Icmp(3, 2), "icmp"),
        Pair("icode", "icode:<3;", Icmp(3, 2), Icmp(3, 3), "icmp"),
        Pair("icmp_id", "icmp_id:1;", Icmp(8), Icmp(8, 0, 2), "icmp"),
        # Contents.
        Pair("content", 'content:"a|00 01|b";', one(b"xa\0\1b"), one(b"xa\0\2b")),
        Pair("content", r'content:"a\;\"\\|3a|";', one(b'xa;"\\:'), one(b"xa;'\\:")),
        Pair("content", 'content:"a"; content:!"b";', one(b"a"), one(b"ab")),
        Pair("nocase", 'content:"aB"; nocase;', one(b"Ab"), one(b"Ac")),
        Pair("nocase", 'content:"aB";', one(b"aB"), one(b"Ab")),
        Pair("offset", 'content:"a"; offset:1;', one(b"ba"), one(b"ab")),
        Pair("depth", 'content:"a"; depth:1;', one(b"ab"), one(b"ba")),
        Pair("depth", 'content:"a"; offset:1; depth:2;', one(b"bba"), one(b"bbba")),
        Pair("distance", 'content:"a"; content:"b"; distance:1;', one(b"axb"), one(b"abx")),
        Pair("distance", 'content:"aa"; content:"ab"; distance:-1;', one(b"aab"), one(b"abaa")),
        Pair("within", 'content:"a"; content:"b"; within:1;', one(b"ab"), one(b"axb")),
        Pair("within", 'content:"a"; content:"b"; distance:1; within:2;', one(b"axxb"), one(b"axxxb")),
        Pair("startswith", 'content:"a"; startswith;', one(b"ab"), one(b"ba")),
        Pair("endswith", 'content:"a"; endswith;', one(b"ba"), one(b"ab")),
        Pair("fast_pattern", 'content:"abc"; content:"d"; fast_pattern;', one(b"abcd"), one(b"abcx")),
        Pair("fast_pattern", 'content:"abcd"; fast_pattern:only;', one(b"abcd"), one(b"abcx")),
        Pair("fast_pattern", 'content:"abcd"; fast_pattern:1,2;', one(b"abcd"), one(b"xbcx")),
        Pair("rawbytes", 'content:"a"; rawbytes;', one(b"a"), one(b"b")),
        Pair("isdataat", 'content:"a"; isdataat:2,relative;', one(b"abc"), one(b"ab")),
        Pair("isdataat", 'content:"a"; isdataat:!2,relative;', one(b"ab"), one(b"abc")),
        Pair("isdataat", 'content:"a"; isdataat:!1,relative;', one(b"ba"), one(b"ab")),
        Pair("isdataat", 'content:"a"; isdataat:2;', one(b"abc"), one(b"ab")),
        Pair("isdataat", 'content:"a"; isdataat:!2,relative,rawbytes;', one(b"ab"), one(b"abc")),
        # Numbers.
        Pair("byte_test", 'content:"a"; byte_test:1,>,5,0,relative;', one(b"a\6"), one(b"a\5")),
        Pair("byte_test", 'content:"a"; byte_test:1,<,5,1;', one(b"a\4"), one(b"a\5")),
        Pair("byte_test", 'content:"a"; byte_test:1,<=,5,1;', one(b"a\5"), one(b"a\6")),
        Pair("byte_test", 'content:"a"; byte_test:1,>=,5,1;', one(b"a\5"), one(b"a\4")),
        Pair("byte_test", 'content:"a"; byte_test:1,!=,5,1;', one(b"a\4"), one(b"a\5")),
        Pair("byte_test", 'content:"a"; byte_test:1,&,4,1;', one(b"a\5"), one(b"a\3")),
        Pair("byte_test", 'content:"a"; byte_test:1,!&,4,1;', one(b"a\3"), one(b"a\5")),
        Pair("byte_test", 'content:"a"; byte_test:1,^,5,1;', one(b"a\4"), one(b"a\5")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,0x0100,1;', one(b"a\1\0"), one(b"a\0\1")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,0x0100,1,little;', one(b"a\0\1"), one(b"a\1\0")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,0x0100,1,big;', one(b"a\1\0"), one(b"a\0\1")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,10,1,string,dec;', one(b"a10"), one(b"a0x")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,16,1,string,hex;', one(b"a10"), one(b"a16")),
        Pair("byte_test", 'content:"a"; byte_test:2,=,8,1,string,oct;', one(b"a10"), one(b"a08")),
        Pair("byte_test", 'content:"a"; byte_test:1,=,5,1,bitmask 0xf0;', one(b"a\x5f"), one(b"a\x65")),
        Pair("byte_test", 'content:"a"; byte_test:1,=,1,-2,relative;', one(b"\1a\2"), one(b"\2a\1")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,0,relative; content:"b"; within:1;',
             one(b"a\2xxb"), one(b"a\1xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1; content:"b"; within:1;',
             one(b"a\2xxb"), one(b"a\1xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,multiplier 2; content:"b"; within:1;',
             one(b"a\1xxb"), one(b"a\2xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,align; content:"b"; within:1;',
             one(b"a\1xxxxb"), one(b"a\1xb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,post_offset -1; content:"b"; within:1;',
             one(b"a\2xb"), one(b"a\2xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,from_beginning; content:"b"; within:1;',
             one(b"a\3xb"), one(b"a\3xxxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,from_end,post_offset -2; content:"b"; within:1;',
             one(b"a\0xxbx"), one(b"a\0xxxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:2,1,string,dec; content:"b"; within:1;',
             one(b"a02xxb"), one(b"a01xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:2,1,little; content:"b"; within:1;',
             one(b"a\2\0xxb"), one(b"a\1\0xxb")),
        Pair("byte_jump", 'content:"a"; byte_jump:1,1,bitmask 0xf0; content:"b"; within:1;',
             one(b"a\x2fxxb"), one(b"a\x12xxb"), is_of_suricata=False),
        Pair("byte_extract", 'content:"a"; byte_extract:1,0,n,relative; content:"b"; distance:n; within:1;',
             # Suricata lets the content lie up to three bytes further.
             one(b"a\2xxb"), one(b"a\1xxxxxb")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"b"; offset:n; depth:1;',
             one(b"\2xb"), one(b"\1xb")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"b"; depth:n;', one(b"\3xb"), one(b"\2xb")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"a"; content:"b"; within:n;',
             one(b"\2axb"), one(b"\1axb")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"a"; isdataat:n,relative;',
             one(b"\1ab"), one(b"\2ab")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"a"; byte_test:1,=,n,2;',
             one(b"\1a\1"), one(b"\1a\2")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"a"; byte_test:1,=,1,n;',
             one(b"\2a\1"), one(b"\2a\2\1")),
        Pair("byte_extract", 'byte_extract:1,0,n; content:"a"; byte_jump:1,n; content:"b"; within:1;',
             one(b"\2a\1xb"), one(b"\2a\2xb")),
        Pair("byte_extract", 'byte_extract:2,0,n,little; content:"b"; offset:n; depth:1;',
             one(b"\3\0xb"), one(b"\2\0xb")),
        Pair("byte_extract", 'byte_extract:1,0,n,multiplier 2; content:"b"; offset:n; depth:1;',
             one(b"\1xb"), one(b"\2xb")),
        Pair("byte_extract", 'byte_extract:1,0,n,align 4; content:"b"; offset:n; depth:1;',
             one(b"\1xxxb"), one(b"\1b")),
        Pair("byte_extract", 'byte_extract:1,0,n,string,dec; content:"b"; offset:n; depth:1;',
             one(b"2xb"), one(b"1xb")),
        Pair("byte_extract", 'byte_extract:1,0,n,bitmask 0xf0; content:"b"; offset:n; depth:1;',
             one(b"\x2fxb"), one(b"\x12xb"), is_of_suricata=False),
        # Patterns.
        Pair("pcre", r'content:"a"; pcre:"/^a\d+$/";', one(b"a12"), one(b"a1x")),
        Pair("pcre", r'content:"a"; pcre:!"/a\d/";', one(b"ax"), one(b"a1")),
        Pair("pcre", 'content:"a"; pcre:"/bC/i";', one(b"aBc"), one(b"aBd")),
        Pair("pcre", 'content:"a"; pcre:"/b.c/";', one(b"ab.c"), one(b"ab\nc")),
        Pair("pcre", 'content:"a"; pcre:"/b.c/s";', one(b"ab\nc"), one(b"ab\nd")),
        Pair("pcre", 'content:"a"; pcre:"/^b/m";', one(b"a\nb"), one(b"a\rb")),
        Pair("pcre", 'content:"a"; pcre:"/^b/";', one(b"ba"), one(b"a\nb")),
        Pair("pcre", 'content:"a"; pcre:"/b c # d/x";', one(b"abc"), one(b"ab c")),
        Pair("pcre", 'content:"a"; pcre:"/b/A";', one(b"ba"), one(b"ab")),
        Pair("pcre", 'content:"a"; pcre:"/b$/";', one(b"ab\n"), one(b"ab\nc")),
        Pair("pcre", 'content:"a"; pcre:"/b$/E";', one(b"ab"), one(b"ab\n")),
        Pair("pcre", 'content:"a"; pcre:"/b+/G"; content:"b"; within:1;', one(b"abb"), one(b"ab")),
        Pair("pcre", 'content:"a"; pcre:"/^b/R";', one(b"xab"), one(b"xacb")),
        Pair("pcre", 'content:"a"; pcre:"/b(?=c)/";', one(b"abc"), one(b"abd")),
        Pair("pcre", r'content:"a"; pcre:"/(b|c)\1/";', one(b"abb"), one(b"abc")),
        Pair("pcre", 'content:"a"; pcre:"/b++c/";', one(b"abbc"), one(b"abbd")),
        Pair("pcre", 'content:"a"; pcre:"m#b/c#";', one(b"ab/c"), one(b"abc"), is_of_suricata=False),
        Pair("pcre", 'content:"a"; pcre:"/bc/B";', one(b"abc"), one(b"abd")),
        # Lengths: of a packet's payload it is `dsize` in Suricata.
        Pair("bsize", 'content:"a"; bsize:2;', one(b"ab"), one(b"abc"), is_of_suricata=False),
    ]


def of_state():
    a_then_b, b_then_a = one(b"a", b"b"), one(b"b", b"a")
    set_x = 'alert udp HOSTS any -> HOSTS any (content:"a"; {}; noalert;)\n'
    asks_x = 'alert udp HOSTS any -> HOSTS any (content:"b"; {};)'
    found = [
        Pair("flowbits", set_x.format("flowbits:set,K") + asks_x.format("flowbits:isset,K"), a_then_b, b_then_a),
        Pair("flowbits", set_x.format("flowbits:set,K") + asks_x.format("flowbits:isnotset,K"), b_then_a, a_then_b),
        Pair("flowbits", set_x.format("flowbits:set,K") + asks_x.format("flowbits:isset,O|K"), a_then_b, b_then_a),
        Pair("flowbits", set_x.format("flowbits:set,K") + set_x.format("flowbits:unset,K").replace('"a"', '"c"')
             + asks_x.format("flowbits:isset,K"), one(b"a", b"b"), one(b"a", b"c", b"b")),
        Pair("flowbits", set_x.format("flowbits:toggle,K") + asks_x.format("flowbits:isset,K"),
             one(b"a", b"b"), one(b"a", b"a", b"b")),
        Pair("flowbits", 'content:"a"; content:"b"; flowbits:set,K;', one(b"ab"), one(b"a")),
        Pair("noalert", 'alert udp HOSTS any -> HOSTS any (content:"a"; noalert;)\n'
             'alert udp HOSTS any -> HOSTS any (content:"b";)', one(b"b"), one(b"a")),
        Pair("threshold", 'content:"a"; threshold:type threshold,track by_src,count 2,seconds 9;',
             one(b"a", b"a"), one(b"a")),
        Pair("threshold", 'content:"a"; threshold:type both,track by_dst,count 2,seconds 9;',
             one(b"a", b"a"), one(b"a")),
        Pair("threshold", 'content:"a"; threshold:type limit,track by_src,count 1,seconds 9;',
             one(b"a", b"a"), one(b"b", b"b")),
        Pair("detection_filter", 'content:"a"; detection_filter:track by_src,count 2,seconds 9;',
             one(b"a", b"a", b"a"), one(b"a", b"a")),
        Pair("detection_filter", 'content:"a"; detection_filter:track by_dst,count 2,seconds 9;',
             one(b"a", b"a", b"a"), one(b"a", b"a")),
    ]
    # The near miss comes after the match, so it is the third of its rule.
    for track in ("by_rule", "by_both"):
        found.append(Pair("threshold", f'content:"a"; threshold:type threshold,track {track},count 2,seconds 9;',
                          one(b"a", b"a"), one(b"a")))
    found.append(Pair("detection_filter", 'content:"a"; detection_filter:track by_both,count 2,seconds 9;',
                      one(b"a", b"a", b"a"), one(b"a", b"a"), is_of_suricata=False))
    found.append(Pair("flowbits", 'alert udp HOSTS any -> HOSTS any (content:"a"; flowbits:noalert;)\n'
                      'alert udp HOSTS any -> HOSTS any (content:"b";)', one(b"b"), one(b"a")))
    for track in ("ip_src", "ip_dst", "ip_pair"):
        found.append(Pair("xbits", set_x.format(f"xbits:set,K,track {track},expire 60")
                          + asks_x.format(f"xbits:isset,K,track {track}"), a_then_b, b_then_a))
    found.append(Pair("xbits", set_x.format("xbits:set,K,track ip_src,expire 60")
                      + asks_x.format("xbits:isnotset,K,track ip_src"), b_then_a, a_then_b))
    return found


def of_description():
    """What a rule says of itself is in its alert, which both sensors tell alike."""
    return [
        Pair(name, f'{option} content:"a";', one(b"a"), one(b"b"))
        for name, option in {
            "msg": r'msg:"m \; n";',
            "sid": "",
            "gid": "gid:1;",
            "rev": "rev:7;",
            "priority": "priority:4;",
            "classtype": "classtype:trojan-activity;",
            "reference": "reference:cve,2014-0160;",
            "metadata": "metadata:made_by weir, at 1;",
            "target": "target:dest_ip;",
        }.items()
    ]


def of_headers():
    """What stands in front of a rule's options."""
    def rules(header):
        return f'{header} (content:"a";)'

    return [
        Pair("(actions)", rules(f"{action} udp HOSTS any -> HOSTS any"), one(b"a"), one(b"b"))
        for action in ("alert", "drop", "reject", "rejectsrc", "rejectdst", "rejectboth")
    ] + [
        Pair("(ports)", rules("alert udp HOSTS any -> HOSTS 4000"), one(b"a"), Udp(((0, b"a"),), port=4001)),
        Pair("(ports)", rules("alert udp HOSTS any -> HOSTS [3999:4000,!3999]"), one(b"a"),
             Udp(((0, b"a"),), port=3999)),
        Pair("(ports)", rules("alert udp HOSTS any -> HOSTS !4001"), one(b"a"), Udp(((0, b"a"),), port=4001)),
        Pair("(addresses)", rules("alert udp CLIENTS any -> HOSTS any"), Udp(((0, b"a"),)),
             Udp(((0, b"b"), (1, b"a")))),
        Pair("(addresses)", rules("alert udp CLIENTS any <> HOSTS any"), Udp(((0, b"b"), (1, b"a"))),
             Udp(((0, b"b"), (1, b"b")))),
        Pair("(addresses)", rules("alert udp [HOSTS,!SERVERS] any -> HOSTS any"), Udp(((0, b"a"),)),
             Udp(((0, b"b"), (1, b"a")))),
        Pair("(protocols)", rules("alert ip HOSTS any -> HOSTS any"), one(b"a"), one(b"b")),
        Pair("(protocols)", rules("alert tcp HOSTS any -> HOSTS any"), said(b"a"), one(b"a")),
        Pair("(protocols)", rules("alert udp HOSTS any -> HOSTS any"), one(b"a"), said(b"a")),
        Pair("(protocols)", rules("alert tcp-pkt HOSTS any -> HOSTS any"), said(b"a"), said(b"b")),
        Pair("(protocols)", 'alert icmp HOSTS any -> HOSTS any (content:"ping";)', Icmp(8), one(b"ping")),
        Pair("(protocols)", 'alert icmpv4 HOSTS any -> HOSTS any (content:"ping";)', Icmp(8), one(b"ping")),
        Pair("(protocols)", 'alert ssh HOSTS any -> HOSTS any (content:"x";)',
             Tcp(((1, b"SSH-2.0-x\r\n"), (0, b"SSH-2.0-x\r\n")), port=22),
             Tcp(((1, b"SSX-2.0-x\r\n"), (0, b"SSX-2.0-x\r\n")), port=22)),
        Pair("(protocols)", 'alert smtp HOSTS any -> HOSTS any (content:"x";)',
             Tcp(((1, b"220 x ESMTP\r\n"), (0, b"EHLO x\r\n"), (1, b"250 x\r\n")), port=25),
             Tcp(((1, b"hi, x\r\n"), (0, b"hi, x\r\n")), port=25)),
        Pair("(protocols)", 'alert ftp HOSTS any -> HOSTS any (content:"x";)',
             Tcp(((1, b"220 FTP x\r\n"), (0, b"USER x\r\n"), (1, b"331 x\r\n")), port=21),
             Tcp(((1, b"hi, x\r\n"), (0, b"hi, x\r\n")), port=21)),
        Pair("(protocols)", 'alert smb HOSTS any -> HOSTS any (content:"SMB";)',
             Tcp(((0, b"\0\0\0\x20\xffSMBr" + bytes(27)),), port=445),
             Tcp(((0, b"\0\0\0\x20\xfeSMXr" + bytes(23) + b"SMB."),), port=445)),
        Pair("(protocols)", 'alert http HOSTS any -> HOSTS any (content:"/x";)',
             said(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n", port=80), said(b"\0ET /x HTTP/1.1\r\nHost: a\r\n\r\n", port=80)),
    ]


def of_passes():
    """How far a rule with the action `pass` reaches: in the near miss the alert of another rule."""
    def alone(options, pass_options, match, near_miss, header="{} udp HOSTS any -> HOSTS any"):
        return Pair("(actions)", f"{header.format('pass')} ({pass_options})\n{header.format('alert')} ({options})",
                    match, near_miss)

    def asks(*paths):
        both = ((0, request(b"", b"GET", path)) if side == 0 else (1, response(b""))
                for path in paths for side in (0, 1))
        return Tcp(tuple(both), port=80)

    x, alert = 'content:"x";', 'alert udp HOSTS any -> HOSTS any (content:"x";)'
    once = "track by_src,count 1,seconds 60;"
    answer = Udp(((0, b"p"), (1, b"x")))
    return [
        # A rule about packets: packets.
        alone(x, 'content:"p";', one(b"p", b"x"), one(b"p x")),
        alone(x, "dsize:3;", one(b"p x", b"xx"), one(b"p x")),
        # About addresses, ports or protocol alone: flows.
        Pair("(actions)", "pass udp CLIENTS any -> HOSTS any ()\n" + alert, Udp(((1, b"x"),)), answer),
        Pair("(actions)", "pass udp HOSTS any -> HOSTS 4000 ()\n" + alert, dataclasses.replace(answer, port=4001), answer),
        # In a stream or a message: flows.
        alone("dsize:1; content:\"x\";", 'content:"p";', said(b"q", b"x"), said(b"p", *[b"." * 1400] * 4, b"x"),
              "{} tcp HOSTS any -> HOSTS any"),
        alone('http.uri; content:"/x";', 'http.uri; content:"/p";', asks(b"/q", b"/x"), asks(b"/p", b"/x"),
              "{} http HOSTS any -> HOSTS any"),
        # Bits are set, and matches are counted.
        Pair("(actions)", 'pass udp HOSTS any -> HOSTS any (content:"p"; flowbits:set,K;)\n'
             'alert udp HOSTS any -> HOSTS any (content:"x"; flowbits:isset,K;)', one(b"p", b"x"), one(b"q", b"x")),
        alone(x, f'content:"p"; threshold:type limit,{once}', one(b"p x", b"p x"), one(b"p x", b"p")),
        alone(x, f'content:"p"; detection_filter:{once}', one(b"p x", b"p"), one(b"p", b"p x")),
        alone(x, 'content:"p"; noalert;', one(b"p", b"x"), one(b"p x")),
    ]


TARGET = b"/dir/%61.php?id=1"
FIELDS = {
    b"Host": b"www.a.com:8080", b"User-Agent": b"curl/7", b"Referer": b"http://r.example/",
    b"Cookie": b"id=77", b"Accept": b"text/html", b"Accept-Encoding": b"deflate",
    b"Accept-Language": b"en", b"Connection": b"keep-alive", b"Content-Type": b"text/plain",
}


def request(body, method=b"POST", target=TARGET, version=b"HTTP/1.1", **fields):
    fields = FIELDS | {name.replace("_", "-").encode(): value for name, value in fields.items()}
    lines = [b" ".join((method, target, version))]
    lines += [name + b": " + value for name, value in fields.items() if value is not None]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def response(body, status=b"302", reason=b"Found There", version=b"HTTP/1.1", **fields):
    fields = {"Server": b"nginx/1", "Location": b"/next"} | fields
    lines = [b" ".join((version, status, reason))]
    lines += [name.replace("_", "-").encode() + b": " + value for name, value in fields.items()]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


# buffer -> what is in it, what of the request or response is different in the near miss, and of
# which of the two.
OF_HTTP = {
    "uri": (b"/dir/a.php", {"target": b"/dir/%62.php?id=1"}, 0),
    "uri.raw": (b"/dir/%61.php", {"target": b"/dir/a.php?id=1"}, 0),
    "method": (b"POST", {"method": b"PUT"}, 0),
    "protocol": (b"HTTP/1.1", {"version": b"HTTP/1.0"}, 0),
    "request_line": (b"POST /dir/%61", {"method": b"PUT"}, 0),
    "header": (b"User-Agent: curl/7", {"User_Agent": b"wget/1"}, 0),
    "header.raw": (b"Cookie: id=77\r\n", {"Cookie": b"id=78"}, 0),
    "header_names": (b"\r\nHost\r\nUser-Agent\r\nReferer\r\n", {"User_Agent": None}, 0),
    "start": (b"\r\nUser-Agent: curl/7\r\n", {"User_Agent": b"wget/1"}, 0),
    "host": (b"www.a.com", {"Host": b"www.b.com:8080"}, 0),
    "host.raw": (b"www.a.com:8080", {"Host": b"www.a.com:8081"}, 0),
    "user_agent": (b"curl/7", {"User_Agent": b"wget/1"}, 0),
    "referer": (b"http://r.example/", {"Referer": b"http://s.example/"}, 0),
    "cookie": (b"id=77", {"Cookie": b"id=78"}, 0),
    "accept": (b"text/html", {"Accept": b"text/xml"}, 0),
    "accept_enc": (b"deflate", {"Accept_Encoding": b"identity"}, 0),
    "accept_lang": (b"en", {"Accept_Language": b"de"}, 0),
    "connection": (b"keep-alive", {"Connection": b"close"}, 0),
    "content_type": (b"text/plain", {"Content_Type": b"text/css"}, 0),
    "content_len": (b"29", {"body": b"#"}, 0),
    "request_body": (b"user=root", {"body": b"user=boot"}, 0),
    "response_line": (b"HTTP/1.1 302 Found", {"status": b"303"}, 1),
    "stat_code": (b"302", {"status": b"303"}, 1),
    "stat_msg": (b"Found There", {"reason": b"Found Here"}, 1),
    "server": (b"nginx/1", {"Server": b"httpd/1"}, 1),
    "location": (b"/next", {"Location": b"/last"}, 1),
    "response_body": (b"<html>ok", {"body": b"<html>no"}, 1),
}
OTHER_NAMES = {
    "raw_uri": "uri.raw", "raw_header": "header.raw", "raw_host": "host.raw",
    "client_body": "request_body", "server_body": "response_body", "file.data": "response_body",
}
FLAGS = {
    "U": "uri", "I": "uri.raw", "P": "request_body", "Q": "response_body", "H": "header",
    "D": "header.raw", "M": "method", "C": "cookie", "S": "stat_code", "Y": "stat_msg",
    "V": "user_agent", "W": "host", "Z": "host.raw",
}


def escaped(text):
    return "|" + text.hex(" ") + "|"


def http(part, is_near_miss):
    """A request and its response. What the part holds of the match stands in another part, too, and
    there also in the near miss."""
    sought, change, side = OF_HTTP[part]
    change = dict(change) if is_near_miss else {}
    bodies = {"request_body": b"user=root", "response_body": b"<html>ok"}
    elsewhere = {}
    if part in bodies:
        bodies[part] = change.pop("body", bodies[part])
        elsewhere = {"X_Same": sought}
    elif part == "content_len":
        bodies = {"request_body": b"=" * 29 + change.pop("body", b""), "response_body": b""}
    else:
        bodies = {name: b"<" + sought + b">" for name in bodies}
    changes = (change, {}) if side == 0 else ({}, change)
    asks = request(bodies["request_body"], **(elsewhere if side == 0 else {}), **changes[0])
    answers = response(bodies["response_body"], **(elsewhere if side == 1 else {}), **changes[1])
    return Tcp(((0, asks), (1, answers)), port=80)


def of_http(sticky, modifiers):
    """Pairs for the keywords of buffers, by the names that a program gives."""
    found = []
    for keywords, form in (
        (sticky, '{keyword}; content:"{sought}";'), (modifiers, 'content:"{sought}"; {keyword};')
    ):
        for keyword in keywords:
            short = keyword.removeprefix("http.").removeprefix("http_").replace("file_data", "file.data")
            part = OTHER_NAMES.get(short, short)
            if part in OF_HTTP:
                sought, _, side = OF_HTTP[part]
                flow = "flow:to_client; " if side else "flow:to_server; "
                found.append(Pair(
                    keyword, flow + form.format(keyword=keyword, sought=escaped(sought)),
                    http(part, False), http(part, True)))
    for flag, part in FLAGS.items():
        sought = "".join(f"\\x{byte:02x}" for byte in OF_HTTP[part][0])
        flow = "flow:to_client; " if OF_HTTP[part][2] else "flow:to_server; "
        found.append(Pair("pcre", f'{flow}pcre:"/{sought}/{flag}";', http(part, False), http(part, True)))
    return found


def gets(target, host=b"a.de", **parts):
    return Tcp(((0, request(b"", b"GET", target, Host=host, **parts)), (1, response(b""))), port=80)


def of_http_options():
    return [
        Pair("http.uri", 'http.uri; content:"/abc/d";', gets(b"/%u0061b%U0063%u2215%uff44"), gets(b"/%u0061b%U0063%u2215%u00ff44")),
        Pair("http.uri", 'http.uri; content:"?%u0061";', gets(b"/?%u0061"), gets(b"/?a")),
        Pair("uricontent", 'uricontent:"/a";', gets(b"/a"), gets(b"/b", Referer=b"/a")),
        Pair("urilen", 'urilen:2; http.method; content:"GET";', gets(b"/a"), gets(b"/ab")),
        Pair("urilen", 'urilen:<3; http.method; content:"GET";', gets(b"/a"), gets(b"/ab")),
        Pair("urilen", 'urilen:>2; http.method; content:"GET";', gets(b"/ab"), gets(b"/a")),
        Pair("urilen", 'urilen:1<>4; http.method; content:"GET";', gets(b"/a"), gets(b"/abc")),
        Pair("urilen", 'urilen:2,norm; http.method; content:"GET";', gets(b"/%61"), gets(b"/%61b")),
        Pair("urilen", 'urilen:4,raw; http.method; content:"GET";', gets(b"/%61"), gets(b"/a")),
        Pair("bsize", 'http.uri; content:"/"; bsize:2;', gets(b"/a"), gets(b"/ab")),
        Pair("bsize", 'http.uri; content:"/"; bsize:<3;', gets(b"/a"), gets(b"/ab")),
        Pair("bsize", 'http.uri; content:"/"; bsize:>2;', gets(b"/ab"), gets(b"/a")),
        Pair("bsize", 'http.uri; content:"/"; bsize:1<>4;', gets(b"/ab"), gets(b"/abc")),
        Pair("dotprefix", 'http.host; dotprefix; content:".a.de"; endswith;', gets(b"/"), gets(b"/", b"ba.de")),
        Pair("pkt_data", 'http.uri; content:"/a"; pkt_data; content:"curl/7";', gets(b"/a"),
             gets(b"/a", User_Agent=b"wget")),
        Pair("startswith", 'http.uri; content:"a"; offset:1; content:"/"; startswith;', gets(b"/a"), gets(b"/b")),
        Pair("endswith", 'http.uri; content:"a"; endswith;', gets(b"/a"), gets(b"/ab")),
        Pair("isdataat", 'http.uri; content:"a"; isdataat:1,relative;', gets(b"/ab"), gets(b"/a")),
        Pair("byte_test", 'http.uri; content:"a"; byte_test:1,=,5,0,relative,string,dec;', gets(b"/a5"), gets(b"/a6")),
    ]


def handshake(kind, body):
    message = bytes([kind]) + len(body).to_bytes(3) + body
    return b"\x16\x03\x03" + struct.pack("!H", len(message)) + message


def tls(certificate, name=b"a.example", cipher=0xC02F):
    """Hellos of both ends, and a certificate."""
    names = struct.pack("!BH", 0, len(name)) + name
    extensions = struct.pack("!HHH", 0, len(names) + 2, len(names)) + names
    extensions += bytes.fromhex("000a00040002001d000b00020100")
    hello = b"\3\3" + bytes(32) + b"\0" + struct.pack("!HH", 2, cipher) + b"\1\0"
    client = handshake(1, hello + struct.pack("!H", len(extensions)) + extensions)
    server = handshake(2, b"\3\3" + bytes(32) + b"\0" + struct.pack("!H", cipher) + b"\0\0\5\xff\1\0\1\0")
    chain = len(certificate).to_bytes(3) + certificate
    server += handshake(11, len(chain).to_bytes(3) + chain) + handshake(14, b"")
    return Tcp(((0, client), (1, server)), port=443)


def of_tls(sticky, certificate):
    whole = tls(certificate)
    near = {name: tls(certificate.replace(*change)) for name, change in {
        "Weir": (b"Weir", b"Wear"), "serial": (bytes.fromhex("1234567890"), bytes.fromhex("1234567891")),
    }.items()}
    other_hello = tls(certificate, cipher=0xC030)
    ja3, ja3s = b"771,49199,0-10-11,29,0", b"771,49199,65281"
    pairs = {
        "tls_sni": (b"a.example", tls(certificate, b"b.example")),
        "tls_cert_subject": (b"O=Weir", near["Weir"]),
        "tls_cert_issuer": (b"O=Weir", near["Weir"]),
        "tls_cert_serial": (b"12:34:56:78:90", near["serial"]),
        "tls_certs": (bytes.fromhex("1234567890"), near["serial"]),
        "ja3_string": (ja3, other_hello),
        "ja3_hash": (hashlib.md5(ja3).hexdigest().encode(), other_hello),
        "ja3s_hash": (hashlib.md5(ja3s).hexdigest().encode(), other_hello),
    }
    return [
        Pair(keyword, f'{keyword}; content:"{escaped(sought)}";', whole, miss, "tls", keyword != "ja3s_hash")
        for keyword in sticky
        for sought, miss in [pairs.get(keyword.replace(".", "_"), (None, None))]
        if miss
    ]


def of_dns(sticky):
    def asks(*labels):
        name = b"".join(bytes([len(label)]) + label for label in labels)
        return Udp(((0, b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + name + b"\0\0\1\0\1"),), port=53)

    return [
        Pair(keyword, f'{keyword}; content:"evil.de";', asks(b"evil", b"de"), asks(b"good", b"de"), "dns")
        for keyword in sticky if keyword in ("dns.query", "dns_query")
    ]


def all_of_them(sticky, modifiers, root):
    certificate = (root / CERTIFICATE).read_bytes()
    pairs = of_packets() + of_state() + of_description() + of_headers() + of_passes() + of_http_options()
    pairs += of_http(sticky, modifiers) + of_tls(sticky, certificate) + of_dns(sticky)
    return pairs
