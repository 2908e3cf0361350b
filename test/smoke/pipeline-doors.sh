#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over two sites whose nodes have the same private addresses, and nothing joins them but
# the WAN of their relays: daemons and frames go by doors.  Meanwhile a process is killed, a node is
# cut off, the master's daemon is killed, and the relay of the filter's site is started again.  With
# two relays in each site (pipeline-doors-two) each of them is, and nobody is silent.
# ipv6: yes
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

NODES=3
: "${RELAYS:=1}"
relays=(afe0 bfe0) missed=8
# Beats are late while a door moves from a relay that has died to the other one.
[ "$RELAYS" = 1 ] || relays=(afe0 afe1 bfe0 bfe1) missed=30
places() { # SITE HOW: of its relays, with a comma between
	local fe out=''
	for fe in "${relays[@]}"; do [ "${fe:0:1}" != "$1" ] || out+="${out:+,}$("$2" "$fe"):7812"; done
	echo "$out"
}
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
TB_RELAY_CONF='"doors": { "max": 512 }, "suci": { "liveness_ms": 500, "keepalive_ms": 125 }'
testbed_relayd "$B" "${relays[@]}" || fail "relayd: does not start"

P=$B/examples/pipeline rows=$TB_DIR/rows
many=1000000 # more than there is time for
(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$TB_DIR/key")
cat >"$TB_DIR/pipeline.json" <<END
{ "universe": { "name": "sites", "psk_file": "$TB_DIR/key", "state": "$TB_DIR/state" },
  "detect": { "beat_ms": 100, "missed": $missed },
  "severity": { "process": ["takeover", "restart-as-spare"], "cluster": "wait" },
  "sites": {
    "east": { "relay": "$(places a testbed_addr)", "wan": "$(places a testbed_global_addr)" },
    "west": { "relay": "$(places b testbed_addr)", "wan": "$(places b testbed_global_addr)" } },
  "units": {
    "a0": { "at": "$(testbed_addr a0)", "site": "east" }, "a1": { "at": "$(testbed_addr a1)", "site": "east" },
    "a2": { "at": "$(testbed_addr a2)", "site": "east" },
    "b0": { "at": "$(testbed_addr b0)", "site": "west" }, "b1": { "at": "$(testbed_addr b1)", "site": "west" } },
  "clusters": {
    "input": { "units": ["a0", "a1"], "compute": 1, "spares": 1,
               "program": ["$P", "input", "--frames", "$many", "--every", "4"] },
    "filter": { "units": ["b0", "b1"], "compute": 2, "spares": 4, "in": 2, "out": 2,
                "program": ["$P", "filter"] },
    "output": { "units": ["a2"], "compute": 1,
                "program": ["$P", "output", "--frames", "$many", "--log", "$rows"] } },
  "chains": [ { "from": "input", "to": "filter", "window": 16 },
              { "from": "filter", "to": "output", "window": 16, "ordered": true } ] }
END
mkdir "$TB_DIR/state"
units=(a0 a1 a2 b0 b1)
logs=("${units[@]/#/spd-}")
start() { # UNIT [OPTION...]
	testbed_spawn "$1" "spd-$1" "$B/bin/mpispd" "${@:2}" --unit "$1" --socket "$TB_DIR/$1.sock" "$TB_DIR/pipeline.json"
}
verdict "--check takes sites" "$("$B/bin/mpispd" --check "$TB_DIR/pipeline.json" 2>&1 | grep -q 'can work' ||
	"$B/bin/mpispd" --check "$TB_DIR/pipeline.json" 2>&1)"
for n in "${units[@]}"; do start "$n" --new; done
ctl() { "$B/bin/mpispctl" -s "$TB_DIR/$1.sock" "${@:2}" 2>&1; }
came() { if [ -e "$rows" ]; then wc -l <"$rows"; else echo 0; fi; }
comes() { [ "$(came)" -ge "$1" ]; }
testbed_wait 60 "frames" comes 50
verdict "daemons of two sites begin a pipeline by the relays alone" \
	"$(comes 50 || { ctl a0 status; ctl b0 status; })" "${logs[@]}"
comes 50 || exit 1
verdict "mpispctl says the site of each unit" \
	"$(said=$(ctl a0 status); [ "$(grep -c 'at east$' <<<"$said")$(grep -c 'at west$' <<<"$said")" = 32 ] || echo "$said")"

