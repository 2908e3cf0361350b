# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A pipeline over two sites whose nodes have the same private addresses: frames go through doors of
# the sites' relays.  Scenarios set UNITS, one of them whom they ask, and rows, what the output writes.
# shellcheck disable=SC2034 # of tools/testbed/lib.sh
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

P=$B/examples/pipeline
many=1000000 # frames, more than there is time for
UNITS=(a0 a1 b0 b1)
ASKED=a0

sites_relays() { # DOORS FRONTEND...
	testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
	TB_RELAY_CONF="\"doors\": { \"max\": $1 }, \"suci\": { \"liveness_ms\": 500, \"keepalive_ms\": 125 }"
	testbed_relayd "$B" "${@:2}" || fail "relayd: does not start"
	rows=$TB_DIR/rows
	mkdir "$TB_DIR/state"
	(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$TB_DIR/key")
}
start() { # UNIT [OPTION...]
	testbed_spawn "$1" "spd-$1" "$B/bin/mpispd" "${@:2}" --unit "$1" --socket "$TB_DIR/$1.sock" "$TB_DIR/pipeline.json"
}
sites_start() { # WHAT: it is that frames come
	local n
	for n in "${UNITS[@]}"; do start "$n" --new; done
	testbed_wait 60 "frames" comes 50
	verdict "$1" "$(comes 50 || for n in "${UNITS[@]}"; do ctl "$n" status; done)" "${UNITS[@]/#/spd-}"
	comes 50 || exit 1
}
# The daemons have a net of their own.
sites_up() { # RELAY: as clusters name those of their site, RELAYS of each
	NODES=2
	testbed_up || fail "testbed: not built"
	_tb_ns ctl
	_tb_bridge ctl br0 1500
	local k=0 n relay="\"relay\": \"$1\""
	for n in "${UNITS[@]}"; do
		_tb_link "$n" eth9 ctl "$n" 1500
		_tb_port ctl br0 "$n"
		_tb_address "$n" eth9 10.99.0.$((++k))/24
	done
	testbed_build || fail "testbed: no net for daemons"
	FRONTENDS=$(for n in a b; do for ((k = 0; k < RELAYS; k++)); do echo ${n}fe$k; done; done)
	# shellcheck disable=SC2086 # words
	sites_relays 256 $FRONTENDS
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
	sites_start "frames go to a site of the same private addresses, and back"
}
ctl() { "$B/bin/mpispctl" -s "$TB_DIR/$1.sock" "${@:2}" 2>&1; }
came() { if [ -e "$rows" ]; then wc -l <"$rows"; else echo 0; fi; }
comes() { [ "$(came)" -ge "$1" ]; }
goes_on() { # NAME [CAME]: forty frames more than when it is called, or than came
	local want=$((${2:-$(came)} + 40))
	testbed_wait 60 "more frames" comes $want
	verdict "$1" "$(comes $want || { echo "no more frames than $(came)"; ctl "$ASKED" status; })" "${UNITS[@]/#/spd-}"
}
plays() { # RANK CLUSTER: sets pid
	pid=$(for n in "${UNITS[@]}"; do ctl "$n" status; done | sed -n "s/.*rank $1 of $2  (pid \([0-9]*\).*/\1/p" | head -n 1)
	[ -n "$pid" ]
}
kill_rank() { # RANK [CLUSTER]
	local of=${2:-filter}
	testbed_wait 20 "rank $1 of $of" plays "$1" "$of" || fail "nobody plays rank $1 of $of"
	kill -9 "$pid" || fail "rank $1 of $of is not there"
	goes_on "rank $1 of $of is killed: frames go on"
}
kill_relay() { # FRONTEND: and nothing of it is left
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$1")" && wait "$(cat "$TB_DIR/pid-relayd-$1")"; } 2>/dev/null
}
over() {
	local n
	for n in "${UNITS[@]}"; do ! testbed_alive "spd-$n" || return 1; done
}
sites_end() { # lines are of time and number
	ctl a0 cluster stop
	testbed_wait 60 "the end" over
	verdict "an operator ends it" "$(over || echo "daemons go on")"
	echo "$(came) frames, longest gap $(awk 'NR > 1 && $1 - t > g { g = $1 - t } { t = $1 } END { print g }' "$rows")"
	verdict "each frame once, in order" \
		"$(awk '$2 != NR - 1 { print "line " NR " is frame " $2; exit }' "$rows")" "${UNITS[@]/#/spd-}"
}
