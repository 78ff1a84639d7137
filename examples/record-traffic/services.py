"""The servers of site B that are not programs of their own: a web site and two UDP services.

    services.py DIRECTORY

Serves DIRECTORY over HTTP on ports 80 and 8080, answers datagrams on UDP port 47001 with a
short acknowledgement and sends those on UDP port 47002 back whole; all over IPv4 and IPv6.
Runs until it is terminated; prints `ready` when every port is open.
"""

import functools
import http.server
import socket
import sys
import threading

HTTP_PORTS = (80, 8080)
ACKNOWLEDGE_PORT = 47001
ECHO_PORT = 47002


class Site(http.server.SimpleHTTPRequestHandler):
    """Files by GET; what is sent by POST or PUT is read and forgotten."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b"taken\n"
        self.send_response(201)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST

    def log_message(self, *_):
        pass


class DualStackServer(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # Not HTTPServer's own: that one asks DNS for the name of this host.
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "www.site-b.example", self.server_address[1]


def answer_datagrams(sock, answer):
    while True:
        datagram, peer = sock.recvfrom(65535)
        sock.sendto(answer(datagram), peer)


def udp_socket(port):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port))
    return sock


def main(directory):
    threads = [
        threading.Thread(target=answer_datagrams, args=(udp_socket(port), answer), daemon=True)
        for port, answer in (
            (ACKNOWLEDGE_PORT, lambda datagram: b"ok " + datagram[:4]),
            (ECHO_PORT, lambda datagram: datagram),
        )
    ]
    handler = functools.partial(Site, directory=directory)
    for port in HTTP_PORTS:
        server = DualStackServer(("::", port), handler)
        threads.append(threading.Thread(target=server.serve_forever, daemon=True))
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
