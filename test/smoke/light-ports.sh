#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Ports of the switch that somebody works at while a job runs.  Withdrawn by relayctl a port is drained
# and planned without; taken out of service at the switch, which tells nobody, it is found by what
# fails.  The job is right all the time, others' light goes on, and what comes back is used again.
# ipv6: yes
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root light-ports
need_openvswitch light-ports
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

tell_logs() {
	tail -n 12 "$TB_LOG"/relayd-afe0.log "$TB_LOG"/job-*.log "$TB_LOG"/emulator.log
	ctl circuits
	ctl circuits --log | tail -n 25
}
ctl() { "$B/bin/relayctl" -s "$TB_ID-afe0" "$@"; }
# The events of this kind at these ports, from number $1 on.
events() { # FROM KIND PORT...
	ctl --json circuits --log | python3 -c 'import json, sys
first, kind, ports = int(sys.argv[1]), sys.argv[2], [int(p) for p in sys.argv[3:]]
print(sum(1 for e in json.load(sys.stdin)
          if e["n"] >= first and e["kind"] == kind and (e["x"] in ports or e["y"] in ports)))' "$@"
}
next() { ctl --json circuits --log | python3 -c 'import json, sys; print(max(e["n"] for e in json.load(sys.stdin)) + 1)'; }
seen() { [ "$(events "$@")" -gt 0 ]; }
circuits() { ctl --json circuits | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
more() { [ "$(circuits "$1")" -gt "$2" ]; }
goes_on() { # HOW: calls, and messages by_light or by_packets
	local calls way
	calls=$(circuits calls) way=$(circuits "$1")
	testbed_wait 20 "calls" more calls $((calls + 3)) && testbed_wait 20 "messages $1" more "$1" "$way"
}
withdraw() { # PORT
	local said
	said=$(ctl circuits withdraw "$1") || fail "withdraw $1: $said"
	[ "$said" = "port $1 of the switch: dark" ] || fail "withdraw $1: $said"
}

# Ports 0 and 1 lead to a, 2 and 3 to b; one link is enough for both.
CLUSTERS='a b' NODES=1 RELAYS=1 LIGHT_PORTS=2 LIGHT_EXTRA_MS=2 LIGHT_MODE=cached LIGHT_PROTOCOL=scpi
testbed_light_up "$B" || fail "no testbed"
LIBMPI_OPTICAL=cached testbed_job "$B" job "$B/test/mpi/failover" 3600 100000 "$TB_DIR/enough" 60
testbed_wait 20 "light" seen 0 up 2 3 || fail "nothing goes by light"
seen 0 up 2 && at=2 || at=3

n=$(next)
withdraw "$at"
n2=$(next)
testbed_wait 20 "light over the other port" seen "$n" up $((5 - at)) && goes_on by_light || fail "no light by the port that is left"
! seen "$n2" lit "$at" || fail "port $at is withdrawn and lit"
pass "withdrawn: drained and dark, and calls go on by the port that is left"
ctl circuits restore "$at" >/dev/null || fail "restore"
n=$(next)
withdraw $((5 - at))
testbed_wait 20 "light over the first port again" seen "$n" up "$at" || fail "port $at does not come back"
withdraw "$at"
goes_on by_packets || fail "the job stands still without light"
pass "restored: light over it again; both withdrawn: by packets"
said=$(ctl circuits withdraw 64 2>&1) && fail "a port that the switch has not: $said"
grep -q 'the switch has 4 ports' <<<"$said" || fail "a port that the switch has not: $said"
n=$(next)
ctl circuits restore 2 >/dev/null && ctl circuits restore 3 >/dev/null || fail "restore"
testbed_wait 20 "light again" seen "$n" up 2 3 || fail "no light after both were restored"

n=$(next)
testbed_switch_out 2 3 || fail "the emulator is gone"
testbed_wait 30 "a refusal" seen "$n" refused 2 3 || fail "nobody has asked for the ports"
goes_on by_packets || fail "the job stands still without the ports"
n=$(next)
testbed_switch_out || fail "the emulator is gone"
testbed_wait 60 "light again" seen "$n" up 2 3 || fail "the ports do not come back"
pass "out of service at the switch: by packets, and by light again when it is back"

touch "$TB_DIR/enough"
for s in a b; do
	gone() { ! testbed_alive "job-$s"; }
	testbed_wait 20 "the end of job-$s" gone || fail "side $s hangs"
	wait "$(cat "$TB_DIR/pid-job-$s")" || fail "side $s ended with status $?"
done
grep -q '^ok' "$TB_LOG/job-a.log" || fail "the job does not say ok"
pass "the job was right all the time: $(grep '^ok' "$TB_LOG/job-a.log")"
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"
