#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Light paths by hand: two relays with a light port each, wired to Open vSwitch, under a job that
# checks every byte.  Traffic takes the light once it is lit and the trunk when it is dark; a
# circuit that goes under load loses nothing.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root relayd-light
need_openvswitch relayd-light
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

# No controller: circuits and light are set by hand.
testbed_light_conf() {
	local i
	i=$(_tb_index "$1")
	echo "\"optical\": { \"pmd\": \"$PMD\", \"open_ms\": 2000, \"ports\": [ { \"interface\": \"light0\", \"switch_port\": $i," \
		"\"address\": \"10.50.0.$((i + 1))/24\" } ] },"
}
tell_logs() {
	tail -n 15 "$TB_LOG"/*.log
	for fe in afe0 bfe0; do ctl "$fe" lights; done
}
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; } # FRONTEND COMMAND...
lights() { # FRONTEND FIELD: of all lights, or of port 0
	ctl "$1" --json lights | python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v[sys.argv[1]] if sys.argv[1] in v else v["lights"][0][sys.argv[1]])' "$2"
}
trunk() { # FRONTEND: segments sent over its trunk
	ctl "$1" --json paths --kind trunk | python3 -c 'import json, sys
print(sum(p["tx_segments"] for p in json.load(sys.stdin)))'
}
is() { [ "$(lights "$1" "$2")" = "$3" ]; } # FRONTEND FIELD VALUE
more() { [ "$(lights "$1" "$2")" -gt "$3" ]; } # FRONTEND FIELD THAN
trunk_more() { [ "$(trunk "$1")" -gt "$2" ]; }
switch() { testbed_exec ocs "$B/bin/ocsctl" -P openflow -a $TB_OCS_AT:6653 -n 2 "$@"; }
up() { # both ends, as operators would; 0 if both are lit
	local other
	ctl bfe0 light 0 up "$(testbed_global_addr afe0)" 10.50.0.1 >"$TB_LOG/up-b.log" 2>&1 &
	other=$!
	ctl afe0 light 0 up "$(testbed_global_addr bfe0)" 10.50.0.2 >"$TB_LOG/up-a.log" 2>&1
	local a=$?
	wait $other && [ $a = 0 ]
}
down() {
	ctl bfe0 light 0 down >"$TB_LOG/down-b.log" 2>&1 &
	local other=$!
	ctl afe0 light 0 down >"$TB_LOG/down-a.log" 2>&1
	local a=$?
	wait $other && [ $a = 0 ]
}
# What the trunk still has to send, or to send again, goes there.
trunk_empty() {
	ctl afe0 --json paths --kind trunk | python3 -c 'import json, sys
sys.exit(sum(p["in_flight"] + p["queued"] for p in json.load(sys.stdin)) != 0)'
}
# Over light and nothing else, until both relays have sent so many segments more.
by_light() {
	local fe was=() t
	testbed_wait 5 "the trunk to be empty" trunk_empty || return
	t=$(trunk afe0)
	for fe in afe0 bfe0; do was+=("$(lights $fe tx_segments)"); done
	for fe in afe0 bfe0; do
		testbed_wait 20 "$1 segments over light from $fe" more $fe tx_segments $((was[0] + $1)) || return
		was=("${was[@]:1}")
	done
	t=$(($(trunk afe0) - t))
	((t == 0)) || fail "$t segments went over the trunk meanwhile"
}
by_trunk() {
	local l t
	t=$(trunk afe0) l=$(lights afe0 tx_segments)
	testbed_wait 20 "$1 segments over the trunk" trunk_more afe0 $((t + $1)) || return
	l=$(($(lights afe0 tx_segments) - l))
	((l == 0)) || fail "$l segments went over light meanwhile"
}

CLUSTERS='a b' NODES=1 LIGHT_PORTS=1 LIGHT_RATE=0
testbed_up && testbed_light || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
testbed_server "$B" || fail "impi-server: does not start"
for fe in afe0 bfe0; do testbed_relayd "$B" $fe || fail "relayd on $fe does not start"; done
testbed_job "$B" job "$B/test/mpi/failover" 3600 200000 "$TB_DIR/enough"
testbed_wait 20 "the job to run" grep -q '^running' "$TB_LOG/job-a.log" || fail "the job does not start"

is afe0 state dark || fail "not dark: $(ctl afe0 lights)"
up && fail "lit without a circuit"
grep -q 'nobody answers at 10.50.0.2' "$TB_LOG/up-a.log" || fail "$(cat "$TB_LOG/up-a.log")"
is afe0 failed 1 && is bfe0 failed 1 || fail "failed: $(lights afe0 failed), $(lights bfe0 failed)"
by_trunk 200 || fail "no traffic"
pass "without a circuit there is no light, and the job goes on"

switch set 0:1 1:0 >"$TB_LOG/switch.log" || fail "ocsctl set"
up || fail "not lit: $(cat "$TB_LOG"/up-*.log)"
by_light 500 || fail "no traffic over light"
rtt=$(ctl afe0 --json paths --kind light | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["rtt_min_us"])')
((rtt < 4000)) || fail "round trip over light: $rtt us"
pass "lit: all of the job's traffic takes the light (round trip $rtt us, 4000 us by packets)"

down || fail "not drained: $(cat "$TB_LOG"/down-*.log)"
switch clear 0:1 1:0 >"$TB_LOG/switch.log" || fail "ocsctl clear"
by_trunk 200 || fail "no traffic over the trunk"
is afe0 failed 1 || fail "drained, and $(lights afe0 failed) failed"
pass "dark: drained, and by packets again"

# Where the second command starts late its relay finds the path closed and opens it anew: nothing
# to drain.  Which of both that is may change from round to round.
took=
for _ in 1 2 3; do
	before="$(lights afe0 drained) $(lights bfe0 drained)"
	switch set 0:1 1:0 >"$TB_LOG/switch.log" && up || fail "not lit again: $(cat "$TB_LOG"/up-*.log)"
	by_light 50 || fail "no traffic over light"
	down && switch clear 0:1 1:0 >"$TB_LOG/switch.log" || fail "not drained again"
	took+="${took:+, }$(lights afe0 opened_us) and $(lights afe0 drained_us)"
	[ "$before" != "$(lights afe0 drained) $(lights bfe0 drained)" ] ||
		fail "neither has drained: $before times"
done
(($(lights afe0 drained) <= 4 && $(lights bfe0 drained) <= 4)) ||
	fail "drained $(lights afe0 drained) and $(lights bfe0 drained) times, 4 were asked for"
is afe0 cut 0 && is bfe0 cut 0 || fail "cut: $(lights afe0 cut), $(lights bfe0 cut)"
pass "lit and drained again, three times ($took us)"

switch set 0:1 1:0 >"$TB_LOG/switch.log" && up && by_light 100 || fail "not lit again"
switch clear 0:1 1:0 >"$TB_LOG/switch.log" || fail "ocsctl clear"
testbed_wait 5 "the light to fail" is afe0 failed 2 || fail "it did not fail"
testbed_wait 5 "the light to fail" is bfe0 failed 2 || fail "it did not fail"
by_trunk 200 || fail "no traffic over the trunk"
pass "a circuit that goes under load: over packets"

touch "$TB_DIR/enough"
for s in a b; do
	gone() { ! testbed_alive job-$s; }
	testbed_wait 20 "the end of job-$s" gone || fail "side $s hangs"
	wait "$(cat "$TB_DIR/pid-job-$s")" || fail "side $s ended with status $?"
done
grep -q '^ok' "$TB_LOG/job-a.log" || fail "the job does not say ok"
! grep -q 'is down: trunk' "$TB_LOG"/relayd-*.log || fail "a trunk went down"
pass "the job was right all the time: $(grep '^ok' "$TB_LOG/job-a.log")"
for fe in afe0 bfe0; do testbed_stop relayd-$fe || fail "$fe does not stop clean"; done
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left: $left"
