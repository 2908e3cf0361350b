#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# detect.sh BUILD_DIR: how long until ranks know of a death, first at all and then all of them.
#
#	RANKS=16	of one node
#	ROUNDS=10	jobs; in each all but one die, one after the other
#
# Bars: 5 ms until the first knows, 20 ms until all do, in 99 of 100 deaths.
set -eu
build=$1
: "${RANKS:=16}" "${ROUNDS:=10}"
out=$build/bench
mkdir -p "$out"
MPICC_CC=gcc "$build/bin/mpicc" -std=c17 -D_GNU_SOURCE -O2 -o "$out/detect" test/bench/detect.c
head -c 8 /dev/zero >"$out/detect.time"
: >"$out/detect.rows"
for ((i = 0; i < ROUNDS; i++)); do
	timeout 120 "$build/bin/mpirun" --launcher local --keep-going -n "$RANKS" \
		"$out/detect" "$out/detect.time" >>"$out/detect.rows" 2>"$out/detect.log" || {
		tail -5 "$out/detect.log"
		echo "detect: job $i failed"
		exit 1
	}
done
lscpu | awk -F': *' '/^Model name|^CPU\(s\)|^Thread|^L3/ { printf "%s: %s; ", $1, $2 } END { print "" }'
echo "load when it was over: $(cut -d' ' -f1-3 /proc/loadavg)"
percentile() { # COLUMN
	sort -g -k "$1,$1" "$out/detect.rows" | awk -v c="$1" '{ v[NR] = $c }
		function at(p,  i) { i = int(p * NR + 0.999); return v[i < 1 ? 1 : i > NR ? NR : i] / 1000 }
		END { printf "%.2f %.2f %.2f %.2f ms of %d deaths\n", at(0.5), at(0.9), at(0.99), v[NR] / 1000, NR }'
}
echo "$RANKS ranks, p50 p90 p99 most"
echo "first knows: $(percentile 2)"
echo "all know:    $(percentile 3)"
