#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that knows PMIx and no libmpi, under mpispd on two nodes: its ranks find each other, what
# they put reaches the other node, and deaths, aborts and what is too much are told.
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_root.sh
. test/smoke/_root.sh
need_root mpispd-pmix
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh
# shellcheck source=test/smoke/_mpispd.sh
. test/smoke/_mpispd.sh
trap spd_down EXIT
# Slow beats: processors are shared with other scenarios, and who gets none for long is dead.
SPD_MORE=', "detect": { "beat_ms": 100, "missed": 8 }' SPD_SPARES=0

spd_up 2 || fail "no namespaces"
foreign() { # WORDS...: the configuration, for a program of PMIx
	spd_conf "$@" && sed -i 's/"spares": 0/"pmix": true/' "$SPD/conf.json"
}
over() { ! spd_alive n0 && ! spd_alive n1; }
play() { # WORDS...; statuses of the daemons in $ended
	foreign "$@"
	spd_start
	spd_wait "the end of $*" over || fail "it does not end: $(tail -n 8 "$SPD"/n*.log)"
	wait "$(spd_pid n0)"
	ended=$?
	wait "$(spd_pid n1)"
	ended+=" $?"
}
said() { grep -qh -- "$1" "$SPD"/n*.log || { echo "not said: $1"; tail -n 12 "$SPD"/n*.log; }; }
C=$B/test/pmix_client

play "$C" meet
verdict "a program of PMIx has ranks, size and peers" \
	"$(said 'client: rank 0 of 4, beside 0,1'; said 'client: rank 3 of 4, beside 2,3')"
verdict "what it puts reaches the other node, collected and fetched" \
	"$([ "$(grep -h 'has met all' "$SPD"/n*.log | wc -l)" = 4 ] && [ "$ended" = "0 0" ] || { echo "statuses $ended"; tail -n 12 "$SPD"/n*.log; })"
play "$C" abort
verdict "PMIx_Abort ends all nodes with its status" "$([ "$ended" = "7 7" ] || echo "$ended"; said 'rank 1 of steps ends the cluster: it was asked to')"
play "$C" late
verdict "the death of a rank ends the others, and is told" \
	"$([ "$ended" = "1 1" ] || echo "$ended"; said 'rank 1 of steps .* was ended by signal 9'; said 'not taken over')"
play "$C" bulk 600000
verdict "what is too much for a fence ends it, by unit and size" \
	"$([ "$ended" = "1 1" ] || echo "$ended"; said 'the processes of unit n[01] have put 1[0-9]* bytes for one fence')"
SPD_MORE+=', "severity": { "process": "continue" }'
play "$C" die
verdict "with continue the others hear of a death, and go on" \
	"$([ "$(grep -h 'hears that rank 1 is dead' "$SPD"/n*.log | wc -l)" = 3 ] && [ "$ended" = "0 0" ] || { echo "statuses $ended"; tail -n 12 "$SPD"/n*.log; })"

SPD_SPARES=1
spd_conf "$C"
sed -i 's/"spares": 1/"spares": 1, "pmix": true/' "$SPD/conf.json"
verdict "--check refuses spares of a program of PMIx" \
	"$("$B/bin/mpispd" --check "$SPD/conf.json" 2>&1 | grep -q 'clusters.steps.pmix: 1 spares, but PMIx gives' || echo "it does not")"
exit $rc
