"""What can be odd about HTTP: requests as nginx takes them, responses as curl does."""

import functools
import gzip
import re
import socket
import struct
import subprocess
import threading
import zlib

import peers

from .tcp import PATTERN

PATH = b"/sword/fish-payload"
HOST = b"Host: server.example\r\n"
NGINX = """
user root;
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/client;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            return 200 "$request_method|$uri|$args|$host|$http_user_agent|$http_cookie|$http_x_fish|";
        }}
        location /body {{
            proxy_ignore_client_abort on;
            proxy_pass http://127.0.0.1:{port_behind};
        }}
    }}
}}
"""


def line(uri, method=b"GET", version=b"HTTP/1.1"):
    return method + b" " + uri + b" " + version + b"\r\n"


def get(uri=b"/", headers=HOST, **parts):
    return line(uri, **parts) + headers + b"\r\n"


def header(fields):
    return get(headers=HOST + fields)


def post(headers, body):
    return line(b"/body", method=b"POST") + HOST + headers + b"\r\n" + body


def chunked(*chunks, end=b"0\r\n\r\n", extension=b"", size="{:x}", line_end=b"\r\n"):
    out = b""
    for chunk in chunks:
        out += size.format(len(chunk)).encode() + extension + line_end + chunk + line_end
    return out + end


def bytes_of(text):
    return [bytes([byte]) for byte in text]


LENGTH = b"Content-Length: %d\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
BODY = b"a=1&b=" + PATTERN + b"&c=2"
AGENT = b"User-Agent: " + PATTERN + b"\r\n"
PARTS = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n' + BODY + b"\r\n--x--\r\n"
HALF = len(BODY) // 2
IN_CHUNKS = chunked(BODY[:HALF], BODY[HALF:])

