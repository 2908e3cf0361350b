#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two clusters of three nodes with IPv6 alone inside, with the same addresses, two relays each, in one
# job with a cluster of two nodes that has IPv4: launchers reach their nodes by IPv6, all processes
# all relays of theirs, neighbours each other by IPv6.  One relay is killed under the job and comes
# back, one leaves before a job starts.  With IPV6=1 relays reach each other and the server by IPv6,
# too, else by IPv4.
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

# shellcheck disable=SC2034 # the testbed's
CLUSTERS="a b c" IPV6_INSIDE="a b" NODES=3 NODES_C=2 RELAYS=2 RELAYS_C=1 PPN=1
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
# shellcheck disable=SC2034
TB_RELAY_CONF='"suci": { "liveness_ms": 600, "keepalive_ms": 150 }'
ALL="afe0 afe1 bfe0 bfe1 cfe0"
# shellcheck disable=SC2086
testbed_relayd "$B" $ALL || fail "relayd: does not start"
testbed_server "$B" || fail "no server"
says() { grep -q -- "$2" "$TB_LOG/$1.log"; }
gone() { ! testbed_alive "$1"; }
NJOBS=0
begin() { # PROGRAM...: a job of its own name, JOB
	JOB=job$((++NJOBS))
	testbed_job "$B" $JOB env LIBMPI_STATS=1 LIBMPI_LIVENESS_MS=600 "$@"
}
finish() { # sets WHY
	local c rc
	WHY=
	for c in $CLUSTERS; do
		testbed_wait 60 "the end of $JOB-$c" gone "$JOB-$c" || testbed_stop "$JOB-$c" 3 >/dev/null 2>&1
		{ wait "$(cat "$TB_DIR/pid-$JOB-$c")"; } 2>/dev/null
		rc=$?
		[ $rc = 0 ] || WHY+="cluster $c: status $rc; "
	done
	says $JOB-a '^ok' || WHY+="it does not say ok; "
}
# path CLUSTER PLACE: processes of the cluster had a path there
path() { says "$JOB-$1" "path \[$2\]:" || WHY+="no path of cluster $1 to $2; "; }
# met RELAY NODE: the relay had a path to a process of the node
met() {
	local at
	at=$(testbed_inside "$2")
	! testbed_six_inside "$2" || at="\\[$at\\]"
	says "relayd-$1" "path to $at:.* is up: process" || WHY+="no path of $1 to $2; "
}

begin "$B/test/mpi/p2p"
finish
for fe in afe0 afe1 bfe0 bfe1; do path "${fe:0:1}" "$(testbed_inside $fe)"; done
for c in a b; do ! says $JOB-$c 'path [0-9]' || WHY+="cluster $c used IPv4; "; done
says $JOB-c "path $(testbed_inside cfe0):" || WHY+="no path of c by IPv4; "
for at in afe0:a0 afe0:a1 afe0:a2 afe1:a0 afe1:a1 afe1:a2 bfe0:b0 bfe0:b1 bfe0:b2 bfe1:b0 bfe1:b1 bfe1:b2 cfe0:c0 cfe0:c1; do
	met "${at%:*}" "${at#*:}"
done
verdict "every process reaches every relay of its cluster, by what that has inside" "$WHY" 'job*-*' 'relayd-*'
WHY=
for at in a:a1 a:a2 b:b1 b:b2; do path "${at%:*}" "$(testbed_inside "${at#*:}")"; done
verdict "and neighbours by IPv6" "$WHY" job1-a job1-b

begin "$B/test/mpi/coll"
finish
verdict "collectives of eight nodes" "$WHY" 'job*-*' 'relayd-*'

# ---- a relay that half of the processes do not have as their first
running() { says $JOB-a '^running'; }
begin "$B/test/mpi/failover" 3600 100000 "$TB_DIR/enough"
testbed_wait 40 "the job to run" running || fail "the job does not start"
{ kill -KILL "$(cat "$TB_DIR/pid-relayd-bfe0")" && wait "$(cat "$TB_DIR/pid-relayd-bfe0")"; } 2>/dev/null
testbed_nap 2
testbed_relayd "$B" bfe0 || fail "bfe0 does not start again"
back() {
	local n
	for n in b0 b1 b2; do says relayd-bfe0 "path to \[$(testbed_inside $n)\]:.* is up: process" || return; done
}
LATE=
testbed_wait 30 "the processes at bfe0 again" back || LATE="not all nodes came back to bfe0; "
touch "$TB_DIR/enough"
finish
verdict "a relay is killed and comes back: nothing lost, all nodes meet it again" "$LATE$WHY" 'job*-*' 'relayd-b*'

# ---- a job that starts while a relay is away, and goes on when that comes.  Its start-up is served by
# the first one.
testbed_stop relayd-afe1 20 >/dev/null
mv "$TB_LOG/relayd-afe1.log" "$TB_LOG/relayd-afe1-before.log"
rm "$TB_DIR/enough"
begin "$B/test/mpi/failover" 3600 100000 "$TB_DIR/enough"
testbed_wait 40 "the job to run" running || fail "the job does not start"
testbed_relayd "$B" afe1 || fail "afe1 does not start again"
back() {
	local n
	for n in a0 a1 a2; do says relayd-afe1 "path to \[$(testbed_inside $n)\]:.* is up: process" || return; done
}
LATE=
testbed_wait 30 "the processes at afe1" back || LATE="not all nodes came to afe1; "
touch "$TB_DIR/enough"
finish
verdict "a job that starts without the second relay, which comes later" "$LATE$WHY" 'job*-*' 'relayd-*'
testbed_down
verdict "no process or namespace is left" "$(testbed_leftovers)"
exit $rc
