#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-mpi` (root): libmpi, MPICH and Open MPI in one run, in short turns, in the same
# namespaces: half round trip, bandwidth, bandwidth of what was just written, message rate,
# Allreduce, Alltoall, Bcast, in the shared memory of one node and between two (one veth, offloads
# off).  One program (mpibench.c), compiled once for each.  Table, build/bench/mpi.json.  Before and after the turns
# of a place the machine's own limits are measured (limits.c), and ours is shown as a multiple.
#
#   ROUNDS (20)      of a session: a turn of each; ratios are taken in the round, medians printed
#   SESSIONS (2)     times that all jobs are started anew     TURN_MS (15)  of a turn
#   LIMIT_S (6)      of a turn; what has not come until then is "too slow", and not tried again
#   START_S (60)     that a job may take to begin; MPICH's ranks spin, however many they are
#   STARTS (3)       of a job, if it does not begin
#   RANKS ("2 4 8")  of the collectives      MTUS ("1500 9000")  WHERE ("shm $MTUS")
#   PEERS ("mpich openmpi"); "before" is libmpi as in the file BEFORE, a libmpi_abi.so.1
#   OURS_ENV ("")    variables of ours alone; OURS_ENV="LIBMPI_PIECE=32768" PEERS=before shows what a
#                    wrong guess costs, if BEFORE is the same library
#   PAIR, COLL       rows of pairs, of collectives: WHAT:BYTES, see mpibench.c
#
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
RANKS=${RANKS:-2 4 8}
MTUS=${MTUS:-1500 9000}
WHERE=${WHERE:-shm $MTUS}
PEERS=${PEERS-mpich openmpi}
SENT_MIN=$((1 << 18)) # bytes, more than start-up sends
PAIR=${PAIR-pingpong:0 pingpong:8 pingpong:1024 pingpong:16384 pingpong:65536 pingpong:1048576 pingpong:4194304
	bandwidth:4096 bandwidth:65536 bandwidth:1048576 bandwidth:4194304
	fresh:32768 fresh:1048576 rate:8}
COLL=${COLL-allreduce:8 allreduce:65536 allreduce:1048576 alltoall:8 alltoall:65536 bcast:8 bcast:65536 bcast:1048576}
out=$PWD/build/bench
mkdir -p "$out" && rm -f "$out"/mpi.json "$out"/raw-mpi-* "$out"/raw-limits-*
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/bench/limits.sh
. test/bench/limits.sh
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

# compiled WHO: as the mpicc of each would, which for the others is at another place.
compiled() {
	local cc=(gcc -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/mpibench-$1" test/bench/mpibench.c)
	case $1 in
	before)
		[ -e "${BEFORE:-}" ] && cp "$out/mpibench-ours" "$out/mpibench-before"
		;;
	*) peers_cc "$1" "${cc[@]:1}" ;;
	esac
}

# launcher WHO WHERE RANKS: a file that starts them, half of the ranks in either node, or all in one.
launcher() {
	local run program=("$out/mpibench-$1")
	[ "$1" != before ] || program=(env LD_PRELOAD="$BEFORE" "${program[@]}")
	# shellcheck disable=SC2206
	[ "$1" != ours ] || program=(env ${OURS_ENV:-} "${program[@]}")
	peers_run "$1" "$2" "$3"
	{
		echo '#!/bin/sh'
		printf 'exec'
		printf ' %q' "$TB_DIR/in" l "${run[@]}" "${program[@]}"
		# shellcheck disable=SC2016
		echo ' "$1"'
	} >"$TB_DIR/jobs/launch-$1"
	chmod +x "$TB_DIR/jobs/launch-$1"
}

# So many bytes have left the first node.
sent() { ip -n "$TB_ID-l" -s -j link show eth0 | sed 's/.*"tx":{"bytes":\([0-9]*\).*/\1/'; }

# sizes_of "WHAT:BYTES...": each size once.
sizes_of() {
	local r
	for r in $1; do echo "${r#*:}"; done | sort -nu
}

# turns WHERE RANKS: all of them beside each other.
turns() {
	local p rows=$COLL before
	[ "$2" != 2 ] || rows="$PAIR $COLL"
	mkdir -p "$TB_DIR/jobs"
	for p in $who; do launcher "$p" "$1" "$2"; done
	before=$(sent)
	# shellcheck disable=SC2086
	bench_limits "$B" "$1" "$out/raw-limits-$1-$2" $(sizes_of "$rows") || return 1
	# shellcheck disable=SC2086
	test/bench/turns-mpi.py "$out/raw-mpi-$1-$2" "$TB_DIR/jobs" "$2" "$rows" $who || return 1
	# shellcheck disable=SC2086
	bench_limits "$B" "$1" "$out/raw-limits-$1-$2" $(sizes_of "$rows") || return 1
	[ "$1" = shm ] || (($(sent) - before > SENT_MIN)) || {
		testbed_die "the jobs between two nodes did not use the network"
		return 1
	}
}

all=ours
peers_fetch && all="ours $PEERS" || echo "no packages of MPICH and Open MPI, see $out/mpi-peers.log" >&2
who=''
for p in $all; do
	if compiled "$p" >"$out/mpi-build-$p.log" 2>&1; then
		who+=" $p"
	else
		echo "$p is left out, see $out/mpi-build-$p.log" >&2
	fi
done
begin=$SECONDS
for w in $WHERE; do
	testbed_pair "${w/shm/1500}" || exit 1
	for n in $RANKS; do
		printf '  %s, %d ranks:%s\n' "${w/#[0-9]/MTU &}" "$n" "$who" >&2
		turns "$w" "$n" || exit 1
	done
	testbed_down
done
# shellcheck disable=SC2086
test/bench/report-mpi.py "$out/mpi.json" "$out" "$WHERE" "$RANKS" $who
echo "$((SECONDS - begin)) s, load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs, $(uname -r)"
