#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# An all-to-all over two clusters with the blocks of NPB's IS, class A, on 8 ranks (512 KiB each),
# over a WAN that delays and loses: milliseconds of a call, median and most, every byte checked.
#
#	DELAYS='10 50'		one way, ms
#	LOSSES='0 0.001 0.01'	of the WAN's packets
#	CCS='cubic bbr'		suci.global_cc
#	CALLS=5 BYTES=524288 WAN_RATE=1e9 LIMIT_S=150
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
: "${DELAYS:=10 50}" "${LOSSES:=0 0.001 0.01}" "${CCS:=cubic bbr}" "${CALLS:=5}" "${BYTES:=524288}"
: "${WAN_RATE:=1e9}" "${LIMIT_S:=150}"
. tools/testbed/lib.sh

fail() {
	tail -n 10 "$TB_LOG"/*.log
	echo "wan: $1"
	exit 1
}
gone() { ! testbed_alive "$1"; }
NODES=2 PPN=2

printf '%-6s %9s %8s %12s %12s %12s\n' cc 'delay ms' loss 'last ms' 'median ms' 'most ms'
for cc in $CCS; do
	for delay in $DELAYS; do
		for loss in $LOSSES; do
			TB_RELAY_CONF="\"suci\": { \"global_cc\": \"$cc\" }"
			testbed_up && testbed_wanem "$B/bin/wanem" --delay-ms "$delay" --rate "$WAN_RATE" --loss "$loss" &&
				testbed_server "$B" && testbed_relayd "$B" afe0 bfe0 || fail "no testbed"
			testbed_job "$B" is "$B/examples/collectives" --ops alltoall --bytes "$BYTES" --calls "$CALLS"
			if testbed_wait "$LIMIT_S" "the job" gone is-a; then
				read -r _ _ last median most < <(grep '^alltoall' "$TB_LOG/is-a.log") || fail "no figures"
			else
				last=- median=- most="> $LIMIT_S s"
			fi
			printf '%-6s %9s %8s %12s %12s %12s\n' "$cc" "$delay" "$loss" "$last" "$median" "$most"
			testbed_down
		done
	done
done