goes_on() { # NAME: forty frames more than when it is called
	testbed_wait 60 "more frames" comes $(($(came) + 40))
	verdict "$1" "$([ $? = 0 ] || { echo "no more frames than $(came)"; ctl a2 status; })" "${logs[@]}"
}
plays() { # RANK CLUSTER: sets pid and at
	for at in "${units[@]}"; do
		pid=$(ctl "$at" status | sed -n "s/.*rank $1 of $2  (pid \([0-9]*\)).*/\1/p" | head -n 1)
		[ -z "$pid" ] || return 0
	done
	return 1
}
kill_rank() { # RANK CLUSTER
	testbed_wait 20 "rank $1 of $2" plays "$1" "$2" || fail "nobody plays rank $1 of $2"
	kill -9 "$pid" || fail "rank $1 of $2 is not there"
	goes_on "rank $1 of $2 is killed: frames go on"
}
kill_rank 0 filter
kill_rank 1 filter
kill_rank 0 input

down() { ctl a2 status | grep -q "^$1.*, down"; }
up() { ctl a2 status | grep -q "^$1" && ! down "$1"; }
ip -n "$TB_ID-bsw" link set p1 down || fail "b1 is not cut off"
testbed_wait 20 "b1 to be down" down b1
goes_on "a node of the other site is cut off: frames go on"
ip -n "$TB_ID-bsw" link set p1 up
testbed_wait 30 "b1 to be back" up b1 || fail "b1 does not come back"
goes_on "the node is back: frames go on"

for round in 1 2; do
	m=
	mastered() { m=$(ctl a2 status | sed -n 's/^\([a-z0-9]*\), master.*/\1/p') && [ -n "$m" ]; }
	testbed_wait 20 "a master" mastered || fail "nobody is master"
	read -r pid <"$TB_DIR/pid-spd-$m" && kill -9 "$pid" || fail "the daemon of $m is not there"
	testbed_wait 20 "$m to be down" down "$m"
	goes_on "master $m is killed: frames go on"
	start "$m"
	testbed_wait 30 "$m to be back" up "$m"
	verdict "its daemon is started again, and claims its address" "$(up "$m" || ctl a2 status)" "${logs[@]}"
done
goes_on "frames go on"

kill_relay() { # FRONTEND
	read -r pid <"$TB_DIR/pid-relayd-$1" && kill -9 "$pid" || fail "relay $1 is not there"
}
if [ "$RELAYS" = 2 ]; then
	agreed() { ctl a2 status | sed -n 's/.*: \(view [0-9]*\),.*/\1/p'; }
	for fe in "${relays[@]}"; do
		before=$(agreed)
		kill_relay "$fe"
		goes_on "relay $fe dies: frames go on by the other one"
		verdict "nobody was silent for others" "$(now=$(agreed); [ "$before" = "$now" ] || echo "$before, then $now")"
		testbed_relayd "$B" "$fe" || fail "relayd: does not start again"
		goes_on "relay $fe is there again: frames go on"
	done
else
	# The relay of the filter's site: its units are silent for the others, and come back with it.
	kill_relay bfe0
	silent() { down b0 && down b1; }
	testbed_wait 30 "west to be silent" silent
	verdict "the relay of a site dies: its units are down" "$(silent || ctl a2 status)" "${logs[@]}"
	unheard() { ctl b0 status | grep -q 'other sites do not reach b0: '; }
	testbed_wait 20 "b0 to say so" unheard
	verdict "a unit there says that others do not reach it, and why" "$(unheard || ctl b0 status)"
	before=$(came)
	testbed_relayd "$B" bfe0 || fail "relayd: does not start again"
	back() { up b0 && up b1; }
	testbed_wait 40 "west to be back" back
	verdict "the relay is started again: they are back" "$(back || ctl a2 status)" "${logs[@]}"
	testbed_wait 60 "more frames" comes $((before + 40))
	verdict "frames go on" "$(comes $((before + 40)) || { echo "no more frames than $(came)"; ctl a2 status; })" "${logs[@]}"
fi

ctl a0 cluster stop
over() { for n in "${units[@]}"; do ! testbed_alive "spd-$n" || return 1; done; }
testbed_wait 60 "the end" over
verdict "an operator ends it" "$(over || echo "daemons go on")"
# Lines of time and number.
echo "$(came) frames, longest gap $(awk 'NR > 1 && $1 - t > g { g = $1 - t } { t = $1 } END { print g }' "$rows")"
verdict "each frame once, in order" \
	"$(awk '$2 != NR - 1 { print "line " NR " is frame " $2; exit }' "$rows")" spd-a2
exit $rc
