#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clusters whose nodes have IPv6 alone, with the same addresses in both, behind relays: blocks between
# doors, beside a neighbour that claims what others have; a job with a third cluster that has IPv4
# inside, over two relays of the first; one of these is killed; jobs that meet by doors.  With IPV6=1
# relays reach each other and the server by IPv6, too, else by IPv4.
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
CLUSTERS="a b c" IPV6_INSIDE="a b" NODES=2 RELAYS=1 RELAYS_A=2
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
# shellcheck disable=SC2034
TB_RELAY_CONF='"doors": { "max": 256 }, "suci": { "liveness_ms": 600, "keepalive_ms": 150 }'
testbed_relayd "$B" afe0 afe1 bfe0 cfe0 || fail "relayd: does not start"
testbed_server "$B" || fail "no server"
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }
gone() { ! testbed_alive "$1"; }
# ends NAME: sets STATUS
ends() {
	testbed_wait 60 "the end of $1" gone "$1" || testbed_stop "$1" 3 >/dev/null 2>&1
	{ wait "$(cat "$TB_DIR/pid-$1")"; } 2>/dev/null
	STATUS=$?
}
says() { grep -q -- "$2" "$TB_LOG/$1.log"; }

testbed_exec a0 ping -6 -q -c 2 -W 5 "$(testbed_inside afe0)" >/dev/null
succeeded $? "a node pings its relay"
verdict "and has IPv6 alone" "$(ip -n "$TB_ID-a0" -4 addr show dev eth0)"

# ---- doors, and a neighbour that claims what others have
RELAY=$(testbed_inside afe0 7812)
testbed_spawn b0 server "$B/bin/suci-perf" server --door --relay "$RELAY"
address_is() { ADDRESS=$(grep -o '^door:[^ ]*' "$TB_LOG/server.log") && [ -n "$ADDRESS" ]; }
testbed_wait 30 "the door" address_is || fail "the server has no door"
testbed_spawn a0 client timeout 60 "$B/bin/suci-perf" client "$ADDRESS" --relay "$RELAY" --mode pingpong \
	--size 8,1k,64k,1M --duration 1
testbed_exec a1 python3 test/smoke/_frames6.py eth0 "$(testbed_exec afe0 cat /sys/class/net/priv0/address)" \
	"$(testbed_inside afe0)" "$(testbed_inside a0)" 200
ends client
succeeded $STATUS "blocks between doors of nodes with IPv6 alone"
cat "$TB_LOG/client.log"
testbed_stop server >/dev/null 2>&1
dropped() { ctl afe0 drops | awk -v name="rx/private/$1" '$1 == name { print $2 }'; }
WHY=
says relayd-afe0 "path to \[$(testbed_inside a0)\]:.* is up: process with doors" ||
	WHY+="the path is not by IPv6; "
[ "$(dropped nd_conflict)" -ge 150 ] || WHY+="claims of our address were not counted; "
[ "$(dropped nd_format)" -ge 150 ] || WHY+="discovery from afar was not counted; "
says relayd-afe0 "claims $(testbed_inside a0), which .* has" || WHY+="the log does not name the claimant; "
verdict "forged neighbours and errors move nothing" "$WHY" relayd-afe0

# ---- one job of all three clusters, one node each (`relay-nodes6` has several)
# shellcheck disable=SC2034
NODES=1 PPN=2
job() { # PROGRAM...: sets WHY
	local c
	testbed_job "$B" job env LIBMPI_STATS=1 LIBMPI_LIVENESS_MS=600 "$@"
	WHY=
	for c in $CLUSTERS; do
		ends "job-$c"
		[ $STATUS = 0 ] || WHY+="cluster $c: status $STATUS; "
	done
	says job-a '^ok' || WHY+="it does not say ok; "
}
job "$B/test/mpi/p2p"
for fe in afe0 afe1; do
	says job-a "path \[$(testbed_inside $fe)\]:" || WHY+="no path to $fe by IPv6; "
done
! says job-a 'path [0-9]' || WHY+="cluster a used IPv4; "
says job-b "path \[$(testbed_inside bfe0)\]:" || WHY+="no path of b by IPv6; "
says job-c "path $(testbed_inside cfe0):" || WHY+="no path of c by IPv4; "
says relayd-afe1 "path to \[$(testbed_inside a0)\]:.* is up: process 0 of job" ||
	WHY+="the second relay did not get where processes are; "
verdict "a job of clusters with IPv6 and with IPv4 inside" "$WHY" 'job-*' 'relayd-*'
job "$B/test/mpi/coll"
verdict "collectives" "$WHY" 'job-*' 'relayd-*'

# ---- a relay dies, and comes back
running() { says job-a '^running'; }
WHY=
testbed_job "$B" job env LIBMPI_LIVENESS_MS=600 "$B/test/mpi/failover" 3600 100000 "$TB_DIR/enough"
testbed_wait 40 "the job to run" running || fail "the job does not start"
{ kill -KILL "$(cat "$TB_DIR/pid-relayd-afe1")" && wait "$(cat "$TB_DIR/pid-relayd-afe1")"; } 2>/dev/null
testbed_nap 2
testbed_relayd "$B" afe1 || fail "afe1 does not start again"
back() { says relayd-afe1 "path to \[$(testbed_inside a0)\]:.* is up: process"; }
testbed_wait 30 "the processes at afe1 again" back || WHY="no process came back to afe1; "
touch "$TB_DIR/enough"
for c in $CLUSTERS; do
	ends "job-$c"
	[ $STATUS = 0 ] || WHY+="cluster $c: status $STATUS; "
done
says job-a '^ok' || WHY+="it does not say ok; "
verdict "a relay is killed and comes back: nothing lost, processes meet it again" "$WHY" 'job-*' 'relayd-a*'

# ---- jobs that meet by doors at their relays
meet() { testbed_spawn "$1" "$2" env LIBMPI_RELAY="$RELAY" timeout 60 "$B/examples/meet" "${@:3}"; }
meet a0 accepts server 1
port_is() { PORT=$(sed -n 's/^port //p' "$TB_LOG/accepts.log") && [ -n "$PORT" ]; }
testbed_wait 30 "the port" port_is || fail "no port"
meet b0 calls client "$PORT"
WHY=
for name in calls accepts; do
	ends $name
	[ $STATUS = 0 ] || WHY+="$name: status $STATUS; "
done
verdict "MPI_Comm_connect over doors, LIBMPI_RELAY of IPv6" "$WHY" calls accepts 'relayd-*'
exit $rc
