#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# frames.sh BUILD_DIR: frames of a pipeline with what protects them, beside plain sends and receives
# of the same sizes between as many processes; table, build/bench/frames.json.
#
#	BYTES=65536	of a frame
#	TAPS="0 16 128"	multiplications of the filter for each 16 bits; 0: frames are only carried
#	ROUNDS=12	a turn of each, whose order alternates
#	MS=1500		of a turn
#	JOBS="..."	which of these
#
# frames: three clusters of MPI/SPx and two I/O processes, under mpisprun.  plain-udp, plain-shm: five
# ranks of one world, over sockets as those are, or in shared memory.  epoch-*: these under mpispd,
# where a spare would take a rank over.  openmpi-*: the same program with Open MPI.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
export BYTES=${BYTES:-65536} TAPS=${TAPS:-0 16 128} ROUNDS=${ROUNDS:-12} MS=${MS:-1500}
out=$PWD/build/bench
mkdir -p "$out"
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh
compile=(-std=gnu17 -D_GNU_SOURCE -O2 test/bench/frames.c -o)
peers_fetch || echo "bench-frames: without Open MPI"
peers_cc ours "${compile[@]}" "$T/frames" || exit 1
peers_cc openmpi -DPLAIN_ONLY "${compile[@]}" "$T/frames-openmpi" 2>"$T/openmpi.log" || rm -f "$T/frames-openmpi"
python3 test/bench/frames.py "$B" "$T" "$out/frames.json"
