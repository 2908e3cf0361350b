#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Fibres that are patched wrongly: the switch calls circuits done by which two relays do not find each
# other.  The job is right all the same, light goes on where fibres are right, and after the
# second time those ports are left alone: calls do not wait for them one by one.
# ipv6: yes
# timeout: 90
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
. test/smoke/_root.sh
need_root light-crossed
need_openvswitch light-crossed
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=tools/testbed/light.sh
. tools/testbed/light.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

CALLS=60
# LINKS failed to, and found, that cluster's relay, by the controller's log.
links() {
	"$B/bin/relayctl" -s "$TB_ID-afe0" --json circuits --log | python3 -c '
import json, sys
log = json.load(sys.stdin)
print(*(sum(1 for e in log if e["kind"] == k and sys.argv[1] in (e["a"], e["b"])) for k in ("failed", "up")))' "$1"
}

CLUSTERS='a b c' NODES=1 RELAYS=1 LIGHT_PORTS=2 LIGHT_EXTRA_MS=2 LIGHT_CROSSED=bfe0
testbed_light_up "$B" || fail "no testbed"
echo '[ { "op": "bcast", "algorithm": "linear" } ]' >"$TB_DIR/linear.json"
testbed_light_job "$B" crossed pipelined 60 -x LIBMPI_STATS=1 -x LIBMPI_COLL_RULES="$TB_DIR/linear.json" \
	"$B/examples/collectives" --ops bcast --bytes 100000 --calls $CALLS && grep -q '^ok' "$TB_LOG/crossed-a.log" ||
	fail "the job is not right, or hangs"
read -r missed found < <(links 198.51.100.21)
((found == 0)) || fail "$found links over crossed fibres were found: the test tests nothing"
((missed >= 2)) || fail "$missed links over crossed fibres failed: nobody has looked"
# Two ports, each twice and then after 2, 4, 8 s.
((missed <= 10)) || fail "$missed links over crossed fibres for $CALLS calls"
echo "PASS light-crossed: $missed links over crossed fibres given up in $CALLS calls"
read -r missed found < <(links 198.51.100.31)
((found > 0)) || fail "no light to who is patched rightly"
echo "PASS light-crossed: light elsewhere goes on, $found links ($missed failed)"
testbed_down
left=$(testbed_leftovers)
[ -z "$left" ] || fail "left behind: $left"
