#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker with nothing to do, idle: sleep: it sleeps until a receive interrupt of its private port
# (net_tap) or the packet socket of its global one, and each wakes it.  A port whose driver has
# neither (net_null) is looked at, and the log says so.  The checksums that net_tap looks at are
# believed.
# ipv6: yes
# timeout: 90
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-idle
make_net || { fail idle-net "cannot make namespaces"; exit 1; }
ip -n "$NODE" link del p0
make_conf
sed -i 's/"interface": "priv0"/"device": "net_tap0,iface=tap0"/; s/"mtu": 9000/"mtu": 1500/' "$TMP/conf.json"
start_relayd || { fail idle-start "no ready line; log follows"; exit 1; }
# The other end of the port is a kernel interface: the node's.
ip -n "$RELAY" link set tap0 netns "$NODE" && ip -n "$NODE" link set tap0 up && ip -n "$NODE" addr add 10.0.0.10/24 dev tap0
check idle-says-interrupts "the log does not say what ends a sleep" \
	grep -q "private leg: an idle worker sleeps until the port's receive interrupt" "$TMP/relayd.log"
check idle-says-sockets "the log does not say what ends a sleep" \
	grep -q 'global leg: an idle worker sleeps until its packet socket has a frame' "$TMP/relayd.log"

# worker FIELD: of the status.
worker() { "$B/bin/relayctl" -s "$RUN" --json status | python3 -c "import json, sys; print(json.load(sys.stdin)['workers'][0]['$1'])"; }
woken_by() { "$B/bin/relayctl" -s "$RUN" --json ports | python3 -c 'import json, sys; print(*[p["woken_by"] for p in json.load(sys.stdin)])'; }
check idle-ports "ports says $(woken_by)" [ "$(woken_by)" = "interrupts sockets" ]

# sleeps: how often in a second of the worker's own time.
sleeps() {
	local at=$EPOCHREALTIME a b us
	a=$(worker sleeps) us=$(worker uptime_us)
	sleep 3
	b=$(worker sleeps) us=$(($(worker uptime_us) - us))
	echo $(((b - a) * 1000000 / us))
}
quiet=$(sleeps)
echo "a worker with nothing to do sleeps $quiet times a second"
check idle-quiet "it wakes up $quiet times a second" [ "$quiet" -le 1000 ]

wakes() { # NAMESPACE ADDRESS: each of 20 frames wakes it, or finds it awake.
	local before
	before=$(worker woken)
	ip netns exec "$1" ping -q -c 20 -i 0.05 -W 5 "$2" >"$TMP/ping" 2>&1 || return
	tail -1 "$TMP/ping"
	[ $(($(worker woken) - before)) -ge 10 ]
}
check idle-private "interrupts do not wake it: $(tail -2 "$TMP/relayd.log")" wakes "$NODE" 10.0.0.1
check idle-global "sockets do not wake it" wakes "$WAN" 198.51.100.1
# That port looks at checksums: the worker believes it, and counts.
check idle-sums-said "the log does not say who looks at checksums" \
	grep -q 'private leg: checksums received are looked at by the port (UDP) and the port (IPv4)' "$TMP/relayd.log"
sums() { stat '[*map(s["legs"]["private"].get, ("rx_suci", "rx_known")), *map(s["legs"]["private"]["rx_drops"].get, ("ip_checksum", "udp_checksum", "udp_length", "short"))]'; }
stats && before=$(sums)
mac=$("$B/bin/relayctl" -s "$RUN" --json ports | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["mac"])')
ip netns exec "$NODE" python3 test/smoke/_frames.py tap0 10.0.0.1 "$mac" 10.0.0.10 7812 >"$TMP/sent"
ip netns exec "$NODE" python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in (1, 40, 400, 1400, 1401): s.sendto(b"x" * n, ("10.0.0.1", 7812))'
sleep 0.3
stats && after=$(sums)
check idle-sums "(rx_suci, rx_known, ip_checksum, udp_checksum, udp_length, short) was $before, is $after" \
	python3 -c 'import sys
b, a = eval(sys.argv[1]), eval(sys.argv[2])
d = [y - x for x, y in zip(b, a)]
sent = open(sys.argv[3]).read().split()
sys.exit(not (d[0] >= 5 and d[1] == d[0] and d[2:] == [sent.count(n) for n in
              ("ip_checksum", "udp_checksum", "udp_length", "short")]))' "$before" "$after" "$TMP/sent"
# Its port is set up anew, and is another one then.
"$B/bin/relayctl" -s "$RUN" reset global >/dev/null
again() { "$B/bin/relayctl" -s "$RUN" --json ports | grep -q '"resets_done": 1'; }
for _ in $(seq 200); do again && break; sleep 0.1; done
check idle-reset "sockets do not wake it after a reset" wakes "$WAN" 198.51.100.1
check idle-reset-private "interrupts do not wake it after a reset of the other port" wakes "$NODE" 10.0.0.1
stop_relayd
rc=$?
check idle-exit "relayd's status is $rc after SIGTERM" [ "$rc" -eq 0 ]

# A port whose driver has an interrupt for its link: changes are seen faster than once a second can.
# A second is as long for relayd as for us, so how slow the machine is does not matter.
start_relayd || { fail idle-link-start "no ready line; log follows"; exit 1; }
LINKS=20
logged() { # TEXT COUNT
	for _ in $(seq 1000); do
		[ "$(grep -c "private leg: link is $1" "$TMP/relayd.log")" -ge "$2" ] && return
		sleep 0.03
	done
	return 1
}
links() { # LINKS changes, each when the last one was seen
	local n at=$EPOCHREALTIME
	for n in $(seq $((LINKS / 2))); do
		for state in down up; do
			ip -n "$RELAY" link set tap0 $state
			logged $state $((seen + n)) || return
		done
	done
	seen=$((seen + LINKS / 2))
	ms=$(((${EPOCHREALTIME/./} - ${at/./}) / 1000))
	echo "$LINKS changes of the link were seen in $ms ms"
}
seen=0 ms=
for _ in 1 2 3; do # a machine that stood still says nothing
	links || break
	[ "$ms" -ge $(((LINKS - 1) * 1000)) ] || break
done
check idle-link "after $seen changes down and up: ${ms:-one was not seen} ms" \
	[ "${ms:-999999}" -lt $(((LINKS - 1) * 1000)) -a "$seen" -gt 0 ]
stop_relayd

# A driver with neither.
sed -i 's/"device": "net_tap0,iface=tap0"/"device": "net_null0,size=60,no-rx=1"/' "$TMP/conf.json"
start_relayd || { fail idle-none-start "no ready line; log follows"; exit 1; }
check idle-none "the log does not say that it looks" \
	grep -q 'private leg: an idle worker looks every 100 us' "$TMP/relayd.log"
deaf=$(sleeps)
echo "with a port that wakes nobody it sleeps $deaf times a second"
stop_relayd
exit "$FAILED"
