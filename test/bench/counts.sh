#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `make bench-counts` (root, perf): what a call of libmpi and of other libraries asks of the machine,
# in turns beside each other, two ranks on two nodes (one veth, offloads off): system calls by name,
# wake-ups, frames, copies out of the kernel, time of the processor.  Table of medians and quartiles.
#
#   CALLS ("alltoall:65536")  WHAT:BYTES...     TIMES (2000)  of a call      ROUNDS (8)  of each
#   MTU (1500)                PEERS ("openmpi"); "before" is libmpi as in the file BEFORE
#   OURS_ENV ("")             variables of ours alone
#   ALONE (1)                 ranks are scheduled in real time while they count, a few tenths of a second, so
#                             that a busy machine counts as a quiet one; 0: as they are
#
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$1
CALLS=${CALLS:-alltoall:65536}
PEERS=${PEERS-openmpi}
TIMES=${TIMES:-2000}
ROUNDS=${ROUNDS:-8}
MTU=${MTU:-1500}
ALONE=${ALONE:-1}
out=$PWD/build/bench
mkdir -p "$out"
rm -rf "$out/counts" && mkdir -p "$out/counts"
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/bench/peers.sh
. test/bench/peers.sh

EVENTS=raw_syscalls:sys_enter
for e in sendmsg sendmmsg sendto write writev recvmsg recvmmsg recvfrom read readv poll ppoll epoll_wait sched_yield; do
	EVENTS+=,syscalls:sys_enter_$e
done
EVENTS+=,sched:sched_waking,context-switches,net:net_dev_xmit,net:netif_receive_skb,napi:napi_poll
EVENTS+=,skb:skb_copy_datagram_iovec,irq:softirq_entry,tcp:tcp_retransmit_skb

command -v perf >/dev/null || {
	echo "bench-counts: perf is not there; fix: apt install linux-perf" >&2
	exit 1
}
peers_fetch || exit 1
who=ours
peers_cc ours -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/mpicount-ours" test/bench/mpicount.c || exit 1
for p in $PEERS; do
	case $p in
	before) cp "$out/mpicount-ours" "$out/mpicount-before" ;;
	*) peers_cc "$p" -std=gnu17 -D_GNU_SOURCE -O2 -o "$out/mpicount-$p" test/bench/mpicount.c ;;
	esac && who+=" $p"
done

# With perf on a rank, which begins to count when the program says so.
cat >"$out/counts/counted" <<'EOP'
#!/bin/bash
# counted NAME EVENTS PROGRAM...
at=$1-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} events=$2
shift 2
mkfifo "$at-ctl" "$at-ack"
export MPICOUNT=$at
exec perf stat -x , -o "$at" -D -1 --control "fifo:$at-ctl,$at-ack" -e "$events" -- "$@"
EOP
chmod +x "$out/counts/counted"

# turn WHO WHAT BYTES ROUND
turn() {
	local run name=$out/counts/$1-$2-$3-$4 program=("$out/mpicount-$1") alone=()
	[ "$ALONE" = 0 ] || alone=(env MPICOUNT_ALONE=1)
	[ "$1" != before ] || program=(env LD_PRELOAD="$BEFORE" "${program[@]}")
	# shellcheck disable=SC2206
	[ "$1" != ours ] || program=(env ${OURS_ENV:-} "${program[@]}")
	peers_run "$1" "$MTU" 2
	"$TB_DIR/in" l "${run[@]}" "${alone[@]}" "${program[@]}" "$2" "$3" "$TIMES" >"$name-plain" 2>"$name-err" &&
		"$TB_DIR/in" l "${run[@]}" "$out/counts/counted" "$name" "$EVENTS" "${alone[@]}" "${program[@]}" "$2" "$3" "$TIMES" \
			>"$name-counted" 2>>"$name-err" || {
		tail -n 5 "$name-err" >&2
		return 1
	}
}

testbed_pair "$MTU" || exit 1
for ((r = 0; r < ROUNDS; r++)); do
	for c in $CALLS; do
		for p in $who; do turn "$p" "${c%:*}" "${c#*:}" "$r" || exit 1; done
	done
done
testbed_down
# shellcheck disable=SC2086
test/bench/report-counts.py "$out/counts" "$TIMES" "$ROUNDS" "$CALLS" $who
echo "load $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) CPUs, $(uname -r)"
