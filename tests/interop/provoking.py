"""Captures made to provoke rules: for each rule one flow that holds what the rule looks for.

The flow is made from the rule's own header and contents, laid out as offsets, distances and
buffers ask; patterns, tests of numbers and bits are not solved, so that many rules, not all, are
provoked. That is enough where two programs are compared: what one of them raises the other must
raise too, and so on near misses.
"""

import dataclasses
import ipaddress
import re
import struct

START_S = 1_700_000_000
SEGMENT_BYTES = 1400
PORTS = {"HTTP_PORTS": 80, "FILE_DATA_PORTS": 80, "SSH_PORTS": 22, "FTP_PORTS": 21}
PORTS |= {"ORACLE_PORTS": 1521, "SIP_PORTS": 5060, "SHELLCODE_PORTS": 2048}
SYN, ACK, FIN, PUSH = 2, 16, 1, 8
OPTION = re.compile(r'\s*([\w.-]+)\s*(?::((?:"(?:\\.|[^"\\])*"|[^";\\]|\\.)*))?;')
RULE = re.compile(r"alert\s+(\S+)\s+(\S+)\s+(\S+)\s+(->|<>)\s+(\S+)\s+(\S+)\s+\((.*)\)\s*$")
# Texts by the names that either language has for them.
SAME = {
    "http_uri": "uri", "http_raw_uri": "uri", "http.uri": "uri", "http.uri.raw": "uri",
    "uricontent": "uri", "http_method": "method", "http.method": "method",
    "http_header": "header", "http_raw_header": "header", "http.header": "header",
    "http.header.raw": "header", "http.header_names": "names", "http_header_names": "names",
    "http_cookie": "cookie", "http.cookie": "cookie", "http_host": "host", "http.host": "host",
    "http.host.raw": "host", "http_user_agent": "agent", "http.user_agent": "agent",
    "http_content_type": "type", "http.content_type": "type", "http_referer": "referer",
    "http.referer": "referer", "http_client_body": "request", "http.request_body": "request",
    "http_server_body": "response", "http.response_body": "response", "file_data": "response",
    "file.data": "response", "http_stat_code": "code", "http.stat_code": "code",
    "http_stat_msg": "reason", "http.stat_msg": "reason", "dns_query": "query",
    "dns.query": "query", "tls_sni": "sni", "tls.sni": "sni", "pkt_data": "packet",
}
HEADERS = {"host": b"Host", "agent": b"User-Agent", "type": b"Content-Type"}
HEADERS |= {"referer": b"Referer", "cookie": b"Cookie"}


@dataclasses.dataclass
class Content:
    text: str
    bytes: bytes
    options: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Rule:
    protocol: str
    source: tuple
    destination: tuple
    # name -> value of the options that are no contents
    options: dict
    contents: list

    def texts(self):
        return {content.text for content in self.contents}

    def is_to_client(self):
        return bool(re.search(r"to_client|from_server", self.options.get("flow", "")))


def number(value, default=0):
    """A number as options have it; names of variables count as the default."""
    try:
        return int(value, 0)
    except (TypeError, ValueError):
        return default


def unquote(value):
    """The bytes of a content and whether they are not to occur."""
    negated, text = value.strip().startswith("!"), value[value.index('"') + 1 : value.rindex('"')]
    out = bytearray()
    for index, part in enumerate(re.split(r"(?<!\\)\|", text)):
        if index % 2:
            out += bytes.fromhex(part)
        else:
            out += re.sub(r'\\([\\";:|])', r"\1", part).encode("utf-8", "surrogateescape")
    return bytes(out), negated


def parse(line):
    """The rule of a line; None where it is none, or not of a kind that is provoked."""
    found = RULE.match(line)
    if not found or found[1] not in ("tcp", "udp", "ip", "http", "dns", "tls", "tcp-stream"):
        return None
    rule = Rule(found[1], (found[2], found[3]), (found[5], found[6]), {}, [])
    sticky, negated = "packet", False
    for name, value in OPTION.findall(found[7]):
        if name in ("content", "uricontent"):
            text = SAME.get(name, sticky)
            try:
                content, negated = unquote(value)
            except ValueError:
                return None
            if not negated:
                rule.contents.append(Content(text, content))
        elif name in ("offset", "depth", "distance", "within", "startswith", "endswith"):
            if rule.contents and not negated:
                rule.contents[-1].options[name] = value
        elif name in SAME and (name == "file_data" or "." in name or name == "pkt_data"):
            sticky = SAME[name]
        elif name in SAME:
            # Behind a content it is that one's; in front of one, of all that follow.
            if rule.contents and rule.contents[-1].text == "packet" and sticky == "packet":
                if not negated:
                    rule.contents[-1].text = SAME[name]
            else:
                sticky = SAME[name]
        else:
            rule.options.setdefault(name, value)
    return rule


