# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A pipeline over two sites whose nodes have the same private addresses: input and output at a, the
# filter at b.  Frames go through doors of the sites' relays, daemons reach each other by a net of
# their own.  RELAYS of each site; scenarios set it, and how the clusters name them.
# shellcheck disable=SC2034 # of tools/testbed/lib.sh

sites_up() { # RELAY: as clusters name those of their site
	NODES=2
	testbed_up || fail "testbed: not built"
	_tb_ns ctl # the net of the daemons
	_tb_bridge ctl br0 1500
	local k=0 n
	for n in a0 a1 b0 b1; do
		_tb_link $n eth9 ctl $n 1500
		_tb_port ctl br0 $n
		_tb_address $n eth9 10.99.0.$((++k))/24
	done
	testbed_build || fail "testbed: no net for daemons"
	testbed_wanem "$B/bin/wanem" --delay-ms 2 || fail "wanem: does not start"
	TB_RELAY_CONF='"doors": { "max": 256 }, "suci": { "liveness_ms": 500, "keepalive_ms": 125 }'
	FRONTENDS=$(for n in a b; do for ((k = 0; k < RELAYS; k++)); do echo ${n}fe$k; done; done)
	# shellcheck disable=SC2086 # words
	testbed_relayd "$B" $FRONTENDS || fail "relayd: does not start"

	local P=$B/examples/pipeline relay="\"relay\": \"$1\""
	local many=1000000 # more than there is time for
	rows=$TB_DIR/rows
	(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$TB_DIR/key")
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
	testbed_wait 60 "frames" comes 50 || fail "no frame came"
	pass "frames go to a site of the same private addresses, and back"
}
ctl() { "$B/bin/mpispctl" -s "$TB_DIR/$1.sock" "${@:2}" 2>&1; }
came() { if [ -e "$rows" ]; then wc -l <"$rows"; else echo 0; fi; }
comes() { [ "$(came)" -ge "$1" ]; }
goes_on() { # NAME: twenty frames more than when it is called
	local why=
	testbed_wait 40 "more frames" comes $(($(came) + 20)) || why="no more frames than $(came)"
	verdict "$1" "$why" spd-a0 spd-a1 spd-b0 spd-b1
}
plays() { # RANK: sets pid
	pid=$(for n in b0 b1; do ctl $n status; done | sed -n "s/.*rank $1 of filter  (pid \([0-9]*\).*/\1/p" | head -n 1)
	[ -n "$pid" ]
}
kill_rank() { # RANK of the filter
	testbed_wait 20 "rank $1" plays "$1" || fail "nobody plays rank $1 of the filter"
	kill -9 "$pid" || fail "rank $1 of the filter is not there"
	goes_on "rank $1 of the filter is killed: frames go on"
}
kill_relay() { # FRONTEND: and nothing of it is left
	{ kill -KILL "$(cat "$TB_DIR/pid-relayd-$1")" && wait "$(cat "$TB_DIR/pid-relayd-$1")"; } 2>/dev/null
}
longest_gap() { awk 'NR > 1 && $1 - t > g { g = $1 - t } { t = $1 } END { print g }' "$rows"; } # lines of time and number
over() {
	local n
	for n in a0 a1 b0 b1; do ! testbed_alive spd-$n || return 1; done
}
sites_end() {
	ctl a0 cluster stop
	testbed_wait 60 "the end" over
	verdict "an operator ends it" "$(over || echo "daemons go on")"
	echo "$(came) frames, longest gap $(longest_gap)"
	verdict "each frame once, in order" \
		"$(awk '$2 != NR - 1 { print "line " NR " is frame " $2; exit }' "$rows")" spd-a1
}