# name -> (what is looked for, requests of one connection)
REQUESTS = {
    "path": ("uri", get(PATH)),
    "path, every byte escaped": ("uri", get(b"/" + b"".join(b"%%%02x" % byte for byte in PATH[1:]))),
    "path, escapes in capitals": ("uri", get(PATH.replace(b"o", b"%6F").replace(b"-", b"%2D"))),
    "path, escaped slash": ("uri", get(PATH.replace(b"d/", b"d%2f"))),
    "path with two slashes": ("uri", get(PATH.replace(b"d/", b"d//"))),
    "path with many slashes": ("uri", get(PATH.replace(b"d/", b"d" + b"/" * 40))),
    "path with a dot": ("uri", get(PATH.replace(b"d/", b"d/./"))),
    "path with dots back": ("uri", get(PATH.replace(b"d/", b"d/shark/../"))),
    "path with escaped dots": ("uri", get(PATH.replace(b"d/", b"d/shark/%2e%2E/"))),
    "path with dots at its end": ("uri", get(PATH + b"/shark/..")),
    "path, unfinished character before dots": ("uri", get(b"/%e0/.." + PATH)),
    "path, overlong slash before dots": ("uri", get(PATH + b"/a%c0%af../..")),
    "path, full-width slash before dots": ("uri", get(PATH + b"/a%ef%bc%8f../..")),
    "path with a dot at its end": ("uri", get(PATH + b"/.")),
    "path with many dots back": ("uri", get(b"/a/b/c/../../.." + PATH)),
    "path before a query": ("uri", get(PATH + b"?a=1")),
    "path before a fragment": ("uri", get(PATH + b"#a")),
    "absolute URI": ("uri", get(b"http://server.example" + PATH)),
    "absolute URI with a port, in capitals": ("uri", get(b"HTTP://server.example:80" + PATH)),
    "HTTP/1.0": ("uri", get(PATH, version=b"HTTP/1.0")),
    "HTTP/1.0 without a host": ("uri", get(PATH, headers=b"", version=b"HTTP/1.0")),
    "HTTP/1.2": ("uri", get(PATH, version=b"HTTP/1.2")),
    "HTTP/0.9": ("uri", b"GET " + PATH + b"\r\n"),
    "two blanks before the path": ("uri", get(b" " + PATH)),
    "blanks behind the version": ("uri", get(PATH, version=b"HTTP/1.1  ")),
    "method of 40 letters": ("uri", get(PATH, method=b"A" * 40)),
    "unknown method": ("uri", get(PATH, method=b"FISH")),
    "line feed first": ("uri", b"\n" + get(PATH)),
    "blank line first": ("uri", b"\r\n" + get(PATH)),
    "three blank lines first": ("uri", b"\r\n\n\r\n" + get(PATH)),
    "lines end with LF": ("uri", get(PATH).replace(b"\r\n", b"\n")),
    "second request": ("uri", get(b"/first") + get(PATH)),
    "tenth request": ("uri", get(b"/first") * 9 + get(PATH)),
    "second request behind one with LF": ("uri", get(b"/first").replace(b"\r\n", b"\n") + get(PATH)),
    "request behind HEAD": ("uri", get(b"/first", method=b"HEAD") + get(PATH)),
    "request behind blank lines": ("uri", get(b"/first") + b"\r\n\r\n" + get(PATH)),
    "request behind chunks of GET": (
        "uri", get(b"/first", headers=HOST + CHUNKED) + chunked(b"1", b"2") + get(PATH)),
    "request behind an empty body": ("uri", post(LENGTH % 0, b"") + get(PATH)),
    "request that offers HTTP/2": (
        "uri", get(PATH, headers=HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n")),
    "request behind a body": ("uri", post(LENGTH % 5, b"12345") + get(PATH)),
    "request behind chunks": ("uri", post(CHUNKED, IN_CHUNKS) + get(PATH)),
    "request behind chunks with trailers": (
        "uri", post(CHUNKED, chunked(b"1", end=b"0\r\nX-A: b\r\n\r\n")) + get(PATH)),
    "GET with a body, then another": ("uri", get(headers=HOST + LENGTH % 5) + b"12345" + get(PATH)),
    "path of 3,000 bytes": ("uri", get(b"/" + b"a" * 3000 + PATH)),
    "host": ("host", get(headers=b"Host: " + PATTERN + b".example\r\n")),
    "host in capitals": ("host", get(headers=b"HOST: " + PATTERN.upper() + b".EXAMPLE\r\n")),
    "host with a port": ("host", get(headers=b"Host: " + PATTERN + b".example:8080\r\n")),
    "host with a dot": ("host", get(headers=b"Host: " + PATTERN + b".example.\r\n")),
    "host in the URI, another in the field": (
        "host", get(b"http://" + PATTERN + b".example/", headers=b"Host: other.example\r\n")),
    "host in the URI": ("host", get(b"http://" + PATTERN + b".example/")),
    "agent": ("agent", header(AGENT)),
    "agent, name in odd capitals": ("agent", header(b"uSER-aGENT: " + PATTERN + b"\r\n")),
    "agent, no blank": ("agent", header(b"User-Agent:" + PATTERN + b"\r\n")),
    "agent, 30 blanks": ("agent", header(b"User-Agent:" + b" " * 30 + PATTERN + b"\r\n")),
    "agent, tab": ("agent", header(b"User-Agent:\t" + PATTERN + b"\r\n")),
    "agent, blanks behind": ("agent", header(b"User-Agent: " + PATTERN + b"   \r\n")),
    "agent, lines end with LF": ("agent", header(AGENT).replace(b"\r\n", b"\n")),
    "agent behind 90 fields": ("agent", header(b"".join(b"X-%d: a\r\n" % n for n in range(90)) + AGENT)),
    "agent behind a field of 4,000 bytes": ("agent", header(b"X-A: " + b"a" * 4000 + b"\r\n" + AGENT)),
    "agent behind an empty field": ("agent", header(b"X-A:\r\n" + AGENT)),
    "agent behind a field without a colon": ("agent", header(b"nothing\r\n" + AGENT)),
    "agent behind a field with odd characters": ("agent", header(b"X(@): a\r\n" + AGENT)),
    "agent with bytes above 127": ("agent", header(b"User-Agent: \xff\xfe " + PATTERN + b"\r\n")),
    "agent behind a vertical tab": ("agent", header(b"User-Agent: \x0b" + PATTERN + b"\r\n")),
    "agent of 7,000 bytes": ("agent", header(b"User-Agent: " + b"a" * 7000 + PATTERN + b"\r\n")),
    "agent behind 25,000 bytes": ("agent", header((b"X-A: " + b"a" * 990 + b"\r\n") * 25 + AGENT)),
    "first agent of two": ("agent", header(AGENT + b"User-Agent: a\r\n")),
    "agent in the second request": ("agent", get(b"/first") + header(AGENT)),
    "cookie": ("cookie", header(b"Cookie: a=" + PATTERN + b"\r\n")),
    "cookie, name in odd capitals": ("cookie", header(b"cOOKIE:a=" + PATTERN + b"\r\n")),
    "two cookies": ("cookie", header(b"Cookie: b=1\r\nCookie: a=" + PATTERN + b"\r\n")),
    "cookie behind empty ones": ("cookie", header(b"Cookie: ;;a=" + PATTERN + b"\r\n")),
    "cookie behind 400 others": ("cookie", header(b"Cookie: " + b"a=1; " * 400 + b"b=" + PATTERN + b"\r\n")),
    "other field": ("header", header(b"X-Fish: " + PATTERN + b"\r\n")),
    "body": ("body", post(LENGTH % len(BODY), BODY)),
    "body, length with zeros": ("body", post(b"Content-Length: 000%d\r\n" % len(BODY), BODY)),
    "body, no blank before its length": ("body", post(b"Content-Length:%d\r\n" % len(BODY), BODY)),
    "body of GET": ("body", line(b"/body") + HOST + LENGTH % len(BODY) + b"\r\n" + BODY),
    "body of DELETE": ("body", post(LENGTH % len(BODY), BODY).replace(b"POST", b"DELETE", 1)),
    "body over HTTP/1.0": ("body", post(LENGTH % len(BODY), BODY).replace(b"HTTP/1.1", b"HTTP/1.0", 1)),
    "body, blanks around its length": ("body", post(b"Content-Length:   %d  \r\n" % len(BODY), BODY)),
    "body longer than its length": ("body", post(LENGTH % (len(BODY) - 3), BODY)),
    "body that is said to be gzip": ("body", post(b"Content-Encoding: gzip\r\n" + LENGTH % len(BODY), BODY)),
    "chunks, tabs behind sizes": ("body", post(CHUNKED, chunked(BODY, extension=b"\t"))),
    "chunks, last one with an extension": ("body", post(CHUNKED, chunked(BODY, end=b"0;a=b\r\n\r\n"))),
    "chunks, last one of four zeros": ("body", post(CHUNKED, chunked(BODY, end=b"0000\r\n\r\n"))),
    "coding with blanks": ("body", post(b"Transfer-Encoding:   chunked  \r\n", IN_CHUNKS)),
    "body in chunks": ("body", post(CHUNKED, IN_CHUNKS)),
    "body in chunks of one byte": ("body", post(CHUNKED, chunked(*bytes_of(BODY)))),
    "chunks with extensions": ("body", post(CHUNKED, chunked(BODY[:HALF], BODY[HALF:], extension=b";a=b"))),
    "chunks, sizes with zeros": (
        "body", post(CHUNKED, chunked(BODY[:HALF], BODY[HALF:], size="0000{:x}"))),
    "chunks, sizes in capitals": ("body", post(CHUNKED, chunked(b"a" * 171, BODY, size="{:X}"))),
    "chunks, lines end with LF": (
        "body", post(CHUNKED, chunked(BODY[:HALF], BODY[HALF:], line_end=b"\n", end=b"0\n\n"))),
    "chunks, blanks behind sizes": ("body", post(CHUNKED, chunked(BODY[:HALF], BODY[HALF:], extension=b"  "))),
    "coding in capitals": ("body", post(b"TRANSFER-ENCODING: CHUNKED\r\n", IN_CHUNKS)),
    "body of a form": (
        "body", post(b"Content-Type: application/x-www-form-urlencoded\r\n" + LENGTH % len(BODY), BODY)),
    "body of a form in parts": ("body", post(
        b"Content-Type: multipart/form-data; boundary=x\r\n" + LENGTH % len(PARTS), PARTS)),
    "body of the second request": ("body", get(b"/first") + post(LENGTH % len(BODY), BODY)),
    "body that was announced": (
        "body", post(b"Expect: 100-continue\r\n" + LENGTH % len(BODY), BODY)),
    "body behind 6,000 bytes": ("body", post(LENGTH % (6000 + len(BODY)), b"a" * 6000 + BODY)),
}

PAGE = b"<html><body>what leads to it, " + PATTERN + b", and what follows.</body></html>\n"


def response(headers, body, status=b"HTTP/1.1 200 OK"):
    return status + b"\r\n" + headers + b"\r\n" + body


def coded(coding, body, name=b"Content-Encoding"):
    return response(name + b": " + coding + b"\r\n" + LENGTH % len(body), body)


def deflate(text):
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(text) + squeeze.flush()


def gzip_with(flags, fields, check_header=False):
    """A gzip file whose header has optional fields."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6) + fields
    if check_header:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    return head + deflate(PAGE) + struct.pack("<II", zlib.crc32(PAGE), len(PAGE))


# PAGE, as `brotli --best` has it.
BROTLI = bytes.fromhex(
    "1b5000801d076e2c6dfb9da4235687a5cde5690537383a0dc2d242d62907ecada4c4ca2e78b7b1f5"
    "5510bd553a3fc3c24020f6a69c2716b2e8e2c9c4e101f4f6e463c600")

# The same, as `zstd -19` has it.
ZSTD = bytes.fromhex(
    "28b52ffd20512d020072840e11b03bc714ab969926a43116d95a60de2a06a0f4fa4494e878d0bb1d25b3cdc0eb"
    "1db789f41462e7f0657895fef9784fe76f8225b21b2dbd3e690200401054ec5250")


def plain(headers=b"", **parts):
    return response(headers + LENGTH % len(PAGE), PAGE, **parts)


PIECES = [PAGE[:40], PAGE[40:]]
# name -> what the server says to a request; where it is a tuple, to each of several.
RESPONSES = {
    "page": plain(),
    "page until the end of the connection": response(b"", PAGE),
    "HTTP/1.0": plain(status=b"HTTP/1.0 200 OK"),
    "no reason": plain(status=b"HTTP/1.1 200"),
    "status 404": plain(status=b"HTTP/1.1 404 Not Found"),
    "status 500": plain(status=b"HTTP/1.1 500 Oh"),
    "status 299": plain(status=b"HTTP/1.1 299 So"),
    "status 206": plain(status=b"HTTP/1.1 206 Partial"),
    "status 100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + plain(),
    "status 103 first": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + plain(),
    "three interim responses": b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + plain(),
    "lines end with LF": plain().replace(b"\r\n", b"\n"),
    "only the last line ends with LF": plain().replace(b"\r\n\r\n", b"\r\n\n"),
    "folded field": plain(b"X-A: a\r\n b\r\n"),
    "length twice": plain(LENGTH % len(PAGE)),
    "length with zeros": response(b"Content-Length: 000%d\r\n" % len(PAGE), PAGE),
    "length, no blank": response(b"Content-Length:%d\r\n" % len(PAGE), PAGE),
    "length, odd capitals": response(b"cONTENT-lENGTH: %d\r\n" % len(PAGE), PAGE),
    "fields of 4,000 bytes": plain(b"X-A: " + b"a" * 4000 + b"\r\n"),
    "90 fields": plain(b"".join(b"X-%d: a\r\n" % n for n in range(90))),
    "vertical tab in a name": plain(b"X\x0bA: b\r\n"),
    "blank in a name": plain(b"X A: b\r\n"),
    "field without a name": plain(b": a\r\n"),
    "blank before the colon of the length": response(b"Content-Length : %d\r\n" % len(PAGE), PAGE),
    "tab before the length": response(b"Content-Length:\t%d\r\n" % len(PAGE), PAGE),
    "plus before the length": response(b"Content-Length: +%d\r\n" % len(PAGE), PAGE),
    "letters behind the length": response(b"Content-Length: %d abc\r\n" % len(PAGE), PAGE),
    "two lengths, the last is right": response(LENGTH % 5 + LENGTH % len(PAGE), PAGE),
    "two lengths in a field": response(b"Content-Length: %d, %d\r\n" % (len(PAGE), len(PAGE)), PAGE),
    "length too short": response(LENGTH % (len(PAGE) - 5), PAGE),
    "length too long": response(LENGTH % (len(PAGE) + 50) + b"Connection: close\r\n", PAGE),
    "status line ends with CR": plain().replace(b"\r\n", b"\r", 1),
    "head ends with CR CR LF": plain().replace(b"\r\n\r\n", b"\r\n\r\r\n", 1),
    "protocol in small letters": plain(status=b"http/1.1 200 OK"),
    "two blanks before the status": plain(status=b"HTTP/1.1  200 OK"),
    "status 700": plain(status=b"HTTP/1.1 700 OK"),
    "blank line first": b"\r\n" + plain(),
    "another line first": b"anything\r\n" + plain(),
    "second response": (response(LENGTH % 1, b"1"), plain()),
    "behind a response in chunks": (response(CHUNKED, chunked(b"1", b"2")), plain()),
    "behind status 304": (b"HTTP/1.1 304 Not Modified\r\n" + LENGTH % 50 + b"\r\n", plain()),
    "behind status 204": (b"HTTP/1.1 204 No Content\r\n\r\n", plain()),
    "chunks": response(CHUNKED, chunked(*PIECES)),
    "chunks of one byte": response(CHUNKED, chunked(*bytes_of(PAGE))),
    "chunks with extensions": response(CHUNKED, chunked(*PIECES, extension=b'; a="b"')),
    "chunks, sizes with zeros": response(CHUNKED, chunked(*PIECES, size="00{:x}")),
    "chunks, sizes in capitals": response(CHUNKED, chunked(b"a" * 171, *PIECES, size="{:X}")),
    "chunks, blanks behind sizes": response(CHUNKED, chunked(*PIECES, extension=b"   ")),
    "chunks, lines end with LF": response(CHUNKED, chunked(*PIECES, line_end=b"\n", end=b"0\n\n")),
    "chunks with trailers": response(CHUNKED, chunked(*PIECES, end=b"0\r\nX-A: b\r\n\r\n")),
    "chunks without an end": response(CHUNKED + b"Connection: close\r\n", chunked(*PIECES, end=b"")),
    "chunks and a length": response(CHUNKED + LENGTH % 5, chunked(*PIECES)),
    "length and chunks": response(LENGTH % 5 + CHUNKED, chunked(*PIECES)),
    "chunks, coding in capitals": response(b"TRANSFER-ENCODING: CHUNKED\r\n", chunked(*PIECES)),
    "chunks, no blank": response(b"Transfer-Encoding:chunked\r\n", chunked(*PIECES)),
    "chunks, blanks around": response(b"Transfer-Encoding:  \tchunked \t\r\n", chunked(*PIECES)),
    "chunks over HTTP/1.0": response(CHUNKED, chunked(*PIECES), status=b"HTTP/1.0 200 OK"),
    "chunks, two fields": response(CHUNKED + CHUNKED, chunked(*PIECES)),
    "chunks and identity in a field": response(
        b"Transfer-Encoding: identity, chunked\r\n", chunked(*PIECES)),
    "chunks and identity in two fields": response(
        b"Transfer-Encoding: identity\r\n" + CHUNKED, chunked(*PIECES)),
    "chunks behind a comma": response(b"Transfer-Encoding: ,chunked\r\n", chunked(*PIECES)),
    "chunks, vertical tabs behind sizes": response(CHUNKED, chunked(*PIECES, extension=b"\x0b")),
    "chunks, letters behind sizes": response(CHUNKED, chunked(*PIECES, extension=b" abc")),
    "chunks, sizes of 16 digits": response(CHUNKED, chunked(*PIECES, size="{:016x}")),
    "chunks, extensions of 3,000 bytes": response(CHUNKED, chunked(*PIECES, extension=b";" + b"a" * 3000)),
    "gzip as transfer coding": response(
        b"Transfer-Encoding: gzip, chunked\r\n", chunked(gzip.compress(PAGE))),
    "gzip": coded(b"gzip", gzip.compress(PAGE)),
    "x-gzip": coded(b"x-gzip", gzip.compress(PAGE)),
    "gzip in capitals": coded(b"GZIP", gzip.compress(PAGE)),
    "gzip in chunks": response(b"Content-Encoding: gzip\r\n" + CHUNKED,
                               chunked(*[gzip.compress(PAGE)[at : at + 7] for at in range(0, 140, 7)])),
    "gzip until the end of the connection": response(b"Content-Encoding: gzip\r\n", gzip.compress(PAGE)),
    "gzip with a name": coded(b"gzip", gzip_with(8, b"fish\0")),
    "gzip with a comment": coded(b"gzip", gzip_with(16, b"fish\0")),
    "gzip with an extra field": coded(b"gzip", gzip_with(4, b"\4\0abcd")),
    "gzip with a checked header": coded(b"gzip", gzip_with(2, b"", check_header=True)),
    "gzip with all of these": coded(b"gzip", gzip_with(30, b"\4\0abcdfish\0fish\0", check_header=True)),
    "gzip without its trailer": coded(b"gzip", gzip.compress(PAGE)[:-8]),
    "gzip, stored": coded(b"gzip", gzip.compress(PAGE, 0)),
    "gzip with a wrong checksum": coded(b"gzip", gzip.compress(PAGE)[:-8] + b"12345678"),
    "gzip with bytes behind it": coded(b"gzip", gzip.compress(PAGE) + b"behind"),
    "gzip with blanks around": coded(b" \t gzip \t", gzip.compress(PAGE)),
    "gzip before a comma": coded(b"gzip,", gzip.compress(PAGE)),
    "gzip behind a comma": coded(b",gzip", gzip.compress(PAGE)),
    "gzip five times": coded(
        b"gzip,gzip,gzip,gzip,gzip",
        functools.reduce(lambda text, _: gzip.compress(text), range(5), PAGE)),
    "coding none": coded(b"none", PAGE),
    "gzip in gzip": coded(b"gzip, gzip", gzip.compress(gzip.compress(PAGE))),
    "gzip in deflate": coded(b"gzip, deflate", zlib.compress(gzip.compress(PAGE))),
    "gzip thrice": coded(b"gzip,gzip , gzip", gzip.compress(gzip.compress(gzip.compress(PAGE)))),
    "gzip and identity": coded(b"gzip, identity", gzip.compress(PAGE)),
    "identity": coded(b"identity", PAGE),
    "two fields of coding": response(
        b"Content-Encoding: gzip\r\nContent-Encoding: deflate\r\n", zlib.compress(gzip.compress(PAGE))),
    "deflate with a header": coded(b"deflate", zlib.compress(PAGE)),
    "deflate without a header": coded(b"deflate", deflate(PAGE)),
    "deflate in chunks": response(b"Content-Encoding: deflate\r\n" + CHUNKED,
                                  chunked(*bytes_of(zlib.compress(PAGE)))),
    "brotli": coded(b"br", BROTLI),
    "brotli in chunks of one byte": response(b"Content-Encoding: br\r\n" + CHUNKED, chunked(*bytes_of(BROTLI))),
    "brotli in gzip": coded(b"br, gzip", gzip.compress(BROTLI)),
    "zstd": coded(b"zstd", ZSTD),
    "behind 6,000 bytes": response(LENGTH % (6000 + len(PAGE)), b"a" * 6000 + PAGE),
    "HTTP/0.9": PAGE,
}


class Recorder(threading.Thread):
    """A server that takes one connection and gives what it was told to give, one answer for each
    request; `said` has what the client sent."""

    def __init__(self, answers):
        super().__init__()
        self.answers, self.said = answers, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        self.listener.settimeout(20)
        try:
            connection = self.listener.accept()[0]
            connection.settimeout(20)
            with connection:
                for answer in self.answers:
                    self.said.append(whole_request(connection))
                    connection.sendall(answer)
        except OSError:
            pass
        self.listener.close()


def whole_request(connection):
    text = b""
    while b"\r\n\r\n" not in text:
        more = connection.recv(1 << 16)
        if not more:
            return text
        text += more
    length = re.search(rb"(?i)content-length: *(\d+)", text)
    while length and len(text.split(b"\r\n\r\n", 1)[1]) < int(length[1]):
        text += connection.recv(1 << 16)
    return text


def by_curl(answer):
    """What curl makes of a response, and what both said: pairs of request and response."""
    answers = answer if isinstance(answer, tuple) else (answer,)
    server = Recorder(answers)
    server.start()
    urls = [f"http://127.0.0.1:{server.port}/{index}" for index in range(len(answers))]
    command = [peers.need_program("curl"), "--silent", "--compressed", "--http0.9", "--max-time", "20"]
    done = subprocess.run(command + urls, capture_output=True, check=False)
    server.join()
    return done.stdout, list(zip(server.said, answers))


class Nginx:
    """nginx, and behind it a server that answers with the body of the request."""

    def __init__(self, folder):
        program = peers.need_program("nginx")
        self.behind = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.echo, daemon=True).start()
        self.port = peers.free_port()
        settings = folder / "nginx.conf"
        behind = self.behind.getsockname()[1]
        settings.write_text(NGINX.format(folder=folder, port=self.port, port_behind=behind))
        self.process = subprocess.Popen(
            [program, "-c", str(settings), "-e", str(folder / "error.log")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peers.until_it_listens(self.process, self.port, "nginx")

    def echo(self):
        while True:
            try:
                connection = self.behind.accept()[0]
            except OSError:
                return
            with connection:
                body = whole_request(connection).split(b"\r\n\r\n", 1)[-1]
                connection.sendall(b"HTTP/1.0 200 OK\r\n" + LENGTH % len(body) + b"\r\n" + body)

    def answer(self, text):
        """Everything that nginx says to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(20)
            said = b""
            while more := connection.recv(1 << 16):
                said += more
        return said

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.behind.close()