def address(text, default):
    literal = re.search(r"(?<![\d!.])\d+\.\d+\.\d+\.\d+", text)
    return ipaddress.IPv4Address(literal[0] if literal and "!" not in text else default)


def port(text, default):
    if text.startswith("$"):
        return PORTS.get(text[1:], default)
    plain = re.search(r"(?<![!\d:])\d+", text)
    return int(plain[0]) if plain and not text.startswith("!") else default


def lay(contents, fill):
    """Bytes in which contents lie where their options want them."""
    out, taken, end, last = bytearray(), set(), 0, b""
    for content in contents:
        at, size = len(out), len(content.bytes)
        if "distance" in content.options or "within" in content.options:
            at = max(end + number(content.options.get("distance")), 0)
        elif content.options.keys() & {"offset", "depth", "startswith"}:
            at = number(content.options.get("offset"))
            while taken & set(range(at, at + size)) and out[at : at + size] != content.bytes:
                at += 1
        if "endswith" in content.options and at < len(out):
            last = content.bytes
            continue
        out += fill * (at + size - len(out))
        out[at : at + size] = content.bytes
        taken |= set(range(at, at + size))
        end = at + size
    return bytes(out) + last


def of(rule, *texts):
    return [content for content in rule.contents if content.text in texts]


def sized(payload, wanted, fill):
    """A payload as long as `dsize`, `urilen` or `bsize` want it, if more bytes make it so."""
    bounds = re.match(r"\s*([<>]?)\s*(\d+)", wanted or "")
    least = int(bounds[2]) + (bounds[1] == ">") if bounds and bounds[1] != "<" else 0
    return payload + fill * (least - len(payload))


def escaped(uri):
    return b"".join(b"%%%02x" % c if c < 33 or c > 126 or c == 37 else bytes([c]) for c in uri)


def head(rule, body):
    """Lines of a message's header, with the body's length where the rule asks for one."""
    text = b""
    for content in of(rule, "header"):
        new = content.bytes
        if not text.endswith(b"\r\n") and text and "distance" not in content.options:
            text += b"" if new.startswith((b"\r\n", b":")) else b"\r\n"
        text += b"" if text or b":" in new else b"X: "
        text += b"." * max(number(content.options.get("distance")), 0) + new
    text = text.removeprefix(b"\r\n")
    text += b"" if not text or text.endswith(b"\r\n") else b"\r\n"
    for name, header in HEADERS.items():
        if of(rule, name):
            text += header + b": " + lay(of(rule, name), b"a") + b"\r\n"
    for content in of(rule, "names"):
        for name in filter(None, content.bytes.split(b"\r\n")):
            if name.lower() + b":" not in text.lower():
                value = b"%d" % len(body) if name.lower() == b"content-length" else b"a"
                text += name + b": " + value + b"\r\n"
    return text


def request(rule):
    uri = lay(of(rule, "uri"), b"a")
    uri = uri if uri.startswith(b"/") or "startswith" in str(of(rule, "uri")) else b"/" + uri
    uri = sized(uri, rule.options.get("urilen"), b"a")
    body = lay(of(rule, "request"), b"a")
    method = lay(of(rule, "method"), b"a") or (b"POST" if body else b"GET")
    text = head(rule, body) if not rule.is_to_client() else b""
    if b"host:" not in text.lower():
        text += b"Host: a.example\r\n"
    if body and b"content-length:" not in text.lower():
        text += b"Content-Length: %d\r\n" % len(body)
    return method.strip() + b" " + escaped(uri) + b" HTTP/1.1\r\n" + text + b"\r\n" + body


def response(rule):
    body = lay(of(rule, "response"), b"a")
    code = lay(of(rule, "code"), b"0") or b"200"
    reason = lay(of(rule, "reason"), b"a") or b"OK"
    text = head(rule, body) if rule.is_to_client() else b""
    if b"content-length:" not in text.lower():
        text += b"Content-Length: %d\r\n" % len(body)
    return b"HTTP/1.1 " + code + b" " + reason + b"\r\n" + text + b"\r\n" + body


