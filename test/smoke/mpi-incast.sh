#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 16 ranks on 8 nodes send to rank 0 of a ninth at once: with credit shared out nothing
# is lost for want of socket buffer, so nearly nothing is sent again.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/gcc}
NODES=9 PPN=2
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
PROG=$PWD/$B/test/mpi/incast

# Sum over ranks of a counter of the endpoint.
count() { awk -v k="$1" '$3 == "suci" && $4 == k { s += $5 } END { print s + 0 }' "$log"; }

MTU_IN=9000 testbed_up || fail "no namespaces"
for credit in "" 4; do
	log=$TB_LOG/incast${credit:+-$credit}.log
	testbed_job_local "$B" "incast${credit:+-$credit}" 18 -x LIBMPI_STATS -x LIBMPI_CREDIT \
		env LIBMPI_STATS=1 LIBMPI_CREDIT="$credit" "$PROG"
	testbed_wait 60 "the end of the job" grep -q "^ok, " "$log" || fail "not done; $(tail -2 "$log")"
	testbed_wait 20 "its processes" sh -c "! kill -0 $(cat "$TB_DIR/pid-incast${credit:+-$credit}") 2>/dev/null"
	sent=$(count tx_segments) again=$(count tx_retransmits)
	what="${credit:-as the socket holds}: $sent segments, $again again, $(count tx_spurious) of them needlessly, $(count tx_asks) asks, $(count tx_credits) turns"
	((sent >= 16 * 24 * 7)) || fail "credit $what: too few went over Suci"
	# Probe timeouts of ranks that do not get a core are spurious and are no storm.
	((again * 20 <= sent)) || fail "credit $what: more than 5 % again"
	echo "PASS mpi-incast: credit $what"
done
testbed_down
