#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses: input and output here, the
# filter there.  Frames go through doors of the sites' relays; daemons reach each other by a net of
# their own.  Meanwhile the filter loses processes.
# ipv6: yes
# timeout: 200
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

NODES=2 RELAYS=1
testbed_up || fail "testbed: not built"
_tb_ns ctl # the net of the daemons
_tb_bridge ctl br0 1500
k=0
for n in a0 a1 b0 b1; do
	_tb_link $n eth9 ctl $n 1500
	_tb_port ctl br0 $n
	_tb_address $n eth9 10.99.0.$((++k))/24
done
testbed_build || fail "testbed: no net for daemons"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
TB_RELAY_CONF='"doors": { "max": 256 }, "suci": { "liveness_ms": 500, "keepalive_ms": 125 }'
testbed_relayd "$B" afe0 bfe0 || fail "relayd: does not start"

P=$B/examples/pipeline rows=$TB_DIR/rows
many=1000000 # more than there is time for
(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$TB_DIR/key")
relay='"relay": "10.0.0.254:7812"'
cat >"$TB_DIR/pipeline.json" <<END
{ "universe": { "name": "sites", "psk_file": "$TB_DIR/key", "state": "$TB_DIR/state" },
  "detect": { "beat_ms": 100, "missed": 8 },
  "units": { "a0": "10.99.0.1", "a1": "10.99.0.2", "b0": "10.99.0.3", "b1": "10.99.0.4" },
  "clusters": {
    "input": { "units": ["a0"], $relay, "compute": 1, "out": 1,
               "program": ["$P", "input", "--frames", "$many", "--every", "4"] },
    "filter": { "units": ["b0", "b1"], $relay, "compute": 2, "spares": 4, "out": 1,
                "program": ["$P", "filter"] },
    "output": { "units": ["a1"], $relay, "compute": 1,
                "program": ["$P", "output", "--frames", "$many", "--log", "$rows"] } },
  "chains": [ { "from": "input", "to": "filter", "window": 16 },
              { "from": "filter", "to": "output", "window": 16, "ordered": true } ] }
END
mkdir "$TB_DIR/state"
for n in a0 a1 b0 b1; do
	testbed_spawn $n spd-$n "$B/bin/mpispd" --new --unit $n --socket "$TB_DIR/$n.sock" "$TB_DIR/pipeline.json"
done
ctl() { "$B/bin/mpispctl" -s "$TB_DIR/$1.sock" "${@:2}" 2>&1; }
came() { if [ -e "$rows" ]; then wc -l <"$rows"; else echo 0; fi; }
comes() { [ "$(came)" -ge "$1" ]; }
testbed_wait 60 "frames" comes 50 || fail "no frame came"
pass "frames go to a site of the same private addresses, and back"
# Two processes of a node, and those of one site, reach each other without their relay.
here=$(for fe in afe0 bfe0; do "$B/bin/relayctl" -s "$TB_ID-$fe" drops --all; done |
	awk '/relay\/door_here/ { n += $1 ~ /^[0-9]+$/ ? $1 : $2 } END { print n + 0 }')
verdict "no relay is asked for what is in its own site" "$([ "$here" = 0 ] || echo "door_here $here")"

goes_on() { # NAME: twenty frames more than when it is called
	testbed_wait 40 "more frames" comes $(($(came) + 20))
	verdict "$1" "$([ $? = 0 ] || echo "no more frames than $(came)")" spd-a0 spd-a1 spd-b0 spd-b1
}
plays() { # RANK: sets pid
	pid=$(for n in b0 b1; do ctl $n status; done | sed -n "s/.*rank $1 of filter  (pid \([0-9]*\).*/\1/p" | head -n 1)
	[ -n "$pid" ]
}
for rank in 0 1 0 1; do
	testbed_wait 20 "rank $rank" plays $rank || fail "nobody plays rank $rank of the filter"
	kill -9 "$pid" || fail "rank $rank of the filter is not there"
	goes_on "rank $rank of the filter is killed: frames go on"
done
ctl a0 cluster stop
over() { for n in a0 a1 b0 b1; do ! testbed_alive spd-$n || return 1; done; }
testbed_wait 60 "the end" over
verdict "an operator ends it" "$(over || echo "daemons go on")"
# Lines of time and number.
echo "$(came) frames, longest gap $(awk 'NR > 1 && $1 - t > g { g = $1 - t } { t = $1 } END { print g }' "$rows")"
verdict "each frame once, in order" \
	"$(awk '$2 != NR - 1 { print "line " NR " is frame " $2; exit }' "$rows")" spd-a1
exit $rc
