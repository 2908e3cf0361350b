#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Light at both relays of each of two clusters: the calls of one job use the ports of all four, those
# of relays, too, that the policy does not name (_light.sh).  A call of two clusters needs one link,
# and the first ports come first: they are withdrawn, so that the others are taken.  Then one of the
# others dies and comes back.
# ipv6: yes
# timeout: 150
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=test/smoke/_light.sh
. test/smoke/_light.sh
LIGHT_PROTOCOL=openflow LIGHT_RELAYS=2

# Of blocks: answers go back over the relay by which something came, light or not.
sent() { # FRONTEND: bytes that it sent by light, -1: it does not answer
	ctl "$1" --json lights 2>/dev/null | python3 -c 'import json, sys
print(json.load(sys.stdin)["tx_bytes"])' 2>/dev/null || echo -1
}
shines() { [ "$(sent "$1")" -gt "$2" ]; } # FRONTEND THAN
# Each of them sends by light, after now.
light_at() { # FRONTEND...
	local fe was
	for fe in "$@"; do
		was=$(sent "$fe")
		testbed_wait 20 "500 KB by light at $fe, more than $was" shines "$fe" $((was + 500000)) || fail "$fe has no part in the light"
	done
}

# What the word to send costs: notes that relays pass on, messages that the controller has let go.
words() {
	local fe
	for fe in afe0 afe1 bfe0 bfe1; do
		ctl "$fe" --json circuits | python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["time_us"], v["notes_down"], v.get("by_light", 0) + v.get("by_packets", 0))'
	done | paste -sd' '
}
cost_of_words() {
	local was now
	was=$(words)
	by_light 300 || fail "nothing goes by light"
	now=$(words)
	echo "$was $now" | awk '{ s = ($13 - $1) / 1e6; m = $15 - $3
		printf "%d messages between clusters in %.1f s, %.0f a second; notes a second to processes: at afe0 %.0f, afe1 %.0f, bfe0 %.0f, bfe1 %.0f; a message: %.2f\n",
			m, s, m / s, ($14 - $2) / s, ($17 - $5) / s, ($20 - $8) / s, ($23 - $11) / s, ($14 - $2 + $17 - $5 + $20 - $8 + $23 - $11) / m }'
}

testbed_light_up "$B" || fail "no testbed"
rm -f "$TB_DIR/enough"
LIBMPI_OPTICAL=pipelined testbed_job "$B" job "$B/test/mpi/failover" 3600 200000 "$TB_DIR/enough"
by_light 20 || fail "nothing goes by light"
light_at afe0 bfe0
ctl afe0 circuits withdraw 0 && ctl afe0 circuits withdraw 2 || fail "ports are not withdrawn"
light_at afe1 bfe1
echo "words to send: $(cost_of_words)"
pass "light at all four relays: $(sent afe0) $(sent afe1) $(sent bfe0) $(sent bfe1) bytes"

crash relayd-bfe1
ctl afe0 circuits restore 2 || fail "a port is not restored"
light_at bfe0 afe1
running
testbed_relayd "$B" bfe1 || fail "relayd on bfe1 does not start again"
ctl afe0 circuits withdraw 2 || fail "a port is not withdrawn"
light_at bfe1 afe1
running
pass "bfe1 killed: light at the other relay of its cluster, and at bfe1 when it is back"

light_ends ''
