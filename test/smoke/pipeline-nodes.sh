#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A pipeline over nodes with a daemon each: the demo, with fewer frames.  Then what is refused: a
# circle, an unknown cluster, a spare with another program; what is said of an I/O process that hoards.
# timeout: 170
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root pipeline-nodes
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT

FRAMES=900 EVERY=8 OUT=$SPD/demo tools/testbed/demo-pipeline "$B" >"$SPD/demo.log" 2>&1
status=$?
sed -n '/^event/,$p' "$SPD/demo.log"
verdict "a pipeline over nodes loses processes, a node, its master, and no frame" \
	"$([ $status = 0 ] && grep -q '0 lost, 0 twice, 0 out of order' "$SPD/demo.log" || cat "$SPD/demo.log")"

# ---- what is refused ----
P=$B/examples/pipeline
cp "$P" "$SPD/other" && echo >>"$SPD/other"
# Each node has a file of that name; that of n2 is another program.
cat >"$SPD/filter" <<END
#!/bin/sh
[ "\$(ip netns identify)" = "$(spd_ns n2)" ] && exec "$SPD/other" filter
exec "$P" filter
END
chmod +x "$SPD/filter"
spd_up 4 || fail "no namespaces"
(umask 077 && echo "1 $(printf '5%.0s' {1..64})" >"$SPD/key")
cat >"$SPD/conf.json" <<END
{ "universe": { "name": "smoke", "psk_file": "$SPD/key", "state": "$SPD/state" },
  "detect": { "beat_ms": 100, "missed": 8 },
  "units": { "n0": "10.99.0.1", "n1": "10.99.0.2", "n2": "10.99.0.3", "n3": "10.99.0.4" },
  "clusters": {
    "input": { "units": ["n0"], "program": ["$P", "input", "--frames", "1000000"], "compute": 1 },
    "filter": { "units": ["n1", "n2"], "program": ["$SPD/filter"], "compute": 1, "spares": 1,
                "in": 1, "out": 1 },
    "output": { "units": ["n3"], "program": ["$P", "output", "--frames", "1000000", "--log", "$SPD/rows"], "compute": 1 } },
  "chains": [ { "from": "input", "to": "filter", "window": 16 },
              { "from": "filter", "to": "output", "window": 16 } ] }
END
spd_start
ctl() { "$B/bin/mpispctl" -s "$SPD/$1.sock" "${@:2}" 2>&1; }
runs() { ctl n3 chains | grep -q 'filter -> output  active' && ctl n3 log | grep -q 'all of the pipeline are there'; }
spd_wait "the pipeline" runs || fail "it does not begin: $(tail -n 5 "$SPD"/n*.log)"
refused() { # NAME TEXT COMMAND...
	local said
	said=$(ctl n3 "${@:3}") && said="it is not refused"
	verdict "$1" "$(grep -qF -- "$2" <<<"$said" || echo "$said")"
}
refused "a circle is refused" "chains lead from cluster" chain output input
refused "an unknown cluster is refused" 'there is no cluster "filtre"' chain input filtre
refused "a cluster that runs is not added" "cluster filter runs already" cluster add filter
another() { grep -q 'unit n2 runs .*/other .*another program than the one that cluster filter began with' "$SPD/n2.log" || ctl n0 log | grep -q 'unit n. runs .*another program'; }
spd_wait "the other program" another
verdict "a spare with another program is refused by unit and name" "$(another || tail -n 20 "$SPD"/n[12].log)"
over() { for n in n0 n1 n2 n3; do ! spd_alive "$n" || return 1; done; }
ctl n0 cluster stop
spd_wait "the end" over
verdict "an operator ends the pipeline" "$(over || tail -n 4 "$SPD"/n*.log)"

