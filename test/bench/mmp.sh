#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-mmp` (root): the figures of the MMP paper on this machine, in one node and between two
# (one veth), by mmp-perf.  Fig. 4: bursts with a reply of 4 bytes beside bare ones, inline and by the
# thread.  Fig. 5: the paper's fragments beside the one MP_tune chose.  Computing kept while data come.  A
# receiver that computes without a call.  Tables, build/bench/mmp.json, mmp.svg; exit status 1: a
# bar was missed, or something did not run.  Before and after it the machine's limits (limits.c).
#
#   RUNS (5)      of MP_tune, each beside a sweep       TUNE_S (20)   of each at most
#   ROW_S (0.5)   of a row                              SWEEP_S (0.1) of a fragment in a sweep
#   ROUNDS (5)    of fragments beside each other        WHERE ("shm 1500 9000"): MTUs
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
WHERE=${WHERE:-shm 1500 9000}
RUNS=${RUNS:-5} TUNE_S=${TUNE_S:-20} ROW_S=${ROW_S:-0.5} SWEEP_S=${SWEEP_S:-0.1} ROUNDS=${ROUNDS:-5}
SIZES=${SIZES:-4,64,1K,4K,16K,64K,256K,1M,4M}
PAPER="256 4048 1048528" # 223 there; ours are 256 at least
out=$PWD/build/bench
PERF=$PWD/$B/bin/mmp-perf
mkdir -p "$out" && rm -rf "$out"/mmp.json "$out"/mmp.svg "$out"/raw-mmp-* "$out"/raw-limits-mmp-* "$out/mmp-cache"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/bench/limits.sh
. test/bench/limits.sh

# perf WHERE NAME MODE OPTION...: two ranks; the results of rank 0 in raw-mmp-WHERE-NAME.
perf() {
	local where=$1 json=$out/raw-mmp-$1-$2 mode=$3 pid rc=0
	shift 3
	if [ "$where" = shm ]; then
		timeout 300 "$PERF" "$mode" --local --quiet --json "$json" "$@" 2>"$json.log" || rc=1
	else
		LIBMMP_RANK=1 timeout 300 "$TB_DIR/in" r "$PERF" "$mode" --hosts "$TB_DIR/hosts" "$@" >"$json.log" 2>&1 &
		pid=$!
		LIBMMP_RANK=0 timeout 300 "$TB_DIR/in" l "$PERF" "$mode" --hosts "$TB_DIR/hosts" --quiet \
			--json "$json" "$@" 2>>"$json.log" || rc=1
		wait $pid || rc=1
	fi
	[ $rc = 0 ] && rm -f "$json.log" && return
	testbed_die "$where, $mode: $(tail -n 3 "$json.log")"
}

# result FILE NAME: of its last row, a whole number.
result() { python3 -c "import json, sys; print(int(json.load(open(sys.argv[1]))['results'][-1][sys.argv[2]]))" "$1" "$2"; }

# beside WHERE NAME SIZE FRAGMENT...: bursts with each, in turns.
beside() {
	local where=$1 name=$2 size=$3 r f
	shift 3
	for ((r = 0; r < ROUNDS; r++)); do
		for f in "$@"; do
			LIBMMP_FRAGMENT=$f perf "$where" "$name-$f-$r" burst --size "$size" --seconds "$SWEEP_S" || return
		done
	done
}

measure() {
	local w=$1 i chosen best
	# The store is the bench's own.
	export XDG_CACHE_HOME=$out/mmp-cache/$w
	mkdir -p "$XDG_CACHE_HOME"
	for ((i = 0; i < RUNS; i++)); do
		perf "$w" "tune-$i" tune --seconds "$TUNE_S" && perf "$w" "sweep-$i" sweep --size 1M --seconds "$SWEEP_S" || return
		chosen=$(result "$out/raw-mmp-$w-tune-$i" fragment)
		best=$(result "$out/raw-mmp-$w-sweep-$i" best_fragment)
		echo "  chosen $chosen, the sweep's best $best" >&2
		beside "$w" "duel-$i" 1M "$chosen" "$best" || return
	done
	# shellcheck disable=SC2086
	beside "$w" fig5 4M $PAPER "$chosen" || return
	for i in inline thread; do
		LIBMMP_PROGRESS=$i LIBMMP_FRAGMENT=$chosen perf "$w" "fig4-$i" bare --size "$SIZES" --seconds "$ROW_S" || return
	done
	LIBMMP_PROGRESS=thread LIBMMP_FRAGMENT=$chosen perf "$w" overlap overlap --size 1M,4M || return
	[ "$w" = shm ] || LIBMMP_PROGRESS=thread LIBMMP_FRAGMENT=$chosen perf "$w" busy busy --size 64K,1M,4M
}

rc=0
for w in $WHERE; do
	echo "MMP, ${w/shm/one node}" >&2
	mtu=$w
	[ "$w" != shm ] || mtu=1500
	testbed_pair "$mtu" || exit 1
	printf '192.0.2.1 7801\n192.0.2.2 7802\n' >"$TB_DIR/hosts"
	{ bench_limits "$B" "$w" "$out/raw-limits-mmp-$w" 4 65536 1048576 && measure "$w" &&
		bench_limits "$B" "$w" "$out/raw-limits-mmp-$w" 4 65536 1048576; } || rc=1
	testbed_down
done
# shellcheck disable=SC2086
test/bench/report-mmp.py "$out" $WHERE || rc=1
exit $rc
