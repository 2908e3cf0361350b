#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two programs that met by the address of a door (examples/suci-meet.c), in two private clusters with
# two relays each: relays die by SIGKILL, the home of the one that is asked, that of the one that
# asks, and the other one of the first; each comes back before the next dies.  Both programs go on.
#
#	KILLS='bfe0 afe0 bfe1'	which, in this order
#	DETECT_MS=500		silence that counts as death, in relays
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${KILLS:=bfe0 afe0 bfe1}" "${DETECT_MS:=500}"
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

RELAYS_IN=10.0.0.254:7812,10.0.0.253:7812
said() { grep -c "$2" "$TB_LOG/$1.log"; }
says() { [ "$(said "$1" "$2")" -ge "$3" ]; }
doors_at() { # FRONTEND: of processes of its cluster
	"$B/bin/relayctl" -s "$TB_ID-$1" --json doors | python3 -c \
		'import json, sys; print(sum(d["own"] for d in json.load(sys.stdin)))'
}
has_door() { [ "$(doors_at "$1")" = 1 ]; }

testbed_spawn b0 server "$B/examples/suci-meet" server $RELAYS_IN
testbed_wait 30 "the address" says server '^door:' 1 || fail "the server has no address"
address=$(grep '^door:' "$TB_LOG/server.log")
testbed_spawn a0 client "$B/examples/suci-meet" client $RELAYS_IN "$address" 150
testbed_wait 30 "the first answer" says client answers 1 || fail "they do not meet"
for fe in bfe0 bfe1 afe0 afe1; do
	testbed_wait 10 "the door at $fe" has_door "$fe" || fail "no door at $fe"
done
pass "a door at two relays of its cluster"

answers() { awk '/ answers$/ { n = $1 } END { print n + 0 }' "$TB_LOG/client.log"; }
more_than() { [ "$(answers)" -gt "$1" ]; }
for fe in $KILLS; do
	WHY=
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$fe")" && wait "$(cat "$TB_DIR/pid-relayd-$fe")"; } 2>/dev/null
	# What is still acknowledged by then does not count: the client says how many every second.
	testbed_nap 2.5
	testbed_wait 20 "more answers" more_than "$(answers)" || WHY="no answer"
	testbed_relayd "$B" "$fe" || fail "$fe does not start again"
	testbed_wait 30 "the door at $fe again" has_door "$fe" || WHY+="${WHY:+; }no door at $fe again"
	verdict "$fe is killed, both go on ($(answers) answers)" "$WHY" client server "relayd-$fe"
done
sed -n 's/^goes on/went on/p' "$TB_LOG/client.log"
testbed_alive server || verdict "the server lives" "it ended" server
testbed_alive client || verdict "the client lives" "it ended" client
exit $rc