# ---- a frame that a process died in is given up ----
# Who is killed has had frames, and so has some now: its work takes 40 ms for each.
passed() { [ -e "$SPD/rows" ] && [ "$(wc -l <"$SPD/rows")" -ge 20 ]; }
given_up() { # MODE OPTIONS...
	sed -e "s|\"program\": \[\"$SPD/filter\"\], \"compute\": 1, \"spares\": 1|\"program\": [\"$P\", \"filter\", \"--work\", \"40\"$2], \"compute\": 2, \"spares\": 1, \"in_flight\": \"$1\"|" \
		-e 's/1000000/240/' "$SPD/conf.json" >"$SPD/new.json" && mv "$SPD/new.json" "$SPD/conf.json"
	rm -f "$SPD/rows"
	spd_start
	spd_wait "frames" passed || fail "it does not begin: $(tail -n 5 "$SPD"/n*.log)"
	kill -9 "$(for n in n1 n2; do ctl $n status; done | sed -n 's/.*rank 0 of filter  (pid \([0-9]*\).*/\1/p' | head -n 1)"
	spd_wait "the end" over
	cat "$SPD"/n*.log >"$SPD/all.log"
	said=$(grep -h 'output: [0-9]* frames' "$SPD/all.log")
	grep -qE 'output: 2[0-9]* frames, [123] lost, 0 twice' <<<"$said" || echo "${said:-$(tail -n 4 "$SPD"/n*.log)}"
	sed -i "s|\"program\": \[\"$P\", \"filter\".*\"in_flight\": \"$1\"|\"program\": [\"$SPD/filter\"], \"compute\": 1, \"spares\": 1|" "$SPD/conf.json"
}
verdict "in_flight drop: a frame that a process died in is given up" "$(given_up drop '')"
verdict "in_flight ulfm: the program gives it up" \
	"$(given_up ulfm ', \"--late\", \"1\"'; grep -q 'filter: frame [0-9]* is given up' "$SPD/all.log" || echo "it was not asked")"

# ---- an I/O process that hoards: said by name and for how long, and nothing is lost ----
sed -e "s|\"program\": \[\"$SPD/filter\"\], \"compute\": 1|\"program\": [\"$P\", \"filter\"], \"io\": [\"/usr/bin/env\", \"HOARD=$SPD/hoard\", \"$B/test/hoarder\"], \"compute\": 1|" \
	-e 's/"chains"/"pipeline": { "stall_ms": 300 }, "chains"/' "$SPD/conf.json" >"$SPD/new.json" && mv "$SPD/new.json" "$SPD/conf.json"
touch "$SPD/hoard"
spd_start
hoards() { grep -hoE 'frame [0-9]+ of input rank 0: for [0-9.]+ s I/O process .* gives it to nobody.*I/O process 0 before filter, slot [0-9]+ of unit n[12]\)' "$SPD/n0.log" | head -n 1; }
hoarded() { [ -n "$(hoards)" ]; }
spd_wait "who hoards" hoarded
hoards
verdict "an I/O process that hoards is named" "$(hoarded || tail -n 5 "$SPD"/n*.log)"
rm "$SPD/hoard"
spd_wait "the end" over
verdict "what was hoarded is given, and nothing lost" \
	"$(grep -hq 'output: 240 frames, 0 lost, 0 twice' "$SPD/n3.log" || tail -n 5 "$SPD"/n*.log)"

# ---- a cluster for which the file has a place and a size, and nothing else ----
# The input's node is started again with that file: it finds the new cluster all the same.
of_all() { # FILTER2 PLACE
	cat <<-END
		{ "universe": { "name": "smoke", "psk_file": "$SPD/key", "state": "$SPD/state" },
		  "detect": { "beat_ms": 100, "missed": 8 }, "severity": { "cluster": "continue" },
		  "units": { "n0": "10.99.0.1", "n1": "10.99.0.2", "n3": "10.99.0.4", "n2": "$2" },
		  "clusters": {
		    "input": { "units": ["n0"], "program": ["$P", "input", "--frames", "600", "--go", "$SPD/go"], "compute": 1, "out": 1 },
		    "filter": { "units": ["n1"], "program": ["$P", "filter"], "compute": 2, "out": 1 },
		    "output": { "units": ["n3"], "program": ["$P", "output", "--frames", "600"], "compute": 1 },
		    "more": { $1 "units": ["n2"], "compute": 2, "in": 0, "out": 1, "start": "later" } },
		  "chains": [ { "from": "input", "to": "filter", "window": 16 },
		              { "from": "filter", "to": "output", "window": 16, "ordered": true } ] }
	END
}
of_all '' '*' >"$SPD/conf.json"
of_all "\"program\": [\"$P\", \"filter\"]," 10.99.0.3 >"$SPD/own.json"
verdict "--check takes a place for a cluster" \
	"$("$B/bin/mpispd" --check "$SPD/conf.json" 2>&1 | grep -q 'can work' || "$B/bin/mpispd" --check "$SPD/conf.json" 2>&1)"
