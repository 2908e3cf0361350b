#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# spawn.sh BUILD_DIR: what MPI_Comm_spawn takes beyond what a launcher takes to start as many, beside
# MPICH and Open MPI, each with its own launcher, in neighbouring turns.
#
#	N=4		processes
#	ROUNDS=10	turns
#	PEERS="mpich openmpi"
#
# Bar: a spawn takes at most 1 s more than its launcher.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
N=${N:-4} ROUNDS=${ROUNDS:-10} PEERS=${PEERS-mpich openmpi}
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

peers_begin spawn

# One turn: starting N, and spawning N.
turn() {
	local w=$1 run started spawned
	TB_ID=none peers_run "$w" shm "$N"
	started=$(timeout 60 "${run[@]}" "$out/spawn-$w" start "$(date +%s%N)" 2>"$out/spawn.log") || return 1
	TB_ID=none peers_run "$w" shm 1
	spawned=$(timeout 60 "${run[@]}" "$out/spawn-$w" "$N" 1 2>"$out/spawn.log") || return 1
	echo "$started $spawned" >>"$out/spawn-$w.rows"
}

for ((i = 0; i < ROUNDS; i++)); do
	for w in "${who[@]}"; do
		turn "$w" || {
			echo "spawn: $w failed:" >&2
			tail -n 3 "$out/spawn.log" >&2
		}
	done
done
lscpu | awk -F': *' '/^Model name|^CPU\(s\)|^Thread|^L3/ { printf "%s: %s; ", $1, $2 } END { print "" }'
echo "load when it was over: $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$N processes, ms: median (least to most) of the turns"
# middle COLUMN
middle() {
	sort -g -k "$1,$1" | awk -v c="$1" '{ v[NR] = $c } END {
		printf "%.0f (%.0f to %.0f)", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}
bad=0
for w in "${who[@]}"; do
	rows=$out/spawn-$w.rows
	[ -s "$rows" ] || continue
	awk '{ print $0, $3 - $1 }' "$rows" >"$rows.4"
	printf '%-8s launcher %s, MPI_Comm_spawn %s, all have answered %s, beyond the launcher %s\n' "$w" \
		"$(middle 1 <"$rows.4")" "$(middle 2 <"$rows.4")" "$(middle 3 <"$rows.4")" "$(middle 4 <"$rows.4")"
	[ "$w" != ours ] || awk '$4 > 1000 { n++ } END { exit n > 0 }' "$rows.4" || bad=1
done
[ -s "$out/spawn-ours.rows" ] || { echo "FAIL: no turn of ours ended well; see $out/spawn.log"; exit 1; }
[ $bad = 0 ] || { echo "FAIL: a spawn took more than 1 s beyond the launcher; fix: see spawn-ours.rows"; exit 1; }
