#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-npb` (root): the NPB kernels of examples/npb over libmpi, MPICH, Open MPI and, where it is
# built, MMP: neighbouring turns of one run, in one node and between two on a line of LINE.
# Each run verifies its result; table, build/bench/npb.json.  Exit status 1: one was not SUCCESSFUL,
# or a contender that could be built did not run.
#
#   ROUNDS (5)         a run of each; ratios are taken in the round, medians printed
#   KERNELS ("is:A cg:A")      WHERE ("shm 100mbit"): shm is one node; a rate of tc a line between
#                              two; 16x125mbit a switch with so many nodes, each with such a line
#   RANKS ("2")        PEERS ("mpich openmpi")       MTU (1500)      QUEUE (300000 bytes, of a line)
#   LIMIT_S (180)      of a run; more ranks than CPUs spin for long over TCP
#   REPLAY=1           runs of libmpi under libmpitrace instead, beside what obsim says of their traces
#                      on a packet network of the measured latency and rate (npb-replay.py)
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
WHERE=${WHERE:-shm 100mbit}
RANKS=${RANKS:-2}
KERNELS=${KERNELS:-is:A cg:A}
PEERS=${PEERS-mpich openmpi}
SENT_MIN=$((1 << 20)) # bytes, more than start-up sends
out=$PWD/build/bench
mkdir -p "$out" && rm -f "$out"/npb.json "$out"/raw-npb-*
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

# compiled WHO: all kernels from the same source.
compiled() {
	local k flags=(-std=gnu17 -D_GNU_SOURCE -O2)
	for k in is cg ep ft mg; do
		if [ "$1" = mmp ]; then
			[ -e "$B/lib/libmmp.so" ] && gcc "${flags[@]}" -DNPB_MMP -Ilibmmp/include \
				-o "$out/npb-$k-mmp" "examples/npb/$k.c" -L"$B/lib" \
				-Wl,-rpath,"$(realpath "$B/lib")" -lmmp -lm || return
		else
			peers_cc "$1" "${flags[@]}" -o "$out/npb-$k-$1" "examples/npb/$k.c" -lm || return
		fi
	done
}

# launcher WHO WHERE RANKS: a file that runs KERNEL CLASS.
launcher() {
	local run
	peers_run "$1" "$2" "$3"
	{
		echo '#!/bin/sh'
		printf 'exec'
		printf ' %q' "$TB_DIR/in" "$first" "${run[@]}"
		# shellcheck disable=SC2016
		printf ' %q-"$1"-%q "$2"\n' "$out/npb" "$1"
	} >"$TB_DIR/jobs/launch-$1"
	chmod +x "$TB_DIR/jobs/launch-$1"
}

# replayed WHERE RANKS: traced runs and their replay; launchers say what a line costs, and trace.
replayed() {
	local at run p
	for p in line traced; do
		peers_run ours "$1" "$2"
		at="-x LIBMPI_TRACE=$TB_DIR/trace -x LD_PRELOAD=$(realpath "$B/lib/libmpitrace.so")"
		{
			echo '#!/bin/sh'
			printf 'exec'
			printf ' %q' "$TB_DIR/in" "$first" "${run[@]}"
			# shellcheck disable=SC2016
			case $p in
			line) printf ' %q' "$out/mpiline" ;;
			traced) printf ' %s %q-"$1"-ours "$2"' "$at" "$out/npb" ;;
			esac
			echo
		} >"$TB_DIR/jobs/launch-$p"
		chmod +x "$TB_DIR/jobs/launch-$p"
	done
	mkdir -p "$TB_DIR/trace"
	ln -sfn "$TB_DIR/trace" "$TB_DIR/jobs/trace"
	test/bench/npb-replay.py "$out/npb-replay-$1-$2.json" "$TB_DIR/jobs" "$B/bin/obsim" "$1" "$2" "$KERNELS"
}

# shape NODE IF RATE: what it sends there goes no faster.
shape() {
	ip netns exec "$TB_ID-$1" tc qdisc add dev "$2" root tbf rate "$3" burst 15000 limit "${QUEUE:-300000}"
}

# build WHERE: its nodes and lines, each with its rate in either direction; first is where jobs start.
build() {
	local i
	case $1 in
	*x*)
		CLUSTERS=a NODES=${1%%x*} MTU_IN=${MTU:-1500} testbed_up || return
		first=a0
		for ((i = 0; i < ${1%%x*}; i++)); do
			shape a$i eth0 "${1#*x}" && shape asw p$i "${1#*x}" || return
		done
		;;
	*)
		testbed_pair "${MTU:-1500}" || return
		first=l
		[ "$1" = shm ] || { shape l eth0 "$1" && shape r eth0 "$1"; }
		;;
	esac
}

sent() { ip -n "$TB_ID-$first" -s -j link show eth0 | sed 's/.*"tx":{"bytes":\([0-9]*\).*/\1/'; }

all=ours
[ -z "${REPLAY:-}" ] || peers_cc ours -std=gnu17 -O2 -o "$out/mpiline" test/bench/mpiline.c || exit 1
[ -n "${REPLAY:-}" ] || { peers_fetch && all="ours $PEERS"; } || echo "no packages of MPICH and Open MPI, see $out/mpi-peers.log" >&2
[ -n "${REPLAY:-}" ] || [ ! -e "$B/lib/libmmp.so" ] || all+=" mmp"
who=''
for p in $all; do
	if compiled "$p" >"$out/npb-build-$p.log" 2>&1; then
		who+=" $p"
	else
		echo "$p is left out, see $out/npb-build-$p.log" >&2
	fi
done
case " $who " in *" ours "*) ;; *) exit 1 ;; esac
rc=0
for w in $WHERE; do
	build "$w" || exit 1
	mkdir -p "$TB_DIR/jobs"
	for n in $RANKS; do
		printf '  %s, %d ranks:%s\n' "${w/shm/one node}" "$n" "$who" >&2
		[ -z "${REPLAY:-}" ] || {
			replayed "$w" "$n" || rc=1
			continue
		}
		for p in $who; do launcher "$p" "$w" "$n"; done
		before=$(sent)
		# shellcheck disable=SC2086
		test/bench/npb.py turns "$out/raw-npb-$w-$n" "$TB_DIR/jobs" "$KERNELS" $who || rc=1
		[ "$w" = shm ] || (($(sent) - before > SENT_MIN)) || {
			testbed_die "the jobs between nodes did not use the network"
			rc=1
		}
	done
	testbed_down
done
[ -z "${REPLAY:-}" ] || exit $rc
# shellcheck disable=SC2086
test/bench/npb.py report "$out/npb.json" "$out" "$WHERE" "$RANKS" "$KERNELS" $who || rc=1
exit $rc
