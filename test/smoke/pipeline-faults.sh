#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline of which a program, its folder, or an I/O process's program is missing, or none of MPI:
# each node's log names what, and on which unit.  So does it of a program that fails in each frame, and
# of a frame in which one process after another dies.
# timeout: 90
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root pipeline-faults
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT
P=$B/examples/pipeline
spd_up 3 || fail "no namespaces"

told() { for n in n0 n1; do grep -qE -- "$text" "$SPD/$n.log" || return 1; done; }

# tell_of WHAT TEXT MEMBERS: both nodes say it, of a filter with these members.  They end, or are ended.
tell_of() {
	cat >"$SPD/conf.json" <<-END
		{ "universe": { "name": "faults", "state": "$SPD/state" },
		  "detect": { "beat_ms": 100, "missed": 8 }, "pipeline": { "missing_ms": 300 },
		  "units": { "n0": "10.99.0.1", "n1": "10.99.0.2" },
		  "clusters": {
		    "input": { "units": ["n0"], "program": ["$P", "input", "--frames", "9"], "compute": 1 },
		    "filter": { "units": ["n1"], "compute": 1, "in": 1, $3 } },
		  "chains": [ { "from": "input", "to": "filter" } ] }
	END
	for n in n0 n1; do
		: >"$SPD/$n.log"
		spd_daemon $n --new
	done
	text=$2
	spd_wait "$1" told
	verdict "$1" "$(told || tail -n 5 "$SPD"/n?.log)"
	for n in n0 n1; do { kill -9 "$(spd_pid $n)" && wait "$(spd_pid $n)"; } 2>/dev/null; done
}

tell_of "a program that is not there" \
	'clusters.filter.program: /none/such cannot' \
	'"program": ["/none/such"]'
tell_of "a folder that is not there" 'clusters.filter.wdir: /none: No such file' \
	"\"program\": [\"$P\", \"filter\"], \"wdir\": \"/none\""
tell_of "a program of an I/O process that is not there" 'clusters.filter.io: /none/io cannot be started' \
	"\"program\": [\"$P\", \"filter\"], \"io\": [\"/none/io\"]"
tell_of "a program that is none of MPI" \
	'rank 0 of 1 has not called MPISP_Init yet \(rank 0 of filter, slot [0-9]* of unit n1: ' \
	'"program": ["/bin/sleep", "1000"]'
tell_of "a program that fails in each frame, started again ever later" \
	'processes of filter on unit n1: 4 or more ended within a second, .* next one is started in' \
	"\"program\": [\"$P\", \"filter\", \"--dies\", \"2\"]"

# A frame that ends whoever begins it: the third one who dies is the last, and all others are done.
cat >"$SPD/conf.json" <<END
{ "universe": { "name": "faults", "state": "$SPD/state" },
  "detect": { "beat_ms": 100, "missed": 8, "restart_ms": 20 }, "pipeline": { "set_aside": 3 },
  "units": { "n0": "10.99.0.1", "n1": "10.99.0.2", "n2": "10.99.0.3" },
  "clusters": {
    "input": { "units": ["n0"], "program": ["$P", "input", "--frames", "60"], "compute": 1 },
    "filter": { "units": ["n1"], "compute": 2, "spares": 2, "in": 1, "out": 1,
                "program": ["$P", "filter", "--poison", "20"] } ,
    "output": { "units": ["n2"], "program": ["$P", "output", "--frames", "60", "--log", "$SPD/rows"], "compute": 1 } },
  "chains": [ { "from": "input", "to": "filter" },
              { "from": "filter", "to": "output", "ordered": true } ] }
END
spd_start
spd_over() { for n in n0 n1 n2; do ! spd_alive "$n" || return 1; done; }
spd_wait "the end" spd_over
aside='frame 20 of input rank 0 is set aside: 3 processes died in it'
verdict "a frame in which three processes died is set aside, by name" \
	"$(grep -q "$aside" "$SPD/n1.log" && grep -q "$aside" "$SPD/n2.log" || tail -n 5 "$SPD"/n?.log)"
verdict "all others come out, once and in order" \
	"$(grep -q 'output: 59 frames, 1 lost, 0 twice' "$SPD/n2.log" && awk '{ print $2 }' "$SPD/rows" | sort -nC ||
		tail -n 5 "$SPD"/n?.log)"
exit $rc
