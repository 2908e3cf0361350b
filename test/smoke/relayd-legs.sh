#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# relayd's two legs in fresh namespaces: ARP, ping, TCP through the TAP, every kind of
# bad frame counted by name, telemetry, and an end that leaves nothing behind.
# ipv6: yes
# timeout: 120
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-legs
make_net || { fail relayd-net "cannot make namespaces"; exit 1; }
make_conf

in_node() { ip netns exec "$NODE" "$@"; }
in_wan() { ip netns exec "$WAN" "$@"; }

if ! start_relayd; then
	fail relayd-start "no ready line; log follows"
	exit 1
fi
pass relayd-start
check relayd-pidfile "pidfile does not hold the process id" \
	[ "$(cat "$TMP/relayd.pid" 2>/dev/null)" = "$(pgrep -P $$ -x relayd || echo "$RELAYD_PID")" ]

check relayd-ping-private "no echo reply" in_node ping -q -c 3 -i 0.05 -W 2 10.0.0.1
check relayd-ping-global "no echo reply" in_wan ping -q -c 3 -i 0.05 -W 2 198.51.100.1
check relayd-ping-jumbo "no echo reply of 8000 bytes" \
	in_node ping -q -M do -s 8000 -c 2 -i 0.05 -W 2 10.0.0.1
mac=$(ip -n "$RELAY" -br link show priv0 | awk '{print $3}')
check relayd-arp "the node's ARP entry is not the leg's MAC" \
	grep -qi "lladdr $mac" <(ip -n "$NODE" neigh show 10.0.0.1)
# Exactly one answer to an ARP request: the kernel must not answer beside us.
check relayd-arp-once "not exactly one ARP reply" in_node python3 - p0 10.0.0.1 10.0.0.10 <<'PY'
import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
s.bind((sys.argv[1], 0x0806))
me = s.getsockname()[4]
req = b"\xff" * 6 + me + b"\x08\x06" + struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, me,
      socket.inet_aton(sys.argv[3]), bytes(6), socket.inet_aton(sys.argv[2]))
s.send(req)
n, end = 0, time.time() + 1
while time.time() < end:
    s.settimeout(max(0.01, end - time.time()))
    try:
        f = s.recv(2048)
    except socket.timeout:
        break
    if f[20:22] == b"\0\2" and f[28:32] == socket.inet_aton(sys.argv[2]):
        n += 1
sys.exit(n != 1)
PY

# TCP through the TAP: a connection is accepted, and one that speaks nonsense is closed.
check relayd-tcp-tap "no TCP connection to the IMPI port" in_node python3 - <<'PY'
import socket, sys
s = socket.create_connection(("10.0.0.1", 7811), 5)
s.sendall(b"GET / HTTP/1.0\r\n\r\n" * 4)
s.settimeout(8)
while True:
    try:
        if not s.recv(4096):
            break
    except ConnectionResetError:
        break
    except socket.timeout:
        sys.exit(1)
PY
check relayd-tcp-reason "no log line says why the client was closed" \
	grep -q 'warning: client 10.0.0.10:[0-9]* refused on port 7811: ended: ' "$TMP/relayd.log"
check relayd-tcp-closed-port "a port that is not ours was answered" in_node python3 - <<'PY'
import socket, sys
try:
    socket.create_connection(("10.0.0.1", 9), 1)
    sys.exit(1)
except ConnectionRefusedError:
    sys.exit(1)
except socket.timeout:
    pass
PY

# Bad frames, each counted once under its name.
stats || fail relayd-stats "SIGUSR1 wrote no stats file"
cp "$TMP/stats.json" "$TMP/before.json"
in_node python3 test/smoke/_frames.py p0 10.0.0.1 "$mac" 10.0.0.10 7812 >"$TMP/sent"
sleep 0.3
stats
cp "$TMP/stats.json" "$TMP/after.json"
check relayd-bad-frames "counters do not match what was sent" python3 - "$TMP" <<'PY'
import collections, json, sys
t = sys.argv[1]
b, a = (json.load(open(f"{t}/{n}.json"))["legs"]["private"]["rx_drops"] for n in ("before", "after"))
sent = collections.Counter(open(f"{t}/sent").read().split())
bad = 0
for name, n in sent.items():
    got = a[name] - b[name]
    if name == "ip_fragment":
        continue  # net_af_packet has the kernel reassemble; test_rd_packet covers it
    # Other stations' own noise may add to these.
    ok = got >= n if name in ("mac", "ethertype", "arp_other") else got == n
    if not ok:
        print(f"{name}: sent {n}, counted {got}")
        bad = 1
for name in a:
    # Of the global leg, see relayd-edge and relayd-ipv6.
    if name not in sent and name != "udp_no_checksum" and not name.startswith("nd_"):
        print(f"{name}: no frame of this kind is sent by the test")
        bad = 1
sys.exit(bad)
PY

# Garbage for the Suci port: counted, never answered with ICMP.
check relayd-garbage-silent "a garbage datagram was answered" in_node python3 - <<'PY'
import random, socket, sys, time
r = random.Random(7)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.0.0.1", 7812))
for i in range(200):
    s.send(bytes(r.randrange(256) for _ in range(r.randrange(1, 300))))
    if i % 20 == 0:
        time.sleep(0.005)
s.settimeout(0.5)
try:
    while True:
        if s.recv(2048)[0] >> 4 != 1:  # a RESET for an unknown path is the protocol's
            sys.exit(1)
except socket.timeout:
    pass
except ConnectionRefusedError:
    sys.exit(1)
PY
stats
check relayd-garbage-counted "suci drops are $(stat 'sum(v for k, v in s["suci"].items() if k.startswith("drop_"))')" \
	[ "$(stat 'sum(v for k, v in s["suci"].items() if k.startswith("drop_"))')" -ge 190 ]
check relayd-consistent "forwarding counters do not add up" [ "$(stat 's["consistent"]')" = True ]

if [ -x "$B/bin/relayctl" ]; then
	check relayd-ctl-status "relayctl status" "$B/bin/relayctl" -s "$RUN" status
	check relayd-ctl-drops "relayctl drops does not show udp_checksum" \
		grep -q udp_checksum <("$B/bin/relayctl" -s "$RUN" drops)
	check relayd-ctl-json "relayctl --json is not JSON" \
		python3 -c 'import json,sys; json.load(sys.stdin)' < <("$B/bin/relayctl" -s "$RUN" --json paths)
fi

stop_relayd
rc=$?
check relayd-exit "status $rc after SIGTERM" [ "$rc" -eq 0 ]
check relayd-buffers "not all packet buffers came back" grep -q 'all [0-9]* packet buffers are back' "$TMP/relayd.log"
check relayd-taps-gone "a TAP is left" \
	[ -z "$(ip -n "$RELAY" -br link | grep -o '^relay-[a-z]*')" ]
check relayd-files-gone "runtime folder, control socket, pidfile or hugepage files are left" \
	[ ! -e "/var/run/dpdk/$RUN" ] && [ ! -e "/run/relayd/$RUN.sock" ] && [ ! -e "$TMP/relayd.pid" ]
check relayd-sysctl-restored "rp_filter is not as before" \
	[ "$(ip netns exec "$RELAY" cat /proc/sys/net/ipv4/conf/priv0/rp_filter)" != 1 ]
exit $FAILED