for n in n0 n1 n2 n3; do : >"$SPD/$n.log"; done
for n in n0 n1 n3; do spd_daemon $n --new; done
spd_wait "the pipeline" runs || fail "it does not begin: $(tail -n 5 "$SPD"/n*.log)"
said=$(ip netns exec "$(spd_ns n2)" "$B/bin/mpispd" --unit n2 --socket "$SPD/n2.sock" "$SPD/conf.json" 2>&1 </dev/null)
verdict "its own node needs a file that says what runs there" \
	"$(grep -q 'clusters.more.program: it is missing' <<<"$said" || echo "$said")"
SPD_FILE=$SPD/own.json spd_daemon n2 --new
came() { [ "$(grep -l 'unit n2 is up' "$SPD"/n[013].log | wc -l)" = 3 ]; }
spd_wait "the new node" came || fail "n2 does not come: $(tail -n 5 "$SPD"/n*.log)"
ctl n3 cluster add more && ctl n3 chain input more window=16 && ctl n3 chain more output ordered window=16 ||
	fail "more is not added: $(tail -n 5 "$SPD"/n*.log)"
complete() { ctl n3 log | grep -q 'cluster more is complete'; }
spd_wait "all of the new cluster" complete || fail "more does not begin: $(tail -n 5 "$SPD"/n*.log)"
ctl n3 cluster drain filter
for p in $(ip netns pids "$(spd_ns n0)"); do { kill -9 "$p" && wait "$p"; } 2>/dev/null; done
spd_daemon n0
again() { grep -q 'rank 0 of input .* takes over' "$SPD/n0.log"; }
spd_wait "the input" again
touch "$SPD/go"
spd_wait "the end" over
verdict "a cluster whose nodes and program came later takes the frames" \
	"$(grep -hq 'output: 600 frames, 0 lost, 0 twice, 0 out of order' "$SPD/n3.log" && grep -q 'filter: [1-9]' "$SPD/n2.log" || tail -n 12 "$SPD"/n*.log)"
# Nodes of such a cluster have to agree on what is its own.  They wait for n0, which never comes.
for n in n1 n2; do
	cat >"$SPD/$n.json" <<-END
		{ "universe": { "name": "apart", "psk_file": "$SPD/key", "state": "$SPD/apart", "start_timeout_s": 2 },
		  "units": { "n0": "10.99.0.1:7999", "n1": "10.99.0.2:7999", "n2": "10.99.0.3:7999" },
		  "clusters": { "first": { "units": ["n0"], "program": ["x"], "compute": 1, "out": 1 },
		    "more": { "units": ["n1", "n2"], "program": ["$n"], "compute": 2, "in": 1, "start": "later" } } }
	END
	timeout 60 ip netns exec "$(spd_ns $n)" "$B/bin/mpispd" --unit $n --socket "$SPD/$n.apart" "$SPD/$n.json" \
		>"$SPD/$n.said" 2>&1 </dev/null &
	apart[${n#n}]=$!
done
wait "${apart[@]}"
verdict "two files for the nodes of a later cluster are told" \
	"$(grep -q 'unit n2 has another program, io, wdir, relay or place' "$SPD/n1.said" || cat "$SPD"/n[12].said)"
exit $rc
