#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A relay that dies, a rank that dies, in the middle of a job over both clusters: every
# side ends within 20 s with an error that says what happened; relays then run the next job.
# ipv6: yes
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

gone() { ! testbed_alive "$1"; }
# Sets STATUS; not for a subshell, which has no children.
status() {
	{ wait "$(cat "$TB_DIR/pid-$1")"; } 2>/dev/null
	STATUS=$?
}
started() { grep -q 'every byte checked' "$TB_LOG/$1-a.log"; }

# ended NAME PATTERN: both sides end in 20 s, not with 0, somebody says PATTERN; else WHY.
ended() {
	local side
	WHY=
	for side in a b; do
		testbed_wait 20 "$1 to end in cluster $side" gone "$1-$side" ||
			{ WHY="cluster $side hangs"; return; }
		status "$1-$side"
		[ "$STATUS" != 0 ] || WHY="side $side ended with status 0"
	done
	[ -n "$WHY" ] || grep -qE "$2" "$TB_LOG/$1-a.log" "$TB_LOG/$1-b.log" ||
		WHY="no message matches '$2'"
}

# Without another relay the job waits that long for the one that died.
TB_RELAY_CONF='"trunks": { "partition_timeout_s": 3 }'
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
for fe in afe0 bfe0; do testbed_relayd "$B" $fe || fail "relayd: does not start"; done

testbed_job "$B" rank "$B/examples/pingpong" --budget-ms 60000
testbed_wait 15 "the job to run" started rank || fail "rank dies: the job does not start"
victim=$(ip netns pids "$TB_ID-b1" | while read -r p; do
	[ "$(cat /proc/"$p"/comm)" = pingpong ] && echo "$p"
done | head -1)
kill -KILL "$victim" || fail "rank dies: no rank found on b1"
ended rank 'ending the job|signal 9'
verdict "a rank dies" "$WHY"

testbed_job "$B" after "$B/examples/pingpong" --quick --max 4096
testbed_wait 30 "a job after a failed one" gone after-a
testbed_wait 10 "its other side" gone after-b
why=
for s in a b; do
	status after-$s
	[ "$STATUS" = 0 ] || why="the next job fails: side $s ended with status $STATUS"
done
verdict "the next job runs" "$why"

testbed_job "$B" relay "$B/examples/pingpong" --budget-ms 60000
testbed_wait 15 "the job to run" started relay || fail "relay dies: the job does not start"
kill -KILL "$(cat "$TB_DIR/pid-relayd-bfe0")"
ended relay 'relay .*(gone|silent)'
verdict "a relay dies" "$WHY"
{ testbed_stop relayd-afe0; } 2>/dev/null || verdict "the other relay stops cleanly" "status $?"
testbed_down
left=$(testbed_leftovers)
verdict "nothing is left" "$left"
exit $rc