def hello(name):
    """A ClientHello that asks for a server of this name."""
    names = struct.pack("!BH", 0, len(name)) + name
    extension = struct.pack("!HHH", 0, len(names) + 2, len(names)) + names
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0"
    body += struct.pack("!H", len(extension)) + extension
    shake = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + struct.pack("!H", len(shake)) + shake


def question(name):
    labels = b"".join(bytes([len(label)]) + label for label in name.split(b".") if label)
    return b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + labels + b"\0\0\x01\0\x01"


def payloads(rule):
    """What the client and what the server says."""
    texts = rule.texts()
    if "query" in texts or rule.protocol == "dns":
        return question(lay(of(rule, "query"), b"a") or b"a.example"), b""
    if "sni" in texts or rule.protocol == "tls":
        return hello(lay(of(rule, "sni"), b"a") or b"a.example"), b""
    if texts - {"packet"} or rule.protocol == "http":
        return request(rule), response(rule)
    fill = b"\0" if rule.protocol == "udp" else b"A"
    payload = sized(lay(of(rule, "packet"), fill), rule.options.get("dsize"), fill)
    if "isdataat" in rule.options:
        payload += fill * min(number(rule.options["isdataat"].split(",")[0], 1) + 1, 4000)
    return (b"A", payload) if rule.is_to_client() else (payload, b"A")


def ipv4(source, destination, protocol, payload):
    size = 20 + len(payload)
    fields = [0x4500, size, 1, 0x4000, 64 << 8 | protocol]
    fields += [*struct.unpack("!4H", source.packed + destination.packed)]
    total = sum(fields)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    return struct.pack("!10H", *fields[:5], checksum, *fields[5:]) + payload


def udp(client, server, said, answered):
    for (source, from_port), (destination, to_port), payload in (
        (client, server, said),
        (server, client, answered),
    ):
        if payload:
            ports = struct.pack("!4H", from_port, to_port, 8 + len(payload), 0)
            yield ipv4(source, destination, 17, ports + payload)


def tcp(client, server, said, answered):
    """A connection from its handshake to its end."""
    ends, next_byte = (client, server), [1000, 5000]

    def segment(side, flags, payload=b""):
        (source, from_port), (destination, to_port) = ends[side], ends[1 - side]
        acknowledged = next_byte[1 - side] if flags & ACK else 0
        header = struct.pack("!HHIIBBHHH", from_port, to_port, next_byte[side], acknowledged, 0x50,
                             flags, 65535, 0, 0)
        next_byte[side] += len(payload) + bool(flags & (SYN | FIN))
        return ipv4(source, destination, 6, header + payload)

    yield segment(0, SYN)
    yield segment(1, SYN | ACK)
    yield segment(0, ACK)
    for side, payload in enumerate((said, answered)):
        for at in range(0, len(payload), SEGMENT_BYTES):
            yield segment(side, PUSH | ACK, payload[at : at + SEGMENT_BYTES])
            yield segment(1 - side, ACK)
    yield segment(0, FIN | ACK)
    yield segment(1, FIN | ACK)
    yield segment(0, ACK)


def flow(rule, index):
    """The packets of a rule's flow; no two rules have the same client."""
    own = ipaddress.IPv4Address("10.0.0.2") + index, 20000 + index % 20000
    other = ipaddress.IPv4Address("198.18.0.2") + index % 60000, 2048
    by_client = [rule.source, rule.destination]
    if rule.is_to_client():
        by_client.reverse()
    client, server = (
        (address(host, ip), port(ports, number))
        for (host, ports), (ip, number) in zip(by_client, (own, other))
    )
    said, answered = payloads(rule)
    if "http" in rule.protocol or rule.texts() - {"packet", "query", "sni"}:
        server = server[0], 80 if server[1] == 2048 else server[1]
    over_udp = rule.protocol in ("udp", "dns")
    if over_udp and "query" in rule.texts():
        server = server[0], 53
    return (udp if over_udp else tcp)(client, server, said[:60000], answered[:60000])


def capture(path, rule_files):
    """Writes the capture; returns how many rules it has a flow for."""
    lines = (line for file in rule_files for line in file.read_text(errors="replace").splitlines())
    rules = [rule for rule in map(parse, lines) if rule]
    with path.open("wb") as out:
        out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 101))
        number_of_packet = 0
        for index, rule in enumerate(rules):
            for packet in flow(rule, index):
                seconds, part = divmod(number_of_packet * 10, 1_000_000)
                size = len(packet)
                out.write(struct.pack("<IIII", START_S + seconds, part, size, size) + packet)
                number_of_packet += 1
    return len(rules)
