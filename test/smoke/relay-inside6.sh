#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Clusters whose nodes have IPv6 alone, with the same addresses in both, behind relays: blocks
# between doors.  With IPV6=1 relays reach each other by IPv6, too, else by IPv4.
# ipv6: yes
# timeout: 120
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build/gcc}")
# shellcheck source=tools/testbed/lib.sh
. tools/testbed/lib.sh
# shellcheck source=test/smoke/_tell.sh
. test/smoke/_tell.sh

CLUSTERS="a b" IPV6_INSIDE="a b" NODES=2 RELAYS=1
testbed_up || fail "testbed: not built"
testbed_wanem "$B/bin/wanem" --delay-ms 1 || fail "wanem: does not start"
TB_RELAY_CONF='"doors": { "max": 256 }'
testbed_relayd "$B" afe0 bfe0 || fail "relayd: does not start"
ctl() { "$B/bin/relayctl" -s "$TB_ID-$1" "${@:2}"; }

testbed_exec a0 ping -6 -q -c 2 -W 5 "$(testbed_inside afe0)" >/dev/null
succeeded $? "a node pings its relay"
verdict "and has IPv6 alone" "$(ip -n "$TB_ID-a0" -4 addr show dev eth0)"

# ---- doors, and a neighbour that claims what others have
RELAY=$(testbed_inside afe0 7812)
testbed_spawn b0 server "$B/bin/suci-perf" server --door --relay "$RELAY"
address_is() { ADDRESS=$(grep -o '^door:[^ ]*' "$TB_LOG/server.log") && [ -n "$ADDRESS" ]; }
testbed_wait 30 "the door" address_is || fail "the server has no door"
testbed_spawn a0 client timeout 60 "$B/bin/suci-perf" client "$ADDRESS" --relay "$RELAY" --mode pingpong \
	--size 8,1k,64k,1M --duration 1
testbed_exec a1 python3 test/smoke/_frames6.py eth0 "$(testbed_exec afe0 cat /sys/class/net/priv0/address)" \
	"$(testbed_inside afe0)" "$(testbed_inside a0)" 200
gone() { ! testbed_alive "$1"; }
testbed_wait 60 "the client" gone client
{ wait "$(cat "$TB_DIR/pid-client")"; } 2>/dev/null
succeeded $? "blocks between doors of nodes with IPv6 alone"
cat "$TB_LOG/client.log"
testbed_stop server >/dev/null 2>&1
dropped() { ctl afe0 drops | awk -v name="rx/private/$1" '$1 == name { print $2 }'; }
WHY=
grep -q "path to \[$(testbed_inside a0)\]:.* is up: process with doors" "$TB_LOG/relayd-afe0.log" ||
	WHY+="the path is not by IPv6; "
[ "$(dropped nd_conflict)" -ge 150 ] || WHY+="claims of our address were not counted; "
[ "$(dropped nd_format)" -ge 150 ] || WHY+="discovery from afar was not counted; "
grep -q "claims $(testbed_inside a0), which .* has" "$TB_LOG/relayd-afe0.log" ||
	WHY+="the log does not name the claimant; "
verdict "forged neighbours and errors move nothing" "$WHY" relayd-afe0
exit $rc
