#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Collective calls over light: four clusters with two light ports each on Open vSwitch, every mode
# of LIBMPI_OPTICAL.  Data is right in all of them, circuits are set up where they are wanted and
# none where they are not, and a mode that there is not is told.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root mpi-optical
need_openvswitch mpi-optical
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

set_up() { # circuits so far
	"$B/bin/relayctl" -s "$TB_ID-afe0" --json circuits | python3 -c 'import json, sys
print(json.load(sys.stdin)["set_up"])'
}
gates() { # MODE: messages that rank 0 gated, those that got no answer
	sed -n 's/.*\[0\] light: announced .* gated \([0-9]*\) .*, \([0-9]*\) went without GO.*/\1 \2/p' "$TB_LOG/$1-a.log"
}

CLUSTERS='a b c d' NODES=1 RELAYS=1 LIGHT_PORTS=2 LIGHT_EXTRA_MS=2
testbed_light_up "$B" || fail "no testbed"
was=0
for mode in off auto naive batched pipelined cached hybrid; do
	testbed_light_job "$B" $mode $mode 30 -x LIBMPI_STATS=1 "$B/examples/collectives" --bytes 20000 --calls 2 ||
		fail "mode $mode: status $?"
	grep -q '^ok' "$TB_LOG/$mode-a.log" || fail "mode $mode: does not say ok"
	now=$(set_up)
	read -r gated lost < <(gates $mode)
	case $mode in
	off) [[ $now == 0 && -z ${gated:-} ]] || fail "off: $now circuits, $gated gated" ;;
	auto | hybrid) ;; # whether light pays here is the controller's business
	*) ((now > was && gated > 0)) || fail "mode $mode: $((now - was)) circuits, $gated gated" ;;
	esac
	[ "${lost:-0}" = 0 ] || fail "mode $mode: $lost messages without an answer"
	echo "PASS mpi-optical $mode: $((now - was)) circuits, ${gated:-0} messages gated at rank 0"
	was=$now
done
# Cached, every second call of a kind begins where the one before ended: of three destinations over two ports
# one is aimed at anew (a link is two circuits: 28 in all).  In the same order it would be two (50).
echo '[ { "op": "bcast", "algorithm": "linear" } ]' >"$TB_DIR/linear.json"
testbed_light_job "$B" turned cached 30 -x LIBMPI_COLL_RULES="$TB_DIR/linear.json" "$B/examples/collectives" --ops bcast \
	--bytes 200000 --calls 12 && grep -q '^ok' "$TB_LOG/turned-a.log" || fail "cached, linear"
now=$(set_up)
((now - was <= 36)) || fail "cached, linear: $((now - was)) circuits for 12 calls"
echo "PASS mpi-optical cached, linear: $((now - was)) circuits for 12 calls"
# Small messages, non-blocking calls, many communicators: what may go is often done at once.
testbed_light_job "$B" comms pipelined 40 -x LIBMPI_STATS=1 "$B/test/mpi/comms" && grep -q '^ok' "$TB_LOG/comms-a.log" ||
	fail "test/mpi/comms: pipelined"
read -r gated lost < <(gates comms)
((${gated:-0} > 20 && ${lost:-1} == 0)) || fail "test/mpi/comms: ${gated:-0} gated, ${lost:-?} without an answer"
echo "PASS mpi-optical: test/mpi/comms, $gated messages gated at rank 0"
testbed_light_job "$B" wrong pipelinde 20 "$B/examples/collectives" && fail "a mode that there is not runs"
grep -q 'LIBMPI_OPTICAL=pipelinde is not known; fix: set one of auto, off' "$TB_LOG"/wrong-*.log || fail "a mode that there is not: no error"
echo "PASS mpi-optical: a mode that there is not is an error"
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"

# ---- light for two links, and ports for four; one of them may end at a or b
lit() { # the most circuits that the switch has ever had lit at once, and with an end at a or b; a link is two
	"$B/bin/relayctl" -s "$TB_ID-afe0" --json circuits --log | python3 -c 'import json, sys
now, most = [0, 0], [0, 0]
for e in json.load(sys.stdin):
    step = (e["kind"] == "lit") - (e["kind"] == "gone")
    for i in range(2 if step and min(e["x"], e["y"]) < 4 else 1):
        now[i] += step
        most[i] = max(now[i], most[i])
print(*most)'
}
LIGHT_CONF='"lit_max": 2, "lit_groups": "0-3=1;4-7=2"'
testbed_light_up "$B" || fail "no testbed"
for mode in batched cached; do
	testbed_light_job "$B" scarce-$mode $mode 30 -x LIBMPI_STATS=1 "$B/examples/collectives" --bytes 20000 --calls 2 &&
		grep -q '^ok' "$TB_LOG/scarce-$mode-a.log" || fail "two wavelengths, mode $mode"
	read -r gated lost < <(gates scarce-$mode)
	((${gated:-0} > 0 && ${lost:-1} == 0)) || fail "two wavelengths, $mode: ${gated:-0} gated, ${lost:-?} without an answer"
	read -r most shared < <(lit)
	((shared > 0 && most <= 4 && shared <= 2)) ||
		fail "two wavelengths, $mode: $most circuits lit at once, $shared where one wavelength is shared"
	echo "PASS mpi-optical two wavelengths, $mode: $most circuits lit at most, $shared where one is shared, $(set_up) set up"
done
testbed_down
