#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whole switches fail under a job over two clusters, three relays to two, that checks every byte:
# one with two of three relays and the primary among them, on the WAN and on the LAN side, while
# another remains; then that one, too, for less than partition_timeout_s.  With carrier lost, and
# hung: the cables stay up and nothing goes through.  Under `dest`, then under `stripe`.
#
#	DETECT_MS=500	silence that counts as death, in relays and processes
#	ROUNDS=1	each of it so many times
# ipv6: yes
# alone: how long a job stands still is measured
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
: "${DETECT_MS:=500}" "${ROUNDS:=1}"
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpi-switches
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_failover.sh
. test/smoke/_failover.sh
pause=$(awk -v ms="$DETECT_MS" 'BEGIN { print 0.2 + 2 * ms / 1000 }') # what stands still longer is the next one's
long=$(awk -v ms="$DETECT_MS" 'BEGIN { print 0.2 + 3 * ms / 1000 }')
limit=$((3 * DETECT_MS))
OUT_S=1.5 PARTITION_S=8

# cut NAME FRONTEND...: each has lost both its trunks since the last time somebody asked.
declare -A downs=()
cut() {
	local name=$1 fe n
	shift
	for fe in "$@"; do
		n=$(grep -c 'is down: trunk: nothing heard' "$TB_LOG/relayd-$fe.log")
		((n >= ${downs[$fe]:-0} + 2)) || verdict "$policy $name" "$fe was not cut off: lost $((n - ${downs[$fe]:-0})) of 2 trunks"
		downs[$fe]=$n
	done
}

# within NAME COMMAND...: an event in which the job stands still for three detections at most.
# With least=MS: and at least so long, or it still stands, or nothing was cut.
within() {
	local why=
	since=$told event "$@" || exit 1
	((stall >= ${least:-0} && stall <= limit)) || why="it stood still $stall ms"
	verdict "$policy $1: ${least:+$least to }$limit ms at most" "$why"
}

# dies NAME COMMAND...: the job has to find out by silence.
dies() {
	pause=$long least=$((DETECT_MS / 2)) within "$@"
}

# Both switches are gone for a while.  Sets out_ms.
outage() { # HOW
	local at=${EPOCHREALTIME/[.,]/}
	testbed_power y "$1"
	sleep $OUT_S
	testbed_power y on
	out_ms=$(((${EPOCHREALTIME/[.,]/} - at) / 1000))
}

switches() { # HOW
	local why=
	dies "WAN switch with afe0, afe1 $1" testbed_power x "$1"
	cut "WAN switch $1" afe0 afe1
	[ "${downs[afe2]:-0}" = "$(grep -c 'is down: trunk: nothing heard' "$TB_LOG/relayd-afe2.log")" ] ||
		verdict "$policy WAN switch $1" "afe2, behind the other, lost trunks too"
	since=$told most=60000 event "the other $1, too" outage "$1" || exit 1
	((stall >= out_ms * 3 / 4)) || why="the job stood still only $stall ms"
	((stall <= out_ms + limit)) || why="it stood still $stall ms"
	verdict "$policy all switches $1 for $out_ms ms: at most $limit ms more" "$why"
	cut "all switches $1" afe2
	within "the first on" testbed_power x on
	takes_load afe0
}

NODES=2 PPN=1 RELAYS=3 RELAYS_B=2 policy=dest
testbed_up || fail "testbed: not built"
testbed_switch x wan afe0 afe1 && testbed_switch y wan afe2 && testbed_switch xlan lan afe0 afe1 ||
	fail "testbed: no further switches"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
TB_RELAY_CONF="\"suci\": { \"liveness_ms\": $DETECT_MS, \"keepalive_ms\": $((DETECT_MS / 4)) },
	\"trunks\": { \"policy\": \"dest\", \"partition_timeout_s\": $PARTITION_S }"
relays=(afe0 afe1 afe2 bfe0 bfe1)
testbed_relayd "$B" "${relays[@]}" || fail "relayd: does not start"
start
told=1 # line of the job's output
for ((i = 0; i < ROUNDS; i++)); do
	switches off
	for fe in "${relays[@]}"; do ctl "$fe" set policy=stripe >/dev/null || fail "$fe: set policy"; done
	policy=stripe
	dies "LAN switch with afe0, afe1 hung" testbed_power xlan hung
	within "and on again" testbed_power xlan on
	switches hung
	for fe in "${relays[@]}"; do ctl "$fe" set policy=dest >/dev/null || fail "$fe: set policy"; done
	policy=dest
done

finish "whole switches"
left "whole switches"
exit $rc
