#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Who stands at a relay's IMPI port and says nothing: silent connections, more of them than
# there are places, from few sources and from many; others than impi.allow names; a client that
# has its rank and goes no further; a relay without descriptors.  A client's start is never
# delayed by 2 s, the log is short and counts what it leaves out.
# ipv6: yes
# timeout: 170
# shellcheck source=test/smoke/_relayd.sh
. "$(dirname "$0")/_relayd.sh"
need_root relayd-door
make_net || { fail relayd-door-net "cannot make namespaces"; exit 1; }
make_conf
sed -i 's/"listen_port": 7811,/"listen_port": 7811, "step_timeout_s": 2, "allow": "10.0.0.0\/27",/' "$TMP/conf.json"

for i in $(seq 11 30); do ip -n "$NODE" addr add "10.0.0.$i/24" dev p0; done
ip -n "$NODE" addr add 10.0.0.40/24 dev p0 # not of impi.allow
door() { ip netns exec "$NODE" python3 test/smoke/_relayd_door.py "$@"; }
visit() { # NAME ARGS...: PASS if the visitor says so
	local name=$1 said
	shift
	if said=$(door "$@" 2>&1); then pass "$name"; else fail "$name" "$said"; fi
}
logged() { grep -q -- "$1" "$TMP/relayd.log"; }
lines() { grep -c -- "$1" "$TMP/relayd.log"; }

start_relayd || { fail door-start "no ready line"; exit 1; }
ip netns exec "$WAN" env IMPI_AUTH_NONE=1 "$B/bin/impi-server" -server 2 -port 7810 --persist \
	>"$TMP/server.log" 2>&1 &
server=$!
for _ in $(seq 50); do grep -q 7810 "$TMP/server.log" && break; sleep 0.1; done

visit silent-one-source flood 10.0.0.11 1
visit silent-many-sources flood 10.0.0.11 20
stats
check evicted "$(stat 's["control"]["strangers_evicted"]')" \
	[ "$(stat 's["control"]["strangers_evicted"] > 500')" = True ]
n=$(lines 'did not say its rank before others came')
check log-is-short "$n lines" [ "$n" -lt 400 ]
check log-counts "nothing says how many were left out" logged 'lines like this one were left out: client 10.0.0'

visit allow-refuses silent 10.0.0.40 2
check allow-reason "no such line" logged 'client 10.0.0.40 refused on port 7811: impi.allow does not cover it'

visit step-timeout rank 10.0.0.12 20 # says rank 0, and half a command
check step-reason "no such line" logged 'client 0: no step of start-up for 2.000 s'

visit twice twice 10.0.0.13
check holder-told-by-relay "no such line" \
	logged 'client 10.0.0.14:[0-9]* says rank 0, which client 10.0.0.13:[0-9]* (job [0-9]*) has since'
check holder-told-by-server "no such line: $(tail -3 "$TMP/server.log")" \
	grep -q "client rank 0 is already taken by ${OWN_AT//[/\\[}:" "$TMP/server.log"
stop_relayd
check door-exit "status $?" [ $? -eq 0 ]

# Few descriptors: ten more than it has when it is ready.
start_relayd || { fail door-start-again "no ready line"; exit 1; }
have=$(find "/proc/$RELAYD_PID/fd" -type l | wc -l)
prlimit --pid "$RELAYD_PID" --nofile=$((have + 10))
ticks() { awk '{ print $14 + $15 }' "/proc/$RELAYD_PID/task/$RELAYD_PID/stat"; }
door hold 10.0.0.11 40 8 &
holder=$!
for _ in $(seq 100); do logged 'a listener pauses' && break; sleep 0.1; done
t0=$(ticks)
sleep 3
used=$(($(ticks) - t0))
check no-spin "$used ticks of CPU in 3 s" [ "$used" -lt $(($(getconf CLK_TCK) * 3 / 2)) ]
wait "$holder"
visit comes-back start 10.0.0.15 10
stats
check pauses-counted "$(stat 's["control"]')" [ "$(stat 's["control"]["accept_pauses"] > 0')" = True ]
stop_relayd
check door-exit-again "status $?" [ $? -eq 0 ]
kill "$server" 2>/dev/null
wait "$server" 2>/dev/null
exit $FAILED
