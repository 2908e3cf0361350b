#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# bench-takeover: real kills of ranks, one after another, seeded; how long until a spare's MPI_Init
# has returned with the dead one's rank, and how long the others made no step.  Then nodes are cut
# off, and come back.
#
#	KILLS=100	SEED=1
#	NODES=20	cut off; 0: none
#	BEAT=50 MISSED=10	a node is dead after so many beats [ms]; of a quiet machine 20 and 5
#	RANKS=8 SPARES=4	on 3 nodes, which are namespaces of this machine
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${1:-build/gcc}")
: "${KILLS:=100}" "${SEED:=1}" "${RANKS:=8}" "${SPARES:=4}" "${NODES:=20}" "${BEAT:=50}" "${MISSED:=10}"
export SPD_COMPUTE=$RANKS SPD_SPARES=$SPARES
# A shared machine may keep a daemon from its processor for longer than 100 ms.
export SPD_MORE=", \"detect\": { \"beat_ms\": $BEAT, \"missed\": $MISSED, \"restart_ms\": 20 }"
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT
spd_up 3 || exit 1
spd_conf "$B/examples/takeover" 100000000 5
spd_start
export NODES HUB=$(spd_ns hub) DEAD_MS=$((BEAT * MISSED))
python3 test/bench/takeover.py "$B" "$SPD" "$RANKS" "$KILLS" "$SEED" build/bench/takeover
