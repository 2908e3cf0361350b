#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two jobs that are connected, in two private clusters with two relays each: relays die by SIGKILL in
# the midst of what they say to each other, and come back before the next one dies.  So they do while
# the two roots make the connection, for a process of the one job comes late.  Every message
# comes once and in order, and how long nothing came is measured.  Then a relay dies for good, and in
# the end the other one of its cluster, too: both jobs end with an error that says so.
#
#	KILLS='bfe0 afe0 bfe1'	which, in this order
#	MEETS='afe0 bfe0 afe1 bfe1'	which, before all have come
#	DETECT_MS=500		silence that counts as death, in relays and processes
#	RANKS=2			of each job
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${KILLS:=bfe0 afe0 bfe1}" "${MEETS:=afe0 bfe0 afe1 bfe1}" "${DETECT_MS:=500}" "${RANKS:=2}"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

NODES=1 RELAYS=2
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
TB_RELAY_CONF="\"doors\": { \"max\": 256 },
	\"suci\": { \"liveness_ms\": $DETECT_MS, \"keepalive_ms\": $((DETECT_MS / 4)) }"
testbed_relayd "$B" afe0 afe1 bfe0 bfe1 || fail "relayd: does not start"

own=(env XDG_RUNTIME_DIR="$TB_DIR/tmp" LIBMPI_RELAY="10.0.0.254:7812,10.0.0.253:7812"
	LIBMPI_LIVENESS_MS="$DETECT_MS" LIBMPI_PARTITION_TIMEOUT_S=5
	"$B/bin/mpirun" --launcher local -n "$RANKS")
gone() { ! testbed_alive "$1"; }
port_is() { PORT=$(sed -n 's/^port //p' "$TB_LOG/$1.log") && [ -n "$PORT" ] || gone "$1"; }
doors_at() { # FRONTEND: of processes of its cluster
	"$B/bin/relayctl" -s "$TB_ID-$1" --json doors | python3 -c \
		'import json, sys; print(sum(d["own"] for d in json.load(sys.stdin)))'
}
has_doors() { [ "$(doors_at "$1")" -ge "$RANKS" ]; }
rounds() { awk '/ rounds$/ { n = $1 } END { print n + 0 }' "$TB_LOG/client.log"; }
more_than() { [ "$(rounds)" -gt "$1" ] || gone client; }
kill_relay() {
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$1")" && wait "$(cat "$TB_DIR/pid-relayd-$1")"; } 2>/dev/null
}
# ends NAME: sets STATUS
ends() {
	testbed_wait 60 "the end of $1" gone "$1" || testbed_stop "$1" 3 >/dev/null 2>&1
	{ wait "$(cat "$TB_DIR/pid-$1")"; } 2>/dev/null
	STATUS=$?
}
begin() {
	rm -f "$TB_LOG/server.log" "$TB_LOG/client.log" "$TB_DIR/over" "$TB_DIR/comes"
	testbed_spawn a0 server "${own[@]}" "$B/test/mpi/talks" server "$TB_DIR/comes"
	testbed_wait 30 "the port" port_is server || fail "the server opens no port"
	[ -n "$PORT" ] || fail "the server: $(tail -n 1 "$TB_LOG/server.log")"
	testbed_spawn b0 client "${own[@]}" "$B/test/mpi/talks" client "$PORT" "$TB_DIR/over"
}
# The server's root has its own door and its port's; so has the client's, for what it says there.
doors_of_roots() {
	local fe
	for fe in afe0 afe1 bfe0 bfe1; do
		testbed_wait 10 "doors at $fe" has_doors "$fe" || fail "no doors at $fe"
	done
}
meet() {
	begin
	: >"$TB_DIR/comes"
	testbed_wait 30 "the first rounds" more_than 0 || fail "they do not meet"
	for fe in afe0 afe1 bfe0 bfe1; do
		testbed_wait 10 "doors at $fe" has_doors "$fe" || fail "no doors at $fe"
	done
}

# ---- each relay of a conversation dies, and comes back
read -ra kills <<<"$MEETS"
begin
doors_of_roots
testbed_nap 1
WHY=
for fe in "${kills[@]}"; do
	kill_relay "$fe"
	testbed_nap 2.5
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
	testbed_wait 30 "doors at $fe again" has_doors "$fe" || WHY="no doors at $fe again"
	gone client && WHY="the client ended"
	gone server && WHY="the server ended"
done
[ "$(rounds)" = 0 ] || WHY="they had met before"
: >"$TB_DIR/comes"
testbed_wait 30 "the first rounds" more_than 0 || WHY="${WHY:-they do not meet}"
: >"$TB_DIR/over"
for job in client server; do
	ends "$job"
	[ $STATUS = 0 ] || WHY="${WHY:-the $job: status $STATUS}"
done
verdict "${kills[*]} are killed while roots make a connection, and they meet" "$WHY" client server 'relayd-*'

# ---- each relay of a way dies, and comes back
read -ra kills <<<"$KILLS"
meet
for fe in "${kills[@]}"; do
	WHY=
	kill_relay "$fe"
	# What is still acknowledged by then does not count.
	testbed_nap 2.5
	testbed_wait 20 "more rounds" more_than "$(rounds)" || WHY="nothing comes any more"
	gone client && WHY="the client ended"
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
	testbed_wait 30 "doors at $fe again" has_doors "$fe" || WHY+="${WHY:+; }no doors at $fe again"
	verdict "$fe is killed, both jobs go on" "$WHY" client server "relayd-$fe"
done
WHY=
: >"$TB_DIR/over"
ends client
[ $STATUS = 0 ] || WHY="the client: status $STATUS"
ends server
[ $STATUS = 0 ] || WHY="${WHY:-the server: status $STATUS}"
for job in client server; do
	[ "$(grep -c 'messages, the longest round' "$TB_LOG/$job.log")" = "$RANKS" ] ||
		WHY="${WHY:-not all ranks of the $job are through}"
done
sed -n "s/^rank.*took/with silence of $DETECT_MS ms, a round took/p" "$TB_LOG/client.log"
verdict "every message once and in order: $(sed -n 's/^rank 0: //p' "$TB_LOG/client.log" | tail -n 1)" \
	"$WHY" client server 'relayd-*'

# ---- both relays of a cluster die, and nobody waits for ever
meet
WHY=
kill_relay bfe1
testbed_nap 2.5
testbed_wait 20 "more rounds" more_than "$(rounds)" || WHY="nothing comes with one relay left"
kill_relay bfe0
for job in client server; do
	ends "$job"
	[ $STATUS != 0 ] || WHY="${WHY:-the $job ends well}"
	grep -q 'a job that this one is connected to' "$TB_LOG/$job.log" || WHY="${WHY:-the $job does not say why}"
done
verdict "without any relay both jobs end, and say why" "$WHY" client server 'relayd-*'
exit $rc
